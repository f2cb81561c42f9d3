"""UpdateRaftVoter: a voter reports to its leader where it listens and which kraft.version it supports.

Source: KIP-853 (UpdateRaftVoter); Kafka: KafkaRaftClient.handleUpdateVoterRequest,
handleUpdateVoterResponse, pollFollowerAsVoter, UpdateVoterHandler.
"""

from __future__ import annotations

from kraftcheck.reference import epochs, progress, voter_changes
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.messages import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from kraftcheck.reference.replica import Follower, Leader, Replica
from kraftcheck.reference.voters import Voter
from kraftcheck.reference.work import Work


def handle_request(work: Work, request: UpdateRaftVoterRequest) -> UpdateRaftVoterResponse:
    """Take over the voter's new entry; under static voters remember it for the upgrade."""
    error = _request_error(work, request)
    if error is ErrorCode.NONE:
        entry = _entry(request)
        error = _report(work, entry) if work.replica.kraft_version < 1 else _append(work, entry)
    if error is ErrorCode.NONE:
        progress.count_contact(work, request.voter)
    return _response(work, error)


def _entry(request: UpdateRaftVoterRequest) -> Voter:
    return Voter(request.voter, request.endpoints, request.min_kraft_version, request.max_kraft_version)


def _request_error(work: Work, request: UpdateRaftVoterRequest) -> ErrorCode:
    error = epochs.cluster_error(work, request.cluster_id, "UPDATE-2")
    if error is not ErrorCode.NONE:
        return error
    error = epochs.leader_request_error(work, request.epoch)
    if error is not ErrorCode.NONE:
        work.by("UPDATE-2")
        return error
    sound = 0 <= request.min_kraft_version <= request.max_kraft_version
    if not voter_changes.is_complete(request.voter) or not sound:
        work.by("UPDATE-3")
        return ErrorCode.INVALID_REQUEST
    error = voter_changes.waiting_error(work, "UPDATE-4")
    if error is not ErrorCode.NONE:
        return error
    if not voter_changes.has_default_listener(request.endpoints):
        work.by("UPDATE-3")
        return ErrorCode.INVALID_REQUEST
    if not _entry(request).supports(work.replica.kraft_version):
        work.by("UPDATE-5")
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def _append(work: Work, entry: Voter) -> ErrorCode:
    error = voter_changes.voter_set_error(work, "UPDATE-4")
    if error is not ErrorCode.NONE:
        return error
    voters = work.replica.voters
    if not voters.is_voter(entry.key):
        work.by("UPDATE-5")
        return ErrorCode.VOTER_NOT_FOUND
    work.by("UPDATE-6", "UPDATE-8")
    voter_changes.append_voter_set(work, voters.with_entry(entry))
    return ErrorCode.NONE


def _report(work: Work, entry: Voter) -> ErrorCode:
    role = work.replica.role
    assert isinstance(role, Leader)
    work.by("KVER-5", "UPDATE-4")
    if work.replica.voters.find(entry.key.id) is None:
        work.by("UPDATE-5")
        return ErrorCode.VOTER_NOT_FOUND
    others = [known for known in role.reported if known.key.id != entry.key.id]
    reported = tuple(sorted((*others, entry), key=lambda known: known.key.id))
    work.update_role(reported=reported)
    return ErrorCode.NONE


def _response(work: Work, error: ErrorCode) -> UpdateRaftVoterResponse:
    replica = work.replica
    work.by("UPDATE-7")
    return UpdateRaftVoterResponse(
        replica.epoch, replica.quorum_state.leader, replica.leader_endpoints, partition_error=error
    )


# The voter's side.


def is_needed(replica: Replica) -> bool:
    """Whether the leader should hear of this voter: its entry is old, or, of a static voter, unknown."""
    if replica.kraft_version >= 1:
        return replica.voters.entry(replica.key) != replica.own_entry
    assert isinstance(replica.role, Follower)
    return not replica.role.has_updated_leader


def request_of(work: Work) -> UpdateRaftVoterRequest:
    """The request that a voter sends to its leader."""
    replica = work.replica
    work.by("UPDATE-1")
    entry = replica.own_entry
    return UpdateRaftVoterRequest(
        replica.epoch,
        entry.key,
        entry.endpoints,
        entry.min_kraft_version,
        entry.max_kraft_version,
        replica.cluster_id,
    )


def handle_response(work: Work, source: int, response: UpdateRaftVoterResponse) -> None:
    """The leader knows this voter; that it answered counts like an answered fetch."""
    if epochs.handled_in_common(work, source, response):
        return
    if response.partition_error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        epochs.unexpected_error(work, source)
        return
    if isinstance(work.replica.role, Follower):
        work.by("UPDATE-7")
        work.update_role(has_updated_leader=True, has_fetched=True)
        work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))
