"""Voter assignments (KIP-595, dropped later): which one is effective, and how a leader gets to the target.

An assignment is effective at a replica once that replica knows it to be committed. A leader appends one only
when the one before has been committed, so of all assignments in a log only the last can be undecided, and a
replica is never more than one step behind what a majority of its voters may have committed.

Source: KIP-595 (AlterQuorum, Quorum Change Protocol), KIP-642.
"""

from __future__ import annotations

from kraftcheck.reference import progress, voter_changes
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import VoterAssignment
from kraftcheck.reference.messages import AlterQuorumResponse
from kraftcheck.reference.replica import AlteringQuorum, Leader
from kraftcheck.reference.work import Work

# Which assignment is effective.


def learn(work: Work) -> bool:
    """Take the assignment that log and high watermark show to be committed. Whether it is another one."""
    replica = work.replica
    offsets = [offset for offset, _ in replica.log.assignments]
    if not offsets:
        return False
    committed = [offset for offset in offsets if offset < (replica.high_watermark or 0)]
    newest = max((replica.assignment_offset, *offsets[-2:-1], *committed))
    if newest == replica.assignment_offset:
        return False
    work.by("ALTER-10", "ALTER-16")
    work.update(assignment_offset=newest)
    return True


def may_not_be_voter(work: Work) -> bool:
    """Whether a starting replica cannot know that it is a voter: what it knew to be committed is lost."""
    if work.replica.is_voter or not work.replica.log.assignments:
        return False
    work.by("ALTER-16")
    return True


# Where a replica that is no voter any more still counts.


def may_have_removed(work: Work) -> bool:
    """Whether a replica that is no voter may have been one when it was asked."""
    if work.replica.assignment_offset < 0:
        return False
    work.by("ALTER-10")
    return True


def may_lead_as_removed(work: Work, sender: int) -> bool:
    """Whether ``sender`` is the known leader, which leads until it knows that its removal is committed."""
    if work.replica.assignment_offset < 0 or sender != work.replica.quorum_state.leader:
        return False
    work.by("ALTER-15")
    return True


# Assignments of a leader.


def latest(work: Work) -> VoterAssignment:
    """The last assignment in the log; before the first one, the configured voters."""
    replica = work.replica
    if replica.log.assignments:
        return replica.log.assignments[-1][1]
    return VoterAssignment(replica.voters.ids)


def is_decided(work: Work) -> bool:
    """Whether the last assignment has been committed, and a record of the own epoch as well."""
    replica = work.replica
    last = replica.log.assignments[-1][0] if replica.log.assignments else -1
    return replica.high_watermark is not None and last <= replica.assignment_offset


def is_reached(work: Work, target: tuple[int, ...] | None) -> bool:
    """Whether the last assignment already has this target; ``None``: whether it has none."""
    known = latest(work)
    return known.target is None if target is None else known.wanted == target


def are_known(work: Work, ids: tuple[int, ...]) -> bool:
    """Whether each of these replicas is a voter or has fetched from this leader."""
    role = work.replica.role
    assert isinstance(role, Leader)
    heard_from = {entry.id for entry in (*role.progress, *role.observers)}
    return heard_from.issuperset(ids)


# A leader's steps.


def settle(work: Work) -> None:
    """The high watermark has moved: count by the new voters, answer who waited, and leave if removed."""
    if not learn(work):
        return
    progress.count_own_log(work)
    role = work.replica.role
    assert isinstance(role, Leader)
    in_force = work.replica.assignment_offset
    done = [each for each in role.alterations if each.offset is not None and each.offset <= in_force]
    for each in done:
        work.by("ALTER-5")
        _answer(work, each, ErrorCode.NONE)
    if not work.replica.is_voter:
        work.by("ALTER-15")
        work.update_role(resign_requested=True)


def proceed(work: Work) -> None:
    """Append the next assignment, if there is one to append and the last one is decided."""
    role = work.replica.role
    assert isinstance(role, Leader)
    if not (role.alterations or work.replica.log.assignments) or not is_decided(work):
        return
    for waiting in role.alterations:
        if not is_reached(work, waiting.target):
            _retarget(work, waiting)
            return
        work.by("ALTER-4")
        _answer(work, waiting, ErrorCode.NONE)
    following = _next_step(work, latest(work))
    if following is not None:
        work.by("ALTER-13")
        voter_changes.append_control(work, (following,))


def _retarget(work: Work, waiting: AlteringQuorum) -> None:
    """The voters stay, what is wanted changes; the request is answered when that has been committed."""
    work.by("ALTER-13", "ALTER-6" if waiting.target is None else "ALTER-5")
    offset = voter_changes.append_control(work, (replace(latest(work), target=waiting.target),))
    role = work.replica.role
    assert isinstance(role, Leader)
    others = [each for each in role.alterations if each is not waiting]
    work.update_role(alterations=(replace(waiting, offset=offset), *others))


def _next_step(work: Work, known: VoterAssignment) -> VoterAssignment | None:
    """The assignment one voter closer to the target; ``None`` if there is none to append now."""
    if known.target is None:
        return None
    missing = [voter for voter in known.target if voter not in known.voters]
    surplus = [voter for voter in known.voters if voter not in known.target]
    if not missing and not surplus:
        work.by("ALTER-14")
        return replace(known, target=None)
    work.by("ALTER-12")
    ready = [voter for voter in missing if _has_caught_up(work, voter)]
    if ready:
        work.by("ALTER-11")
        return replace(known, voters=tuple(sorted((*known.voters, ready[0]))))
    if missing:
        return None
    work.by("ALTER-11")
    leaving = _next_to_leave(work, surplus)
    return replace(known, voters=tuple(voter for voter in known.voters if voter != leaving))


def _next_to_leave(work: Work, surplus: list[int]) -> int:
    """The voter that lags most, and the leader last: the former may have failed and not help to commit."""
    role = work.replica.role
    assert isinstance(role, Leader)
    held = {entry.id: -1 if entry.end_offset is None else entry.end_offset for entry in role.progress}
    return min(surplus, key=lambda voter: (voter == work.replica.id, held[voter], voter))


def _has_caught_up(work: Work, voter: int) -> bool:
    role = work.replica.role
    assert isinstance(role, Leader)
    keys = [entry.key for entry in role.observers if entry.id == voter]
    return any(progress.has_caught_up(work, key) for key in keys)


def abandon(work: Work, role: Leader) -> None:
    """Leadership is over; the assignments in the log stay, and the next leader goes on from them."""
    for waiting in role.alterations:
        work.by("ALTER-2")
        _reply(work, waiting, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _answer(work: Work, waiting: AlteringQuorum, error: ErrorCode) -> None:
    role = work.replica.role
    assert isinstance(role, Leader)
    work.update_role(alterations=tuple(each for each in role.alterations if each is not waiting))
    _reply(work, waiting, error)


def _reply(work: Work, waiting: AlteringQuorum, error: ErrorCode) -> None:
    work.reply(waiting.source, waiting.correlation, AlterQuorumResponse(error))
