"""Messages as they arrive: what a decoder takes, what it refuses, and what is answered without a replica.

A message is API, direction, version and a body: the JSON form of Kafka's message schemas, fields in lower
camel case, by the layouts of ``spec/messages.toml``. A decoder takes a body that has every field of its
version, each of its type and in its range; tagged fields may be missing. What the layouts do not name is
ignored: they have the fields that matter here. Records are bytes, and no part of bodies.

No rule says what becomes of a message that cannot be read: it never comes to a replica. Production closes the
connection; to the sender of a request the receiver is then not available (RESP-1, RESP-5). That a request is
about exactly one partition is none of the layout's concern: it is answered with an error (ID-3).

Source: KIP-482 (tagged fields); Kafka: the JSON converters made from the message schemas,
RequestContext.parseRequest, RaftUtil.hasValidTopicPartition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from kraftcheck import spec
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.wire import OTHER_TOPIC_ID, TOPIC, TOPIC_ID, read_message
from kraftcheck.reference.effects import Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    VoteRequest,
)
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import step
from kraftcheck.reference.versions import RANGES
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.spec.model import Field, MessageSchema
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError

REQUEST, RESPONSE = "request", "response"
#: The APIs between replicas, and of administrators, in production.
APIS = (
    "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch", "FetchSnapshot", "DescribeQuorum", "AddRaftVoter",
    "RemoveRaftVoter", "UpdateRaftVoter", "ApiVersions",
)  # fmt: skip
_RANGES = {kind.__name__.removesuffix("Request"): ends for kind, ends in RANGES.items()}
_SENDER, _OTHER = ReplicaKey(2), "another-topic-0"
#: Requests that are answered with an error unless they are about exactly one partition; to the reference they
#: are then about another one.
ELSEWHERE: Mapping[str, Request] = {
    "Vote": VoteRequest(1, _SENDER, None, 0, 0, False, partition=_OTHER),
    "BeginQuorumEpoch": BeginQuorumEpochRequest(1, 2, None, (), partition=_OTHER),
    "EndQuorumEpoch": EndQuorumEpochRequest(1, 2, (), partition=_OTHER),
    "Fetch": FetchRequest(1, _SENDER, 0, 0, None, 0, partition=_OTHER),
    "DescribeQuorum": DescribeQuorumRequest(_OTHER),
}
#: Why a message is refused.
REASONS = VERSION, MISSING, NULL, TYPE, RANGE = "version", "missing", "null", "type", "range"
_UUID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
BOUNDS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_TYPES = {"string": str, "uuid": str, "bool": bool, "array": list, "struct": dict}

Body = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a layout in one version. ``kind``: its type, ``array`` or ``struct``; ``inside``: the fields
    of a structure, or of each element of an array, whose type is otherwise ``item``.
    """

    key: str
    kind: str
    nullable: bool
    tagged: bool
    inside: tuple[Place, ...] = ()
    item: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a message is refused, where (``topics[0].partitions[0].leaderId``), and what should be there."""

    reason: str
    at: str
    kind: str


def layout(api: str, direction: str) -> MessageSchema | None:
    """The layout of a message in production; ``None``: none is written down."""
    found = spec.load().messages.get(f"{api} {direction}")
    return found if found is not None and api in APIS else None


def versions(api: str) -> range:
    """The versions of an API that replicas of the metadata partition use."""
    oldest, newest = _RANGES[api]
    return range(oldest, newest + 1)


@cache
def places(api: str, direction: str, version: int) -> tuple[Place, ...]:
    """The fields of a version."""
    schema = layout(api, direction)
    assert schema is not None
    fields = [each for each in schema.fields if each.exists_in(version) and each.type != "records"]
    return _places([(each.path.split("."), each) for each in fields])


def _places(fields: list[tuple[list[str], Field]]) -> tuple[Place, ...]:
    heads: dict[str, list[tuple[list[str], Field]]] = {}
    for path, field in fields:
        heads.setdefault(path[0], []).append((path[1:], field))
    return tuple(_place(head, members) for head, members in heads.items())


def _place(head: str, members: list[tuple[list[str], Field]]) -> Place:
    name = head.removesuffix("[]")
    key = name[0].lower() + name[1:]
    _, field = members[0]
    is_array = head.endswith("[]")
    if members[0][0]:
        # The fields of a tagged structure all carry its tag.
        tags = {each.tag for _, each in members}
        tagged = tags != {None} and len(tags) == 1 and len(members) > 1
        plain = [(path, _untagged(each) if tagged else each) for path, each in members]
        return Place(key, "array" if is_array else "struct", False, tagged, _places(plain))
    kind, item = ("array", field.type) if is_array else (field.type, None)
    return Place(key, kind, field.nullable, field.tag is not None, item=item)


def _untagged(field: Field) -> Field:
    return Field(field.path, field.type, field.versions, field.nullable, field.default, None, field.about)


# Reading.


def refusal(api: str, direction: str, version: int, body: Json) -> Refused | None:
    """Why a decoder refuses this message; ``None``: it does not."""
    if version not in versions(api):
        return Refused(VERSION, "version", "negative" if version < 0 else "unknown")
    if type(body) is not dict:
        return Refused(TYPE, "body", "struct")
    return _refused_in(places(api, direction, version), body, "")


def _refused_in(fields: tuple[Place, ...], body: Mapping[str, Json], where: str) -> Refused | None:
    for place in fields:
        at = f"{where}{place.key}"
        if place.key not in body:
            if place.tagged:
                continue
            return Refused(MISSING, at, place.kind)
        found = _refused(place, body[place.key], at)
        if found is not None:
            return found
    return None


def _refused(place: Place, value: Json, at: str) -> Refused | None:
    if value is None:
        return None if place.nullable else Refused(NULL, at, place.kind)
    reason = _misfit(place.kind, value)
    if reason is not None:
        return Refused(reason, at, place.kind)
    if isinstance(value, dict):
        return _refused_in(place.inside, value, f"{at}.")
    if isinstance(value, list):
        element = Place(place.key, place.item or "struct", False, False, place.inside)
        found = (_refused(element, each, f"{at}[{number}]") for number, each in enumerate(value))
        return next((each for each in found if each is not None), None)
    return None


def _misfit(kind: str, value: Json) -> str | None:
    if kind in BOUNDS:
        if type(value) is not int:
            return TYPE
        low, high = BOUNDS[kind]
        return None if low <= value <= high else RANGE
    fits = type(value) is _TYPES[kind] and (kind != "uuid" or _UUID.fullmatch(str(value)) is not None)
    return None if fits else TYPE


def result_of(
    api: str, direction: str, version: int, body: Json, where: str
) -> tuple[dict[str, Json], tuple[str, ...]]:
    """What becomes of a message, and the rules that say so.

    ``refused`` with the reason and ``at`` with the place; or ``answer``, the errors that it is answered with,
    whatever the replica is; or ``message``, what comes to the replica, in the form of steps. Raises
    InputError for what is none of these.
    """
    if layout(api, direction) is None:
        raise InputError(f"{where}: there is no message '{api[:40]} {direction[:40]}'.")
    refused = refusal(api, direction, version, body)
    if refused is not None:
        return {"refused": refused.reason, "at": refused.at}, ()
    content = _as_newest(api, direction, known(api, direction, version, cast(Body, body)))
    if direction == REQUEST and api in ELSEWHERE and not _is_about_one(content):
        return _answer(api)
    message = read_message(api, Fields(content, where), is_request=direction == REQUEST)
    return {"message": codec.encode(message)}, ()


def known(api: str, direction: str, version: int, body: Body) -> Body:
    """``body``, which is not refused, with the fields of its version alone."""
    return _known_in(places(api, direction, version), body)


def _known_in(fields: tuple[Place, ...], body: Body) -> Body:
    return {place.key: _known(place, body[place.key]) for place in fields if place.key in body}


def _known(place: Place, value: Json) -> Json:
    if isinstance(value, list) and place.inside:
        return [_known_in(place.inside, each) for each in value if isinstance(each, dict)]
    return _known_in(place.inside, value) if isinstance(value, dict) else value


def _is_about_one(body: Mapping[str, Any]) -> bool:
    return [len(topic["partitions"]) for topic in body["topics"]] == [1]


def has_partitions(body: Json) -> bool:
    """Whether a request that is not refused names any partition."""
    return isinstance(body, dict) and any(True for _ in _objects(body, "topics", "partitions"))


def _objects(data: Mapping[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in arrays in arrays."""
    for each in data.get(keys[0], ()):
        yield from _objects(each, *keys[1:]) if len(keys) > 1 else (each,)


