"""Scenario files: what to explore, within which bounds, and the verdict that is expected.

A scenario is a TOML file; ``docs/scenarios.md`` describes every key. Files are hostile until parsed: an
unknown key, a value out of range or a file that is not TOML raises :class:`InputError
<model_check.errors.InputError>` with one sentence that names the file and the key.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from model_check.errors import InputError
from model_check.files import read_text
from model_check.validation import parse_toml, validated

MAX_FILE_BYTES = 1_000_000
#: What to do about a bad scenario file.
HINT = "see docs/scenarios.md"

ReplicaId = Annotated[int, Field(ge=0, le=99)]
Budget = Annotated[int, Field(ge=0, le=50)]
Link = Annotated[str, StringConstraints(pattern=r"^\d{1,2}(-|>)\d{1,2}$")]
TimerName = Literal["election", "fetch", "check-quorum", "begin-quorum-epoch", "voter-change", "update-voter"]
AdminStep = Annotated[
    str,
    StringConstraints(
        pattern=r"^((add|remove) \d{1,2}(/[a-z0-9-]{1,20})?|(upgrade|downgrade) kraft\.version"
        r"|add \d{1,2}(/[a-z0-9-]{1,20})? ack-when-appended"
        r"|alter (\d{1,2}(,\d{1,2}){0,6}|cancel))$"
    ),
]
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
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ProtocolChoice(_Table):
    """A preset and switches that differ from it: ``set`` for all replicas, ``at`` for single ones."""

    preset: Literal["kafka", "kip996", "kip853", "kip595"] = "kafka"
    set: dict[str, str | bool | int] = {}
    at: dict[str, dict[str, str | bool | int]] = {}


class Replicas(_Table):
    """Who takes part. ``views`` gives a replica a voter set of its own (a voter that was removed and has not
    heard of it); ``initial`` starts a replica in a state given in short form instead of its first start.
    ``dynamic``: kraft.version 1: voters begin with a checkpoint that holds the voter set, observers with
    nothing, and the voters are the bootstrap servers of all unless ``bootstrap-servers`` names others.
    ``upgradable``: kraft.version 0, and every process supports 1. In both cases replicas have directory ids.

    ``joining``: controllers that are no voters yet; ``with-checkpoint``: those of them that begin with the
    voters' checkpoint; ``auto-join``: those that make themselves voters. ``led-by``: all replicas but the
    ``fresh`` ones begin where a run without faults has brought them, with this leader of epoch 1.
    ``older``: those whose process supports kraft.version 0 only; ``moved``: those that listen elsewhere than
    the voter set says.
    """

    voters: Annotated[tuple[ReplicaId, ...], Field(min_length=1, max_length=7, strict=False)]
    observers: Annotated[tuple[ReplicaId, ...], Field(max_length=4, strict=False)] = ()
    views: dict[str, Annotated[tuple[ReplicaId, ...], Field(strict=False)]] = {}
    initial: dict[str, str] = {}
    stopped: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    dynamic: bool = False
    upgradable: bool = False
    joining: Annotated[tuple[ReplicaId, ...], Field(max_length=4, strict=False)] = ()
    with_checkpoint: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="with-checkpoint")] = ()
    auto_join: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="auto-join")] = ()
    bootstrap_servers: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="bootstrap-servers")] = ()
    led_by: Annotated[ReplicaId | None, Field(alias="led-by")] = None
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


class Admin(_Table):
    """What the administrator asks of leaders: ``steps`` such as "add 4", "remove 3/d3-2", "upgrade
    kraft.version", "downgrade kraft.version". ``order``: "listed": the first step that the leader's voter set
    does not show as done, when a change can begin; "any": any step at any time. ``at``: which leaders are
    asked (all, unless it is given). "add 4 ack-when-appended" asks for the answer before the commit
    (KIP-1186). "alter 4,5,6" and "alter cancel" are AlterQuorum requests of KIP-595.
    ``describes``: every replica is asked DescribeQuorum in every state, which costs nothing.
    """

    steps: Annotated[tuple[AdminStep, ...], Field(max_length=8, strict=False)] = ()
    order: Literal["listed", "any"] = "listed"
    at: Annotated[tuple[ReplicaId, ...], Field(strict=False)] = ()
    describes: bool = False

    @property
    def alters(self) -> bool:
        """Whether voters change by AlterQuorum."""
        return any(step.startswith("alter ") for step in self.steps)


class NetworkChoice(_Table):
    """The network: ``capacity`` messages in flight at most; ``cut`` links ("1-2" both ways, "1>2" one way);
    ``no-pre-vote`` replicas that do not know pre-vote; ``forgotten``: whether requests that their sender has
    forgotten stay in flight or are lost at once. ``idle-answers``: whether answers that tell nothing are
    modelled (see :mod:`model_check.kraft.idle`).
    """

    capacity: Annotated[int, Field(ge=1, le=12)] = 4
    loss: Literal["never", "when-full", "always"] = "when-full"
    cut: Annotated[tuple[Link, ...], Field(strict=False)] = ()
    forgotten: Literal["stay", "lost"] = "stay"
    idle_answers: Annotated[Literal["in-flight", "left-out"], Field(alias="idle-answers")] = "in-flight"
    no_pre_vote: Annotated[tuple[ReplicaId, ...], Field(strict=False, alias="no-pre-vote")] = ()


class EnvironmentChoice(_Table):
    """What happens without messages. ``timers``: which may expire, ``timers-at``: at single replicas;
    ``timely``: a fetch timer expires only where the leader's link is cut; ``discovery``: replicas without a
    leader fetch from any voter; ``parking``: fetches wait at the leader; ``power-loss``: a crash may lose the
    unflushed tail; ``write-back``: what a dead process wrote is on the disk before its successor runs;
    ``boundaries``: a crash may fall between the effects of a step; ``sends``: requests that a step sends to
    several replicas go out in the order of the voter set, or in any; ``crashes-at``: which processes may
    crash, ``wipes-at``: whose disks may be replaced by empty ones (all, unless it is given); ``snapshots``:
    whether state machines ask for them at their high watermark, or for any; ``snapshot-size``: in bytes;
    ``snapshot-prefix``: what becomes of the records that a snapshot stands for. ``tick``: by how many ms the
    clock of a leader moves at a time, where ``budgets.ticks`` lets clocks run; ``clock``: whether it only
    goes forward or may be set back as well.
    """

    timers: Annotated[tuple[TimerName, ...], Field(strict=False)] = ("election", "fetch")
    timers_at: Annotated[
        dict[str, Annotated[tuple[TimerName, ...], Field(strict=False)]], Field(alias="timers-at")
    ] = {}
    timely: bool = False
    discovery: bool = False
    parking: bool = False
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


class Budgets(_Table):
    """How often the environment may do something; 0: never. ``timers`` bounds all timer expirations
    together; without it they are unbounded. ``admin`` bounds the administrator's requests, ``wipes`` the
    disks that are replaced by empty ones, ``restores`` those that are put back in, ``snapshots`` the
    snapshots that state machines write, ``ticks`` the times that the clock of a leader moves; without it
    there are no clocks.
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


