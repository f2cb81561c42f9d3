"""Properties of timers: which run, when they start over, and what their expiry does.

Steps are judged by the effects and by what the timers are for; none of the checks asks the reference. The
state of timers is judged where it is kept (:mod:`kraftcheck.systems.kraft.timers`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import Fatal, Transition
from kraftcheck.reference.events import Event, Poll, Timer
from kraftcheck.reference.messages import FetchRequest, FetchSnapshotRequest
from kraftcheck.reference.protocol import Protocol, ZombieLeader
from kraftcheck.reference.replica import Follower, Replica, Unattached
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.timer_causes import (
    Case,
    armings,
    counts_contact,
    enters_with_timers,
    has_to_report,
    runs_its_time,
    start_rightly,
)
from kraftcheck.systems.kraft.timers import Timers, needed


def violations(
    protocol: Protocol, before: Replica, event: Event | None, execution: Execution, after: Node
) -> Iterator[str]:
    """The names of the properties that a step violates; ``event`` is ``None`` for a start."""
    if isinstance(execution.ended, Fatal):
        return
    case = Case(protocol, before, event, execution)
    armed = list(armings(case))
    if not (start_rightly(case, armed) and enters_with_timers(case) and counts_contact(case)):
        yield "TimersStartForCause"
    if not all(runs_its_time(case, each) for each in armed):
        yield "TimersRunTheirTime"
    if not _are_timely(case):
        yield "ElectionsWaitForTimers"
    if after.replica is not None and after.timers is not None:
        yield from _of_timers(protocol, after.replica, after.timers)
        if Timer.UPDATE_VOTER in after.timers.expired and _misses_report(case):
            yield "ExpiriesAreHandled"


# The timers of a replica between two steps.


def _of_timers(protocol: Protocol, replica: Replica, timers: Timers) -> Iterator[str]:
    known = (*timers.running, *timers.expired)
    if not all(timer in known for timer in needed(protocol, replica)):
        yield "WaitsAreTimed"
    if any(_is_heeded(protocol, replica, timer) for timer in timers.expired):
        yield "ExpiriesAreHandled"


def _is_heeded(protocol: Protocol, replica: Replica, timer: Timer) -> bool:
    """Whether the expiry of ``timer`` has a consequence that nothing holds up."""
    role = replica.role
    if replica.shutting_down:
        return False
    if timer is Timer.CHECK_QUORUM:
        return protocol.counts_contacts and _replaces_lost_quorum(protocol, replica)
    if timer is Timer.UPDATE_VOTER:
        return _can_report(replica)
    if isinstance(role, Follower | Unattached):
        return replica.is_voter
    return True


def _replaces_lost_quorum(protocol: Protocol, replica: Replica) -> bool:
    """A single voter needs no other voter (CHECKQ-4); the only answer of one may be an election, for which it
    must be a voter (ZOMBIE-4).
    """
    elects = protocol.zombie_leader is ZombieLeader.NEW_ELECTION and not protocol.check_quorum
    return len(replica.voters) > 1 and (replica.is_voter or not elects)


def _can_report(replica: Replica) -> bool:
    """Whether a follower may report its entry in the voter set now, or has nothing to report."""
    busy = any(each.node == replica.quorum_state.leader for each in replica.connections)
    return _reports(replica) and not (busy and has_to_report(replica))


def _reports(replica: Replica) -> bool:
    """Whether a follower reports its entry in the voter set: it is a voter, or makes itself one."""
    joins = replica.auto_join and replica.can_become_voter and replica.kraft_version >= 1
    return isinstance(replica.role, Follower) and (replica.is_voter or joins)


def _misses_report(case: Case) -> bool:
    """Whether a follower has sent its leader another request when its report was due."""
    due = case.found_expired(Timer.UPDATE_VOTER) and _reports(case.after)
    return due and bool(case.sends(FetchRequest, FetchSnapshotRequest))


# Elections.

#: The timers whose expiry begins an election, or ends one, by the state.
_ENDINGS = {
    "Unattached": Timer.ELECTION,
    "Prospective": Timer.ELECTION,
    "Candidate": Timer.ELECTION,
    "Resigned": Timer.ELECTION,
    "Follower": Timer.FETCH,
    "Leader": Timer.CHECK_QUORUM,
}


def _are_timely(case: Case) -> bool:
    """Whether a replica does not begin an election before its time, and leaves no state for nothing."""
    changes = case.execution.all(Transition)
    if case.event is None or not changes:
        return True
    elections = [change for change in changes if change.target in ("Prospective", "Candidate")]
    timed = [change.source for change in elections if change.source not in ("Prospective", "Start")]
    if isinstance(case.event, Poll) and changes and changes[0].source != "Leader":
        timed.append(changes[0].source)
    return all(case.found_expired(_ENDINGS[source]) for source in timed)