def _as_newest(api: str, direction: str, body: Body) -> Body:
    """``body``, which is changed, with its content where the newest version has it, and with the structures
    that were left out because everything in them has its default.
    """
    content: Any = body
    nobody = {"leaderId": -1, "leaderEpoch": -1}
    if (api, direction) == ("Fetch", REQUEST):
        content.setdefault("replicaState", {"replicaId": content.get("replicaId", -1), "replicaEpoch": -1})
        for topic in content["topics"]:
            if "topic" in topic:
                topic["topicId"] = TOPIC_ID if topic.pop("topic") == TOPIC else OTHER_TOPIC_ID
    elif (api, direction) == ("Fetch", RESPONSE):
        for partition in _objects(content, "responses", "partitions"):
            partition.setdefault("currentLeader", nobody)
    elif (api, direction) == ("FetchSnapshot", RESPONSE):
        for partition in _objects(content, "topics", "partitions"):
            partition.setdefault("currentLeader", nobody)
            partition["unalignedRecordsSizeInBytes"] = 0
    return cast(Body, content)


def _answer(api: str) -> tuple[dict[str, Json], tuple[str, ...]]:
    """What the reference answers to a request that is not about the one partition that it knows."""
    replica = Replica(ReplicaKey(1), static_voters((1, 2, 3)), QuorumState(1))
    outcome = step(KAFKA, replica, RequestReceived(2, ELSEWHERE[api]))
    (response,) = [each.response for each in outcome.effects if isinstance(each, Reply)]
    codes = {name: getattr(response, name) for name in ("error", "partition_error")}
    errors: Json = {name: codec.encode(code) for name, code in codes.items() if code is not ErrorCode.NONE}
    return {"answer": errors}, tuple(rule for rule in outcome.rules if rule == "ID-3")
