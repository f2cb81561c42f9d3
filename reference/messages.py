"""The quorum's messages, reduced to what the protocol reads. Wire schemas: ``spec/messages.toml``.

An unknown leader, vote or high watermark is ``None`` here and -1 on the wire. ``error`` of a response is
its top-level error, ``partition_error`` the error of its single partition.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Batch, EpochEnd, Snapshot, SnapshotId
from kraftcheck.reference.voters import Endpoint, ReplicaKey, VoterSet

METADATA_PARTITION = "__cluster_metadata-0"

#: What a Fetch request carries as high watermark when its version has no such field (KIP-1166).
HIGH_WATERMARK_NOT_SUPPORTED = 2**63 - 1


class VoteRequest(Frozen):
    """Vote (API 52): a candidate asks for a vote, or a prospective (``pre_vote``) whether it would get one.

    ``voter`` is the key of the replica the request is meant for (``None`` before version 1);
    ``last_epoch`` and ``end_offset`` describe the end of the sender's log.
    """

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey | None
    last_epoch: int
    end_offset: int
    pre_vote: bool
    cluster_id: str | None = None
    partition: str = METADATA_PARTITION


class BeginQuorumEpochRequest(Frozen):
    """BeginQuorumEpoch (API 53): a leader announces itself to a voter."""

    epoch: int
    leader: int
    voter: ReplicaKey | None
    leader_endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None
    partition: str = METADATA_PARTITION


class EndQuorumEpochRequest(Frozen):
    """EndQuorumEpoch (API 54): a resigned leader asks a voter to elect, best successors first."""

    epoch: int
    leader: int
    preferred_successors: tuple[ReplicaKey, ...]
    leader_endpoints: tuple[Endpoint, ...] = ()
    cluster_id: str | None = None
    partition: str = METADATA_PARTITION


class FetchRequest(Frozen):
    """Fetch (API 1): "my log ends at ``offset`` with a record of ``last_epoch``; what comes next?"

    ``epoch`` is the leader epoch as the sender knows it; a negative id in ``replica`` is a consumer.
    """

    epoch: int
    replica: ReplicaKey
    offset: int
    last_epoch: int
    high_watermark: int | None
    max_wait_ms: int
    cluster_id: str | None = None
    partition: str = METADATA_PARTITION


class VoteResponse(Frozen):
    """Answer to Vote. ``pre_vote`` echoes the request's flag where the version has it (KIP-996 draft)."""

    epoch: int
    leader: int | None = None
    granted: bool = False
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    pre_vote: bool | None = None


class BeginQuorumEpochResponse(Frozen):
    """Answer to BeginQuorumEpoch."""

    epoch: int
    leader: int | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class EndQuorumEpochResponse(Frozen):
    """Answer to EndQuorumEpoch."""

    epoch: int
    leader: int | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class FetchResponse(Frozen):
    """Answer to Fetch: records and the high watermark, or where the logs diverge, or a snapshot to load."""

    epoch: int
    leader: int | None = None
    high_watermark: int | None = None
    batches: tuple[Batch, ...] = ()
    diverging: EpochEnd | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    log_start_offset: int = 0
    snapshot: SnapshotId | None = None


class FetchSnapshotRequest(Frozen):
    """FetchSnapshot (API 59): give me bytes of the snapshot ``snapshot`` from ``position`` on."""

    epoch: int
    replica: ReplicaKey
    snapshot: SnapshotId
    position: int
    max_bytes: int
    cluster_id: str | None = None
    partition: str = METADATA_PARTITION


class FetchSnapshotResponse(Frozen):
    """Answer to FetchSnapshot: ``length`` bytes from ``position`` on, of ``size``.

    ``content`` is the snapshot that they are a part of; a receiver may look into it when it has all bytes.
    """

    epoch: int
    leader: int | None = None
    snapshot: SnapshotId | None = None
    size: int = 0
    position: int = 0
    length: int = 0
    content: Snapshot | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class AddRaftVoterRequest(Frozen):
    """AddRaftVoter (API 80): make ``voter``, which listens at ``endpoints``, a voter.

    ``ack_when_committed`` False (version 1): answer as soon as the new voter set is appended.
    ``timeout_ms`` is what the client is willing to wait; the leader waits as long as it is configured to.
    """

    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    ack_when_committed: bool = True
    cluster_id: str | None = None
    timeout_ms: int = 0


class AddRaftVoterResponse(Frozen):
    """Answer to AddRaftVoter."""

    error: ErrorCode = ErrorCode.NONE


class RemoveRaftVoterRequest(Frozen):
    """RemoveRaftVoter (API 81): make ``voter`` an observer."""

    voter: ReplicaKey
    cluster_id: str | None = None


class RemoveRaftVoterResponse(Frozen):
    """Answer to RemoveRaftVoter."""

    error: ErrorCode = ErrorCode.NONE


class UpdateRaftVoterRequest(Frozen):
    """UpdateRaftVoter (API 82): a voter tells its leader where it listens and what it supports."""

    epoch: int
    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int
    max_kraft_version: int
    cluster_id: str | None = None


class UpdateRaftVoterResponse(Frozen):
    """Answer to UpdateRaftVoter. It has one error, which is handled as a partition's."""

    epoch: int
    leader: int | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class ApiVersionsRequest(Frozen):
    """ApiVersions (API 18): which features and versions does the receiver support?"""


class ApiVersionsResponse(Frozen):
    """Answer to ApiVersions: the range of kraft.version, ``None`` where there is no such feature."""

    kraft_versions: tuple[int, int] | None = None
    error: ErrorCode = ErrorCode.NONE


class DescribeQuorumRequest(Frozen):
    """DescribeQuorum (API 55): a client asks how the quorum is doing. It names no cluster and no epoch."""

    partition: str = METADATA_PARTITION


class ReplicaDescription(Frozen):
    """What a leader tells of one replica: where its log ends, and the times of KIP-836 by the leader's clock.

    ``None`` is -1 on the wire: not known.
    """

    key: ReplicaKey
    end_offset: int | None = None
    last_fetch_time: int | None = None
    last_caught_up_time: int | None = None


class VoterNode(Frozen):
    """Where a voter listens."""

    id: int
    endpoints: tuple[Endpoint, ...] = ()


class DescribeQuorumResponse(Frozen):
    """Answer to DescribeQuorum in its newest form; what older versions show:
    :mod:`kraftcheck.reference.versions`.
    """

    epoch: int = 0
    leader: int | None = None
    high_watermark: int | None = None
    voters: tuple[ReplicaDescription, ...] = ()
    observers: tuple[ReplicaDescription, ...] = ()
    nodes: tuple[VoterNode, ...] = ()
    partition_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE


class AlterQuorumRequest(Frozen):
    """AlterQuorum (KIP-595): make these the voters, by id; ``None``: leave them as they are by now."""

    target: tuple[int, ...] | None
    cluster_id: str | None = None


class AlterQuorumResponse(Frozen):
    """Answer to AlterQuorum."""

    error: ErrorCode = ErrorCode.NONE


class FindQuorumRequest(Frozen):
    """FindQuorum (KIP-595): who leads, and who votes? Asked by a replica that listens at ``endpoints``."""

    replica: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()


class FindQuorumResponse(Frozen):
    """Answer to FindQuorum: the quorum as its sender knows it. ``target``: the voters wanted, if others."""

    epoch: int
    leader: int | None = None
    voters: VoterSet = VoterSet()
    target: tuple[int, ...] | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
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
