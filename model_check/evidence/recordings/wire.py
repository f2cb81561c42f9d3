"""Kafka's JSON messages to the reference's messages: what a node receives.

The other direction, what a node is expected to send, is :mod:`.encode`. Unknown ids, epochs and offsets
are -1 on the wire and ``None`` in the reference; the zero UUID is "no directory".

Source: Kafka: VoteRequest.json and the other message schemas, RaftUtil.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.recording import Message
from kraftcheck.reference import messages as m
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import (
    Batch,
    EpochEnd,
    KRaftVersion,
    LeaderChange,
    Record,
    SnapshotId,
    Value,
    Voters,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, voter_set
from kraftcheck.support.errors import InputError

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
TOPIC = "__cluster_metadata"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
LISTENER = "CONTROLLER"
KRAFT_VERSION = "kraft.version"

_ERRORS = frozenset(int(code) for code in ErrorCode)


class UncoveredMessageError(Exception):
    """A message that the reference has no counterpart for yet."""


def decode(message: Message) -> m.Message:
    """The reference's form of ``message``. Raises InputError if a field is wrong, UncoveredMessageError if
    the reference does not know such messages.
    """
    return decode_data(message.api, message.data, is_request=message.is_request)


def decode_data(api: str, data: Fields, *, is_request: bool) -> m.Message:
    """The reference's form of a message of ``api`` with this content; raises as :func:`decode` does."""
    decoders = _REQUESTS if is_request else _RESPONSES
    if api not in decoders:
        raise UncoveredMessageError(api)
    return decoders[api](data)


def directory(uuid: str) -> str | None:
    """A directory id, ``None`` for the zero UUID."""
    return None if uuid == ZERO_UUID else uuid


def _optional(value: int) -> int | None:
    return None if value < 0 else value


def _cluster(data: Fields) -> str | None:
    return data.text("clusterId") if data.values.get("clusterId") is not None else None


def _partition(data: Fields) -> tuple[Fields, str]:
    topic = data.only("topics")
    partition = topic.only("partitions")
    if "topicId" in topic:
        name, index = topic.text("topicId"), partition.number("partition")
        known = name == TOPIC_ID
    else:
        name, index = topic.text("topicName"), partition.number("partitionIndex")
        known = name == TOPIC
    return partition, m.METADATA_PARTITION if known and index == 0 else f"{name}-{index}"


def _endpoints(data: Fields, key: str) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(entry.text("name"), entry.text("host"), entry.number("port"))
        for entry in data.objects(key, [])
    )


def _vote_request(data: Fields) -> m.VoteRequest:
    partition, name = _partition(data)
    voter_id = data.number("voterId", -1)
    voter = ReplicaKey(voter_id, directory(partition.text("voterDirectoryId", ZERO_UUID)))
    candidate = ReplicaKey(
        partition.number("replicaId"), directory(partition.text("replicaDirectoryId", ZERO_UUID))
    )
    return m.VoteRequest(
        epoch=partition.number("replicaEpoch"),
        candidate=candidate,
        voter=None if voter_id < 0 else voter,
        last_epoch=partition.number("lastOffsetEpoch"),
        end_offset=partition.number("lastOffset"),
        pre_vote=partition.flag("preVote", False),
        cluster_id=_cluster(data),
        partition=name,
    )


def _begin_request(data: Fields) -> m.BeginQuorumEpochRequest:
    partition, name = _partition(data)
    voter_id = data.number("voterId", -1)
    voter = ReplicaKey(voter_id, directory(partition.text("voterDirectoryId", ZERO_UUID)))
    return m.BeginQuorumEpochRequest(
        epoch=partition.number("leaderEpoch"),
        leader=partition.number("leaderId"),
        voter=None if voter_id < 0 else voter,
        leader_endpoints=_endpoints(data, "leaderEndpoints"),
        cluster_id=_cluster(data),
        partition=name,
    )


