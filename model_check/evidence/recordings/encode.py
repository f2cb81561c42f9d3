"""The reference's messages in the form in which recordings show them.

What the reference has no notion of (throttling, sessions, byte limits) is written as the constant that
production sends; sizes in bytes are not modelled and :data:`NOT_MODELLED` leaves them out of comparisons.

Source: Kafka: the message schemas, RaftUtil.singleton*Request, singleton*Response.
"""

from __future__ import annotations

from functools import singledispatch

from kraftcheck.evidence.recordings.encode_log import encode_batch, listeners, or_minus_one, uuid
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.wire import KRAFT_VERSION, TOPIC, TOPIC_ID
from kraftcheck.reference import messages as m
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.voters import Endpoint

#: Fields of recorded messages that say nothing about the protocol: how many bytes the records take.
NOT_MODELLED = frozenset({"recordsSizeInBytes"})

#: The release whose runs are recorded, as its clients name it.
RELEASE = "4.3.1"

#: What a response says about its error in words; the words are production's own.
ERROR_TEXT = "errorMessage"

#: The configured limit of a Fetch response, controller.quorum.fetch.max.bytes.
FETCH_MAX_BYTES = 1048576

APIS = {
    m.VoteRequest: "Vote",
    m.VoteResponse: "Vote",
    m.BeginQuorumEpochRequest: "BeginQuorumEpoch",
    m.BeginQuorumEpochResponse: "BeginQuorumEpoch",
    m.EndQuorumEpochRequest: "EndQuorumEpoch",
    m.EndQuorumEpochResponse: "EndQuorumEpoch",
    m.FetchRequest: "Fetch",
    m.FetchResponse: "Fetch",
    m.FetchSnapshotRequest: "FetchSnapshot",
    m.FetchSnapshotResponse: "FetchSnapshot",
    m.AddRaftVoterRequest: "AddRaftVoter",
    m.AddRaftVoterResponse: "AddRaftVoter",
    m.RemoveRaftVoterRequest: "RemoveRaftVoter",
    m.RemoveRaftVoterResponse: "RemoveRaftVoter",
    m.UpdateRaftVoterRequest: "UpdateRaftVoter",
    m.UpdateRaftVoterResponse: "UpdateRaftVoter",
    m.ApiVersionsRequest: "ApiVersions",
    m.ApiVersionsResponse: "ApiVersions",
    m.DescribeQuorumRequest: "DescribeQuorum",
    m.DescribeQuorumResponse: "DescribeQuorum",
}


@singledispatch
def encode(message: object) -> Json:
    """``message`` as Kafka's JSON converter of its newest version shows it."""
    raise TypeError(f"not a message: {message!r}")


@encode.register
def _(message: m.VoteRequest) -> Json:
    voter = message.voter
    partition = {
        "partitionIndex": 0,
        "replicaEpoch": message.epoch,
        "replicaId": message.candidate.id,
        "replicaDirectoryId": uuid(message.candidate.directory),
        "voterDirectoryId": uuid(None if voter is None else voter.directory),
        "lastOffsetEpoch": message.last_epoch,
        "lastOffset": message.end_offset,
        "preVote": message.pre_vote,
    }
    return {
        "clusterId": message.cluster_id,
        "voterId": -1 if voter is None else voter.id,
        "topics": _named_topic(partition),
    }


@encode.register
def _(message: m.BeginQuorumEpochRequest) -> Json:
    voter = message.voter
    partition = {
        "partitionIndex": 0,
        "voterDirectoryId": uuid(None if voter is None else voter.directory),
        "leaderId": message.leader,
        "leaderEpoch": message.epoch,
    }
    return {
        "clusterId": message.cluster_id,
        "voterId": -1 if voter is None else voter.id,
        "topics": _named_topic(partition),
        "leaderEndpoints": listeners(message.leader_endpoints),
    }


@encode.register
def _(message: m.EndQuorumEpochRequest) -> Json:
    partition = {
        "partitionIndex": 0,
        "leaderId": message.leader,
        "leaderEpoch": message.epoch,
        "preferredCandidates": [
            {"candidateId": key.id, "candidateDirectoryId": uuid(key.directory)}
            for key in message.preferred_successors
        ],
    }
    return {
        "clusterId": message.cluster_id,
        "topics": _named_topic(partition),
        "leaderEndpoints": listeners(message.leader_endpoints),
    }


