"""The tables of a scenario of replicas: the participants, the events of the environment, and its budgets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, Field, model_validator

from kraftcheck.spec import load
from kraftcheck.support.closest import did_you_mean, one_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable
from kraftcheck.support.validation import spelled
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.known_exits import KNOWN
from kraftcheck.systems.properties import PropertyNames
from kraftcheck.systems.scenario import Budget, Listed, Scenario, Table

T = TypeVar("T")
#: Marks a key that names replicas: in a list, or as the keys of a table.
NAMES_REPLICAS = "names replicas"
#: The largest id of a replica in a scenario.
LARGEST_ID: Final = 99


def numbered(nodes: Iterable[int]) -> dict[int, int]:
    """The ids of the replicas of a scenario by those of nodes: the same, unless one is too large."""
    ids = sorted(nodes)
    return {id: number if ids[-1] > LARGEST_ID else id for number, id in enumerate(ids, 1)}


ReplicaId = Annotated[int, Field(ge=0, le=LARGEST_ID)]
ReplicaIds = Annotated[tuple[ReplicaId, ...], Field(strict=False), NAMES_REPLICAS]
#: A table with the ids of replicas as its keys.
ByReplica = Annotated[dict[str, T], NAMES_REPLICAS]
Link = Annotated[
    str, spelled(r"[0-9]{1,2}(-|>)[0-9]{1,2}", "a link: '1-2' is cut both ways, '1>2' from 1 to 2 only")
]
TimerName = Literal[
    "election", "fetch", "check-quorum", "begin-quorum-epoch", "voter-change", "update-voter", "linger"
]
AdminStep = Annotated[
    str,
    spelled(
        r"(add|remove) [0-9]{1,2}(/[a-z0-9-]{1,20})?|(upgrade|downgrade) kraft\.version"
        r"|add [0-9]{1,2}(/[a-z0-9-]{1,20})? ack-when-appended"
        r"|alter ([0-9]{1,2}(,[0-9]{1,2}){0,6}|cancel)",
        "a step: 'add 4', 'remove 3', 'remove 3/d3-2', 'upgrade kraft.version', 'alter 4,5,6', ...",
    ),
]
#: What ``bounds.max-epoch`` may be at most.
LARGEST_EPOCH = 20
#: The names that scenarios of replicas may use; each legal transition is a goal.
NAMES = PropertyNames("replicas", lambda: {row.goal for row in load().transitions})
#: Properties of states and steps.
Named = Listed[Annotated[str, AfterValidator(NAMES.of_states)]]


def _known_exit(name: str) -> str:
    known = [each.finding for each in KNOWN]
    if name in known:
        return name
    alike = [each.finding for each in KNOWN if each.reason.value == name]
    if alike:
        raise ValueError(f"'{name}' is a reason, which findings share; give the finding: {one_of(alike)}")
    near = did_you_mean(name, known) or f"; the findings are {', '.join(known)}"
    raise ValueError(f"'{printable(name[:60])}' is no finding in which a process exits{near}")


ExitName = Annotated[str, AfterValidator(_known_exit)]
StateGoal = Literal[
    "a-leader",
    "no-leader-of-epoch-1",
    "all-follow-one-leader",
    "no-outdated-voter",
    "no-leader-outside-voters",
    "no-change-pending",
    "no-alteration-pending",
    "all-caught-up",
    "high-watermark-known",
    "no-stale-leader",
    "no-append-waits",
    "all-described",
]


class ProtocolChoice(Table):
    """A preset and switches that differ from it: ``set`` for all replicas, ``at`` for single ones."""

    preset: Literal[
        "kafka",
        "kafka-3.9",
        "kafka-4.0",
        "kafka-4.1",
        "kafka-4.2",
        "kafka-4.3",
        "kafka-4.4",
        "kafka-trunk",
        "kip996",
        "kip853",
        "kip595",
    ] = "kafka"
    set: dict[str, str | bool | int] = Field(default={})
    at: ByReplica[dict[str, str | bool | int]] = Field(default={})


class Replicas(Table):
    """The participants. Replicas have directory ids where the voter set may change, that is with ``dynamic``
    (kraft.version 1) or ``upgradable`` (0, and every process supports 1).
    """

    voters: Annotated[ReplicaIds, Field(min_length=1, max_length=7, examples=[[1, 2, 3]])]
    observers: Annotated[ReplicaIds, Field(max_length=4)] = ()
    views: ByReplica[Annotated[ReplicaIds, Field(min_length=1, max_length=7)]] = Field(default={})
    initial: ByReplica[str] = Field(default={})
    disks: ByReplica[str] = Field(default={})
    stopped: ReplicaIds = ()
    dynamic: bool = False
    upgradable: bool = False
    joining: Annotated[ReplicaIds, Field(max_length=4)] = ()
    with_checkpoint: ReplicaIds = ()
    auto_join: ReplicaIds = ()
    bootstrap_servers: ReplicaIds = ()
    initial_leader: Annotated[ReplicaId | None, NAMES_REPLICAS] = None
    fresh: ReplicaIds = ()
    older: ReplicaIds = ()
    moved: ReplicaIds = ()
    misadvertised: ReplicaIds = ()
    second_listener: ReplicaIds = ()
    newer_disk: ReplicaIds = ()
    zero_directory: ReplicaIds = ()

    @property
    def changing(self) -> bool:
        """Whether the voter set may change: it is in the log, or may get there."""
        return self.dynamic or self.upgradable

    @property
    def everybody(self) -> tuple[int, ...]:
        """All replicas, in the order of their components."""
        return (*self.voters, *self.joining, *self.observers)


class Admin(Table):
    """The requests of the admin client to leaders; ``describes``: and DescribeQuorum to every replica."""

    steps: Annotated[Listed[AdminStep], Field(max_length=8)] = ()
    order: Literal["listed", "any"] = "listed"
    at: ReplicaIds = ()
    describes: bool = False

    @property
    def alters(self) -> bool:
        """Whether voters change by AlterQuorum."""
        return any(step.startswith("alter ") for step in self.steps)


class NetworkChoice(scenario.NetworkChoice):
    """The network between replicas."""

    cut: Listed[Link] = ()
    forgotten: Literal["stay", "lost"] = "stay"
    idle_answers: Literal["in-flight", "left-out"] = "in-flight"
    no_pre_vote: ReplicaIds = ()
    without_endpoints: ReplicaIds = ()
    addresses: Literal["ignored", "known"] = "ignored"


class EnvironmentChoice(Table):
    """The events without messages, and the choices that the environment has in them."""

    timers: Listed[TimerName] = ("election", "fetch")
    timers_at: ByReplica[Listed[TimerName]] = Field(default={})
    expiry: Literal["any", "armed"] = "any"
    timely: bool = False
    discovery: bool = False
    delayed_fetches: bool = False
    late_reads: bool = False
    append_size: Annotated[int, Field(ge=1, le=3)] = 1
    late_calls: bool = False
    power_loss: bool = True
    write_back: bool = False
    boundaries: bool = True
    sends: Literal["listed", "any-order"] = "listed"
    crashes_at: ReplicaIds = ()
    wipes_at: ReplicaIds = ()
    moves_at: ReplicaIds = ()
    snapshots: Literal["committed", "any"] = "committed"
    snapshot_size: Annotated[int, Field(ge=1, le=9)] = 1
    snapshot_prefix: Literal["deleted", "kept"] = "deleted"
    tick: Annotated[int, Field(ge=1, le=3_600_000)] = 1
    clock: Literal["forward", "any"] = "forward"


class Budgets(scenario.Budgets):
    """How often the environment may do something; 0: never. ``timers`` bounds all timer expirations together;
    without it they are unbounded. Without ``ticks`` there are no clocks.
    """

    appends: Budget = 0
    crashes: Budget = 0
    timeouts: Budget = 0
    resigns: Budget = 0
    shutdowns: Budget = 0
    duplicates: Budget = 0
    admin: Budget = 0
    wipes: Budget = 0
    restores: Budget = 0
    moves: Budget = 0
    snapshots: Budget = 0
    ticks: Budget = 0
    timers: Budget | None = None


class Bounds(Table):
    """State constraints."""

    max_epoch: Annotated[int, Field(ge=1, le=LARGEST_EPOCH)] = 1


class Eventually(scenario.Eventually):
    """An *eventually* property of replicas."""

    property: Annotated[str, AfterValidator(NAMES.of_behaviours), Field(examples=["LeaderEventuallyElected"])]
    goal: Annotated[
        Literal[StateGoal, "leadership-settled", "leadership-stays"], Field(examples=["a-leader"])
    ]
    when: StateGoal | None = None

    @model_validator(mode="after")
    def _has_a_form(self) -> Eventually:
        goals = NAMES.eventually[self.property]
        if self.goal not in goals:
            raise ValueError(
                f"goal '{self.goal}' does not say what {self.property} means; that is {one_of(goals)}"
            )
        if self.goal == "leadership-stays" and self.form != "always-eventually":
            raise ValueError("leadership-stays has one form only; leave form out")
        return self


class Check(scenario.Check):
    """The properties to judge; ``initial_prefix``: also in the run that leads to ``initial-leader``."""

    ignore_fatal: Listed[ExitName] = ()
    properties: Named = ()
    only: Named = ()
    without: Named = ()
    goals: Listed[Annotated[str, AfterValidator(NAMES.goal)]] = ()
    eventually: Listed[Eventually] = ()
    initial_prefix: bool = True


class KRaftScenario(Scenario):
    """A scenario of replicas."""

    order = (
        "name", "about", "source", "tags", "protocol", "replicas", "network", "environment", "admin",
        "budgets", "bounds", "check", "reduction", "expect",
    )  # fmt: skip

    protocol: ProtocolChoice = ProtocolChoice()
    replicas: Annotated[Replicas, Field(examples=["{ voters = [1, 2, 3] }"])]
    network: NetworkChoice = NetworkChoice()
    environment: EnvironmentChoice = EnvironmentChoice()
    admin: Admin = Admin()
    budgets: Budgets = Budgets()
    bounds: Bounds = Bounds()
    check: Check = Check()

    @property
    def named(self) -> dict[str, Iterable[int | str]]:
        """The keys that name replicas, in a list or as the keys of a table, with the names."""
        found: dict[str, Iterable[int | str]] = {}
        for table, content in self:
            fields = type(content).model_fields if isinstance(content, Table) else {}
            for name, field in fields.items():
                if NAMES_REPLICAS in field.metadata:
                    value = getattr(content, name)
                    names = value if isinstance(value, dict | tuple) else () if value is None else (value,)
                    found[f"{table}.{name.replace('_', '-')}"] = names
        return found

    @property
    def all_timers(self) -> set[str]:
        """The timers that may expire at some replica."""
        return {*self.environment.timers}.union(*self.environment.timers_at.values())

    @model_validator(mode="after")
    def _budgets_are_spent(self) -> KRaftScenario:
        """Keys that specify how a budget is spent require that budget."""
        environment, budgets = self.environment, self.budgets
        if not budgets.ticks and (environment.tick != 1 or environment.clock != "forward"):
            raise ValueError("environment.tick, clock: no clock runs without budgets.ticks")
        if environment.append_size > 1 and not budgets.appends:
            raise ValueError("environment.append-size: there are no budgets.appends")
        if environment.late_calls and not (budgets.appends or budgets.resigns):
            raise ValueError("environment.late-calls: there are no budgets.appends or budgets.resigns")
        if environment.wipes_at and not budgets.wipes:
            raise ValueError("environment.wipes-at: there are no budgets.wipes to spend there")
        if environment.moves_at and not budgets.moves:
            raise ValueError("environment.moves-at: there are no budgets.moves to spend there")
        return self


def of_replicas(chosen: Scenario, what: str) -> KRaftScenario:
    """``chosen``, which must be a scenario of replicas; ``what`` is the feature that needs one. Raises
    InputError.
    """
    if not isinstance(chosen, KRaftScenario):
        raise InputError(
            f"{chosen.file}: this is no scenario of replicas, which {what} needs; choose one that has the "
            "table [replicas]."
        )
    return chosen


def shipped() -> dict[str, KRaftScenario]:
    """The scenarios of replicas that come with the package, by name, in alphabetical order."""
    return {name: each for name, each in scenario.shipped().items() if isinstance(each, KRaftScenario)}
