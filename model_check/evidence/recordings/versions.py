"""Which version of an API a message has, and which fields come with which version.

Source: Kafka: the message schemas (VoteRequest.json and the others); KafkaRaftClient and RaftUtil for fields
that are filled from a later version on than their schema allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.found import Found
from kraftcheck.evidence.recordings.recording import Message

#: The version that a node of release 4.3 uses for each API, with a peer of the same release.
VERSIONS = {
    "Fetch": 18,
    "Vote": 2,
    "BeginQuorumEpoch": 1,
    "EndQuorumEpoch": 1,
    "FetchSnapshot": 1,
    "ApiVersions": 4,
    "DescribeQuorum": 2,
    "AddRaftVoter": 1,
    "RemoveRaftVoter": 0,
    "UpdateRaftVoter": 0,
}

#: Why a request is lost that the version of the peer has no room for.
UNSUPPORTED = "unsupportedVersion"

#: The first version of the fields that not every version has, by API and whether it is the request.
_SINCE: dict[tuple[str, bool], dict[str, int]] = {
    ("Vote", True): {"voterId": 1, "replicaDirectoryId": 1, "voterDirectoryId": 1, "preVote": 2},
    ("Vote", False): {"nodeEndpoints": 1},
    ("BeginQuorumEpoch", True): {"voterId": 1, "voterDirectoryId": 1, "leaderEndpoints": 1},
    ("BeginQuorumEpoch", False): {"nodeEndpoints": 1},
    ("EndQuorumEpoch", True): {"preferredCandidates": 1, "leaderEndpoints": 1},
    ("EndQuorumEpoch", False): {"nodeEndpoints": 1},
    ("Fetch", True): {"replicaDirectoryId": 17, "highWatermark": 18},
    ("Fetch", False): {"nodeEndpoints": 17},
    ("FetchSnapshot", True): {"replicaDirectoryId": 1},
    ("FetchSnapshot", False): {"nodeEndpoints": 1},
    ("AddRaftVoter", True): {"ackWhenCommitted": 1},
    ("DescribeQuorum", False): {
        "lastFetchTimestamp": 1, "lastCaughtUpTimestamp": 1, "replicaDirectoryId": 2, "errorMessage": 2,
        "nodes": 2,
    },
}  # fmt: skip

#: The lists that lead to the one partition of a message, and to the replicas that it describes.
_WAY = frozenset({"topics", "responses", "partitions", "currentVoters", "observers"})


def is_older(message: Message) -> bool:
    """Whether ``message`` has an older version than the release has: its sender's peer is an older one."""
    return message.version < VERSIONS.get(message.api, 0)


def wrong_version(message: Message) -> Iterator[Found]:
    """What is wrong with the API and the version of ``message``, also by the fields that it has."""
    newest = VERSIONS.get(message.api)
    if newest is None:
        yield Found("api", f"one of {', '.join(sorted(VERSIONS))}", message.api)
    elif not 0 <= message.version <= newest:
        yield Found("ver", newest, message.version)
    elif message.version < newest and message.why != UNSUPPORTED:
        since = _SINCE.get((message.api, message.is_request), {})
        shown = max((since.get(name, 0) for name in _names(message.data.values)), default=0)
        if shown > message.version:
            yield Found("ver", f"{shown} or more, by the fields", message.version)


def at_version(data: Json, api: str, version: int, *, is_request: bool) -> Json:
    """``data``, a message of the newest version, as ``version`` shows it."""
    if version >= VERSIONS.get(api, 0):
        return data
    since = _SINCE.get((api, is_request), {})
    return _without(data, {name for name, first in since.items() if first > version})


def _without(value: Json, names: set[str]) -> Json:
    shown: Json = {}
    for name, inner in value.items():
        if name == "preferredCandidates" and name in names:
            shown["preferredSuccessors"] = [key["candidateId"] for key in inner]
        elif name not in names:
            shown[name] = [_without(entry, names) for entry in inner] if name in _WAY else inner
    return shown


def _names(value: Json) -> Iterator[str]:
    for name, inner in value.items():
        yield name
        if name in _WAY and isinstance(inner, list):
            for entry in inner:
                if isinstance(entry, dict):
                    yield from _names(entry)
