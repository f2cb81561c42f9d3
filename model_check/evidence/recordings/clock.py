"""Kafka's timers, kept from the reference's effects: the expiry of each one on the node's own clock.

Random durations cannot be computed; they are taken from the recorded deadlines and checked against the range
from which Kafka draws.

Source: Kafka: Timer, QuorumState.randomElectionTimeoutMs, RequestManager.ConnectionState.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import StepEvent
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.reference.config import Times, connection_span, span
from kraftcheck.reference.effects import ArmTimer, Duration, SuccessorBackoff
from kraftcheck.reference.events import BackoffExpired, RequestTimedOut, Timer
from kraftcheck.reference.replica import Candidate, Connection, Leader, Prospective, Replica, Resigned
from kraftcheck.reference.transitions import role_name

#: Which timers a role runs, by the names under which states show their deadlines.
SHOWN = {
    "Unattached": {"election": Timer.ELECTION},
    "Prospective": {"election": Timer.ELECTION},
    "Candidate": {"election": Timer.ELECTION},
    "Resigned": {"election": Timer.ELECTION},
    "Follower": {"fetch": Timer.FETCH},
    "Leader": {"checkQuorum": Timer.CHECK_QUORUM, "beginQuorumEpoch": Timer.BEGIN_QUORUM_EPOCH},
}

#: Kafka's value for "never", and the value of an expired timer in recordings.
NEVER, EXPIRED = None, -1
_DRAWN = (Duration.ELECTION_TIMEOUT, Duration.ELECTION_BACKOFF, Duration.SEPARATE_BACKOFF)


class Clock:
    """The running timers of one process. announces_to_all: a leader announces itself to voters that fetch,
    too.
    """

    def __init__(self, times: Times, *, announces_to_all: bool = False) -> None:
        self.times = times
        self.announces_to_all = announces_to_all
        self.deadlines: dict[Timer, int | None] = {}
        self.connections: dict[Connection, int] = {}
        self.random_from: int | None = None
        self._drawn: Duration | SuccessorBackoff = Duration.ELECTION_TIMEOUT
        self.drawn_at: int | None = None
        self.draws = 0
        self._below_back_off: int | None = None

    def arm(self, effect: ArmTimer, now: int) -> None:
        """``effect`` happens at ``now``."""
        if effect.duration is Duration.REMAINING:
            if effect.timer is Timer.ELECTION and self._below_back_off is not None:
                # What remains is not the back-off.
                self.deadlines[Timer.ELECTION], self._below_back_off = self._below_back_off, None
                self.random_from = None
            return
        if effect.timer is Timer.ELECTION:
            backs_off = effect.duration is Duration.SEPARATE_BACKOFF
            self._below_back_off = self.deadlines.get(Timer.ELECTION) if backs_off else None
            is_random = effect.duration in _DRAWN
            self.random_from, self._drawn = (now, effect.duration) if is_random else (None, self._drawn)
            self.drawn_at = None
        self.deadlines[effect.timer] = self._deadline(effect.duration, now)

    def started(self, now: int) -> None:
        """A process has started at ``now``. The election timer of an observer is drawn too, although it
        decides nothing (Kafka: QuorumState.initialize).
        """
        if self.deadlines.get(Timer.ELECTION, now) is NEVER:
            self.random_from, self._drawn = now, Duration.ELECTION_TIMEOUT
            self.deadlines[Timer.ELECTION] = now + self.times.election_timeout

    def _deadline(self, duration: Duration | SuccessorBackoff, now: int) -> int | None:
        lasts = span(self.times, duration)
        return NEVER if lasts is None else now + lasts.low

    def connect(self, replica: Replica, now: int) -> None:
        """Note the requests and back-offs of ``replica`` that began at ``now``, and those that are over."""
        before = self.connections
        self.connections = {}
        for connection in replica.connections:
            deadline = before.get(connection)
            if deadline is None:
                deadline = now + connection_span(self.times, awaiting=connection.awaiting).low
            self.connections[connection] = deadline

    @staticmethod
    def is_shown(timer: Timer) -> bool:
        """Whether states show the expiry of ``timer``."""
        return any(timer in shown.values() for shown in SHOWN.values())

    def timed_out(self, node: int, now: int) -> None:
        """``node`` has not answered: if the poll may pass it over, only that poll notices."""
        passed_over = Connection(node, False)
        if passed_over in self.connections:
            self.connections[passed_over] = now

    def expired(self, now: int) -> tuple[Timer, ...]:
        """The timers that have run out."""
        return tuple(timer for timer, at in self.deadlines.items() if at is not None and at <= now)

    def due(self) -> Iterator[int]:
        """The readings of the clock at which a timer or a request expires, or a back-off is over."""
        yield from (at for at in self.deadlines.values() if at is not None)
        yield from self.connections.values()

    def ready_again(
        self, replica: Replica, expired: tuple[Timer, ...], now: int
    ) -> Iterator[RequestTimedOut | BackoffExpired]:
        """The connections that a poll would find timed out or out of their back-off.

        Kafka notices either only when it looks at a connection, so an answer that comes late to one at which
        it does not look is still accepted.
        """
        return self.over(self._watched(replica, expired, now), now)

    def over(self, watched: frozenset[int] | None, now: int) -> Iterator[RequestTimedOut | BackoffExpired]:
        """Of the connections to the nodes ``watched`` (``None``: all), those timed out or out of back-off."""
        for connection, deadline in list(self.connections.items()):
            if deadline <= now and (watched is None or connection.node in watched):
                node = connection.node
                yield RequestTimedOut(node) if connection.awaiting else BackoffExpired(node)

    def shown(
        self, replica: Replica, state: dict[str, Json], event: StepEvent
    ) -> tuple[dict[str, Json], list[Found]]:
        """The deadlines that a recorded state must show, and the fault of a random one in it."""
        given = state["deadlines"]
        wrong: list[Found] = []
        if self.random_from is not None and "election" in given:
            wrong.extend(self._adopt(given["election"], event.seq))
        return self.display(replica, event.now), wrong

    def display(self, replica: Replica, now: int) -> dict[str, Json]:
        """The deadlines of the timers of the replica's role at ``now``."""
        return self.displayed(role_name(replica.role), len(replica.voters), now)

    def displayed(self, role: str, voters: int, now: int) -> dict[str, Json]:
        """The deadlines of the timers of ``role`` at ``now``, with so many voters.

        Timers that never expire are not shown, nor is check quorum with a single voter.
        """
        display: dict[str, Json] = {}
        for name, timer in SHOWN[role].items():
            deadline = self.deadlines.get(timer)
            if deadline is None or (timer is Timer.CHECK_QUORUM and voters == 1):
                continue
            display[name] = deadline if deadline > now else EXPIRED
        return display

    def _adopt(self, found: int, seq: int) -> Iterator[Found]:
        """Take over a random election timeout, if Kafka may draw it."""
        assert self.random_from is not None
        lasts = span(self.times, self._drawn)
        assert lasts is not None
        earliest, latest = self.random_from + lasts.low, self.random_from + lasts.high
        if not earliest <= found <= latest:
            yield Found("deadlines.election", f"from {earliest} to {latest}", found)
        self.deadlines[Timer.ELECTION] = found
        self.random_from = None
        self.drawn_at = seq
        self.draws += 1

    def _watched(self, replica: Replica, expired: tuple[Timer, ...], now: int) -> frozenset[int] | None:
        """The nodes whose connections the poll of this role looks at; ``None``: all of them."""
        role = replica.role
        if isinstance(role, Prospective | Candidate):
            return frozenset(role.election.voters) - {*role.election.granted, *role.election.rejected}
        if isinstance(role, Leader):
            return frozenset(self._silent(role, now) if Timer.BEGIN_QUORUM_EPOCH in expired else ())
        if isinstance(role, Resigned):
            return frozenset(role.unacknowledged)
        return None

    def _silent(self, role: Leader, now: int) -> Iterator[int]:
        """The voters to which a leader announces itself: those without a recent fetch, or all of them."""
        for entry in role.progress:
            last = entry.last_fetch_time
            if self.announces_to_all or last is None or now - last >= self.times.fetch_timeout // 2:
                yield entry.id
