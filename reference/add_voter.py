"""AddRaftVoter: an observer that has caught up becomes a voter.

Source: KIP-853 (AddRaftVoter), KIP-1186 (acknowledgement); Kafka: KafkaRaftClient.handleAddVoterRequest,
handleAddVoterResponse, handleApiVersionsResponse, AddVoterHandler, LeaderState.isReplicaCaughtUp.
"""

from __future__ import annotations

from kraftcheck.reference import auto_join, epochs, progress, voter_changes
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kraftcheck.reference.protocol import AutomaticRejoin, VoterKeys
from kraftcheck.reference.replica import AddingVoter
from kraftcheck.reference.voters import ReplicaKey, Voter
from kraftcheck.reference.work import Work


def handle_request(
    work: Work, source: int, correlation: int | None, request: AddRaftVoterRequest
) -> AddRaftVoterResponse | None:
    """Ask the new voter what it supports (``None``: the answer comes later), or say why not."""
    error = _request_error(work, request)
    if error is not ErrorCode.NONE:
        return AddRaftVoterResponse(error)
    if work.connection(request.voter.id) is not None:
        work.by("ADD-8")
        return AddRaftVoterResponse(ErrorCode.REQUEST_TIMED_OUT)
    work.by("ADD-8", "ADD-15")
    work.send(request.voter.id, ApiVersionsRequest())
    voter = Voter(request.voter, request.endpoints)
    voter_changes.begin(work, AddingVoter(source, correlation, voter, request.ack_when_committed))
    return None


def _request_error(work: Work, request: AddRaftVoterRequest) -> ErrorCode:
    """The first of the checks, in the order of Kafka, that the request does not pass."""
    error = epochs.cluster_error(work, request.cluster_id, "ADD-1")
    if error is not ErrorCode.NONE:
        return error
    error = epochs.leader_request_error(work, work.replica.epoch)
    if error is not ErrorCode.NONE:
        work.by("ADD-2")
        return error
    valid = voter_changes.is_complete(request.voter) and voter_changes.has_default_listener(request.endpoints)
    if not valid:
        work.by("ADD-3")
        return ErrorCode.INVALID_REQUEST
    error = voter_changes.waiting_error(work, "ADD-4", "ADD-5")
    if error is not ErrorCode.NONE:
        return error
    error = voter_changes.voter_set_error(work, "ADD-6")
    if error is not ErrorCode.NONE:
        return error
    if is_taken(work, request.voter):
        work.by("ADD-7", "VSET-3")
        return ErrorCode.DUPLICATE_VOTER
    if _has_been_removed(work, request):
        work.by("ADD-16")
        return ErrorCode.DUPLICATE_VOTER
    return ErrorCode.NONE


def _has_been_removed(work: Work, request: AddRaftVoterRequest) -> bool:
    """Whether the voter adds itself after it was removed, and may not; as far as the log goes back.

    A replica that adds itself does not ask to be answered when that has committed (KIP-1186).
    """
    if work.protocol.automatic_rejoin is AutomaticRejoin.ACCEPTED or request.ack_when_committed:
        return False
    before = (work.replica.bootstrap_voters, *(voters for _, voters in work.replica.log.voter_sets))
    return any(request.voter in voters.keys for voters in before)


def is_taken(work: Work, key: ReplicaKey) -> bool:
    """Whether the voter set has no room for ``key``: its id, or with composite keys the key, is in it."""
    voters = work.replica.voters
    if work.protocol.voter_keys is VoterKeys.COMPOSITE:
        return key in voters.keys
    return voters.find(key.id) is not None


def handle_api_versions_response(
    work: Work, source: int, change: AddingVoter, response: ApiVersionsResponse
) -> None:
    """What the new voter supports; if it fits and the voter has caught up, the new set is appended."""
    if change.offset is not None or change.voter.key.id != source:
        return
    supported = response.kraft_versions
    if response.error is not ErrorCode.NONE:
        work.by("ADD-8")
        voter_changes.end(work, ErrorCode.REQUEST_TIMED_OUT)
        work.back_off(source)
        return
    voter = Voter(change.voter.key, change.voter.endpoints, *(supported or ()))
    if supported is None or not voter.supports(work.replica.kraft_version):
        work.by("ADD-9")
        voter_changes.end(work, ErrorCode.INVALID_REQUEST)
        return
    if not progress.has_caught_up(work, voter.key):
        work.by("ADD-10")
        voter_changes.end(work, ErrorCode.REQUEST_TIMED_OUT)
        return
    work.by("ADD-9", "ADD-10", "ADD-11")
    offset = voter_changes.append_voter_set(work, work.replica.voters.with_voter(voter))
    answered = not change.ack_when_committed
    if answered:
        work.by("ADD-13")
        voter_changes.reply(work, change, ErrorCode.NONE)
    work.update_role(change=replace(change, offset=offset, answered=answered))


# A replica that adds itself.


def request_of(work: Work) -> AddRaftVoterRequest:
    """What an observer asks that may make itself a voter."""
    replica = work.replica
    work.by("ADD-14")
    timeout = work.protocol.request_timeout_ms
    return AddRaftVoterRequest(replica.key, replica.endpoints, False, replica.cluster_id, timeout)


def handle_response(work: Work, source: int, response: AddRaftVoterResponse) -> None:
    """The leader's answer to a replica that adds itself: it may be a voter already."""
    auto_join.handle_answer(work, source, response.error, ErrorCode.DUPLICATE_VOTER)