def _end_request(data: Fields) -> m.EndQuorumEpochRequest:
    partition, name = _partition(data)
    if "preferredCandidates" in partition:
        successors = tuple(
            ReplicaKey(key.number("candidateId"), directory(key.text("candidateDirectoryId")))
            for key in partition.objects("preferredCandidates")
        )
    else:
        successors = tuple(ReplicaKey(id) for id in partition.numbers("preferredSuccessors"))
    return m.EndQuorumEpochRequest(
        epoch=partition.number("leaderEpoch"),
        leader=partition.number("leaderId"),
        preferred_successors=successors,
        leader_endpoints=_endpoints(data, "leaderEndpoints"),
        cluster_id=_cluster(data),
        partition=name,
    )


def _fetch_request(data: Fields) -> m.FetchRequest:
    partition, name = _partition(data)
    high_watermark = partition.number("highWatermark", m.HIGH_WATERMARK_NOT_SUPPORTED)
    return m.FetchRequest(
        epoch=partition.number("currentLeaderEpoch"),
        replica=ReplicaKey(
            data.inner("replicaState").number("replicaId"),
            directory(partition.text("replicaDirectoryId", ZERO_UUID)),
        ),
        offset=partition.number("fetchOffset"),
        last_epoch=partition.number("lastFetchedEpoch"),
        high_watermark=_optional(high_watermark),
        max_wait_ms=data.number("maxWaitMs"),
        cluster_id=_cluster(data),
        partition=name,
    )


def _error(data: Fields) -> ErrorCode:
    """The error of a response. Who receives one that the quorum protocol does not name treats it like any
    other unexpected error, whatever its number (Kafka: KafkaRaftClient.handleTopLevelError).
    """
    code = data.number("errorCode")
    return ErrorCode(code) if code in _ERRORS else ErrorCode.UNKNOWN_SERVER_ERROR


def _leader_endpoints(data: Fields, leader: int | None) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(LISTENER, node.text("host"), node.number("port"))
        for node in data.objects("nodeEndpoints", [])
        if node.number("nodeId") == leader
    )


def _vote_response(data: Fields) -> m.VoteResponse:
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.VoteResponse(-1, error=error)
    partition, _ = _partition(data)
    leader = _optional(partition.number("leaderId"))
    return m.VoteResponse(
        epoch=partition.number("leaderEpoch"),
        leader=leader,
        granted=partition.flag("voteGranted"),
        leader_endpoints=_leader_endpoints(data, leader),
        partition_error=_error(partition),
    )


def _begin_response(data: Fields) -> m.BeginQuorumEpochResponse:
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.BeginQuorumEpochResponse(-1, error=error)
    partition, _ = _partition(data)
    leader = _optional(partition.number("leaderId"))
    return m.BeginQuorumEpochResponse(
        partition.number("leaderEpoch"), leader, _leader_endpoints(data, leader), _error(partition)
    )


def _end_response(data: Fields) -> m.EndQuorumEpochResponse:
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.EndQuorumEpochResponse(-1, error=error)
    partition, _ = _partition(data)
    leader = _optional(partition.number("leaderId"))
    return m.EndQuorumEpochResponse(
        partition.number("leaderEpoch"), leader, _leader_endpoints(data, leader), _error(partition)
    )


def _fetch_response(data: Fields) -> m.FetchResponse:
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.FetchResponse(-1, error=error)
    partition = data.only("responses").only("partitions")
    current = partition.inner("currentLeader")
    leader = _optional(current.number("leaderId"))
    diverging = None
    if "divergingEpoch" in partition:
        end = partition.inner("divergingEpoch")
        diverging = EpochEnd(end.number("epoch"), end.number("endOffset"))
    return m.FetchResponse(
        epoch=current.number("leaderEpoch"),
        leader=leader,
        high_watermark=_optional(partition.number("highWatermark")),
        batches=tuple(batch(entry) for entry in partition.objects("batches", [])),
        diverging=diverging,
        leader_endpoints=_leader_endpoints(data, leader),
        partition_error=_error(partition),
        log_start_offset=partition.number("logStartOffset"),
        snapshot=_snapshot_id(partition) if "snapshotId" in partition else None,
    )


# Snapshots.


def _snapshot_id(partition: Fields) -> SnapshotId:
    id = partition.inner("snapshotId")
    return SnapshotId(id.number("endOffset"), id.number("epoch"))


