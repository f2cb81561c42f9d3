"""Messages that vectors are chosen from: sound ones of every version, and those made of them by a change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from kraftcheck.evidence.recordings.wire import KRAFT_VERSION, LISTENER, TOPIC, TOPIC_ID
from kraftcheck.support.codec import Json
from kraftcheck.vectors.messages import (
    APIS,
    BOUNDS,
    ELSEWHERE,
    REQUEST,
    RESPONSE,
    Body,
    Place,
    layout,
    places,
    versions,
)

#: A directory id.
_UUID = "YWFhYWFhYWFhYWFhYWFhYQ"
#: What a sound message says; numbers that are not here are 2.
_SAID: dict[str, Json] = {
    "clusterId": "this-cluster",
    "topic": TOPIC,
    "topicName": TOPIC,
    "topicId": TOPIC_ID,
    "partition": 0,
    "partitionIndex": 0,
    "index": 0,
    "errorCode": 0,
    "errorMessage": None,
    "throttleTimeMs": 0,
    "sessionId": 0,
    "leaderEpoch": 5,
    "replicaEpoch": 5,
    "currentLeaderEpoch": 5,
    "host": "node-2",
    "port": 9093,
    "rack": None,
    "minSupportedVersion": 0,
    "maxSupportedVersion": 1,
    "minVersion": 0,
    "maxVersion": 1,
}
#: Names, by the array that they are in.
_NAMES = {"topics": TOPIC, "supportedFeatures": KRAFT_VERSION}

Case = tuple[str, str, int, Json]
Path = tuple[str | int, ...]


def cases() -> Iterator[Case]:
    """Every message as (API, direction, version, body): sound in each version, with and without what is
    tagged; changed in one place in the oldest and in the newest; what the newest says in all others, and in
    versions that do not exist; about none or several partitions.
    """
    for api in APIS:
        for direction in (REQUEST, RESPONSE):
            if layout(api, direction) is not None:
                yield from _of_message(api, direction)


def _of_message(api: str, direction: str) -> Iterator[Case]:
    known = versions(api)
    for version in known:
        fields = places(api, direction, version)
        for tagged in (True, False):
            yield api, direction, version, _sound(fields, tagged)
    for version in {known[0], known[-1]}:
        fields = places(api, direction, version)
        for body in _changed(fields, _sound(fields, True)):
            yield api, direction, version, body
        if direction == REQUEST and api in ELSEWHERE:
            for body in _about_other_than_one(_sound(fields, True)):
                yield api, direction, version, body
    newest = _sound(places(api, direction, known[-1]), True)
    for other in (*known[:-1], -1, known[-1] + 1):
        yield api, direction, other, newest


def _sound(fields: tuple[Place, ...], tagged: bool, inside: str = "") -> Body:
    return {each.key: _value(each, tagged, inside) for each in fields if tagged or not each.tagged}


def _value(place: Place, tagged: bool, inside: str) -> Json:
    if place.kind == "struct":
        return _sound(place.inside, tagged, place.key)
    if place.kind == "array":
        element = Place(place.key, place.item or "struct", False, False, place.inside)
        return [_value(element, tagged, place.key)]
    if place.key == "name":
        return _NAMES.get(inside, LISTENER)
    if place.key in _SAID:
        return _SAID[place.key]
    of_kind: dict[str, Json] = {"string": "text", "uuid": _UUID, "bool": True}
    return of_kind.get(place.kind, 2)


def _changed(fields: tuple[Place, ...], body: Body) -> Iterator[Body]:
    """``body`` with one change that makes it malformed, in every place and of every kind."""
    for place, at in _all(fields):
        if not place.tagged and place.key == at[-1]:
            yield _with(body, at, ..., remove=True)
        if not place.nullable:
            yield _with(body, at, None)
        for wrong in _wrong(place.kind):
            yield _with(body, at, wrong)


def _all(fields: tuple[Place, ...], path: Path = ()) -> Iterator[tuple[Place, Path]]:
    """All fields, elements of arrays included, with the way to them."""
    for place in fields:
        at = (*path, place.key)
        yield place, at
        if place.kind == "array":
            at = (*at, 0)
            yield Place(place.key, place.item or "struct", False, False), at
        yield from _all(place.inside, at)


def _wrong(kind: str) -> tuple[Json, ...]:
    if kind == "int64":
        return "2", True  # What is out of its range is no number that all languages read.
    if kind in BOUNDS:
        low, high = BOUNDS[kind]
        return "2", True, low - 1, high + 1
    return {
        "string": (2,),
        "uuid": (2, "text"),
        "bool": (1, "true"),
        "array": ({}, 2),
        "struct": ([], "text"),
    }[kind]


def _with(body: Body, path: Path, value: Any, *, remove: bool = False) -> Body:
    changed: Any = copy.deepcopy(body)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return changed  # type: ignore[no-any-return]


def _about_other_than_one(body: Any) -> Iterator[Body]:
    topics, partitions = ("topics",), ("topics", 0, "partitions")
    yield _with(body, topics, [])
    yield _with(body, partitions, [])
    yield _with(body, topics, body["topics"] * 2)
    yield _with(body, partitions, body["topics"][0]["partitions"] * 2)
