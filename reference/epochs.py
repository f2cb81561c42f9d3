"""Epoch comparison, in one place: what every request and every response goes through first.

Source: KIP-595 (error codes, response handling); Kafka: KafkaRaftClient.validateVoterOnlyRequest,
validateLeaderOnlyRequest, hasConsistentLeader, maybeTransition, maybeHandleCommonResponse,
handleTopLevelError.
"""

from __future__ import annotations

from kraftcheck.reference import transitions, voter_assignments
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.messages import METADATA_PARTITION, EpochResponse, PartitionRequest
from kraftcheck.reference.protocol import ClusterId, ProspectiveLeader, ReceiverKeyCheck, VoterMembership
from kraftcheck.reference.replica import Follower, Leader, Prospective, Replica, Resigned, Unattached
from kraftcheck.reference.voters import Endpoint, ReplicaKey, matches
from kraftcheck.reference.work import Work


def envelope_error(work: Work, request: PartitionRequest) -> ErrorCode:
    """The top-level error of a request for another cluster or another partition."""
    error = cluster_error(work, request.cluster_id)
    if error is not ErrorCode.NONE:
        return error
    if request.partition != METADATA_PARTITION:
        work.by("ID-3")
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def cluster_error(work: Work, cluster_id: str | None, *rules: str) -> ErrorCode:
    """The error of a request for another cluster, or, as KIP-595 has it, of one that names none; ``rules``
    say so for this API.
    """
    expected = work.replica.cluster_id
    if expected is None or cluster_id == expected:
        return ErrorCode.NONE
    if cluster_id is not None:
        work.by("ID-1", *rules)
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    work.by("ID-2")
    required = work.protocol.cluster_id is ClusterId.REQUIRED
    return ErrorCode.INCONSISTENT_CLUSTER_ID if required else ErrorCode.NONE


def voter_request_error(work: Work, sender: int, epoch: int, rule: str, *, membership: str) -> ErrorCode:
    """The error of a Vote, BeginQuorumEpoch or EndQuorumEpoch request. For this API ``rule`` says what holds
    of the epoch, and ``membership`` what if only voters may ask and be asked.
    """
    if epoch < work.replica.epoch:
        work.by("EPOCH-4", rule)
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender < 0:
        work.by(rule)
        return ErrorCode.INVALID_REQUEST
    if work.protocol.voter_membership is VoterMembership.ON:
        return _membership_error(work, sender, membership)
    return ErrorCode.NONE


def _membership_error(work: Work, sender: int, rule: str) -> ErrorCode:
    if work.replica.is_voter and work.replica.voters.find(sender) is not None:
        return ErrorCode.NONE
    if voter_assignments.may_lead_as_removed(work, sender):
        return ErrorCode.NONE
    work.by(rule)
    return ErrorCode.INCONSISTENT_VOTER_SET


def leader_request_error(work: Work, epoch: int) -> ErrorCode:
    """The error of a request that only the leader of ``epoch`` serves."""
    if epoch < work.replica.epoch:
        work.by("EPOCH-4")
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > work.replica.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(work.replica.role, Leader):
        work.by("RESIGN-6")
        if isinstance(work.replica.role, Resigned):
            work.by("RESIGN-7")
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if work.replica.shutting_down:
        return ErrorCode.BROKER_NOT_AVAILABLE
    return ErrorCode.NONE


def is_addressee(work: Work, key: ReplicaKey | None) -> bool:
    """Whether a request meant for ``key`` is meant for this replica; an absent key always matches."""
    return key is None or matches(key, work.replica.key)


def is_misdirected_at_once(work: Work, key: ReplicaKey | None) -> bool:
    """Whether a request meant for ``key`` is refused before its epoch is looked at."""
    if work.protocol.receiver_key_check is ReceiverKeyCheck.AFTER_EPOCH or is_addressee(work, key):
        return False
    work.by("ID-4")
    return True


def learn(work: Work, epoch: int, leader: int | None, endpoints: tuple[Endpoint, ...]) -> None:
    """Act on a claim that ``leader`` leads ``epoch`` (``None``: only that the epoch exists)."""
    replica = work.replica
    if work.protocol.adopt_epoch_without_endpoints and not endpoints:
        leader = None
    if not _is_consistent(work, epoch, leader):
        fatal = Fatal(
            FatalReason.CONFLICTING_LEADER,
            replica=leader,
            epoch=epoch,
            known_leader=replica.quorum_state.leader,
            known_epoch=replica.epoch,
        )
        raise work.exit(fatal, "EPOCH-8", "BEGIN-8")
    if epoch > replica.epoch:
        work.by("EPOCH-3")
        if leader is None:
            transitions.to_unattached(work, epoch)
        else:
            transitions.to_follower(work, epoch, leader, endpoints)
    elif leader is not None and leader != replica.id and _is_news(work, endpoints):
        work.by("EPOCH-3", "BEGIN-6")
        transitions.to_follower(work, epoch, leader, endpoints)


def _is_consistent(work: Work, epoch: int, leader: int | None) -> bool:
    replica = work.replica
    if leader == replica.id:
        return epoch == replica.epoch and isinstance(replica.role, Leader)
    known = replica.quorum_state.leader
    return epoch != replica.epoch or leader is None or known is None or known == leader


