"""Kafka's wire JSON of requests and responses, read and written by one table.

The table says which field is which attribute of the reference. Names, types, versions and defaults of the
fields are those of ``spec/messages.toml``; :mod:`.wire_codec` puts both together. A field without a row has a
constant value, or does not concern the quorum.

Source: Kafka: the message schemas, RaftUtil.singleton*Request, singleton*Response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kraftcheck import spec
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_codec import (
    ABSENT,
    Codec,
    Computed,
    Each,
    Layout,
    Rows,
    directory,
    known_error,
    only,
    uuid,
)
from kraftcheck.evidence.recordings.wire_records import (
    KRAFT_VERSIONS,
    UncoveredMessageError,
    batch_of,
    write_batch,
)
from kraftcheck.evidence.recordings.wire_types import Types
from kraftcheck.reference import messages as m
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import Batch
from kraftcheck.reference.versions import RANGES
from kraftcheck.reference.voters import Endpoint, ReplicaKey

TOPIC, TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
#: The topic and partition of requests that are not about the metadata partition.
OTHER_TOPIC, OTHER_TOPIC_ID = "another-topic", "AAAAAAAAAAAAAAAAAAAAAg"
#: The listener that controllers use, and the feature that is the version of KRaft.
LISTENER, KRAFT_VERSION = "CONTROLLER", "kraft.version"
#: The release whose runs are recorded, by the name of its clients.
RELEASE = "4.3.1"
#: The text of a response's error, which is Kafka's own.
ERROR_TEXT = "errorMessage"
#: The text that releases before 4.2 give where there is no error.
NO_ERROR_TEXT = "NONE"
#: The release that a client names, which is a label.
CLIENT_RELEASE = "clientSoftwareVersion"
#: The fields that a client of trunk names with it, and leaves unset.
LATER_CLIENT_FIELDS: Mapping[str, Json] = {"clusterId": None, "nodeId": -1}


# Fields that are more than a copy of an attribute.


def _about(topic: str, index: str) -> Computed:
    """The one partition of a request, by the names of the fields that give it."""
    known, other = (TOPIC_ID, OTHER_TOPIC_ID) if topic == "topicId" else (TOPIC, OTHER_TOPIC)

    def read(data: Any, _: Mapping[str, Any]) -> str:
        name, number = getattr(data, topic), getattr(only(data, "partitions"), index)
        return m.METADATA_PARTITION if name == known and number == 0 else f"{name}-{number}"

    return Computed(
        "partition", read, lambda sent: known if sent.partition == m.METADATA_PARTITION else other
    )


def _read_leader_endpoints(data: Any, read: Mapping[str, Any]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(LISTENER, node.host, node.port)
        for node in data.nodeEndpoints
        if node.nodeId == read.get("leader")
    )


def _reached(response: m.EpochResponse) -> Endpoint | None:
    """The leader's endpoint of the listener on which requests arrive (Kafka: Endpoints.address)."""
    return next((each for each in response.leader_endpoints if each.name == LISTENER), None)


def _write_leader_endpoints(response: m.FetchResponse) -> Any:
    endpoint = _reached(response)
    if response.leader is None or endpoint is None:
        return ABSENT
    node = {"nodeId": response.leader, "host": endpoint.host, "port": endpoint.port}
    return [{**node, "rack": None} if isinstance(response, m.FetchResponse) else node]


def _read_successors(data: Any, _: Mapping[str, Any]) -> tuple[ReplicaKey, ...]:
    """Version 0 names the successors by their ids alone."""
    keys = (
        ReplicaKey(key.candidateId, directory(key.candidateDirectoryId)) for key in data.preferredCandidates
    )
    return (*keys, *map(ReplicaKey, data.preferredSuccessors))


def _write_successors(request: m.EndQuorumEpochRequest) -> Json:
    return [
        {"candidateId": key.id, "candidateDirectoryId": uuid(key.directory)}
        for key in request.preferred_successors
    ]


def _read_one_endpoint(data: Any, _: Mapping[str, Any]) -> tuple[Endpoint, ...]:
    return (Endpoint(LISTENER, data.host, data.port),) if data.host else ()


def _read_features(data: Any, _: Mapping[str, Any]) -> tuple[int, int] | None:
    for feature in data.supportedFeatures:
        if feature.name == KRAFT_VERSION:
            return feature.minVersion, feature.maxVersion
    return None


def _write_features(response: m.ApiVersionsResponse) -> Any:
    if response.kraft_versions is None:
        return ABSENT
    smallest, largest = response.kraft_versions
    return [{"name": KRAFT_VERSION, "minVersion": smallest, "maxVersion": largest}]


