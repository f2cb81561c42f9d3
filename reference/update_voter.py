"""UpdateRaftVoter: a voter reports to its leader where it listens and which kraft.version it supports.

Source: KIP-853 (UpdateRaftVoter); Kafka: KafkaRaftClient.handleUpdateVoterRequest,
handleUpdateVoterResponse, pollFollowerAsVoter, UpdateVoterHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kraftcheck.reference import epochs, kraft_version, progress, voter_changes
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftcheck.reference.protocol import UpdateVoter
from kraftcheck.reference.replica import Follower, Leader, UpdatingVoter
from kraftcheck.reference.voters import Endpoint, Voter
from kraftcheck.reference.work import Work


def handle_request(
    work: Work, source: int, correlation: int | None, request: UpdateRaftVoterRequest
) -> UpdateRaftVoterResponse | None:
    """Take over the voter's new entry; under static voters remember it for the upgrade. In trunk, reach the
    voter at its new endpoint first (``None``: the answer comes later).
    """
    error = _request_error(work, request)
    if error is not ErrorCode.NONE:
        return voter_changes.update_response(work, error)
    if work.protocol.update_voter is UpdateVoter.PROBED:
        return _probe(work, UpdatingVoter(source, correlation, _entry(request)))
    _store(work, _entry(request))
    return voter_changes.update_response(work, ErrorCode.NONE)


def _entry(request: UpdateRaftVoterRequest) -> Voter:
    return Voter(request.voter, request.endpoints, request.min_kraft_version, request.max_kraft_version)


def _request_error(work: Work, request: UpdateRaftVoterRequest) -> ErrorCode:
    """The first of the checks, in the order of the release, that the request does not pass."""
    probed = work.protocol.update_voter is UpdateVoter.PROBED
    error = epochs.cluster_error(work, request.cluster_id, "UPDATE-2")
    if error is not ErrorCode.NONE:
        return error
    error = epochs.leader_request_error(work, request.epoch)
    if error is not ErrorCode.NONE:
        work.by("UPDATE-2")
        return error
    reachable = voter_changes.has_default_listener(request.endpoints)
    sound = 0 <= request.min_kraft_version <= request.max_kraft_version
    if not voter_changes.is_complete(request.voter) or not sound or not (reachable or probed):
        work.by("UPDATE-3")
        return ErrorCode.INVALID_REQUEST
    error = voter_changes.waiting_error(work, "UPDATE-4")
    if error is not ErrorCode.NONE:
        return error
    if not reachable:
        work.by("UPDATE-3")
        return ErrorCode.INVALID_REQUEST
    if probed:
        return ErrorCode.NONE
    return _first_error(work, _entry(request), (_voter_set_error, _range_error, _key_error))


def _first_error(work: Work, entry: Voter, checks: Sequence[Callable[[Work, Voter], ErrorCode]]) -> ErrorCode:
    errors = (check(work, entry) for check in checks)
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)


def _voter_set_error(work: Work, entry: Voter) -> ErrorCode:
    """Why no entry can be replaced now: the voter set is static, not committed, or about to be written to the
    log.
    """
    if work.replica.kraft_version >= 1 or work.protocol.update_voter is UpdateVoter.APPENDED:
        return voter_changes.voter_set_error(work, "UPDATE-4")
    if kraft_version.newest(work) >= 1:
        work.by("UPDATE-4")
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


def _range_error(work: Work, entry: Voter) -> ErrorCode:
    if entry.supports(work.replica.kraft_version):
        return ErrorCode.NONE
    work.by("UPDATE-5")
    return ErrorCode.INVALID_REQUEST


def _key_error(work: Work, entry: Voter) -> ErrorCode:
    voters, finalized = work.replica.voters, work.replica.kraft_version
    known = voters.find(entry.key.id) is not None if finalized < 1 else voters.is_voter(entry.key)
    if known:
        return ErrorCode.NONE
    work.by("UPDATE-5")
    return ErrorCode.VOTER_NOT_FOUND


def _store(work: Work, entry: Voter) -> int | None:
    """Replace the entry; the offset of the voter set with it, ``None`` where it is kept in memory."""
    offset = None
    if work.replica.kraft_version < 1:
        _remember(work, entry)
    else:
        offset = _append(work, entry)
    if work.protocol.update_voter is not UpdateVoter.APPENDED:
        progress.count_contact(work, entry.key)
    return offset


def _append(work: Work, entry: Voter) -> int:
    work.by("UPDATE-6", "UPDATE-8")
    return voter_changes.append_voter_set(work, work.replica.voters.with_entry(entry))


def _remember(work: Work, entry: Voter) -> None:
    role = work.replica.role
    assert isinstance(role, Leader)
    work.by("KVER-5", "UPDATE-4")
    others = [known for known in role.reported if known.key.id != entry.key.id]
    reported = tuple(sorted((*others, entry), key=lambda known: known.key.id))
    work.update_role(reported=reported)


# The leader of Kafka's trunk, which reaches the voter at its new endpoint first.


def _probe(work: Work, change: UpdatingVoter) -> UpdateRaftVoterResponse | None:
    voter = change.voter.key.id
    work.by("UPDATE-9")
    if work.connection(voter) is not None:
        return voter_changes.update_response(work, ErrorCode.REQUEST_TIMED_OUT)
    work.send(voter, ApiVersionsRequest())
    voter_changes.begin(work, change)
    return None


def handle_api_versions_response(
    work: Work, source: int, change: UpdatingVoter, response: ApiVersionsResponse
) -> None:
    """What the voter at the new endpoint supports; if all is as it reported, its entry is replaced."""
    if change.offset is not None or change.voter.key.id != source:
        return
    work.by("UPDATE-10")
    error = _probe_error(work, change.voter, response)
    if error is not ErrorCode.NONE:
        voter_changes.end(work, error)
        if response.error is not ErrorCode.NONE:
            work.back_off(source)
        return
    offset = _store(work, change.voter)
    voter_changes.reply(work, change, ErrorCode.NONE)
    work.update_role(change=None if offset is None else replace(change, offset=offset))


def _probe_error(work: Work, entry: Voter, response: ApiVersionsResponse) -> ErrorCode:
    if response.error is not ErrorCode.NONE:
        return ErrorCode.REQUEST_TIMED_OUT
    if response.kraft_versions != (entry.min_kraft_version, entry.max_kraft_version):
        return ErrorCode.INVALID_REQUEST
    return _first_error(work, entry, (_range_error, _voter_set_error, _key_error))


# The voter's side.


def is_needed(work: Work) -> bool:
    """Whether the leader should hear of this voter: its entry is old, or, of a static voter, unknown."""
    replica = work.replica
    if replica.kraft_version >= 1:
        return replica.voters.entry(replica.key) != replica.own_entry
    if work.protocol.update_voter is UpdateVoter.APPENDED:
        return False
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
    if work.protocol.update_voter is UpdateVoter.APPENDED:
        epochs.handled_in_common(work, source, _with_other_endpoint(response))
        return
    if epochs.handled_in_common(work, source, response):
        return
    if response.partition_error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        epochs.unexpected_error(work, source)
        return
    if isinstance(work.replica.role, Follower):
        work.by("UPDATE-7")
        work.update_role(has_updated_leader=True, has_fetched=True)
        work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))


def _with_other_endpoint(response: UpdateRaftVoterResponse) -> UpdateRaftVoterResponse:
    """``response`` as Kafka 3.9 and 4.0 read it: without its endpoint, or with an empty one if it has none.

    The condition in their KafkaRaftClient.handleUpdateVoterResponse is the wrong way round.
    """
    if response.leader_endpoints or response.leader is None:
        return replace(response, leader_endpoints=())
    return replace(response, leader_endpoints=(Endpoint(voter_changes.DEFAULT_LISTENER, "", 0),))
