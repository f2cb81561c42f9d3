"""The tables of a scenario of replicas: the participants, the events of the environment, and its budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from kraftcheck.reference.fatal import FatalReason
from kraftcheck.support.closest import did_you_mean, one_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable
from kraftcheck.support.validation import spelled
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.names import NAMES
from kraftcheck.systems.scenario import Budget, Scenario, Table

ReplicaId = Annotated[int, Field(ge=0, le=99)]
Link = Annotated[
    str, spelled(r"[0-9]{1,2}(-|>)[0-9]{1,2}", "a link: '1-2' is cut both ways, '1>2' from 1 to 2 only")
]
TimerName = Literal["election", "fetch", "check-quorum", "begin-quorum-epoch", "voter-change", "update-voter"]
AdminStep = Annotated[
    str,
    spelled(
        r"(add|remove) [0-9]{1,2}(/[a-z0-9-]{1,20})?|(upgrade|downgrade) kraft\.version"
        r"|add [0-9]{1,2}(/[a-z0-9-]{1,20})? ack-when-appended"
        r"|alter ([0-9]{1,2}(,[0-9]{1,2}){0,6}|cancel)",
        "a step: 'add 4', 'remove 3', 'remove 3/d3-2', 'upgrade kraft.version', 'alter 4,5,6', ...",
    ),
]
#: Properties of states and steps.
Named = Annotated[
    tuple[Annotated[str, AfterValidator(NAMES.of_states)], ...],
    Field(strict=False),
]


def _fatal_reason(name: str) -> str:
    known = [reason.value for reason in FatalReason]
    if name in known:
        return name
    near = did_you_mean(name, known) or "; docs/reference.md lists them"
    raise ValueError(f"'{printable(name[:60])}' is no reason for which a process exits{near}")


FatalName = Annotated[str, AfterValidator(_fatal_reason)]
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
]


class ProtocolChoice(Table):
    """A preset and switches that differ from it: ``set`` for all replicas, ``at`` for single ones."""

    preset: Literal["kafka", "kip996", "kip853", "kip595"] = "kafka"
    set: dict[str, str | bool | int] = Field(default={})
    at: dict[str, dict[str, str | bool | int]] = Field(default={})


class Replicas(Table):
    """The participants. ``views`` gives a replica a voter set of its own (a voter that was removed and has
    not heard of it); ``initial`` starts a replica in a state given in short form instead of its first start.
    ``dynamic``: kraft.version 1: voters begin with a checkpoint that holds the voter set, observers with
    nothing, and the voters are the bootstrap servers of all unless ``bootstrap-servers`` names others.
    ``upgradable``: kraft.version 0, and every process supports 1. In both cases replicas have directory ids.

    ``joining``: controllers that are no voters yet; ``with-checkpoint``: those of them that begin with the
    voters' checkpoint; ``auto-join``: those that make themselves voters. ``initial-leader``: all replicas but
    the ``fresh`` ones begin in the state after a run without faults, with this leader of epoch 1. ``older``:
    those whose process supports kraft.version 0 only; ``moved``: those whose endpoints differ from the ones
    in the voter set.
    """

    voters: Annotated[
        tuple[ReplicaId, ...], Field(min_length=1, max_length=7, strict=False, examples=[[1, 2, 3]])
    ]
    observers: Annotated[tuple[ReplicaId, ...], Field(max_length=4, strict=False)] = ()
    views: dict[str, Annotated[tuple[ReplicaId, ...], Field(min_length=1, max_length=7, strict=False)]] = (
        Field(default={})
    )
    initial: dict[str, str] = Field(default={})
    stopped: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    dynamic: bool = False
    upgradable: bool = False
    joining: Annotated[tuple[ReplicaId, ...], Field(max_length=4, strict=False)] = ()
    with_checkpoint: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="with-checkpoint")] = ()
    auto_join: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="auto-join")] = ()
    bootstrap_servers: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="bootstrap-servers")] = ()
    initial_leader: Annotated[ReplicaId | None, Field(alias="initial-leader")] = None
    fresh: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    older: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    moved: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()

    @property
    def changing(self) -> bool:
        """Whether the voter set may change: it is in the log, or may get there."""
        return self.dynamic or self.upgradable

    @property
    def everybody(self) -> tuple[int, ...]:
        """All replicas, in the order of their components."""
        return (*self.voters, *self.joining, *self.observers)


class Admin(Table):
    """The requests of the admin client to leaders: ``steps`` such as "add 4", "remove 3/d3-2", "upgrade
    kraft.version", "downgrade kraft.version". ``order``: "listed": the first step that the leader's voter set
    does not show as done, when a change can begin; "any": any step at any time. ``at``: the leaders that
    receive them (by default all). "add 4 ack-when-appended" asks for the answer before the commit (KIP-1186).
    "alter 4,5,6" and "alter cancel" are AlterQuorum requests of KIP-595. ``describes``: the admin client
    sends DescribeQuorum to every replica in every state; that spends no budget.
    """

    steps: Annotated[tuple[AdminStep, ...], Field(max_length=8, strict=False)] = ()
    order: Literal["listed", "any"] = "listed"
    at: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    describes: bool = False

    @property
    def alters(self) -> bool:
        """Whether voters change by AlterQuorum."""
        return any(step.startswith("alter ") for step in self.steps)


class NetworkChoice(scenario.NetworkChoice):
    """The network: ``cut`` links ("1-2" both ways, "1>2" one way); ``no-pre-vote`` replicas that do not know
    pre-vote; ``forgotten``: whether requests that their sender has forgotten stay in flight or are lost at
    once. ``idle-answers``: whether answers without new information are modelled (see
    :mod:`kraftcheck.systems.kraft.reductions`).
    """

    cut: Annotated[tuple[Link, ...], Field(strict=False)] = ()
    forgotten: Literal["stay", "lost"] = "stay"
    idle_answers: Annotated[Literal["in-flight", "left-out"], Field(alias="idle-answers")] = "in-flight"
    no_pre_vote: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="no-pre-vote")] = ()


class EnvironmentChoice(Table):
    """The events without messages. ``timers``: which may expire, ``timers-at``: at single replicas;
    ``timely``: a fetch timer expires only where the leader's link is cut; ``discovery``: replicas without a
    leader fetch from any voter; ``delayed-fetches``: a fetch that finds nothing waits at the leader;
    ``power-loss``: a crash may lose the unflushed tail; ``write-back``: the writes of a crashed process are
    on the disk before its successor runs; ``boundaries``: a crash may fall between the effects of a step;
    ``sends``: requests that a step sends to several replicas go out in the order of the voter set, or in any;
    ``crashes-at``: the processes that may crash, ``wipes-at``: the replicas whose disks may be replaced by
    empty ones (by default all); ``snapshots``: whether state machines ask for them at their high watermark,
    or for any; ``snapshot-size``: in bytes; ``snapshot-prefix``: the fate of the records that a snapshot
    replaces. ``tick``: the ms by which the clock of a leader moves at a time, where ``budgets.ticks`` lets
    clocks run; ``clock``: whether it only goes forward or may also be set back.
    """

    timers: Annotated[tuple[TimerName, ...], Field(strict=False)] = ("election", "fetch")
    timers_at: Annotated[
        dict[str, Annotated[tuple[TimerName, ...], Field(strict=False)]], Field(alias="timers-at")
    ] = Field(default={})
    timely: bool = False
    discovery: bool = False
    delayed_fetches: Annotated[bool, Field(alias="delayed-fetches")] = False
    power_loss: Annotated[bool, Field(alias="power-loss")] = True
    write_back: Annotated[bool, Field(alias="write-back")] = False
    boundaries: bool = True
    sends: Literal["listed", "any-order"] = "listed"
    crashes_at: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="crashes-at")] = ()
    wipes_at: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="wipes-at")] = ()
    snapshots: Literal["committed", "any"] = "committed"
    snapshot_size: Annotated[int, Field(ge=1, le=9, alias="snapshot-size")] = 1
    snapshot_prefix: Annotated[Literal["deleted", "kept"], Field(alias="snapshot-prefix")] = "deleted"
    tick: Annotated[int, Field(ge=1, le=3_600_000)] = 1
    clock: Literal["forward", "any"] = "forward"


class Budgets(scenario.Budgets):
    """How often the environment may do something; 0: never. ``timers`` bounds all timer expirations together;
    without it they are unbounded. ``admin`` bounds the admin client's requests, ``wipes`` the disks that are
    replaced by empty ones, ``restores`` those that are put back in, ``snapshots`` the snapshots that state
    machines write, ``ticks`` the times that the clock of a leader moves; without it there are no clocks.
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
    snapshots: Budget = 0
    ticks: Budget = 0
    timers: Budget | None = None


