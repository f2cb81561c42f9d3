"""The conditions that a hand-written replica must satisfy before the reference can be asked about it.

The reference builds roles only by its transitions and relies on their guarantees. A replica that breaks such
a guarantee cannot be the state of a running replica.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.replica import Candidate, Follower, Leader, Prospective, Replica, Resigned
from kraftcheck.reference.transitions import role_name
from kraftcheck.support.errors import InputError


def require_consistent(replica: Replica, what: str = "replica") -> None:
    """Raise InputError for the first fault that no running replica can have."""
    for problem in problems(replica):
        raise InputError(f"{what}: {problem}.")


def problems(replica: Replica) -> Iterator[str]:
    """The faults of ``replica``, each in a clause that also states the expected value."""
    state, role, name = replica.quorum_state, replica.role, role_name(replica.role)
    logged = replica.log.last_epoch
    if logged > state.epoch:
        yield f"its log has epoch {logged}, so its own epoch must be at least that, not {state.epoch}"
    if replica.high_watermark is not None and replica.high_watermark > replica.log.end_offset:
        yield f"its high watermark must be at most {replica.log.end_offset}, the end of its log"
    if isinstance(role, Prospective | Candidate | Leader) and not replica.is_voter:
        yield f"a {name} must be one of its voters, which are {replica.voters.ids}"
    if isinstance(role, Candidate) and (state.voted != replica.key or state.leader is not None):
        yield "a Candidate has voted for itself and knows no leader"
    if isinstance(role, Leader | Resigned) and (state.leader != replica.id or state.voted is not None):
        yield f"a {name} names itself as leader of its epoch and has no vote stored"
    if isinstance(role, Follower):
        yield from _follower_problems(replica, role)
    elif not isinstance(role, Leader | Resigned) and state.leader == replica.id:
        yield f"a {name} cannot name itself as leader of its epoch"
    if isinstance(role, Prospective | Candidate):
        election = role.election
        if not {*election.granted, *election.rejected} <= set(election.voters):
            yield "only voters of the election can have granted or rejected"
        if set(election.granted) & set(election.rejected):
            yield "a voter cannot have granted and rejected"
    if isinstance(role, Leader):
        yield from _leader_problems(replica, role)


def _follower_problems(replica: Replica, role: Follower) -> Iterator[str]:
    if replica.quorum_state.leader in (None, replica.id):
        yield "a Follower follows another replica"
    if not role.leader_endpoints:
        yield "a Follower knows the endpoints of its leader"


def _leader_problems(replica: Replica, role: Leader) -> Iterator[str]:
    if replica.log.last_epoch != replica.epoch:
        yield f"the log of a Leader knows its epoch, {replica.epoch}"
    if role.epoch_start_offset > replica.log.end_offset:
        yield f"the epoch of a Leader starts at most at {replica.log.end_offset}, the end of its log"
    if any(not records for records in role.pending):
        yield "a pending batch has at least one record"
    if any((entry.end_offset or 0) > replica.log.end_offset for entry in role.progress):
        yield f"no voter has more than the Leader's log, which ends at {replica.log.end_offset}"
    if not role.progress:
        yield "a Leader keeps the progress of its voters"
