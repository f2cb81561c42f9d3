"""The steps that an adapter shows compared with those of the reference.

The comparison covers the parts that the adapter can show, as it reports. Left out on both sides: fields of
messages that the reference does not model, the order of messages that leave together, texts of failures, and
the exact value of random times, of which the range is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kraftcheck.evidence.adapters.answers import Capabilities
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.state import UNORDERED
from kraftcheck.evidence.recordings.wire import ERROR_TEXT
from kraftcheck.evidence.recordings.wire_codec import ZERO_UUID

#: Fields of Kafka's messages that do not concern the quorum protocol.
NOT_COMPARED = frozenset({
    "throttleTimeMs", "sessionId", "sessionEpoch", "minBytes", "maxBytes", "partitionMaxBytes",
    "isolationLevel", "rackId", "rack", "forgottenTopicsData", "abortedTransactions", "preferredReadReplica",
    "lastStableOffset", "version", "clientSoftwareName", "clientSoftwareVersion", "apiKeys",
    "unalignedRecords", "recordsSizeInBytes", ERROR_TEXT,
})  # fmt: skip

#: The meaning of an absent field of a message: Kafka's writers leave out tagged fields at their default.
DEFAULTS: Mapping[str, Json] = {
    "clusterId": None,
    "voterId": -1,
    "voterDirectoryId": ZERO_UUID,
    "replicaDirectoryId": ZERO_UUID,
    "votedDirectoryId": ZERO_UUID,
    "candidateDirectoryId": ZERO_UUID,
    "preVote": False,
    "errorCode": 0,
    "leaderEndpoints": [],
    "nodeEndpoints": [],
    "batches": [],
    "records": [],
    "topics": [],
    "responses": [],
    "preferredCandidates": [],
    "divergingEpoch": {"epoch": -1, "endOffset": -1},
    "snapshotId": {"epoch": -1, "endOffset": -1},
    "currentLeader": {"leaderId": -1, "leaderEpoch": -1},
    "replicaEpoch": -1,
    "replicaState": {"replicaId": -1, "replicaEpoch": -1},
    "highWatermark": -1,
    "partitionIndex": 0,
    "partition": 0,
    "index": 0,
    "logStartOffset": -1,
    "ackWhenCommitted": True,
    "supportedFeatures": [],
    "host": "",
    "port": 0,
}

#: Lists that no rule orders, by the object that they are in.
_UNORDERED = UNORDERED | {"snapshot.voters"}

#: Effects that are compared in order, and those that are compared kind by kind.
MESSAGES = frozenset({"request", "response"})
ON_DISK = ("persist", "append", "truncate", "flush", "storeSnapshot", "deleteBefore", "loadSnapshot")
IN_ORDER = MESSAGES | {*ON_DISK, "stop", "fatal"}
NOT_IN_ORDER = ("highWatermark", "transition", "appendAccepted", "callFailed", "forgetRequests")

Effect = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where expected and found differ; ``None``: no value there."""

    field: str
    expected: Json
    found: Json


def compare(
    capabilities: Capabilities,
    effects: Sequence[Effect],
    state: Mapping[str, Json],
    found_effects: Sequence[Effect],
    found_state: Mapping[str, Json],
) -> Iterator[Difference]:
    """The places where an answer differs from the expected one, in effects and state. Raises nothing for any
    JSON.
    """
    expected = [effect for effect in effects if effect["effect"] in capabilities.effects]
    found = [effect for effect in found_effects if effect["effect"] in capabilities.effects]
    yield from _compare_order(_in_order(expected), _in_order(found), ordered=capabilities.ordered)
    for kind in NOT_IN_ORDER:
        yield from _compare_kind(kind, expected, found)
    yield from _compare_timers(expected, found)
    for name in sorted(capabilities.state):
        yield from compare_values(state.get(name), found_state.get(name), f"state.{name}", exact=True)


# Effects in order.


def _in_order(effects: Sequence[Effect]) -> list[Effect]:
    """The effects whose order counts; consecutive appends are one."""
    joined: list[Effect] = []
    for effect in effects:
        if effect["effect"] not in IN_ORDER:
            continue
        last = joined[-1] if joined else None
        if last is not None and effect["effect"] == last["effect"] == "append":
            batches = [*_list(last.get("batches")), *_list(effect.get("batches"))]
            joined[-1] = {"effect": "append", "batches": batches}
        else:
            joined.append(effect)
    return joined


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _compare_order(expected: list[Effect], found: list[Effect], *, ordered: bool) -> Iterator[Difference]:
    if not ordered:
        for kinds in (*({kind} for kind in ON_DISK), MESSAGES, {"stop", "fatal"}):
            yield from _compare_order(
                [effect for effect in expected if effect["effect"] in kinds],
                [effect for effect in found if effect["effect"] in kinds],
                ordered=True,
            )
        return
    left, right = _groups(expected), _groups(found)
    for index in range(max(len(left), len(right))):
        mine = left[index] if index < len(left) else []
        theirs = right[index] if index < len(right) else []
        differences = list(_compare_group(mine, theirs))
        yield from differences
        if differences and [e["effect"] for e in mine] != [e["effect"] for e in theirs]:
            return  # the effects after this one are shifted