@encode.register
def _(message: m.FetchRequest) -> Json:
    partition = {
        "partition": 0,
        "currentLeaderEpoch": message.epoch,
        "fetchOffset": message.offset,
        "lastFetchedEpoch": message.last_epoch,
        "logStartOffset": -1,
        "partitionMaxBytes": 0,
        "replicaDirectoryId": uuid(message.replica.directory),
        "highWatermark": or_minus_one(message.high_watermark),
    }
    return {
        "clusterId": message.cluster_id,
        "replicaState": {"replicaId": message.replica.id, "replicaEpoch": -1},
        "maxWaitMs": message.max_wait_ms,
        "minBytes": 0,
        "maxBytes": FETCH_MAX_BYTES,
        "isolationLevel": 0,
        "sessionId": 0,
        "sessionEpoch": -1,
        "topics": [{"topicId": TOPIC_ID, "partitions": [partition]}],
        "forgottenTopicsData": [],
        "rackId": "",
    }


@encode.register
def _(message: m.VoteResponse) -> Json:
    return _voter_response(message, {"voteGranted": message.granted})


@encode.register(m.BeginQuorumEpochResponse)
@encode.register(m.EndQuorumEpochResponse)
def _(message: m.BeginQuorumEpochResponse | m.EndQuorumEpochResponse) -> Json:
    return _voter_response(message, {})


@encode.register
def _(message: m.FetchResponse) -> Json:
    envelope: dict[str, Json] = {
        "throttleTimeMs": 0,
        "errorCode": int(message.error),
        "sessionId": 0,
        "responses": [],
    }
    if message.error is not ErrorCode.NONE:
        return envelope
    partition: dict[str, Json] = {
        "partitionIndex": 0,
        "errorCode": int(message.partition_error),
        "highWatermark": or_minus_one(message.high_watermark),
        "lastStableOffset": -1,
        "logStartOffset": message.log_start_offset,
        "currentLeader": {"leaderId": or_minus_one(message.leader), "leaderEpoch": message.epoch},
        "abortedTransactions": [],
        "preferredReadReplica": -1,
    }
    if message.diverging is not None:
        partition["divergingEpoch"] = {
            "epoch": message.diverging.epoch,
            "endOffset": message.diverging.offset,
        }
    if message.snapshot is not None:
        partition["snapshotId"] = _snapshot_id(message.snapshot)
    if message.batches:
        partition["batches"] = [encode_batch(batch) for batch in message.batches]
    envelope["responses"] = [{"topicId": TOPIC_ID, "partitions": [partition]}]
    nodes = _nodes(message.leader, message.leader_endpoints)
    if nodes:
        envelope["nodeEndpoints"] = [{**node, "rack": None} for node in nodes]
    return envelope


def _snapshot_id(id: SnapshotId) -> Json:
    return {"endOffset": id.end_offset, "epoch": id.epoch}


@encode.register
def _(message: m.FetchSnapshotRequest) -> Json:
    partition = {
        "partition": 0,
        "currentLeaderEpoch": message.epoch,
        "snapshotId": _snapshot_id(message.snapshot),
        "position": message.position,
        "replicaDirectoryId": uuid(message.replica.directory),
    }
    return {
        "clusterId": message.cluster_id,
        "replicaId": message.replica.id,
        "maxBytes": message.max_bytes,
        "topics": [{"name": TOPIC, "partitions": [partition]}],
    }


@encode.register
def _(message: m.FetchSnapshotResponse) -> Json:
    envelope: dict[str, Json] = {"throttleTimeMs": 0, "errorCode": int(message.error), "topics": []}
    if message.error is not ErrorCode.NONE:
        return envelope
    partition = {
        "index": 0,
        "errorCode": int(message.partition_error),
        "snapshotId": _snapshot_id(message.snapshot or SnapshotId(-1, -1)),
        "currentLeader": {"leaderId": or_minus_one(message.leader), "leaderEpoch": message.epoch},
        "size": message.size,
        "position": message.position,
        "unalignedRecordsSizeInBytes": message.length,
    }
    envelope["topics"] = [{"name": TOPIC, "partitions": [partition]}]
    nodes = _nodes(message.leader, message.leader_endpoints)
    return {**envelope, "nodeEndpoints": nodes} if nodes else envelope


@encode.register
def _(message: m.AddRaftVoterRequest) -> Json:
    return {
        "clusterId": message.cluster_id,
        "timeoutMs": message.timeout_ms,
        "voterId": message.voter.id,
        "voterDirectoryId": uuid(message.voter.directory),
        "listeners": listeners(message.endpoints),
        "ackWhenCommitted": message.ack_when_committed,
    }


@encode.register
def _(message: m.RemoveRaftVoterRequest) -> Json:
    return {
        "clusterId": message.cluster_id,
        "voterId": message.voter.id,
        "voterDirectoryId": uuid(message.voter.directory),
    }


