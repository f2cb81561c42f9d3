"""Vote: standard votes (KIP-595) and pre-votes (KIP-996).

Source: KIP-595 (Vote), KIP-996 (Pre-Vote request and response handling); Kafka:
KafkaRaftClient.handleVoteRequest, handleVoteResponse, QuorumState.canGrantVote, EpochState.canGrantVote.
"""

from __future__ import annotations

from kraftcheck.reference import elections, epochs, transitions, voter_changes
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import is_up_to_date
from kraftcheck.reference.messages import VoteRequest, VoteResponse
from kraftcheck.reference.protocol import FollowerPreVote, FollowerVote, PreVoteCompatibility
from kraftcheck.reference.replica import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftcheck.reference.voters import matches
from kraftcheck.reference.work import Work


def handle_request(work: Work, request: VoteRequest) -> VoteResponse:
    """Decide on a (pre-)vote and say so, with the epoch and the leader known here."""
    # validate
    error = epochs.envelope_error(work, request)
    if error is not ErrorCode.NONE:
        return VoteResponse(work.replica.epoch, error=error)
    error = _request_error(work, request)
    if error is not ErrorCode.NONE:
        return _response(work, request, error)
    if _is_kept_by_leader(work, request):
        return _response(work, request, ErrorCode.NONE)
    # epoch
    if epochs.is_misdirected_at_once(work, request.voter):
        return _response(work, request, ErrorCode.INVALID_VOTER_KEY)
    if request.epoch > work.replica.epoch:
        work.by("PREVOTE-9" if request.pre_vote else "VOTE-7", "EPOCH-3")
        transitions.to_unattached(work, request.epoch)
    if not epochs.is_addressee(work, request.voter):
        work.by("ID-4", "ID-5")
        return _response(work, request, ErrorCode.INVALID_VOTER_KEY)
    # decide
    if request.pre_vote:
        granted = would_grant_pre_vote(work, request)
    else:
        granted = would_grant_vote(work, request)
        if granted:
            _record_vote(work, request)
    # effects
    work.by("VOTE-17")
    return _response(work, request, ErrorCode.NONE, granted)


def _request_error(work: Work, request: VoteRequest) -> ErrorCode:
    limit = request.epoch if request.pre_vote else request.epoch - 1
    if request.end_offset < 0 or request.last_epoch < 0 or request.last_epoch > limit:
        work.by("PREVOTE-7" if request.pre_vote else "VOTE-4")
        return ErrorCode.INVALID_REQUEST
    rule = "PREVOTE-8" if request.pre_vote else "VOTE-5"
    candidate, replica = request.candidate.id, work.replica
    error = epochs.voter_request_error(work, candidate, request.epoch, rule, membership="VOTE-6")
    if error is ErrorCode.NONE and not (replica.is_voter and replica.voters.find(candidate)):
        work.by("VOTE-6")
    return error


def _is_kept_by_leader(work: Work, request: VoteRequest) -> bool:
    """An alternative to pre-votes: a follower that has fetched ignores candidates of larger epochs."""
    if work.protocol.follower_vote is FollowerVote.HEEDS or request.epoch <= work.replica.epoch:
        return False
    role = work.replica.role
    return isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched)


def would_grant_pre_vote(work: Work, request: VoteRequest) -> bool:
    """Whether a pre-vote of the local epoch is granted. Granting changes nothing here."""
    role = work.replica.role
    up_to_date = is_up_to_date(request.last_epoch, request.end_offset, work.replica.log)
    work.by("PREVOTE-14", "PREVOTE-15")
    if isinstance(role, Leader):
        work.by("PREVOTE-10")
        return False
    if isinstance(role, Follower):
        return _follower_would_grant_pre_vote(work, role, up_to_date)
    work.by("PREVOTE-11", "DEF-6")
    return up_to_date


def _follower_would_grant_pre_vote(work: Work, role: Follower, up_to_date: bool) -> bool:
    policy = work.protocol.follower_pre_vote
    if policy is FollowerPreVote.BY_LOG:
        return up_to_date
    if policy is FollowerPreVote.NEVER:
        work.by("PREVOTE-12")
        return False
    if role.has_fetched:
        work.by("PREVOTE-12")
        return False
    work.by("PREVOTE-13", "PREVOTE-32", "DEF-6")
    return up_to_date


def would_grant_vote(work: Work, request: VoteRequest) -> bool:
    """Whether a standard vote of the local epoch is granted."""
    role = work.replica.role
    if isinstance(role, Candidate):
        work.by("VOTE-11")
        return False
    if isinstance(role, Leader):
        work.by("VOTE-12")
        return False
    if isinstance(role, Follower):
        work.by("VOTE-13")
        return False
    if isinstance(role, Resigned):
        work.by("VOTE-14", "RESIGN-7", "RESIGN-9")
        return False
    voted = work.replica.quorum_state.voted
    if voted is not None:
        work.by("VOTE-8")
        return matches(voted, request.candidate)
    if work.replica.quorum_state.leader is not None:
        work.by("VOTE-9")
        return False
    work.by("VOTE-10", "DEF-6")
    return is_up_to_date(request.last_epoch, request.end_offset, work.replica.log)


def _record_vote(work: Work, request: VoteRequest) -> None:
    """A first grant is durable before the answer leaves; a repeated one is not written again."""
    if not work.replica.is_voter:
        work.by("VOTE-16")
    if work.replica.quorum_state.voted is not None:
        return
    if isinstance(work.replica.role, Unattached):
        transitions.unattached_with_vote(work, request.candidate)
    else:
        transitions.prospective_with_vote(work, request.candidate)


def _response(work: Work, request: VoteRequest, error: ErrorCode, granted: bool = False) -> VoteResponse:
    replica = work.replica
    if granted and isinstance(replica.role, Follower):
        work.by("PREVOTE-16")
    with_flag = work.protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG
    return VoteResponse(
        epoch=replica.epoch,
        leader=replica.quorum_state.leader,
        granted=granted,
        leader_endpoints=replica.leader_endpoints,
        partition_error=error,
        pre_vote=request.pre_vote if with_flag else None,
    )


def handle_response(work: Work, source: int, response: VoteResponse) -> None:
    """Count a vote, if it still matters."""
    # validate
    if isinstance(work.replica.role, Prospective) and _peer_lacks_pre_vote(work, response):
        elections.become_candidate(work)
        return
    # epoch
    epoch = work.replica.epoch
    if epochs.handled(work, source, response):
        if work.replica.epoch > epoch:
            work.by("VOTE-18")
        return
    # decide
    role = work.replica.role
    if not isinstance(role, Prospective | Candidate):
        work.by("VOTE-19")
        return
    # effects
    if response.granted:
        elections.record_grant(work, source)
    else:
        elections.record_rejection(work, source)


def _peer_lacks_pre_vote(work: Work, response: VoteResponse) -> bool:
    if response.error is ErrorCode.UNSUPPORTED_VERSION:
        work.by("PREVOTE-18", "RESP-9")
        return True
    with_flag = work.protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG
    if with_flag and response.pre_vote is False:
        work.by("PREVOTE-17")
        return True
    return False


def request_to(work: Work, voter: int, *, pre_vote: bool) -> VoteRequest:
    """The request that a Prospective or Candidate sends to one voter."""
    replica = work.replica
    voter_changes.require_endpoint(work, voter)
    return VoteRequest(
        epoch=replica.epoch,
        candidate=replica.key,
        voter=replica.voters.addressee(voter),
        last_epoch=replica.log.last_epoch,
        end_offset=replica.log.end_offset,
        pre_vote=pre_vote,
        cluster_id=replica.cluster_id,
    )
