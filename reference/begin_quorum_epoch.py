"""BeginQuorumEpoch: a leader announces itself to the voters.

Source: KIP-595 (BeginQuorumEpoch), KIP-853 (endpoints, voter key); Kafka:
KafkaRaftClient.handleBeginQuorumEpochRequest, handleBeginQuorumEpochResponse.
"""

from __future__ import annotations

from kraftcheck.reference import epochs, voter_assignments, voter_changes
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from kraftcheck.reference.replica import Follower, Leader, Prospective
from kraftcheck.reference.work import Work


def handle_request(work: Work, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
    """Follow the announced leader, unless a newer epoch is known here."""
    # validate
    error = epochs.envelope_error(work, request)
    if error is not ErrorCode.NONE:
        return BeginQuorumEpochResponse(work.replica.epoch, error=error)
    error = epochs.voter_request_error(work, request.leader, request.epoch, "BEGIN-4", membership="BEGIN-14")
    if error is not ErrorCode.NONE:
        return _response(work, error)
    # epoch
    if epochs.is_misdirected_at_once(work, request.voter):
        return _response(work, ErrorCode.INVALID_VOTER_KEY)
    endpoints = request.leader_endpoints
    if not endpoints:
        work.by("BEGIN-10")
        endpoints = work.replica.voters.endpoints(request.leader)
    work.by("BEGIN-5" if request.epoch > work.replica.epoch else "BEGIN-7")
    if not work.replica.is_voter:
        work.by("BEGIN-13")
    asked = isinstance(work.replica.role, Prospective)
    epochs.learn(work, request.epoch, request.leader, endpoints)
    if asked and isinstance(work.replica.role, Follower):
        work.by("PREVOTE-24")
    # decide
    if not epochs.is_addressee(work, request.voter):
        work.by("ID-4", "ID-5", "BEGIN-9")
        return _response(work, ErrorCode.INVALID_VOTER_KEY)
    # effects
    return _response(work, ErrorCode.NONE)


def _response(work: Work, error: ErrorCode) -> BeginQuorumEpochResponse:
    replica = work.replica
    return BeginQuorumEpochResponse(
        replica.epoch, replica.quorum_state.leader, replica.leader_endpoints, partition_error=error
    )


def handle_response(work: Work, source: int, response: BeginQuorumEpochResponse) -> None:
    """Note that a voter knows its leader."""
    # epoch
    if epochs.handled(work, source, response, "BEGIN-11"):
        return
    # decide
    role = work.replica.role
    if not isinstance(role, Leader):
        return
    # effects
    work.by("BEGIN-3")
    acknowledge(work, role, source)


def acknowledge(work: Work, role: Leader, voter: int) -> None:
    """``voter`` has shown that it knows this leader."""
    if all(entry.id != voter for entry in role.progress):
        if work.protocol.ignore_removed_voters or voter_assignments.may_have_removed(work):
            return
        raise work.exit(Fatal(FatalReason.ACKNOWLEDGED_BY_NON_VOTER, replica=voter), "BEGIN-1")
    progress = tuple(
        replace(entry, acknowledged=True) if entry.id == voter else entry for entry in role.progress
    )
    work.update_role(progress=progress)


def request_to(work: Work, voter: int) -> BeginQuorumEpochRequest:
    """The announcement for one voter."""
    replica = work.replica
    voter_changes.require_endpoint(work, voter)
    return BeginQuorumEpochRequest(
        epoch=replica.epoch,
        leader=replica.id,
        voter=replica.voters.addressee(voter),
        leader_endpoints=replica.endpoints,
        cluster_id=replica.cluster_id,
    )
