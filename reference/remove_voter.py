"""RemoveRaftVoter: a voter becomes an observer, perhaps the leader itself.

Source: KIP-853 (RemoveRaftVoter); Kafka: KafkaRaftClient.handleRemoveVoterRequest, RemoveVoterHandler.
"""

from __future__ import annotations

from kraftcheck.reference import auto_join, epochs, voter_changes
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from kraftcheck.reference.replica import RemovingVoter
from kraftcheck.reference.voters import VoterSet
from kraftcheck.reference.work import Work


def handle_request(
    work: Work, source: int, correlation: int | None, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse | None:
    """Append the voter set without the voter (``None``: the answer comes when it has committed)."""
    error = _request_error(work, request)
    if error is not ErrorCode.NONE:
        return RemoveRaftVoterResponse(error)
    remaining = work.replica.voters.without(request.voter)
    if len(remaining) in (0, len(work.replica.voters)):
        work.by("REMOVE-4" if not remaining.voters else "REMOVE-3")
        return RemoveRaftVoterResponse(ErrorCode.VOTER_NOT_FOUND)
    if work.protocol.hand_over_before_removal and not remaining.is_voter(work.replica.key):
        work.by("REMOVE-8")
        work.update_role(resign_requested=True)
        return RemoveRaftVoterResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    _append(work, source, correlation, remaining)
    return None


def _request_error(work: Work, request: RemoveRaftVoterRequest) -> ErrorCode:
    error = epochs.cluster_error(work, request.cluster_id, "REMOVE-1")
    if error is not ErrorCode.NONE:
        return error
    error = epochs.leader_request_error(work, work.replica.epoch)
    if error is not ErrorCode.NONE:
        work.by("REMOVE-1")
        return error
    if not voter_changes.is_complete(request.voter):
        work.by("REMOVE-1")
        return ErrorCode.INVALID_REQUEST
    error = voter_changes.waiting_error(work, "REMOVE-2")
    if error is not ErrorCode.NONE:
        return error
    return voter_changes.voter_set_error(work, "REMOVE-2")


def _append(work: Work, source: int, correlation: int | None, remaining: VoterSet) -> None:
    work.by("REMOVE-5")
    if not remaining.is_voter(work.replica.key):
        work.by("REMOVE-8")
    offset = voter_changes.append_voter_set(work, remaining)
    voter_changes.begin(work, RemovingVoter(source, correlation, offset))


# A replica that removes its old key.


def request_of(work: Work) -> RemoveRaftVoterRequest:
    """What an observer asks whose id is a voter's under another directory: remove that old key."""
    replica = work.replica
    entry = replica.voters.find(replica.id)
    assert entry is not None
    work.by("ADD-14")
    return RemoveRaftVoterRequest(entry.key, replica.cluster_id)


def handle_response(work: Work, source: int, response: RemoveRaftVoterResponse) -> None:
    """The leader's answer to a replica that removes its old key: it may be gone already."""
    auto_join.handle_answer(work, source, response.error, ErrorCode.VOTER_NOT_FOUND)