def _described(attribute: str, key: str) -> Computed:
    """A number of a DescribeQuorum response; with an error it is 0, unless it names a leader of an epoch."""

    def read(data: Any, values: Mapping[str, Any]) -> int | None:
        number: int = getattr(data, key)
        is_refused, named = bool(values["partition_error"]), attribute == "leader" and data.leaderEpoch > 0
        return None if number < 0 or (is_refused and not named) else number

    def write(response: m.DescribeQuorumResponse) -> int:
        number: int | None = getattr(response, attribute)
        refused = response.partition_error is not ErrorCode.NONE
        if refused and (number is None or attribute == "high_watermark"):
            return 0
        return -1 if number is None else number

    return Computed(attribute, read, write)


def _read_high_watermark(data: Any, _: Mapping[str, Any]) -> int | None:
    return None if data.highWatermark == -1 else data.highWatermark


def _write_high_watermark(request: m.FetchRequest) -> Any:
    """A tagged field: of a fetcher that does not report its high watermark, it is absent."""
    if request.high_watermark == m.HIGH_WATERMARK_NOT_SUPPORTED:
        return ABSENT
    return -1 if request.high_watermark is None else request.high_watermark


def _read_batches(data: Any, _: Mapping[str, Any]) -> tuple[Batch, ...]:
    return tuple(map(batch_of, data.batches))


def _write_batches(response: m.FetchResponse) -> Any:
    return [write_batch(each) for each in response.batches] if response.batches else ABSENT


# The table.

_LEADER: Rows = {
    "ErrorCode": "error",
    "Topics[].Partitions[].ErrorCode": "partition_error",
    "LeaderId": "leader",
    "LeaderEpoch": "epoch",
    "NodeEndpoints[]": Computed("leader_endpoints", _read_leader_endpoints, _write_leader_endpoints),
}
_ABOUT: Rows = {"Topics[].TopicName": _about("topicName", "partitionIndex")}
_VOTER: Rows = {"VoterId": "voter.id", "VoterDirectoryId": "voter.directory"}
_FROM_LEADER: Rows = {
    "LeaderId": "leader",
    "LeaderEpoch": "epoch",
    "LeaderEndpoints[]": Each("leader_endpoints", Endpoint),
}
_LISTENERS: Rows = {"Listeners[]": Each("endpoints", Endpoint)}
_CHANGED: Rows = {
    "ErrorCode": "error",
    "ErrorMessage": Computed("error", None, lambda sent: "" if sent.error else None),
}
_DESCRIBED: Rows = {
    "ReplicaId": "key.id",
    "ReplicaDirectoryId": "key.directory",
    "LogEndOffset": "end_offset",
    "LastFetchTimestamp": "last_fetch_time",
    "LastCaughtUpTimestamp": "last_caught_up_time",
}

#: The values of fields without a row.
_CONSTANTS: Mapping[str, Json] = {
    "ThrottleTimeMs": 0, "SessionId": 0, "MinBytes": 0, "PartitionMaxBytes": 0, "LogStartOffset": -1,
    "ReplicaEpoch": -1, "TopicName": TOPIC, "Name": TOPIC, "TopicId": TOPIC_ID, "PartitionIndex": 0,
    "Partition": 0, "Index": 0, "ErrorMessage": None, "Version": 0,
    # The configured limit of a Fetch response, controller.quorum.fetch.max.bytes.
    "MaxBytes": 1048576,
}  # fmt: skip