def _fetch_snapshot_request(data: Fields) -> m.FetchSnapshotRequest:
    topic = data.only("topics")
    partition = topic.only("partitions")
    name, index = topic.text("name"), partition.number("partition")
    known = name == TOPIC and index == 0
    return m.FetchSnapshotRequest(
        epoch=partition.number("currentLeaderEpoch"),
        replica=ReplicaKey(
            data.number("replicaId"), directory(partition.text("replicaDirectoryId", ZERO_UUID))
        ),
        snapshot=_snapshot_id(partition),
        position=partition.number("position"),
        max_bytes=data.number("maxBytes"),
        cluster_id=_cluster(data),
        partition=m.METADATA_PARTITION if known else f"{name}-{index}",
    )


def _fetch_snapshot_response(data: Fields) -> m.FetchSnapshotResponse:
    """The response without the snapshot, of which recordings show no more than the size."""
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.FetchSnapshotResponse(-1, error=error)
    partition = data.only("topics").only("partitions")
    current = partition.inner("currentLeader")
    leader = _optional(current.number("leaderId"))
    return m.FetchSnapshotResponse(
        epoch=current.number("leaderEpoch"),
        leader=leader,
        snapshot=_snapshot_id(partition),
        size=partition.number("size"),
        position=partition.number("position"),
        length=partition.number("unalignedRecordsSizeInBytes"),
        leader_endpoints=_leader_endpoints(data, leader),
        partition_error=_error(partition),
    )


# Changes of the voter set.


def _voter_key(data: Fields) -> ReplicaKey:
    return ReplicaKey(data.number("voterId"), directory(data.text("voterDirectoryId")))


def _add_request(data: Fields) -> m.AddRaftVoterRequest:
    return m.AddRaftVoterRequest(
        voter=_voter_key(data),
        endpoints=_endpoints(data, "listeners"),
        ack_when_committed=data.flag("ackWhenCommitted", True),
        cluster_id=_cluster(data),
        timeout_ms=data.number("timeoutMs"),
    )


def _remove_request(data: Fields) -> m.RemoveRaftVoterRequest:
    return m.RemoveRaftVoterRequest(_voter_key(data), _cluster(data))


def _update_request(data: Fields) -> m.UpdateRaftVoterRequest:
    versions = data.inner("kRaftVersionFeature")
    return m.UpdateRaftVoterRequest(
        epoch=data.number("currentLeaderEpoch"),
        voter=_voter_key(data),
        endpoints=_endpoints(data, "listeners"),
        min_kraft_version=versions.number("minSupportedVersion"),
        max_kraft_version=versions.number("maxSupportedVersion"),
        cluster_id=_cluster(data),
    )


def _api_versions_request(_: Fields) -> m.ApiVersionsRequest:
    return m.ApiVersionsRequest()


def _add_response(data: Fields) -> m.AddRaftVoterResponse:
    return m.AddRaftVoterResponse(_error(data))


def _remove_response(data: Fields) -> m.RemoveRaftVoterResponse:
    return m.RemoveRaftVoterResponse(_error(data))


def _update_response(data: Fields) -> m.UpdateRaftVoterResponse:
    """Without a leader (an answer made by the network layer) the epoch is unknown."""
    error = _error(data)
    if "currentLeader" not in data:
        return m.UpdateRaftVoterResponse(-1, partition_error=error)
    current = data.inner("currentLeader")
    leader = _optional(current.number("leaderId"))
    host = current.text("host", "")
    endpoints = (Endpoint(LISTENER, host, current.number("port")),) if host else ()
    return m.UpdateRaftVoterResponse(current.number("leaderEpoch"), leader, endpoints, error)


def _api_versions_response(data: Fields) -> m.ApiVersionsResponse:
    for feature in data.objects("supportedFeatures", []):
        if feature.text("name") == KRAFT_VERSION:
            supported = (feature.number("minVersion"), feature.number("maxVersion"))
            return m.ApiVersionsResponse(supported, _error(data))
    return m.ApiVersionsResponse(None, _error(data))


def _describe_request(data: Fields) -> m.DescribeQuorumRequest:
    _, name = _partition(data)
    return m.DescribeQuorumRequest(name)