class Bounds(_Table):
    """State constraints."""

    max_epoch: Annotated[int, Field(ge=1, le=20, alias="max-epoch")] = 1


class Fairness(_Table):
    """Which actions happen for ever if they stay possible (``weak``) or are possible again and again
    (``strong``): ``deliveries`` per link and kind of message, ``timers`` per replica and timer.
    """

    deliveries: Literal["weak", "strong", "none"] = "strong"
    timers: Literal["weak", "strong", "none"] = "strong"


class Eventually(_Table):
    """An *eventually* property. ``form``: that ``goal`` is reached sooner or later from every state on, from
    the first one, or from each that satisfies ``when`` on; or that it can be from every state.
    """

    property: str
    goal: StateGoal | Literal["leadership-settled", "leadership-stays"]
    form: Literal["always-eventually", "eventually", "leads-to", "recoverable"] = "always-eventually"
    when: StateGoal | None = None
    fairness: Fairness = Fairness()

    @model_validator(mode="after")
    def _coherent(self) -> Eventually:
        if (self.form == "leads-to") != (self.when is not None):
            raise ValueError("when goes with the form 'leads-to', which needs it")
        if self.goal == "leadership-stays" and self.form != "always-eventually":
            raise ValueError("leadership-stays has one form only; leave form out")
        return self


class Check(_Table):
    """What is judged: ``properties`` beyond the default ones, or ``only`` these; ``without`` those
    that a finding shows to be violated; ``goals`` to be reached,
    transitions written as "Follower->Prospective"; ``eventually`` properties. ``known-deaths``: parts of
    the reasons of which a process may die without that being judged again, as a finding shows it already.
    ``prelude``: whether the run that leads to ``led-by`` is judged as well.
    """

    properties: Annotated[tuple[str, ...], Field(strict=False)] = ()
    only: Annotated[tuple[str, ...], Field(strict=False)] = ()
    without: Annotated[tuple[str, ...], Field(strict=False)] = ()
    goals: Annotated[tuple[str, ...], Field(strict=False)] = ()
    known_deaths: Annotated[tuple[Text, ...], Field(strict=False, alias="known-deaths")] = ()
    eventually: Annotated[tuple[Eventually, ...], Field(strict=False)] = ()
    prelude: bool = True

    @model_validator(mode="after")
    def _coherent(self) -> Check:
        for name in self.without:
            if name in (*self.only, *self.properties):
                raise ValueError(f"without: '{name}' is asked for in only or properties; choose one")
        return self


