"""The quorum's messages, reduced to what the protocol reads. Wire schemas: ``spec/messages.toml``.

An unknown leader, vote or high watermark is ``None`` here and -1 on the wire. ``error`` of a response is
its top-level error, ``partition_error`` the error of its single partition.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Unbounded
from kraftcheck.reference.log import Batch, EpochEnd, Snapshot, SnapshotId
from kraftcheck.reference.types import (
    Ascending,
    ByteCount,
    EndOffset,
    Epoch,
    InSequence,
    KRaftLevel,
    LastEpoch,
    LogStart,
    Milliseconds,
    Name,
    ReplicaId,
    Time,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, VoterSet

METADATA_PARTITION = "__cluster_metadata-0"

#: What a Fetch request carries as high watermark when its version has no such field (KIP-1166).
HIGH_WATERMARK_NOT_SUPPORTED = 2**63 - 1


class VoteRequest(Unbounded):
    """Vote (API 52): a candidate asks for a vote, or a prospective (``pre_vote``) whether it would get one.

    ``voter`` is the key of the replica the request is meant for (``None`` before version 1);
    ``last_epoch`` and ``end_offset`` describe the end of the sender's log.
    """

    epoch: Epoch
    candidate: ReplicaKey
    voter: ReplicaKey | None
    last_epoch: LastEpoch
    end_offset: EndOffset
    pre_vote: bool
    cluster_id: Name | None = None
    partition: Name = METADATA_PARTITION


class BeginQuorumEpochRequest(Unbounded):
    """BeginQuorumEpoch (API 53): a leader announces itself to a voter."""

    epoch: Epoch
    leader: ReplicaId
    voter: ReplicaKey | None
    leader_endpoints: InSequence[Endpoint]
    cluster_id: Name | None = None
    partition: Name = METADATA_PARTITION


class EndQuorumEpochRequest(Unbounded):
    """EndQuorumEpoch (API 54): a resigned leader asks a voter to elect, best successors first."""

    epoch: Epoch
    leader: ReplicaId
    preferred_successors: InSequence[ReplicaKey]
    leader_endpoints: InSequence[Endpoint] = ()
    cluster_id: Name | None = None
    partition: Name = METADATA_PARTITION


class FetchRequest(Unbounded):
    """Fetch (API 1): "my log ends at ``offset`` with a record of ``last_epoch``; what comes next?"

    ``epoch`` is the leader epoch as the sender knows it; a negative id in ``replica`` is a consumer.
    """

    epoch: Epoch
    replica: ReplicaKey
    offset: EndOffset
    last_epoch: LastEpoch
    high_watermark: EndOffset | None
    max_wait_ms: Milliseconds
    cluster_id: Name | None = None
    partition: Name = METADATA_PARTITION


class VoteResponse(Unbounded):
    """Answer to Vote. ``pre_vote`` echoes the request's flag where the version has it (KIP-996 draft)."""

    epoch: Epoch
    leader: ReplicaId | None = None
    granted: bool = False
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    pre_vote: bool | None = None


class BeginQuorumEpochResponse(Unbounded):
    """Answer to BeginQuorumEpoch."""

    epoch: Epoch
    leader: ReplicaId | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class EndQuorumEpochResponse(Unbounded):
    """Answer to EndQuorumEpoch."""

    epoch: Epoch
    leader: ReplicaId | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class FetchResponse(Unbounded):
    """Answer to Fetch: records and the high watermark, or where the logs diverge, or a snapshot to load."""

    epoch: Epoch
    leader: ReplicaId | None = None
    high_watermark: EndOffset | None = None
    batches: InSequence[Batch] = ()
    diverging: EpochEnd | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    log_start_offset: LogStart = 0
    snapshot: SnapshotId | None = None


class FetchSnapshotRequest(Unbounded):
    """FetchSnapshot (API 59): give me bytes of the snapshot ``snapshot`` from ``position`` on."""

    epoch: Epoch
    replica: ReplicaKey
    snapshot: SnapshotId
    position: ByteCount
    max_bytes: ByteCount
    cluster_id: Name | None = None
    partition: Name = METADATA_PARTITION


class FetchSnapshotResponse(Unbounded):
    """Answer to FetchSnapshot: ``length`` bytes from ``position`` on, of ``size``.

    ``content`` is the snapshot that they are a part of; a receiver may look into it when it has all bytes.
    """

    epoch: Epoch
    leader: ReplicaId | None = None
    snapshot: SnapshotId | None = None
    size: ByteCount = 0
    position: ByteCount = 0
    length: ByteCount = 0
    content: Snapshot | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class AddRaftVoterRequest(Unbounded):
    """AddRaftVoter (API 80): make ``voter``, which listens at ``endpoints``, a voter.

    ``ack_when_committed`` False (version 1): answer as soon as the new voter set is appended.
    ``timeout_ms`` is what the client is willing to wait; the leader waits as long as it is configured to.
    """

    voter: ReplicaKey
    endpoints: InSequence[Endpoint]
    ack_when_committed: bool = True
    cluster_id: Name | None = None
    timeout_ms: Milliseconds = 0


