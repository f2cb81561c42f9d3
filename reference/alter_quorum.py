"""AlterQuorum: the voters become those that are named, by steps of one voter each (KIP-595, dropped later).

Source: KIP-595 (AlterQuorum, Quorum Change Protocol), KIP-642. The steps:
:mod:`kraftcheck.reference.voter_assignments`.
"""

from __future__ import annotations

from kraftcheck.reference import epochs, voter_assignments
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import AlterQuorumRequest, AlterQuorumResponse
from kraftcheck.reference.protocol import VoterChanges
from kraftcheck.reference.replica import AlteringQuorum, Leader
from kraftcheck.reference.work import Work


def handle_request(
    work: Work, source: int, correlation: int | None, request: AlterQuorumRequest
) -> AlterQuorumResponse | None:
    """Take the target down, or say why not. ``None``: the answer comes when it has been committed."""
    # validate
    error = _request_error(work, request)
    if error is not ErrorCode.NONE:
        return AlterQuorumResponse(error)
    # decide
    role = work.replica.role
    assert isinstance(role, Leader)
    target = None if request.target is None else tuple(sorted(request.target))
    decided = voter_assignments.is_decided(work)
    if decided and not role.alterations and voter_assignments.is_reached(work, target):
        work.by("ALTER-4")
        return AlterQuorumResponse()
    # effects
    work.by(_rule_of(work, target))
    if not decided or role.alterations or voter_assignments.latest(work).target is not None:
        work.by("ALTER-7")
    waiting = AlteringQuorum(source, correlation, target)
    work.update_role(alterations=(*role.alterations, waiting))
    return None


def _rule_of(work: Work, target: tuple[int, ...] | None) -> str:
    """Why a request waits: the target is there and not committed, or it has to be appended."""
    if voter_assignments.is_reached(work, target):
        return "ALTER-4"
    return "ALTER-6" if target is None else "ALTER-5"


def _request_error(work: Work, request: AlterQuorumRequest) -> ErrorCode:
    """The first of the checks, in the document's order, that the request does not pass."""
    replica = work.replica
    if work.protocol.voter_changes is not VoterChanges.ALTER_QUORUM or replica.kraft_version >= 1:
        return ErrorCode.UNSUPPORTED_VERSION
    error = epochs.cluster_error(work, request.cluster_id)
    if error is not ErrorCode.NONE:
        return error
    if epochs.leader_request_error(work, replica.epoch) is not ErrorCode.NONE:
        work.by("ALTER-2")
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if request.target is None:
        return ErrorCode.NONE
    distinct = len(set(request.target)) == len(request.target)
    if not request.target or not distinct or min(request.target) < 0:
        work.by("ALTER-1")
        return ErrorCode.INVALID_REQUEST
    if not voter_assignments.are_known(work, request.target):
        work.by("ALTER-3")
        return ErrorCode.VOTER_NOT_FOUND
    return ErrorCode.NONE