class Reduction(_Table):
    """Which states are left out because others stand for them. ``symmetry``: those that differ from another
    only in which of the voters is which that nothing in the scenario tells apart. ``epochs``: with "relative"
    *eventually* properties are judged up to how many elections there have been.
    """

    symmetry: bool = False
    epochs: Literal["absolute", "relative"] = "absolute"


class Expected(_Table):
    """The expected verdict; of a violation also the properties, and optionally the number of its steps.
    ``states`` pins the exact number of distinct states, those included for which others stand. ``covers``:
    what some step that is taken must exercise ("rule VOTE-10", see :mod:`model_check.coverage.items`).
    """

    verdict: Literal["holds", "violated"]
    violates: Annotated[tuple[str, ...], Field(strict=False)] = ()
    steps: Annotated[int, Field(ge=0)] | None = None
    states: Annotated[int, Field(ge=1)] | None = None
    covers: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _coherent(self) -> Expected:
        if self.verdict == "holds" and (self.violates or self.steps is not None):
            raise ValueError("violates and steps go with the verdict 'violated' only")
        if self.verdict == "violated" and (not self.violates or self.states is not None):
            raise ValueError("the verdict 'violated' needs violates, and states goes with 'holds' only")
        return self


class Scenario(_Table):
    """A scenario file."""

    name: Name
    about: Text
    source: Annotated[tuple[str, ...], Field(strict=False)] = ()
    tags: Annotated[
        tuple[Literal["ci", "twin", "nightly", "bench", "mutants", "finding"], ...], Field(strict=False)
    ] = ()
    protocol: ProtocolChoice = ProtocolChoice()
    replicas: Replicas
    network: NetworkChoice = NetworkChoice()
    environment: EnvironmentChoice = EnvironmentChoice()
    admin: Admin = Admin()
    budgets: Budgets = Budgets()
    bounds: Bounds = Bounds()
    check: Check = Check()
    reduction: Reduction = Reduction()
    expect: Expected
    _file: str = PrivateAttr("")

    @model_validator(mode="after")
    def _coherent(self) -> Scenario:
        """What says how a budget is spent goes with one."""
        environment, budgets = self.environment, self.budgets
        if not budgets.ticks and (environment.tick != 1 or environment.clock != "forward"):
            raise ValueError("environment.tick, clock: no clock runs without budgets.ticks")
        if environment.wipes_at and not budgets.wipes:
            raise ValueError("environment.wipes-at: there are no budgets.wipes to spend there")
        return self

    @property
    def file(self) -> str:
        """What errors call this scenario: the file that it was read from."""
        return self._file or self.name

    def __eq__(self, other: object) -> bool:
        """Two scenarios are equal if they say the same, wherever they were read."""
        return isinstance(other, Scenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.name)


def parse(text: str, where: str) -> Scenario:
    """A scenario from the text of a file called ``where``. Raises InputError."""
    return from_data(parse_toml(text, where, HINT), where)


def from_data(data: dict[str, Any], where: str) -> Scenario:
    """A scenario from parsed TOML or JSON. Raises InputError."""
    scenario = validated(Scenario, data, where, HINT)
    scenario._file = where
    return scenario


def load(path: Path) -> Scenario:
    """The scenario in the file ``path``. Raises InputError."""
    return parse(read_text(path, "a scenario file", most=MAX_FILE_BYTES), str(path))


def shipped() -> dict[str, Scenario]:
    """The scenarios that come with the package, by name, in alphabetical order."""
    folder = resources.files("model_check") / "scenarios"
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            scenario = parse(entry.read_text(encoding="utf-8"), entry.name)
            found[scenario.name] = scenario
    return found


def find(word: str) -> Scenario:
    """The shipped scenario called ``word``, or the one in the file ``word``. Raises InputError."""
    known = shipped()
    if word in known:
        return known[word]
    if "/" in word or word.endswith(".toml") or Path(word).exists():
        return load(Path(word))
    raise InputError(f"there is no scenario '{word}'; 'kraftcheck check --list' lists them.")