class AddRaftVoterResponse(Unbounded):
    """Answer to AddRaftVoter."""

    error: ErrorCode = ErrorCode.NONE


class RemoveRaftVoterRequest(Unbounded):
    """RemoveRaftVoter (API 81): make ``voter`` an observer."""

    voter: ReplicaKey
    cluster_id: Name | None = None


class RemoveRaftVoterResponse(Unbounded):
    """Answer to RemoveRaftVoter."""

    error: ErrorCode = ErrorCode.NONE


class UpdateRaftVoterRequest(Unbounded):
    """UpdateRaftVoter (API 82): a voter reports to its leader where it listens and what it supports."""

    epoch: Epoch
    voter: ReplicaKey
    endpoints: InSequence[Endpoint]
    min_kraft_version: KRaftLevel
    max_kraft_version: KRaftLevel
    cluster_id: Name | None = None


class UpdateRaftVoterResponse(Unbounded):
    """Answer to UpdateRaftVoter. It has one error, which is handled as a partition's."""

    epoch: Epoch
    leader: ReplicaId | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class ApiVersionsRequest(Unbounded):
    """ApiVersions (API 18): which features and versions does the receiver support?"""


class ApiVersionsResponse(Unbounded):
    """Answer to ApiVersions: the range of kraft.version, ``None`` where there is no such feature."""

    kraft_versions: tuple[KRaftLevel, KRaftLevel] | None = None
    error: ErrorCode = ErrorCode.NONE


class DescribeQuorumRequest(Unbounded):
    """DescribeQuorum (API 55): a client asks how the quorum is doing. It names no cluster and no epoch."""

    partition: Name = METADATA_PARTITION


class ReplicaDescription(Unbounded):
    """What a leader reports of a replica: where its log ends, and the times of KIP-836 by the leader's clock.

    ``None`` is -1 on the wire: not known.
    """

    key: ReplicaKey
    end_offset: EndOffset | None = None
    last_fetch_time: Time | None = None
    last_caught_up_time: Time | None = None


class VoterNode(Unbounded):
    """Where a voter listens."""

    id: ReplicaId
    endpoints: InSequence[Endpoint] = ()


class DescribeQuorumResponse(Unbounded):
    """Answer to DescribeQuorum in its newest form; what older versions show:
    :mod:`kraftcheck.reference.versions`.
    """

    epoch: Epoch = 0
    leader: ReplicaId | None = None
    high_watermark: EndOffset | None = None
    voters: Ascending[ReplicaDescription] = ()
    observers: Ascending[ReplicaDescription] = ()
    nodes: Ascending[VoterNode] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class AlterQuorumRequest(Unbounded):
    """AlterQuorum (KIP-595): make these the voters, by id; ``None``: leave them as they are by now."""

    target: Ascending[ReplicaId] | None
    cluster_id: Name | None = None


class AlterQuorumResponse(Unbounded):
    """Answer to AlterQuorum."""

    error: ErrorCode = ErrorCode.NONE


class FindQuorumRequest(Unbounded):
    """FindQuorum (KIP-595): who leads, and who votes? Asked by a replica that listens at ``endpoints``."""

    replica: ReplicaKey
    endpoints: InSequence[Endpoint] = ()


class FindQuorumResponse(Unbounded):
    """Answer to FindQuorum: the quorum as its sender knows it. ``target``: the voters wanted, if others."""

    epoch: Epoch
    leader: ReplicaId | None = None
    voters: VoterSet = VoterSet()
    target: Ascending[ReplicaId] | None = None
    leader_endpoints: InSequence[Endpoint] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


#: Requests about the metadata partition that replicas send each other.
PartitionRequest = (
    VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest
)
Request = (
    PartitionRequest
    | AddRaftVoterRequest
    | RemoveRaftVoterRequest
    | UpdateRaftVoterRequest
    | ApiVersionsRequest
    | DescribeQuorumRequest
    | AlterQuorumRequest
    | FindQuorumRequest
)
#: Responses that name the epoch of their sender and the leader it knows.
EpochResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | UpdateRaftVoterResponse
    | FindQuorumResponse
)
Response = (
    EpochResponse
    | AddRaftVoterResponse
    | RemoveRaftVoterResponse
    | ApiVersionsResponse
    | DescribeQuorumResponse
    | AlterQuorumResponse
)
Message = Request | Response
