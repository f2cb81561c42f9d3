"""The reference under a sequence of stimuli: the questions to an adapter and the steps that it must take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.evidence.adapters.deadlines import Deadlines, running_timers
from kraftcheck.evidence.adapters.draws import Draw
from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.evidence.adapters.stimuli import (
    Crash,
    DriveSequence,
    LateResponse,
    Pause,
    ReplaceDisk,
    Start,
    Stimulus,
    WaitExpired,
)
from kraftcheck.reference import disk as disks
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendBatch,
    DeleteBefore,
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
    RequestTimedOut,
    ResponseReceived,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import EpochResponse, Response, UpdateRaftVoterResponse
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.systems.kraft.host import identity_on

#: The effects that change the disk.
ON_DISK = (Persist, AppendBatch, Truncate, Flush, StoreSnapshot, DeleteBefore, LoadSnapshot)

#: The time before a sequence: a time of day. Kafka takes -1 for "never" and subtracts it from the clock.
FIRST_MS = 1_700_000_000_000

#: A pause ends so long before a timer expires: a few steps fit in.
BEFORE_MS = 10

#: The correlation id of an answer that no request awaits.
STALE = -1


def times_of(protocol: Protocol) -> Times:
    """The times under which a replica is driven: Kafka's defaults, and those that the protocol sets."""
    return Times(
        fetch_timeout=protocol.fetch_timeout_ms,
        request_timeout=protocol.request_timeout_ms,
        update_voter_period=protocol.update_voter_period,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """One step: the stimulus as it happens (an event with ids and time), and the result of the reference.

    before: the replica before it, ``None`` where no process runs. outcome: ``None`` for a crash. disk: the
    disk that a start finds; identity: the configuration of a process on that disk. position: the number of
    the stimulus in its sequence. draw: what the process draws for random times; ``None``: not known.
    """

    position: int
    now: int
    event: Event | Start | Crash
    identity: Replica
    before: Replica | None
    outcome: Outcome | None
    disk: Disk
    draw: Draw | None = None

    @property
    def ended(self) -> bool:
        """Whether no process runs afterwards."""
        last = self.outcome.effects[-1] if self.outcome is not None and self.outcome.effects else None
        return self.outcome is None or isinstance(last, Fatal | Stop)


class Asking:
    """Feeds a sequence to the reference.

    ``now``: the time; ``replica``: the replica, ``None`` where no process runs. ``punctual``: a poll finds
    exactly the timers expired that it names, and not those that are over by then. ``pure``: each step is that
    of the reference alone, which knows no time between polls (:mod:`.silent_leader`). ``draw``: as in
    :class:`Question`.
    """

    def __init__(
        self,
        sequence: DriveSequence,
        *,
        punctual: bool = False,
        pure: bool = False,
        draw: Draw | None = None,
    ) -> None:
        self.sequence = sequence
        self.times = times_of(sequence.protocol)
        self.now = FIRST_MS
        self.replica: Replica | None = None
        self._punctual = punctual
        self._pure = pure
        self._draw = draw
        self._identity = sequence.identity
        self._disks = [sequence.disk]
        self._taken_out: Disk | None = None
        self._deadlines = Deadlines(self.times, draw)
        self._requests = 0
        self._sent: dict[int, list[int | None]] = {}
        self._silent = SilentLeader()

    def questions(self) -> Iterator[Question]:
        """The steps in order; a stimulus without a possible target is skipped."""
        for position, stimulus in enumerate(self.sequence.stimuli):
            question = self.ask(position, stimulus)
            if question is not None:
                yield question

    @property
    def disk(self) -> Disk:
        """The disk as it is now."""
        return self._disks[-1]

    def ask(self, position: int, stimulus: Stimulus) -> Question | None:
        """The step that comes of ``stimulus``; ``None`` if it has no possible target."""
        self.now += 1
        before, identity = self.replica, self._identity
        if isinstance(stimulus, Start):
            disk = disks.as_found(self.disk, written_back=self.sequence.written_back)
            self._disks, self._sent = [disk], {}
            self._deadlines = Deadlines(self.times, self._draw)
            self._silent = SilentLeader()
            outcome = start(self.sequence.protocol, replace(identity, next_correlation=0), disk)
            return self._follow(Question(position, self.now, stimulus, identity, None, outcome, disk))
        if isinstance(stimulus, ReplaceDisk):
            self._replace_disk(stimulus.directory)
            stimulus = Crash()
        elif isinstance(stimulus, Crash) and before is not None:
            disk = self._disks[max(0, len(self._disks) - 1 - stimulus.undone)]
            self._disks = [disks.lose_power(disk) if stimulus.loses_power else disk]
        if before is None:
            return None
        if isinstance(stimulus, Pause):
            due = [self._deadlines.of(timer) for timer in running_timers(before)]
            first = min((each for each in due if each is not None), default=self.now)
            self.now = max(self.now, first - BEFORE_MS)
            return None
        if isinstance(stimulus, Crash):
            self.replica = None
            return Question(position, self.now, stimulus, identity, before, None, self.disk)
        event = self._event(before, stimulus)
        if event is None:
            return None
        take = step if self._pure else self._silent.step
        outcome = take(self.sequence.protocol, before, event)
        return self._follow(Question(position, self.now, event, identity, before, outcome, self.disk))

    def _replace_disk(self, directory: str) -> None:
        old, back = self.disk, self._taken_out
        known = back is not None and back.directory == directory
        disk = back if back is not None and known else Disk(directory=directory)
        self._taken_out = disks.as_found(old, written_back=self.sequence.written_back)
        self._disks, self._identity = [disk], identity_on(self.sequence.identity, disk)

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
        if isinstance(stimulus, RequestTimedOut):
            return stimulus if _is_awaited(replica, stimulus.node) else None
        return self._poll(replica, stimulus) if isinstance(stimulus, Poll) else stimulus

    def _late(self, replica: Replica, stimulus: LateResponse) -> ResponseReceived | None:
        """The answer with the id of the last request to this node that is no longer awaited."""
        awaited = [each.correlation for each in replica.connections if each.awaiting]
        old = [each for each in self._sent.get(stimulus.source, ()) if each not in awaited]
        response = as_sent(stimulus.response)
        return ResponseReceived(stimulus.source, response, old[-1], self.now) if old else None

    def _poll(self, replica: Replica, poll: Poll) -> Poll:
        """The poll at a time at which the named timers have expired, and others that are over by then."""
        running = running_timers(replica)
        for timer in poll.expired:
            if timer in running:
                self.now = max(self.now, self._deadlines.of(timer) or self.now)
        late = () if self._punctual else tuple(each for each in running if self._is_over(each))
        over = tuple(timer for timer in running if timer in poll.expired or timer in late)
        return Poll(over, poll.discovery, self.now)

    def _is_over(self, timer: Timer) -> bool:
        deadline = self._deadlines.of(timer)
        return deadline is not None and deadline <= self.now

    def _follow(self, question: Question) -> Question:
        outcome = question.outcome
        assert outcome is not None
        self._deadlines.follow(question.event, outcome.effects, self.now)
        for effect in outcome.effects:
            if isinstance(effect, ON_DISK):
                self._disks.append(disks.apply(self._disks[-1], effect))
            elif isinstance(effect, Send):
                self._sent.setdefault(effect.to, []).append(effect.correlation)
            elif isinstance(effect, Stop):
                # An orderly shutdown closes the log, which flushes it.
                self._disks = [disks.as_found(self._disks[-1])]
        self.replica = None if question.ended else outcome.replica
        return replace(question, now=self.now, draw=self._draw)


def _is_awaited(replica: Replica, node: int) -> bool:
    return any(each.node == node and each.awaiting for each in replica.connections)


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
