"""The reference under a sequence of stimuli: the questions to an adapter and the steps that it must take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.evidence.adapters.stimuli import (
    Crash,
    DriveSequence,
    LateResponse,
    Start,
    Stimulus,
    WaitExpired,
)
from kraftcheck.reference import disk as disks
from kraftcheck.reference.config import Times, span
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendBatch,
    ArmTimer,
    DeleteBefore,
    Duration,
    Fatal,
    Flush,
    LoadSnapshot,
    Persist,
    Send,
    Stop,
    StoreSnapshot,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Event,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    ResponseReceived,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.leadership import is_lingering
from kraftcheck.reference.messages import EpochResponse, Response, UpdateRaftVoterResponse
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.reference.step import Outcome, start

#: The effects that change the disk.
ON_DISK = (Persist, AppendBatch, Truncate, Flush, StoreSnapshot, DeleteBefore, LoadSnapshot)

#: The correlation id of an answer that no request awaits.
STALE = -1


def times_of(protocol: Protocol) -> Times:
    """The times under which a replica is driven: Kafka's defaults, and those that the protocol sets."""
    return Times(fetch_timeout=protocol.fetch_timeout_ms, request_timeout=protocol.request_timeout_ms)


@dataclass(frozen=True, slots=True)
class Question:
    """One step: the stimulus as it happens (an event with ids and time), and the result of the reference.

    before: the replica before it, ``None`` where no process runs. outcome: ``None`` for a crash. disk: the
    disk that a start finds. position: the number of the stimulus in its sequence.
    """

    position: int
    now: int
    event: Event | Start | Crash
    before: Replica | None
    outcome: Outcome | None
    disk: Disk

    @property
    def ended(self) -> bool:
        """Whether no process runs afterwards."""
        last = self.outcome.effects[-1] if self.outcome is not None and self.outcome.effects else None
        return self.outcome is None or isinstance(last, Fatal | Stop)