def _describe_response(data: Fields) -> m.DescribeQuorumResponse:
    error = _error(data)
    if error is not ErrorCode.NONE:
        return m.DescribeQuorumResponse(error=error)
    partition, _ = _partition(data)
    refused = _error(partition)
    leader, epoch = _optional(partition.number("leaderId")), partition.number("leaderEpoch")
    if refused is not ErrorCode.NONE:
        named = leader if epoch > 0 else None
        return m.DescribeQuorumResponse(epoch, named, partition_error=refused)
    return m.DescribeQuorumResponse(
        epoch=epoch,
        leader=leader,
        high_watermark=_optional(partition.number("highWatermark")),
        voters=tuple(map(_replica_state, partition.objects("currentVoters"))),
        observers=tuple(map(_replica_state, partition.objects("observers"))),
        nodes=tuple(
            m.VoterNode(node.number("nodeId"), _endpoints(node, "listeners"))
            for node in data.objects("nodes", [])
        ),
    )


def _replica_state(state: Fields) -> m.ReplicaDescription:
    return m.ReplicaDescription(
        ReplicaKey(state.number("replicaId"), directory(state.text("replicaDirectoryId", ZERO_UUID))),
        _optional(state.number("logEndOffset")),
        _optional(state.number("lastFetchTimestamp", -1)),
        _optional(state.number("lastCaughtUpTimestamp", -1)),
    )


def batch(fields: Fields) -> Batch:
    """A record batch as recordings show it. Raises InputError unless it is well formed."""
    base, epoch = fields.number("base"), fields.number("epoch")
    records = tuple(
        _control(Fields.of(record, fields.where)) if fields.flag("control") else _value(record, fields.where)
        for record in fields.items("records")
    )
    if not records or fields.number("last") != base + len(records) - 1:
        raise InputError(f"{fields.where}: the batch at offset {base} does not end where it says.")
    return Batch(base, epoch, records)


def _value(record: object, where: str) -> Record:
    if not isinstance(record, int) or isinstance(record, bool):
        raise InputError(f"{where}: a record must be an integer, found {record!r}.")
    return Value(record)


def _control(record: Fields) -> Record:
    kind, value = record.text("type"), record.inner("value")
    if kind == "LEADER_CHANGE":
        return LeaderChange(
            value.number("leaderId"),
            tuple(voter.number("voterId") for voter in value.objects("voters")),
            tuple(voter.number("voterId") for voter in value.objects("grantingVoters")),
        )
    if kind == "KRAFT_VERSION":
        return KRaftVersion(value.number("kRaftVersion"))
    if kind == "KRAFT_VOTERS":
        try:
            return Voters(voter_set(_voter(entry) for entry in value.objects("voters")))
        except ValueError as error:
            raise InputError(f"{record.where}: {error}.") from None
    raise UncoveredMessageError(f"control record {kind}")


def _voter(entry: Fields) -> Voter:
    versions = entry.inner("kRaftVersionFeature")
    return Voter(
        ReplicaKey(entry.number("voterId"), directory(entry.text("voterDirectoryId"))),
        _endpoints(entry, "endpoints"),
        versions.number("minSupportedVersion"),
        versions.number("maxSupportedVersion"),
    )


_REQUESTS: dict[str, Callable[[Fields], m.Message]] = {
    "Vote": _vote_request,
    "BeginQuorumEpoch": _begin_request,
    "EndQuorumEpoch": _end_request,
    "Fetch": _fetch_request,
    "FetchSnapshot": _fetch_snapshot_request,
    "AddRaftVoter": _add_request,
    "RemoveRaftVoter": _remove_request,
    "UpdateRaftVoter": _update_request,
    "ApiVersions": _api_versions_request,
    "DescribeQuorum": _describe_request,
}
_RESPONSES: dict[str, Callable[[Fields], m.Message]] = {
    "Vote": _vote_response,
    "BeginQuorumEpoch": _begin_response,
    "EndQuorumEpoch": _end_response,
    "Fetch": _fetch_response,
    "FetchSnapshot": _fetch_snapshot_response,
    "AddRaftVoter": _add_response,
    "RemoveRaftVoter": _remove_response,
    "UpdateRaftVoter": _update_response,
    "ApiVersions": _api_versions_response,
    "DescribeQuorum": _describe_response,
}