class Bounds(Table):
    """State constraints."""

    max_epoch: Annotated[int, Field(ge=1, le=20, alias="max-epoch")] = 1


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
    """The properties to judge. ``ignore-fatal``: reasons for which a process may exit without a new
    violation, as a finding shows them already. ``initial-prefix``: whether the run that leads to
    ``initial-leader`` is judged too.
    """

    ignore_fatal: Annotated[tuple[FatalName, ...], Field(strict=False, alias="ignore-fatal")] = ()
    properties: Named = ()
    only: Named = ()
    without: Named = ()
    goals: Annotated[tuple[Annotated[str, AfterValidator(NAMES.goal)], ...], Field(strict=False)] = ()
    eventually: Annotated[tuple[Eventually, ...], Field(strict=False)] = ()
    initial_prefix: Annotated[bool, Field(alias="initial-prefix")] = True


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

    @model_validator(mode="after")
    def _budgets_are_spent(self) -> KRaftScenario:
        """Keys that specify how a budget is spent require that budget."""
        environment, budgets = self.environment, self.budgets
        if not budgets.ticks and (environment.tick != 1 or environment.clock != "forward"):
            raise ValueError("environment.tick, clock: no clock runs without budgets.ticks")
        if environment.wipes_at and not budgets.wipes:
            raise ValueError("environment.wipes-at: there are no budgets.wipes to spend there")
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
