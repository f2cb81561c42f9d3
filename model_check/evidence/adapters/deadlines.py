"""When the timers of a process expire, at the latest; and how long it may sleep until one of them does."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.evidence.adapters.draws import Draw, drawn_span
from kraftcheck.reference.config import Times
from kraftcheck.reference.effects import ArmTimer, Duration, Effect
from kraftcheck.reference.events import Poll, Shutdown, Timer
from kraftcheck.reference.leadership import is_lingering
from kraftcheck.reference.protocol import ObserverAfterFetchTimeout, Protocol
from kraftcheck.reference.replica import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Replica,
    Resigned,
    Unattached,
)

#: How long a graceful shutdown may take before it gives up, in ms. No sequence lets it give up.
SHUTDOWN_TIMEOUT_MS = 30_000


class Deadlines:
    """The timers of one process as the reference armed them. ``draw``: the number that it draws for a random
    time; ``None``: not known, so that the largest one counts.
    """

    def __init__(self, protocol: Protocol, times: Times, draw: Draw | None = None) -> None:
        self._times, self._draw = times, draw
        self._searches = protocol.observer_after_fetch_timeout is ObserverAfterFetchTimeout.BOOTSTRAP_ONLY
        self._below_back_off: int | None = None
        self._timers: dict[Timer, int] = {}
        self._shutdown: int | None = None

    def follow(self, event: object, effects: Iterable[Effect], now: int) -> None:
        """Note the timers that a step at the time ``now`` armed, and the end of a shutdown."""
        if isinstance(event, Shutdown):
            self._shutdown = now + SHUTDOWN_TIMEOUT_MS
        for effect in effects:
            if isinstance(effect, ArmTimer):
                self._arm(effect, now)

    def _arm(self, effect: ArmTimer, now: int) -> None:
        timer, below = effect.timer, self._below_back_off
        if timer is Timer.ELECTION:
            backs_off = effect.duration is Duration.SEPARATE_BACKOFF
            self._below_back_off = self._timers.get(timer) if backs_off else None
        if effect.duration is not Duration.REMAINING:
            lasts = drawn_span(self._times, effect.duration, self._draw)
            self._timers.pop(timer, None)
            if lasts is not None:
                self._timers[timer] = now + lasts.high
        elif timer is Timer.ELECTION and below is not None:
            self._timers[timer] = below

    def of(self, timer: Timer) -> int | None:
        """The time at which a timer expires; ``None``: never."""
        return self._timers.get(timer)

    def longest_wait(self, replica: Replica, poll: Poll, now: int) -> int | None:
        """How long the process may sleep at the end of ``poll``, in ms, at least 1; ``None``: for ever.
        ``replica``: as the poll left it.

        Only timers count: when each request was sent and each back-off began is not known.
        """
        due = [self.of(timer) for timer in _awaited(replica, poll, searches=self._searches)]
        known = [
            each for each in (*due, self._shutdown if replica.shutting_down else None) if each is not None
        ]
        return max(1, min(known) - now) if known else None


def _awaited(replica: Replica, poll: Poll, *, searches: bool) -> tuple[Timer, ...]:
    """The timers that end the sleep after ``poll``. ``searches``: an observer whose fetch timer has expired
    looks for a leader, and no more at the timer (Kafka up to 4.1).

    A process that shuts down looks at none of its timers, and a leader that is the only voter not at
    check-quorum, nor one that has just become one of two. A leader that has just announced itself sleeps
    without regard to its next announcement, and an observer that would join the voters with regard to that
    request alone. No replica is woken for ``update-voter``.

    Source: Kafka: KafkaRaftClient.pollLeader, maybeSendBeginQuorumEpochRequests, pollFollowerAsObserver;
    LeaderState.timeUntilCheckQuorumExpires.
    """
    left_out = {Timer.UPDATE_VOTER, *({Timer.BEGIN_QUORUM_EPOCH, Timer.CHECK_QUORUM} & {*poll.expired})}
    if len(replica.voters.ids) == 1:
        left_out.add(Timer.CHECK_QUORUM)
    passed_over = {Timer.UPDATE_VOTER, Timer.FETCH} if searches else {Timer.UPDATE_VOTER}
    if not replica.is_voter and passed_over & {*poll.expired}:
        left_out.add(Timer.FETCH)
    running = () if replica.shutting_down else running_timers(replica)
    return tuple(timer for timer in running if timer not in left_out)


def running_timers(replica: Replica) -> tuple[Timer, ...]:
    """The timers that the poll routine of this role looks at."""
    role = replica.role
    if isinstance(role, Leader):
        lingering = (Timer.LINGER,) if is_lingering(role) else ()
        changing = (Timer.VOTER_CHANGE,) if role.change is not None else ()
        return (Timer.CHECK_QUORUM, Timer.BEGIN_QUORUM_EPOCH, *lingering, *changing)
    if isinstance(role, Follower):
        updating = (Timer.UPDATE_VOTER,) if replica.describes_itself else ()
        return (Timer.FETCH, *updating)
    assert isinstance(role, Unattached | Prospective | Candidate | Resigned)
    return (Timer.ELECTION,)
