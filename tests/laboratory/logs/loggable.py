"""What a node writes to its log of a step of the reference: which lines, not yet how a release words them.

Which effect shows in which line is that of org.apache.kafka.raft: KafkaRaftClient, QuorumState, LeaderState,
FollowerState, internals.KRaftControlRecordStateMachine; the order is that of recorded runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendBatch,
    Effect,
    Fatal,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    Stop,
    Transition,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import Batch, KRaftVersion, Log, Voters
from kraftcheck.reference.messages import VoteRequest, VoteResponse
from kraftcheck.reference.replica import Candidate, Leader, Prospective, QuorumState, Replica
from tests.laboratory.logs.render import Drawn
from tests.laboratory.logs.simulated import Step

#: The election timeout that an observer prints: it never ends.
FOREVER: Final = (1 << 63) - 1
_FETCH_TIMEOUT: Final = 2000
#: What is only said.
SHUTS_DOWN: Final = "begins a graceful shutdown"
STOPPED: Final = "has shut down"
FETCHED_BACK: Final = "a replica has fetched at a smaller offset than before"


@dataclass(frozen=True, slots=True)
class Begins:
    """A process begins. ``loads``: the end of the snapshot that it reads, 0 of the bootstrap checkpoint, None
    without one. ``read``: the control records that it reads, with their offsets: a version or voters.
    """

    loads: int | None
    read: tuple[Reads, ...]
    voters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """A control record is read at ``offset``: ``voters``, or ``version`` of kraft.version."""

    offset: int
    voters: tuple[int, ...] | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Attempts:
    """A change to ``new`` is about to be stored; the process may end before it is."""

    new: Drawn
    granted: frozenset[int]
    """Those that the state before has the votes of."""


@dataclass(frozen=True, slots=True)
class Becomes:
    """The state is ``new`` now; ``attempted``: the change was stored first."""

    new: Drawn
    granted: frozenset[int]
    attempted: bool


@dataclass(frozen=True, slots=True)
class Commits:
    """The high watermark is ``offset``; ``ends``: those of the voters' logs, as a leader knows them."""

    offset: int
    ends: tuple[tuple[int, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """A vote, or a pre-vote, is granted or rejected; ``last``: epoch and end of the log of the candidate."""

    candidate: int
    last: tuple[int, int]
    pre_vote: bool
    granted: bool


@dataclass(frozen=True, slots=True)
class Appends:
    """The log ends at ``end`` now, its last record of ``epoch``; ``base``: where a leader appended."""

    end: int
    epoch: int
    base: int | None


@dataclass(frozen=True, slots=True)
class Truncates:
    """The log ends at ``offset`` now, as ``leader`` said."""

    offset: int
    leader: int


@dataclass(frozen=True, slots=True)
class Loads:
    """A snapshot that ends at ``offset``, with a last record of ``epoch``, came from ``leader``."""

    offset: int
    epoch: int
    leader: int


@dataclass(frozen=True, slots=True)
class Says:
    """One of the texts above."""

    what: str


@dataclass(frozen=True, slots=True)
class Dies:
    """The process ends by an error."""

    reason: str


Event = Begins | Reads | Attempts | Becomes | Commits | Answers | Appends | Truncates | Loads | Says | Dies


@dataclass(slots=True)
class _Telling:
    """A step while it is told: what is known half-way."""

    step: Step
    state: Drawn | None
    disk: Disk
    stored: QuorumState
    voted_apart: bool
    draw: Callable[[], int]
    attempting: bool = False
    """A change has been stored and not been made yet."""


def events_of(
    step: Step, state: Drawn | None, *, voted_apart: bool, draw: Callable[[], int]
) -> Iterator[Event]:
    """What the node of ``step``, in ``state`` so far, logs of it, in order.

    ``voted_apart``: Voted is a state of its own, as before release 3.9. ``draw`` gives an election timeout.
    """
    telling = _Telling(
        step, None if step.starts else state, step.disk, step.before.quorum_state, voted_apart, draw
    )
    if step.shuts_down:
        yield Says(SHUTS_DOWN)
    if step.starts:
        yield beginning(step.after, step.disk)
    if "FETCH-16" in step.rules:
        yield Says(FETCHED_BACK)
    for place, effect in enumerate(step.effects):
        if place >= step.completed:
            yield from _cut_off(telling, effect, place)
            return
        yield from _of_effect(telling, effect, place)
        telling.disk = disks.apply(telling.disk, effect)
        if isinstance(effect, AppendBatch):
            yield from _of_batch(telling, effect.batch, place)


def beginning(replica: Replica, disk: Disk) -> Begins:
    """What a process of ``replica`` logs of ``disk`` before it decides its role."""
    log = disks.as_found(disk).log
    bootstrap = replica.bootstrap_kraft_version > 0
    read: list[Reads] = []
    loads = log.snapshots[-1].id.end_offset if log.snapshots else (0 if bootstrap else None)
    if bootstrap and not log.snapshots:
        read += [Reads(-1, version=1), Reads(-1, _ids(replica.bootstrap_voters.ids))]
    read += sorted(
        (
            *(Reads(offset, version=version) for offset, version in log.kraft_versions),
            *(Reads(offset, _ids(voters.ids)) for offset, voters in log.voter_sets),
        ),
        key=lambda one: (one.offset, one.voters is not None),
    )
    return Begins(loads, tuple(read), _voters(replica, log))


def _ids(ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(ids))


def _voters(replica: Replica, log: Log) -> tuple[int, ...]:
    """The effective voters, committed or not."""
    return _ids(log.voter_sets[-1][1].ids if log.voter_sets else replica.bootstrap_voters.ids)


def _of_effect(telling: _Telling, effect: Effect, place: int) -> Iterator[Event]:
    if isinstance(effect, Persist):
        telling.stored, telling.attempting = effect.quorum_state, True
    elif isinstance(effect, Transition):
        yield _becomes(telling, effect)
    elif isinstance(effect, HighWatermark):
        yield Commits(effect.offset, _ends(telling))
    elif isinstance(effect, Truncate):
        yield Truncates(effect.offset, telling.step.source)
    elif isinstance(effect, LoadSnapshot):
        yield from _loads(telling, effect)
    elif isinstance(effect, Reply):
        yield from _answer(telling, effect)
    elif isinstance(effect, Stop):
        yield Says(STOPPED)
    elif isinstance(effect, Fatal):
        yield Dies(effect.sentence)


def _cut_off(telling: _Telling, effect: Effect, place: int) -> Iterator[Event]:
    """The process ended before ``effect``: it may have said that it attempts a change."""
    if isinstance(effect, Persist):
        telling.stored, telling.attempting = effect.quorum_state, True
    following = next((one for one in telling.step.effects[place:] if isinstance(one, Transition)), None)
    if telling.attempting and following is not None:
        yield Attempts(_drawn(telling, following), _granted(telling))


def _becomes(telling: _Telling, effect: Transition) -> Becomes:
    told = Becomes(_drawn(telling, effect), _granted(telling), telling.attempting)
    telling.state, telling.attempting = told.new, False
    return told


def _drawn(telling: _Telling, effect: Transition) -> Drawn:
    step, stored, log = telling.step, telling.stored, telling.disk.log
    voters = _voters(step.after, log)
    voted = None if stored.voted is None else stored.voted.id
    role = effect.target
    if role == "Unattached" and voted is not None and telling.voted_apart:
        role = "Voted"
    timeout = _FETCH_TIMEOUT if role == "Follower" else telling.draw()
    if role == "Unattached" and step.node not in voters:
        timeout = FOREVER
    asks = role in ("Prospective", "Candidate")
    return Drawn(
        role,
        step.node,
        effect.epoch,
        voters,
        leader=step.node if role in ("Leader", "Resigned") else stored.leader,
        voted=None if role in ("Leader", "Resigned") else voted,
        timeout=timeout,
        start=log.end_offset,
        granted=frozenset({step.node}) if asks else frozenset(),
    )


def _granted(telling: _Telling) -> frozenset[int]:
    """Those whose votes the state that is left has."""
    state, step = telling.state, telling.step
    if state is None or state.role not in ("Prospective", "Candidate"):
        return frozenset()
    known = state.granted
    role = step.before.role
    if isinstance(role, Prospective | Candidate) and telling.state is not None:
        same = type(role).__name__ == state.role and step.before.epoch == state.epoch
        known = frozenset(role.election.granted) if same else known
    if isinstance(step.message, VoteResponse) and step.message.granted:
        known |= {step.source} if isinstance(role, Prospective | Candidate) else frozenset()
    return known


def _ends(telling: _Telling) -> tuple[tuple[int, int | None], ...]:
    role = telling.step.after.role
    if telling.state is None or telling.state.role != "Leader":
        return ()
    assert isinstance(role, Leader), "a leader that commits and resigns in one step"
    return tuple((one.id, one.end_offset) for one in role.progress)


def _of_batch(telling: _Telling, batch: Batch, place: int) -> Iterator[Event]:
    leads = telling.state is not None and telling.state.role == "Leader"
    for offset, record in enumerate(batch.records, batch.base_offset):
        if isinstance(record, Voters):
            yield Reads(offset, _ids(record.voters.ids))
        elif isinstance(record, KRaftVersion):
            yield Reads(offset, version=record.version)
    effects = telling.step.effects
    last = place + 1 >= len(effects) or not isinstance(effects[place + 1], AppendBatch)
    if leads or last:
        yield Appends(batch.end_offset, batch.epoch, batch.base_offset if leads else None)


def _loads(telling: _Telling, effect: LoadSnapshot) -> Iterator[Event]:
    snapshot = effect.snapshot
    yield Loads(snapshot.id.end_offset, snapshot.id.epoch, telling.step.source)
    if snapshot.kraft_version:
        yield Reads(snapshot.id.end_offset - 1, version=snapshot.kraft_version)
    if snapshot.voters is not None:
        yield Reads(snapshot.id.end_offset - 1, _ids(snapshot.voters.ids))


def _answer(telling: _Telling, effect: Reply) -> Iterator[Event]:
    request, response = telling.step.message, effect.response
    if not isinstance(request, VoteRequest) or not isinstance(response, VoteResponse):
        return
    if ErrorCode.NONE == response.error == response.partition_error:
        last = (request.last_epoch, request.end_offset)
        yield Answers(request.candidate.id, last, request.pre_vote, response.granted)