_MESSAGES: Mapping[str, Layout] = {
    "Vote request": Layout(
        m.VoteRequest,
        {
            **_ABOUT,
            **_VOTER,
            "ReplicaEpoch": "epoch",
            "ReplicaId": "candidate.id",
            "ReplicaDirectoryId": "candidate.directory",
            "LastOffsetEpoch": "last_epoch",
            "LastOffset": "end_offset",
        },
    ),
    "Vote response": Layout(m.VoteResponse, {**_LEADER, "VoteGranted": "granted"}),
    "BeginQuorumEpoch request": Layout(m.BeginQuorumEpochRequest, {**_ABOUT, **_VOTER, **_FROM_LEADER}),
    "BeginQuorumEpoch response": Layout(m.BeginQuorumEpochResponse, _LEADER),
    "EndQuorumEpoch request": Layout(
        m.EndQuorumEpochRequest,
        {
            **_ABOUT,
            **_FROM_LEADER,
            "Topics[].Partitions[].PreferredCandidates[]": Computed(
                "preferred_successors", _read_successors, _write_successors
            ),
        },
    ),
    "EndQuorumEpoch response": Layout(m.EndQuorumEpochResponse, _LEADER),
    "Fetch request": Layout(
        m.FetchRequest,
        {
            "ReplicaState.ReplicaId": "replica.id",
            "Topics[].TopicId": _about("topicId", "partition"),
            "CurrentLeaderEpoch": "epoch",
            "FetchOffset": "offset",
            "LastFetchedEpoch": "last_epoch",
            "ReplicaDirectoryId": "replica.directory",
            "HighWatermark": Computed(
                "high_watermark", _read_high_watermark, _write_high_watermark, key="highWatermark"
            ),
        },
        {
            "MaxBytes": {"isolationLevel": 0, "sessionId": 0, "sessionEpoch": -1},
            "Topics[]": {"forgottenTopicsData": [], "rackId": ""},
        },
    ),
    "Fetch response": Layout(
        m.FetchResponse,
        {
            "ErrorCode": "error",
            "Responses[].Partitions[].ErrorCode": "partition_error",
            "LogStartOffset": "log_start_offset",
            "Responses[].Partitions[].DivergingEpoch.Epoch": "diverging.epoch",
            "Responses[].Partitions[].DivergingEpoch.EndOffset": "diverging.offset",
            "Responses[].Partitions[].SnapshotId.EndOffset": "snapshot.end_offset",
            "Responses[].Partitions[].SnapshotId.Epoch": "snapshot.epoch",
            "LeaderId": "leader",
            "LeaderEpoch": "epoch",
            "Records": Computed("batches", _read_batches, _write_batches, key="batches"),
            # RaftUtil.singletonFetchResponse fills it from version 17 on.
            "NodeEndpoints[]": Computed(
                "leader_endpoints", _read_leader_endpoints, _write_leader_endpoints, since=17
            ),
        },
        {
            "Responses[].": {"topicId": TOPIC_ID},
            "Responses[].Partitions[].HighWatermark": {"lastStableOffset": -1},
            "Responses[].Partitions[].CurrentLeader": {"abortedTransactions": [], "preferredReadReplica": -1},
        },
    ),
    "FetchSnapshot request": Layout(
        m.FetchSnapshotRequest,
        {
            "ReplicaId": "replica.id",
            "MaxBytes": "max_bytes",
            "Topics[].Name": _about("name", "partition"),
            "CurrentLeaderEpoch": "epoch",
            "EndOffset": "snapshot.end_offset",
            "Epoch": "snapshot.epoch",
            "ReplicaDirectoryId": "replica.directory",
        },
    ),
    "FetchSnapshot response": Layout(
        m.FetchSnapshotResponse,
        {
            **_LEADER,
            "EndOffset": "snapshot.end_offset",
            "Epoch": "snapshot.epoch",
            "UnalignedRecords": "length",
        },
    ),
    "AddRaftVoter request": Layout(m.AddRaftVoterRequest, {**_VOTER, **_LISTENERS}),
    "AddRaftVoter response": Layout(m.AddRaftVoterResponse, _CHANGED),
    "RemoveRaftVoter request": Layout(m.RemoveRaftVoterRequest, _VOTER),
    "RemoveRaftVoter response": Layout(m.RemoveRaftVoterResponse, _CHANGED),
    "UpdateRaftVoter request": Layout(
        m.UpdateRaftVoterRequest,
        {**_VOTER, **_LISTENERS, **KRAFT_VERSIONS, "CurrentLeaderEpoch": "epoch"},
    ),
    "UpdateRaftVoter response": Layout(
        m.UpdateRaftVoterResponse,
        {
            "ErrorCode": Computed(
                "partition_error",
                lambda data, _: known_error(data.errorCode),
                lambda sent: int(sent.error or sent.partition_error),
            ),
            "LeaderId": "leader",
            "LeaderEpoch": "epoch",
            "Host": Computed(
                "leader_endpoints",
                _read_one_endpoint,
                lambda sent: "" if (reached := _reached(sent)) is None else reached.host,
            ),
            "Port": Computed(
                "leader_endpoints",
                None,
                lambda sent: 0 if (reached := _reached(sent)) is None else reached.port,
            ),
        },
    ),
    "ApiVersions request": Layout(
        m.ApiVersionsRequest,
        {},
        {"": {"clientSoftwareName": "apache-kafka-java", CLIENT_RELEASE: RELEASE}},
    ),
    "ApiVersions response": Layout(
        m.ApiVersionsResponse,
        {
            "ErrorCode": "error",
            "SupportedFeatures[]": Computed("kraft_versions", _read_features, _write_features),
        },
        {"ErrorCode": {"apiKeys": [], "throttleTimeMs": 0}},
    ),
    "DescribeQuorum request": Layout(
        m.DescribeQuorumRequest, {"Topics[].TopicName": _about("topicName", "partitionIndex")}
    ),
    "DescribeQuorum response": Layout(
        m.DescribeQuorumResponse,
        {
            "ErrorCode": "error",
            "Topics[].Partitions[].ErrorCode": "partition_error",
            "Topics[].Partitions[].ErrorMessage": Computed(
                "partition_error", None, lambda sent: "" if sent.partition_error else None
            ),
            "LeaderId": _described("leader", "leaderId"),
            "LeaderEpoch": "epoch",
            "HighWatermark": _described("high_watermark", "highWatermark"),
            "Topics[].Partitions[].CurrentVoters[]": Each("voters", m.ReplicaDescription, _DESCRIBED),
            "Topics[].Partitions[].Observers[]": Each("observers", m.ReplicaDescription, _DESCRIBED),
            "Nodes[]": Each("nodes", m.VoterNode, {"NodeId": "id", **_LISTENERS}),
        },
    ),
}

