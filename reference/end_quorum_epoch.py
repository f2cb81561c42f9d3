"""EndQuorumEpoch: a leader that resigned asks the voters to elect without waiting for time-outs.

Source: KIP-595 (EndQuorumEpoch); Kafka: KafkaRaftClient.handleEndQuorumEpochRequest,
handleEndQuorumEpochResponse, endEpochElectionBackoff, strictExponentialElectionBackoffMs.
"""

from __future__ import annotations

from kraftcheck.reference import elections, epochs
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal, SuccessorBackoff
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.messages import EndQuorumEpochRequest, EndQuorumEpochResponse
from kraftcheck.reference.protocol import HandOver
from kraftcheck.reference.replica import Follower, Resigned
from kraftcheck.reference.voters import matches
from kraftcheck.reference.work import Work


def handle_request(work: Work, request: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
    """A follower of the resigned leader shortens its fetch timer by its rank among the successors."""
    # validate
    error = epochs.envelope_error(work, request)
    if error is not ErrorCode.NONE:
        return EndQuorumEpochResponse(work.replica.epoch, error=error)
    error = epochs.voter_request_error(work, request.leader, request.epoch, "END-5", membership="BEGIN-14")
    if error is not ErrorCode.NONE:
        return _response(work, error)
    # epoch
    endpoints = request.leader_endpoints or work.replica.voters.endpoints(request.leader)
    work.by("END-6")
    epochs.learn(work, request.epoch, request.leader, endpoints)
    # decide
    follows = isinstance(work.replica.role, Follower)
    if follows and work.replica.quorum_state.leader == request.leader:
        # effects
        wait = _jitter(work) if _is_broadcast(work) else _successor_backoff(work, request)
        work.by("END-9")
        work.emit(ArmTimer(Timer.FETCH, wait))
        if work.protocol.successor_skips_pre_vote and _is_first(work, request):
            elections.skip_pre_vote(work)
    return _response(work, ErrorCode.NONE)


def _is_broadcast(work: Work) -> bool:
    """KIP-595: there is no list of successors, and each voter waits a random time."""
    return work.protocol.hand_over is HandOver.BROADCAST_JITTER


def _jitter(work: Work) -> Duration:
    work.by("END-8")
    return Duration.ELECTION_JITTER


def _successor_backoff(work: Work, request: EndQuorumEpochRequest) -> SuccessorBackoff:
    work.by("END-7")
    successors = request.preferred_successors
    for position, key in enumerate(successors):
        if matches(key, work.replica.key):
            return SuccessorBackoff(position, len(successors))
    return SuccessorBackoff(len(successors), len(successors))


def successor_backoff_ms(backoff: SuccessorBackoff, max_ms: int) -> int:
    """The delay in ms for a rank among the successors, at most ``max_ms`` (END-7)."""
    if backoff.position == 0:
        return 0
    if backoff.position >= backoff.count:
        return max_ms
    return min(max_ms, (max_ms >> (backoff.count - 1)) << (backoff.position - 1))


def _is_first(work: Work, request: EndQuorumEpochRequest) -> bool:
    """Whether the replica is a voter, and the resigned leader prefers it to all others."""
    return work.replica.is_voter and request.preferred_successors[:1] == (work.replica.key,)


def _response(work: Work, error: ErrorCode) -> EndQuorumEpochResponse:
    replica = work.replica
    return EndQuorumEpochResponse(
        replica.epoch, replica.quorum_state.leader, replica.leader_endpoints, partition_error=error
    )


def handle_response(work: Work, source: int, response: EndQuorumEpochResponse) -> None:
    """A voter has acknowledged the resignation, and receives no further request."""
    # epoch
    if epochs.handled(work, source, response):
        return
    # decide
    role = work.replica.role
    if not isinstance(role, Resigned):
        raise work.exit(Fatal(FatalReason.END_RESPONSE_AT_NON_RESIGNED, replica=source))
    if source not in work.replica.voters.ids:
        raise work.exit(Fatal(FatalReason.RESIGNATION_ACKNOWLEDGED_BY_NON_VOTER, replica=source))
    # effects
    work.by("END-10")
    work.update_role(unacknowledged=tuple(voter for voter in role.unacknowledged if voter != source))


def request_to(work: Work, role: Resigned) -> EndQuorumEpochRequest:
    """The request that a resigned leader sends to a voter."""
    replica = work.replica
    return EndQuorumEpochRequest(
        epoch=replica.epoch,
        leader=replica.id,
        preferred_successors=() if _is_broadcast(work) else role.preferred_successors,
        cluster_id=replica.cluster_id,
    )
