"""DescribeQuorum: a client asks the leader how the quorum is doing.

Source: KIP-595 (DescribeQuorum), KIP-836 (times), KIP-853 (directory ids, nodes); Kafka:
KafkaRaftClient.handleDescribeQuorumRequest, LeaderState.clearInactiveObservers,
RaftUtil.singletonDescribeQuorumResponse.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import (
    METADATA_PARTITION,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaDescription,
    VoterNode,
)
from kraftcheck.reference.protocol import QuorumDescription
from kraftcheck.reference.replica import Leader, Progress, Replica
from kraftcheck.reference.work import Work

#: How long an observer may be silent before it is forgotten (LeaderState.OBSERVER_SESSION_TIMEOUT_MS).
OBSERVER_SESSION_MS = 300_000


def handle_request(work: Work, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """What the leader holds in memory, of itself and of every replica that it knows.

    Neither the cluster nor the epoch nor a shutdown under way is asked for. Silent observers are forgotten.
    """
    # validate
    if request.partition != METADATA_PARTITION:
        work.by("DESCRIBE-11", "ID-3")
        return DescribeQuorumResponse(partition_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    # decide
    if not isinstance(work.replica.role, Leader):
        work.by("DESCRIBE-1")
        return _not_leader(work)
    work.by("DESCRIBE-2", "DESCRIBE-4", "DESCRIBE-5", "DESCRIBE-9")
    # effects
    _forget_silent_observers(work)
    return _response(work)


def _not_leader(work: Work) -> DescribeQuorumResponse:
    """The documents name the leader to ask instead; Kafka returns nothing but the error."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if work.protocol.quorum_description is QuorumDescription.DOCUMENTS:
        state = work.replica.quorum_state
        return DescribeQuorumResponse(state.epoch, state.leader, partition_error=error)
    return DescribeQuorumResponse(partition_error=error)


def _forget_silent_observers(work: Work) -> None:
    role, now = work.replica.role, work.now
    assert isinstance(role, Leader)
    if now is None:
        return
    kept = tuple(entry for entry in role.observers if _is_active(work.replica, entry, now))
    if kept != role.observers:
        work.by("DESCRIBE-8")
        work.update_role(observers=kept)


def _is_active(replica: Replica, entry: Progress, now: int) -> bool:
    """A voter that became an observer and has never fetched counts as silent since time -1."""
    last_fetch = -1 if entry.last_fetch_time is None else entry.last_fetch_time
    return now - last_fetch < OBSERVER_SESSION_MS or entry.key == replica.key


def _response(work: Work) -> DescribeQuorumResponse:
    replica = work.replica
    role = replica.role
    assert isinstance(role, Leader)
    return DescribeQuorumResponse(
        epoch=replica.epoch,
        leader=replica.id,
        high_watermark=replica.high_watermark,
        voters=tuple(_describe(work, entry) for entry in role.progress),
        observers=tuple(_describe(work, entry) for entry in role.observers),
        nodes=tuple(VoterNode(voter.key.id, voter.endpoints) for voter in replica.voters.voters),
    )


def _describe(work: Work, entry: Progress) -> ReplicaDescription:
    """The entry of one replica; without a clock its times are not known."""
    now = work.now
    if entry.id == work.replica.id:
        last_fetch = None if work.protocol.quorum_description is QuorumDescription.DOCUMENTS else now
        own_end = None if entry.end_offset is None else work.replica.log.end_offset
        return ReplicaDescription(entry.key, own_end, last_fetch, now)
    if now is None:
        return ReplicaDescription(entry.key, entry.end_offset)
    return ReplicaDescription(entry.key, entry.end_offset, entry.last_fetch_time, entry.last_caught_up_time)