#: The codec of each message by API and whether it is a request, and the oldest and newest version in use.
_CODECS: dict[tuple[str, bool], Codec] = {}
_APIS: dict[type, str] = {}
VERSIONS: dict[str, int] = {}


def _make_codecs() -> None:
    """Made when the module is imported: a row that names no field of its layout is found at once."""
    schemas = spec.load().messages
    for name, layout in _MESSAGES.items():
        api, _, kind = name.partition(" ")
        oldest, newest = RANGES[_MESSAGES[f"{api} request"].kind]
        fields = schemas[name].fields if name in schemas else ()
        types = Types(oldest, newest, _CONSTANTS)
        _CODECS[api, kind == "request"] = Codec(layout, fields, types, layout.kind.__name__)
        _APIS[layout.kind] = api
        VERSIONS[api] = newest


_make_codecs()

#: The type of the content of each message, by API and whether it is a request.
CONTENTS: Mapping[tuple[str, bool], type[Struct]] = {key: codec.type for key, codec in _CODECS.items()}


def api_of(message: m.Message) -> str:
    """The API that ``message`` belongs to. Raises TypeError for a value that is no message of a release."""
    if type(message) not in _APIS:
        raise TypeError(f"not a message: {message!r}")
    return _APIS[type(message)]


def read_message(api: str, data: Fields, *, is_request: bool) -> m.Message:
    """The reference's form of a message. Raises InputError, or UncoveredMessageError for an unknown API."""
    message: m.Message = _codec(api, is_request).read(data.values, data.where)
    return message


def message_of(api: str, content: Struct, where: str, *, is_request: bool) -> m.Message:
    """As :func:`read_message`, of a value of the type in :data:`CONTENTS`."""
    message: m.Message = _codec(api, is_request).value(content, where)
    return message


def _codec(api: str, is_request: bool) -> Codec:
    codec = _CODECS.get((api, is_request))
    if codec is None:
        raise UncoveredMessageError(f"{api} {'request' if is_request else 'response'}")
    return codec


def write_message(message: m.Message) -> dict[str, Json]:
    """``message`` as Kafka's JSON converter of its newest version shows it.

    Fields that the reference does not model (throttling, sessions, limits) have the value that Kafka sends.
    """
    return _CODECS[api_of(message), isinstance(message, m.Request)].write(message)


def at_version(data: Mapping[str, Json], api: str, version: int, *, is_request: bool) -> dict[str, Json]:
    """``data``, a message of the newest version, as ``version`` shows it."""
    if version >= VERSIONS.get(api, 0):
        return dict(data)
    shown = _CODECS[api, is_request].at_version(data, version)
    if (api, is_request, version) == ("EndQuorumEpoch", True, 0):
        _name_successors(data, shown)
    return shown


def _name_successors(data: Mapping[str, Json], shown: Mapping[str, Json]) -> None:
    for topic, old_topic in zip(data["topics"], shown["topics"], strict=True):
        for partition, old in zip(topic["partitions"], old_topic["partitions"], strict=True):
            old["preferredSuccessors"] = [key["candidateId"] for key in partition["preferredCandidates"]]


def shown_since(data: Mapping[str, Json], api: str, *, is_request: bool) -> int:
    """The first version that has all fields of ``data``."""
    return _CODECS[api, is_request].shown_since(data)
