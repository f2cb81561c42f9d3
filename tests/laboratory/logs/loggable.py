"""Which lines a node writes of a step of the reference; `tests.laboratory.logs.fleet` words them.

Which effect shows in which line is that of org.apache.kafka.raft: KafkaRaftClient, QuorumState, LeaderState,
FollowerState, internals.KRaftControlRecordStateMachine; the order is that of recorded runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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
from kraftcheck.reference.replica import Candidate, Leader, Prospective, Replica
from tests.laboratory.logs.render import Drawn
from tests.laboratory.logs.simulated import Step

if TYPE_CHECKING:
    from tests.laboratory.logs.fleet import Cluster

#: The election timeout that an observer prints: it never ends.
FOREVER: Final = (1 << 63) - 1
_FETCH_TIMEOUT: Final = 2000


class Reads(NamedTuple):
    """A control record is read at ``offset``: ``voters``, or ``version`` of kraft.version."""

    offset: int
    voters: tuple[int, ...] | None = None
    version: int = 0


class Begins(NamedTuple):
    """A process begins. ``loads``: the end of the snapshot that it reads, 0 of the bootstrap checkpoint, None
    without one. ``read``: the control records that it reads, with their offsets: a version or voters.
    """

    loads: int | None
    read: tuple[Reads, ...]
    voters: tuple[int, ...]


class Told:
    """A step while its lines are written to ``log``: what is known half-way."""

    def __init__(self, log: Cluster, step: Step) -> None:
        self.log, self.step, self.node = log, step, step.node
        self.state = None if step.starts else log.states.get(step.node)
        self.disk, self.stored = step.disk, step.before.quorum_state
        self.attempting = False
        """A change has been stored and not been made yet."""

    def write(self) -> None:
        """Write the lines, in order."""
        log, step = self.log, self.step
        if step.shuts_down:
            log.say(self.node, "Beginning graceful shutdown")
        if step.starts:
            log.begins(self.node, beginning(step.after, step.disk))
        if "FETCH-16" in step.rules:
            log.say(self.node, "Detected non-monotonic update of fetch offset", "LeaderState", "WARN")
        for place, effect in enumerate(step.effects):
            if place >= step.completed:
                self._cut_off(effect, place)
                return
            self._effect(effect)
            self.disk = disks.apply(self.disk, effect)
            if isinstance(effect, AppendBatch):
                self._batch(effect.batch, place)

    def _effect(self, effect: Effect) -> None:
        log, node = self.log, self.node
        match effect:
            case Persist():
                self.stored, self.attempting = effect.quorum_state, True
            case Transition():
                self._transition(effect)
            case HighWatermark():
                ends = {voter: None if end is None else log.offset(end) for voter, end in self._ends()}
                log.high_watermark(node, log.offset(effect.offset), ends)
                log.heard.add(node)
            case Truncate():
                leader = self.step.source
                offset = log.offset(effect.offset)
                log.say(node, f"Truncated to offset {offset} from Fetch response from leader {leader}")
            case LoadSnapshot():
                self._load(effect)
            case Reply():
                self._answer(effect)
            case Stop():
                log.say(node, "Graceful shutdown completed")
            case Fatal():
                log.died.append(log.fail(node, effect.sentence))

    def _cut_off(self, effect: Effect, place: int) -> None:
        """The process ended before ``effect``: it may have said that it attempts a change."""
        if isinstance(effect, Persist):
            self.stored, self.attempting = effect.quorum_state, True
        following = next((one for one in self.step.effects[place:] if isinstance(one, Transition)), None)
        if self.attempting and following is not None:
            self.log.attempts(self.node, self._drawn(following), self._granted())

    def _transition(self, effect: Transition) -> None:
        new = self._drawn(effect)
        self.log.becomes(self.node, new, self._granted(), attempted=self.attempting)
        self.state, self.attempting = new, False

    def _drawn(self, effect: Transition) -> Drawn:
        step, stored, log = self.step, self.stored, self.disk.log
        voters = _voters(step.after, log)
        voted = None if stored.voted is None else stored.voted.id
        role = effect.target
        if role == "Unattached" and voted is not None and not self.log.since("3.9"):
            role = "Voted"
        timeout = _FETCH_TIMEOUT if role == "Follower" else self.log.timeout()
        if role == "Unattached" and step.node not in voters:
            timeout = FOREVER
        asks, leads = role in ("Prospective", "Candidate"), role in ("Leader", "Resigned")
        return Drawn(
            role,
            step.node,
            effect.epoch,
            voters,
            leader=step.node if leads else stored.leader,
            voted=None if leads else voted,
            timeout=timeout,
            start=log.end_offset,
            granted=frozenset({step.node}) if asks else frozenset(),
        )

    def _granted(self) -> frozenset[int]:
        """Those whose votes the state that is left has."""
        state, step = self.state, self.step
        if state is None or state.role not in ("Prospective", "Candidate"):
            return frozenset()
        known, role = state.granted, step.before.role
        if isinstance(role, Prospective | Candidate):
            if type(role).__name__ == state.role and step.before.epoch == state.epoch:
                known = frozenset(role.election.granted)
            if isinstance(step.message, VoteResponse) and step.message.granted:
                known |= {step.source}
        return known

    def _ends(self) -> tuple[tuple[int, int | None], ...]:
        """The ends of the voters' logs, as a leader knows them."""
        role = self.step.after.role
        if self.state is None or self.state.role != "Leader":
            return ()
        assert isinstance(role, Leader), "a leader that commits and resigns in one step"
        return tuple((one.id, one.end_offset) for one in role.progress)

    def _batch(self, batch: Batch, place: int) -> None:
        leads = self.state is not None and self.state.role == "Leader"
        for offset, record in enumerate(batch.records, batch.base_offset):
            if isinstance(record, Voters):
                self.log.reads(self.node, Reads(offset, _ids(record.voters.ids)))
            elif isinstance(record, KRaftVersion):
                self.log.reads(self.node, Reads(offset, version=record.version))
        following = self.step.effects[place + 1 : place + 2]
        if leads or not isinstance(next(iter(following), None), AppendBatch):
            self.log.appends(self.node, batch.end_offset, batch.epoch, batch.base_offset if leads else None)

    def _load(self, effect: LoadSnapshot) -> None:
        snapshot = effect.snapshot
        end = snapshot.id.end_offset
        self.log.loads(self.node, end, snapshot.id.epoch, self.step.source)
        if snapshot.kraft_version:
            self.log.reads(self.node, Reads(end - 1, version=snapshot.kraft_version))
        if snapshot.voters is not None:
            self.log.reads(self.node, Reads(end - 1, _ids(snapshot.voters.ids)))

    def _answer(self, effect: Reply) -> None:
        request, response = self.step.message, effect.response
        if not isinstance(request, VoteRequest) or not isinstance(response, VoteResponse):
            return
        if ErrorCode.NONE == response.error == response.partition_error:
            last = request.last_epoch, self.log.offset(request.end_offset)
            kind = {"pre_vote": request.pre_vote, "granted": response.granted}
            self.log.answer(self.node, request.candidate.id, last=last, **kind)


def beginning(replica: Replica, disk: Disk) -> Begins:
    """The lines of a process of ``replica`` on ``disk`` before it decides its role."""
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