class Asking:
    """Feeds a sequence to the reference."""

    def __init__(self, sequence: DriveSequence) -> None:
        self.sequence = sequence
        self.times = times_of(sequence.protocol)
        self.now = 0
        self.replica: Replica | None = None
        self._disks = [sequence.disk]
        self._deadlines: dict[Timer, int] = {}
        self._requests = 0
        self._sent: dict[int, list[int | None]] = {}
        self._silent = SilentLeader()

    def questions(self) -> Iterator[Question]:
        """The steps in order; a stimulus without a possible target is skipped."""
        for position, stimulus in enumerate(self.sequence.stimuli):
            question = self._ask(position, stimulus)
            if question is not None:
                yield question

    def _ask(self, position: int, stimulus: Stimulus) -> Question | None:
        self.now += 1
        before = self.replica
        if isinstance(stimulus, Start):
            disk = disks.as_found(self._disks[-1], written_back=self.sequence.written_back)
            self._disks, self._deadlines, self._sent = [disk], {}, {}
            self._silent = SilentLeader()
            identity = replace(self.sequence.identity, next_correlation=0)
            outcome = start(self.sequence.protocol, identity, disk)
            return self._follow(Question(position, self.now, stimulus, None, outcome, disk))
        if before is None:
            return None
        if isinstance(stimulus, Crash):
            disk = self._disks[max(0, len(self._disks) - 1 - stimulus.undone)]
            self._disks = [disks.lose_power(disk) if stimulus.loses_power else disk]
            self.replica = None
            return Question(position, self.now, stimulus, before, None, self._disks[0])
        event = self._event(before, stimulus)
        if event is None:
            return None
        outcome = self._silent.step(self.sequence.protocol, before, event)
        return self._follow(Question(position, self.now, event, before, outcome, self._disks[-1]))

    def _event(self, replica: Replica, stimulus: WaitExpired | LateResponse | Event) -> Event | None:
        if isinstance(stimulus, WaitExpired):
            if stimulus.position >= len(replica.parked):
                return None
            parked = replica.parked[stimulus.position]
            return FetchWaitExpired(parked.source, parked.correlation)
        if isinstance(stimulus, RequestReceived):
            self._requests += 1
            return replace(stimulus, correlation=self._requests, now=self.now)
        if isinstance(stimulus, ResponseReceived):
            known = [each for each in replica.connections if each.node == stimulus.source and each.awaiting]
            correlation = known[0].correlation if known else STALE
            response = as_sent(stimulus.response)
            return replace(stimulus, response=response, correlation=correlation, now=self.now)
        if isinstance(stimulus, LateResponse):
            return self._late(replica, stimulus)
        return self._poll(replica, stimulus) if isinstance(stimulus, Poll) else stimulus

    def _late(self, replica: Replica, stimulus: LateResponse) -> ResponseReceived | None:
        """The answer with the id of the last request to this node that is no longer awaited."""
        awaited = [each.correlation for each in replica.connections if each.awaiting]
        old = [each for each in self._sent.get(stimulus.source, ()) if each not in awaited]
        response = as_sent(stimulus.response)
        return ResponseReceived(stimulus.source, response, old[-1], self.now) if old else None

    def _poll(self, replica: Replica, poll: Poll) -> Poll:
        """The poll at a time at which the named timers have expired, and by then all others."""
        running = running_timers(replica)
        for timer in poll.expired:
            if timer in running:
                self.now = max(self.now, self._deadlines.get(timer, self.now))
        over = tuple(
            t for t in running if t in poll.expired or self._deadlines.get(t, self.now + 1) <= self.now
        )
        return Poll(over, poll.discovery, self.now)

    def _follow(self, question: Question) -> Question:
        outcome = question.outcome
        assert outcome is not None
        for effect in outcome.effects:
            if isinstance(effect, ON_DISK):
                self._disks.append(disks.apply(self._disks[-1], effect))
            elif isinstance(effect, ArmTimer) and effect.duration is not Duration.REMAINING:
                lasts = span(self.times, effect.duration)
                self._deadlines.pop(effect.timer, None)
                if lasts is not None:
                    self._deadlines[effect.timer] = self.now + lasts.high
            elif isinstance(effect, Send):
                self._sent.setdefault(effect.to, []).append(effect.correlation)
            elif isinstance(effect, Stop):
                # An orderly shutdown closes the log, which flushes it.
                self._disks = [disks.as_found(self._disks[-1])]
        self.replica = None if question.ended else outcome.replica
        return replace(question, now=self.now)


def as_sent(response: Response) -> Response:
    """``response`` as it arrives: with a top-level error it has no other fields, an endpoint of the leader
    comes with its id; an UpdateRaftVoter response has its one error only.
    """
    if not isinstance(response, EpochResponse):
        return response
    if isinstance(response, UpdateRaftVoterResponse):
        error = response.partition_error if response.error is ErrorCode.NONE else response.error
        response = replace(response, partition_error=error, error=ErrorCode.NONE)
    if response.error is not ErrorCode.NONE:
        return type(response)(-1, error=response.error)
    return response if response.leader is not None else replace(response, leader_endpoints=())


def running_timers(replica: Replica) -> tuple[Timer, ...]:
    """The timers that the poll routine of this role looks at."""
    role = replica.role
    if isinstance(role, Leader):
        lingering = (Timer.LINGER,) if is_lingering(role) else ()
        changing = (Timer.VOTER_CHANGE,) if role.change is not None else ()
        return (Timer.CHECK_QUORUM, Timer.BEGIN_QUORUM_EPOCH, *lingering, *changing)
    if isinstance(role, Follower):
        updating = (Timer.UPDATE_VOTER,) if replica.max_kraft_version > 0 else ()
        return (Timer.FETCH, *updating)
    assert isinstance(role, Unattached | Prospective | Candidate | Resigned)
    return (Timer.ELECTION,)
