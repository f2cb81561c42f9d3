"""The clock of a replica, in scenarios where clocks run, and its readings at the fetches of other replicas.

Only a leader notes times, by its own clock, and forgets them when it resigns or loses its epoch. So each
replica has a clock of its own, which stands still unless the replica leads. Its readings are kept next to the
replica, to compare the leader's reports with them; no rule reads them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import Effect, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, FetchWaitExpired, RequestReceived
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.messages import DescribeQuorumRequest, FetchRequest, FetchResponse
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.types import Ascending, EndOffset, InSequence, Time
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership

#: How long an observer may be silent before it is forgotten, in ms (DESCRIBE-8).
OBSERVER_SESSION_MS = 300_000

#: How long ago the last fetch of an observer may be when it is made a voter, in ms (ADD-10).
READY_WITHIN_MS = 3_600_000


class Fetches(Frozen):
    """The fetches of one replica that a leader has received in its epoch.

    ``offset`` is that of the latest fetch and ``held`` the largest; ``ends`` has for each reading of the
    clock at which there was one the end of the leader's log at the first of them. ``latest`` is the reading
    and that end at the latest fetch; ``caught_up`` the largest reading at which the replica held all of the
    leader's log, as that fetch or else the next one shows.
    """

    key: ReplicaKey
    offset: EndOffset
    held: EndOffset
    ends: InSequence[tuple[Time, EndOffset]]
    latest: tuple[Time, EndOffset]
    caught_up: Time | None = None

    @property
    def last(self) -> int:
        """The reading at the last fetch; if the clock was set back, the largest of all readings."""
        return self.ends[-1][0]


class Clock(Frozen):
    """The reading of the clock, in ms, and the fetches that the replica has received since it began to
    lead.
    """

    now: Time = 0
    fetches: Ascending[Fetches] = ()

    def of(self, key: ReplicaKey) -> Fetches | None:
        """The fetches of the replica that is ``key``."""
        return next((known for known in self.fetches if known.key == key), None)


def after(clock: Clock, before: Replica, event: Event, effects: tuple[Effect, ...], leader: Replica) -> Clock:
    """``clock`` after ``event`` has made ``leader`` of the replica ``before``, whose process continues."""
    led = isinstance(before.role, Leader) and isinstance(leader.role, Leader) and before.epoch == leader.epoch
    if not led:
        return replace(clock, fetches=())
    if isinstance(event, RequestReceived) and event.request == DescribeQuorumRequest():
        return _without_silent_observers(clock, leader)
    for key, offset, end in _taken(before, event, effects, leader):
        clock = _with_fetch(clock, _entry_of(leader, key), offset, end)
    return clock


def _entry_of(leader: Replica, key: ReplicaKey) -> ReplicaKey:
    """The leader's name for the replica that is ``key``: the directory of a static voter is not known."""
    return next((voter for voter in leader.voters.keys if membership.matches(voter, key)), key)


def _taken(
    before: Replica, event: Event, effects: tuple[Effect, ...], leader: Replica
) -> Iterator[tuple[ReplicaKey, int, int]]:
    """The fetches that the leader received in this step: the replica, its offset, the end of the leader's
    log.

    A fetch that goes to purgatory counts as received. It counts again when the leader completes it from the
    contents of its log at that time; not when it expires, as the answer is then that of the first time.
    """
    answered = {
        effect.to
        for effect in effects
        if isinstance(effect, Reply)
        and isinstance(effect.response, FetchResponse)
        and _is_good(effect.response)
    }
    if isinstance(event, RequestReceived) and isinstance(event.request, FetchRequest):
        request = event.request
        parked = any(each.request == request and _is_good(each.response) for each in leader.parked)
        if (event.source in answered or parked) and request.replica.id >= 0:
            yield request.replica, request.offset, before.log.end_offset
            answered.discard(event.source)
    for waiting in () if isinstance(event, FetchWaitExpired) else before.parked:
        if waiting.source in answered and waiting.request.replica.id >= 0:
            yield waiting.request.replica, waiting.request.offset, leader.log.end_offset


def _is_good(response: FetchResponse) -> bool:
    refused = response.error is not ErrorCode.NONE or response.partition_error is not ErrorCode.NONE
    return not refused and response.diverging is None and response.snapshot is None


def _with_fetch(clock: Clock, key: ReplicaKey, offset: int, end: int) -> Clock:
    known = clock.of(key)
    ends = {clock.now: end}
    whole = [clock.now] if offset >= end else []
    held = offset
    if known is not None:
        # The log of a leader only grows: it was shortest at the first fetch of a reading.
        ends |= dict(known.ends)
        then, end_then = known.latest
        whole = whole or ([then] if offset >= end_then else [])
        whole += [] if known.caught_up is None else [known.caught_up]
        held = max(offset, known.held)
    caught_up = max(whole, default=None)
    found = Fetches(key, offset, held, tuple(sorted(ends.items())), (clock.now, end), caught_up)
    others = [each for each in clock.fetches if each.key != key]
    ordered = sorted((*others, found), key=lambda each: (each.key.id, each.key.directory or ""))
    return replace(clock, fetches=tuple(ordered))


def _without_silent_observers(clock: Clock, leader: Replica) -> Clock:
    kept = tuple(
        each for each in clock.fetches if leader.voters.is_voter(each.key) or not is_silent(clock, each)
    )
    return replace(clock, fetches=kept)


def is_silent(clock: Clock, fetches: Fetches) -> bool:
    """Whether the last fetch is so long ago that an observer is forgotten for it."""
    return clock.now - fetches.last >= OBSERVER_SESSION_MS