def _is_news(work: Work, endpoints: tuple[Endpoint, ...]) -> bool:
    """Whether a claim about the leader of the current epoch says more than is known."""
    replica = work.replica
    always_follows = work.protocol.prospective_leader is not ProspectiveLeader.IF_UNKNOWN
    if isinstance(replica.role, Prospective) and always_follows:
        work.by("PREVOTE-23", "PREVOTE-24")
        return True
    if work.protocol.take_other_endpoints and endpoints and endpoints != replica.leader_endpoints:
        return True
    return replica.quorum_state.leader is None or len(endpoints) > len(replica.leader_endpoints)


def handled_in_common(work: Work, source: int, response: EpochResponse) -> bool:
    """The part of response handling that all APIs share; ``True`` if nothing is left to do.

    A ``False`` answer leaves a response of the local epoch for the handler of its API.
    """
    if response.error is not ErrorCode.NONE:
        _handle_top_level_error(work, source, response.error)
        return True
    replica = work.replica
    error = response.partition_error
    endpoints = response.leader_endpoints
    if response.leader is not None and not endpoints:
        work.by("RESP-6")
        endpoints = replica.voters.endpoints(response.leader)
    if response.epoch < replica.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        work.by("EPOCH-5", "RESP-2")
        return True
    if work.protocol.ignore_lost_leadership and response.leader == replica.id != replica.quorum_state.leader:
        work.by("EPOCH-8")
        work.back_off(source)
        return True
    superseded = error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if response.epoch == replica.epoch and _waits_for_announcement(work):
        return error is not ErrorCode.NONE and (superseded or _handle_partition_error(work, source, error))
    if response.epoch > replica.epoch or superseded:
        work.by("RESP-3")
        if isinstance(replica.role, Leader) and response.epoch > replica.epoch:
            work.by("CHECKQ-6")
        learn(work, response.epoch, response.leader, endpoints)
        _note_whom_prospective_follows(work, replica)
        return True
    if response.leader is not None and _finds_leader(work, endpoints):
        work.by("RESP-4")
        transitions.to_follower(work, response.epoch, response.leader, endpoints)
        _note_whom_prospective_follows(work, replica)
        return error is not ErrorCode.NONE
    if _prospective_follows(work, response):
        work.by("PREVOTE-23")
        assert response.leader is not None
        transitions.to_follower(work, response.epoch, response.leader, endpoints)
        return error is not ErrorCode.NONE
    return error is not ErrorCode.NONE and _handle_partition_error(work, source, error)


def _finds_leader(work: Work, endpoints: tuple[Endpoint, ...]) -> bool:
    """Whether a response of the own epoch says which leader to follow, or where the known one listens."""
    replica, protocol = work.replica, work.protocol
    if replica.quorum_state.leader is None:
        return bool(endpoints) or not protocol.adopt_epoch_without_endpoints
    return protocol.follow_known_leader and isinstance(replica.role, Unattached) and bool(endpoints)


def handled(work: Work, source: int, response: EpochResponse, *rules: str) -> bool:
    """As :func:`handled_in_common`, for an API whose handler knows no error: one that is left means
    a back-off. ``rules`` say for this API what holds of all.
    """
    if handled_in_common(work, source, response):
        work.by(*rules)
        return True
    if response.partition_error is not ErrorCode.NONE:
        unexpected_error(work, source)
        return True
    return False


def _waits_for_announcement(work: Work) -> bool:
    """A rejected alternative of KIP-996: in its own epoch a Prospective believes the leader alone."""
    announced = work.protocol.prospective_leader is ProspectiveLeader.ANNOUNCED
    return announced and isinstance(work.replica.role, Prospective)


def _note_whom_prospective_follows(work: Work, before: Replica) -> None:
    if isinstance(before.role, Prospective) and isinstance(work.replica.role, Follower):
        work.by("PREVOTE-23")


def _prospective_follows(work: Work, response: EpochResponse) -> bool:
    """The document's rule: any response that names a leader sends a Prospective after it."""
    return (
        work.protocol.prospective_leader is ProspectiveLeader.ANY
        and isinstance(work.replica.role, Prospective)
        and response.leader is not None
        and response.leader != work.replica.id
    )


def _handle_top_level_error(work: Work, source: int, error: ErrorCode) -> None:
    work.by("RESP-1")
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise work.exit(Fatal(FatalReason.NOT_AUTHORIZED))
    work.back_off(source)


def _handle_partition_error(work: Work, source: int, error: ErrorCode) -> bool:
    """Errors that mean the same in every response; ``False`` leaves the error to the API's handler."""
    if error is ErrorCode.BROKER_NOT_AVAILABLE:
        work.by("RESP-5")
        work.back_off(source)
        return True
    if error is ErrorCode.INVALID_VOTER_KEY:
        work.by("RESP-5", "ID-6")
        return True
    if error is ErrorCode.INVALID_REQUEST:
        raise work.exit(Fatal(FatalReason.INVALID_REQUEST, replica=source), "RESP-5")
    return False


def unexpected_error(work: Work, source: int) -> None:
    """An error that the API's handler has no rule for: log it and back off."""
    work.by("RESP-1")
    work.back_off(source)
