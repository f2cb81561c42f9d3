"""The timers of a replica, in scenarios where a timer runs only if the replica has armed it.

A timer runs from its ``ArmTimer`` on, expires at any time after, and stays expired until it is armed again:
every poll round finds it so. Timers have no durations, but some have no time left when they are armed, and
are expired at once. A change of state forgets the timers of the state that is left, as each state of Kafka
has its own (EpochState).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kraftcheck.reference.effects import ArmTimer, Duration, Effect, SuccessorBackoff, Transition
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.log import Value
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Follower, Leader, Replica, Unattached
from kraftcheck.reference.types import InSequence

#: The order in which timers are kept.
_ORDER = tuple(Timer)


class Timers(Frozen):
    """The timers of a process: those that run, and those that have expired and were not armed again."""

    running: InSequence[Timer] = ()
    expired: InSequence[Timer] = ()

    def with_expired(self, timers: Collection[Timer]) -> Timers:
        """After ``timers``, which ran, have expired."""
        left = tuple(timer for timer in self.running if timer not in timers)
        return Timers(left, _ordered({*self.expired, *timers}))

    def without(self, timer: Timer) -> Timers:
        """The others."""
        running = tuple(each for each in self.running if each is not timer)
        return Timers(running, tuple(each for each in self.expired if each is not timer))

    def armed(self, timer: Timer, *, expired: bool = False) -> Timers:
        """After ``timer`` was armed; ``expired``: with no time."""
        others = self.without(timer)
        if expired:
            return replace(others, expired=_ordered({*others.expired, timer}))
        return replace(others, running=_ordered({*others.running, timer}))


def _ordered(timers: Collection[Timer]) -> tuple[Timer, ...]:
    return tuple(timer for timer in _ORDER if timer in timers)


def after(timers: Timers, effects: Iterable[Effect], replica: Replica, *, lingers: bool) -> Timers:
    """``timers`` after the ``effects`` of one event have made ``replica``. Unless it ``lingers``, an append
    has no linger time.
    """
    left = timers
    for effect in effects:
        if type(effect) is Transition:
            left, timers = timers, Timers()
        elif type(effect) is ArmTimer:
            timers = _armed(timers, left, effect, lingers)
    for timer in _needless(replica):
        timers = timers.without(timer)
    return timers


def _armed(timers: Timers, left: Timers, effect: ArmTimer, lingers: bool) -> Timers:
    """``left``: the timers of the state before, of which a new election timer may have the time left."""
    timer, duration = effect.timer, effect.duration
    if duration is Duration.FOREVER:
        return timers.without(timer)
    if duration is Duration.REMAINING and timer not in left.running:
        # Nothing is left of an expired timer, nor of one that never ran.
        return timers.armed(timer, expired=True) if timer in left.expired else timers.without(timer)
    no_linger = timer is Timer.LINGER and not lingers
    return timers.armed(timer, expired=no_linger or is_due_at_once(duration))


def is_due_at_once(duration: Duration | SuccessorBackoff) -> bool:
    """Whether a timer that is armed so has no time at all, whatever there was before."""
    return duration is Duration.NONE or (isinstance(duration, SuccessorBackoff) and duration.position == 0)


def _needless(replica: Replica) -> Iterator[Timer]:
    """The timers of waits that are over: Kafka forgets them with what waited."""
    role = replica.role
    if not isinstance(role, Leader):
        return
    if not awaits_more_records(role):
        yield Timer.LINGER
    if role.change is None:
        yield Timer.VOTER_CHANGE


def awaits_more_records(role: Leader) -> bool:
    """Whether records of the state machine wait for the end of the linger time."""
    return bool(role.pending) and isinstance(role.pending[-1][0], Value)


def needed(protocol: Protocol, replica: Replica) -> tuple[Timer, ...]:
    """The timers that end the waits of ``replica``: without one of them it would wait for ever."""
    role = replica.role
    if isinstance(role, Leader):
        return _needed_by_leader(protocol, role)
    if isinstance(role, Follower):
        return (Timer.FETCH, Timer.UPDATE_VOTER) if replica.describes_itself else (Timer.FETCH,)
    if isinstance(role, Unattached) and not replica.is_voter:
        return ()
    return (Timer.ELECTION,)


def _needed_by_leader(protocol: Protocol, role: Leader) -> tuple[Timer, ...]:
    waits = (
        (Timer.CHECK_QUORUM, protocol.counts_contacts),
        (Timer.BEGIN_QUORUM_EPOCH, True),
        (Timer.LINGER, awaits_more_records(role)),
        (Timer.VOTER_CHANGE, role.change is not None),
    )
    return tuple(timer for timer, waited in waits if waited)


def given(protocol: Protocol, replica: Replica) -> Timers:
    """The timers of a replica in a state that a scenario gives: all that it needs run."""
    return Timers(needed(protocol, replica))