def _groups(effects: list[Effect]) -> list[list[Effect]]:
    """Messages that leave together are one group: no rule fixes which of them leaves first."""
    groups: list[list[Effect]] = []
    for effect in effects:
        together = bool(groups) and effect["effect"] in MESSAGES and groups[-1][0]["effect"] in MESSAGES
        if together:
            groups[-1].append(effect)
        else:
            groups.append([effect])
    return groups


def _compare_group(expected: list[Effect], found: list[Effect]) -> Iterator[Difference]:
    mine, theirs = _by_key(expected), _by_key(found)
    for key, effect in mine.items():
        other = theirs.pop(key, None)
        if other is None:
            yield Difference(key, _shown(effect), _shown(next(iter(found))) if found else None)
        elif effect["effect"] not in ("fatal", "stop"):
            yield from _compare_effect(effect, other, key)
    for key, effect in theirs.items():
        yield Difference(key, None, _shown(effect))


def _by_key(effects: list[Effect]) -> dict[str, Effect]:
    keyed: dict[str, Effect] = {}
    for effect in effects:
        key = name = _key(effect)
        number = 2
        while key in keyed:
            key, number = f"{name} ({number})", number + 1
        keyed[key] = effect
    return keyed


def _key(effect: Effect) -> str:
    kind = effect["effect"]
    if kind == "request":
        return f"{_word(effect.get('api'))} request to {_word(effect.get('to'))}"
    if kind == "response":
        answered = f", which answers request {_word(effect.get('requestId'))}"
        return f"{_word(effect.get('api'))} response to {_word(effect.get('to'))}{answered}"
    return str(kind)


def _word(value: Json) -> str:
    return str(value)[:40] if isinstance(value, int | str) else "?"


def _shown(effect: Effect) -> Json:
    return {name: value for name, value in effect.items() if name != "correlationId"}


def _compare_effect(expected: Effect, found: Effect, path: str) -> Iterator[Difference]:
    left_aside = {"effect", "correlationId", "reason"}
    for name, value in expected.items():
        if name not in left_aside:
            yield from compare_values(value, found.get(name), f"{path}: {name}")


# Effects kind by kind.


def _compare_kind(kind: str, expected: list[Effect], found: list[Effect]) -> Iterator[Difference]:
    mine = [effect for effect in expected if effect["effect"] == kind]
    theirs = [effect for effect in found if effect["effect"] == kind]
    for index in range(max(len(mine), len(theirs))):
        if index >= len(theirs):
            yield Difference(kind, _shown(mine[index]), None)
        elif index >= len(mine):
            yield Difference(kind, None, _shown(theirs[index]))
        else:
            yield from _compare_effect(mine[index], theirs[index], kind)


def _compare_timers(expected: list[Effect], found: list[Effect]) -> Iterator[Difference]:
    """The last time that each timer was armed; an adapter may report a timer that continues to run, or
    not.
    """
    mine, theirs = _last_armed(expected), _last_armed(found)
    for timer in [*mine, *(timer for timer in theirs if timer not in mine)]:
        wanted = mine.get(timer, "not armed")
        got = theirs.get(timer, "not armed")
        if wanted == "remaining":
            continue
        if isinstance(wanted, tuple):
            low, high = wanted
            fits = isinstance(got, int) and not isinstance(got, bool) and low <= got <= high
            shown: Json = f"{low} ms" if low == high else f"{low} to {high} ms"
        else:
            fits, shown = got == wanted, wanted
        if not fits:
            yield Difference(f"timer {timer}", shown, got)


def _last_armed(effects: list[Effect]) -> dict[str, Json]:
    return {_word(each.get("timer")): each.get("ms") for each in effects if each["effect"] == "timer"}


# Values.


def compare_values(expected: Json, found: Json, path: str, *, exact: bool = False) -> Iterator[Difference]:
    """The innermost places where two JSON values differ. ``exact``: no field of an object may be missing or
    unknown; else the defaults of Kafka's messages hold, and fields that the reference does not know are
    skipped.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        inside = path.rpartition(" ")[2].rpartition(".")[2]
        names = sorted((expected.keys() | found.keys()) - (frozenset() if exact else NOT_COMPARED))
        for name in names:
            if not exact and name not in expected and name not in DEFAULTS:
                continue
            default = None if exact else DEFAULTS.get(name)
            left, right = expected.get(name, default), found.get(name, default)
            if f"{inside}.{name}" in _UNORDERED and isinstance(left, list) and isinstance(right, list):
                left, right = sorted(left, key=str), sorted(right, key=str)
            yield from compare_values(left, right, f"{path}.{name}", exact=exact)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from compare_values(left, right, f"{path}[{index}]", exact=exact)
    elif expected != found or type(expected) is not type(found):
        yield Difference(path, expected, found)


def unknown_fields(expected: Json, found: Json) -> frozenset[str]:
    """Names of fields in ``found`` that were skipped because the reference does not know them."""
    names: set[str] = set()
    if isinstance(expected, dict) and isinstance(found, dict):
        names.update(name for name in found if name not in expected and name not in DEFAULTS)
        names.update(name for name in found if name in NOT_COMPARED)
        for name in expected.keys() & found.keys():
            names |= unknown_fields(expected[name], found[name])
    elif isinstance(expected, list) and isinstance(found, list):
        for left, right in zip(expected, found, strict=False):
            names |= unknown_fields(left, right)
    return frozenset(names)