@encode.register
def _(message: m.UpdateRaftVoterRequest) -> Json:
    return {
        "clusterId": message.cluster_id,
        "currentLeaderEpoch": message.epoch,
        "voterId": message.voter.id,
        "voterDirectoryId": uuid(message.voter.directory),
        "listeners": listeners(message.endpoints),
        "kRaftVersionFeature": {
            "minSupportedVersion": message.min_kraft_version,
            "maxSupportedVersion": message.max_kraft_version,
        },
    }


@encode.register
def _(message: m.ApiVersionsRequest) -> Json:
    return {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": RELEASE}


@encode.register(m.AddRaftVoterResponse)
@encode.register(m.RemoveRaftVoterResponse)
def _(message: m.AddRaftVoterResponse | m.RemoveRaftVoterResponse) -> Json:
    text = None if message.error is ErrorCode.NONE else ""
    return {"throttleTimeMs": 0, "errorCode": int(message.error), ERROR_TEXT: text}


@encode.register
def _(message: m.UpdateRaftVoterResponse) -> Json:
    error = message.partition_error if message.error is ErrorCode.NONE else message.error
    where = message.leader_endpoints[0] if message.leader_endpoints else None
    return {
        "throttleTimeMs": 0,
        "errorCode": int(error),
        "currentLeader": {
            "leaderId": or_minus_one(message.leader),
            "leaderEpoch": message.epoch,
            "host": "" if where is None else where.host,
            "port": 0 if where is None else where.port,
        },
    }


@encode.register
def _(message: m.ApiVersionsResponse) -> Json:
    envelope = {"errorCode": int(message.error), "apiKeys": [], "throttleTimeMs": 0}
    if message.kraft_versions is None:
        return envelope
    smallest, largest = message.kraft_versions
    feature = {"name": KRAFT_VERSION, "minVersion": smallest, "maxVersion": largest}
    return {**envelope, "supportedFeatures": [feature]}


@encode.register
def _(message: m.DescribeQuorumRequest) -> Json:
    return {"topics": _named_topic({"partitionIndex": 0})}


@encode.register
def _(message: m.DescribeQuorumResponse) -> Json:
    """An answer that is an error leaves the numbers of the partition at 0, unless it names a leader."""
    envelope: dict[str, Json] = {"errorCode": int(message.error), ERROR_TEXT: None, "topics": [], "nodes": []}
    if message.error is not ErrorCode.NONE:
        return envelope
    refused = message.partition_error is not ErrorCode.NONE
    partition = {
        "partitionIndex": 0,
        "errorCode": int(message.partition_error),
        ERROR_TEXT: "" if refused else None,
        "leaderId": 0 if refused and message.leader is None else or_minus_one(message.leader),
        "leaderEpoch": message.epoch,
        "highWatermark": 0 if refused else or_minus_one(message.high_watermark),
        "currentVoters": [_replica_state(replica) for replica in message.voters],
        "observers": [_replica_state(replica) for replica in message.observers],
    }
    nodes = [{"nodeId": node.id, "listeners": listeners(node.endpoints)} for node in message.nodes]
    return {**envelope, "topics": _named_topic(partition), "nodes": nodes}


def _replica_state(replica: m.ReplicaDescription) -> Json:
    return {
        "replicaId": replica.key.id,
        "replicaDirectoryId": uuid(replica.key.directory),
        "logEndOffset": or_minus_one(replica.end_offset),
        "lastFetchTimestamp": or_minus_one(replica.last_fetch_time),
        "lastCaughtUpTimestamp": or_minus_one(replica.last_caught_up_time),
    }


def _voter_response(
    message: m.VoteResponse | m.BeginQuorumEpochResponse | m.EndQuorumEpochResponse, more: dict[str, Json]
) -> Json:
    if message.error is not ErrorCode.NONE:
        return {"errorCode": int(message.error), "topics": []}
    partition = {
        "partitionIndex": 0,
        "errorCode": int(message.partition_error),
        "leaderId": or_minus_one(message.leader),
        "leaderEpoch": message.epoch,
        **more,
    }
    encoded = {"errorCode": 0, "topics": _named_topic(partition)}
    nodes = _nodes(message.leader, message.leader_endpoints)
    return {**encoded, "nodeEndpoints": nodes} if nodes else encoded


def _named_topic(partition: dict[str, Json]) -> Json:
    return [{"topicName": TOPIC, "partitions": [partition]}]


def _nodes(leader: int | None, endpoints: tuple[Endpoint, ...]) -> list[dict[str, Json]]:
    if leader is None:
        return []
    return [{"nodeId": leader, "host": entry.host, "port": entry.port} for entry in endpoints[:1]]
