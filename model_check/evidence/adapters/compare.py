"""The steps that an adapter shows compared with those of the reference.

The comparison covers the parts that the adapter can show, as it reports. Left out on both sides: fields of
messages that the reference does not model, the order of messages that leave together, texts of failures, and
the exact value of random times, of which the range is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import Any, NamedTuple

from kraftcheck.evidence.adapters.answers import Capabilities
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.state import UNORDERED
from kraftcheck.evidence.recordings.wire import ERROR_TEXT
from kraftcheck.evidence.recordings.wire_codec import ZERO_UUID
from kraftcheck.reference.errors import ErrorCode

#: Fields of Kafka's messages that do not concern the quorum protocol.
NOT_COMPARED = frozenset({
    "throttleTimeMs", "sessionId", "sessionEpoch", "minBytes", "maxBytes", "partitionMaxBytes",
    "isolationLevel", "rackId", "rack", "forgottenTopicsData", "abortedTransactions", "preferredReadReplica",
    "lastStableOffset", "version", "clientSoftwareName", "clientSoftwareVersion", "apiKeys",
    "unalignedRecords", "recordsSizeInBytes", ERROR_TEXT,
})  # fmt: skip

#: The meaning of an absent field of a message: Kafka's writers leave out tagged fields at their default.
DEFAULTS: Mapping[str, Json] = {
    **dict.fromkeys(("voterId", "replicaEpoch", "highWatermark", "logStartOffset"), -1),
    **dict.fromkeys(("errorCode", "partitionIndex", "partition", "index", "port"), 0),
    **dict.fromkeys(
        (f"{whose}DirectoryId" for whose in ("voter", "replica", "voted", "candidate")), ZERO_UUID
    ),
    **{name: [] for name in ("topics", "responses", "batches", "records", "supportedFeatures")},
    **{name: [] for name in ("leaderEndpoints", "nodeEndpoints", "preferredCandidates")},
    **{name: {"epoch": -1, "endOffset": -1} for name in ("divergingEpoch", "snapshotId")},
    "currentLeader": {"leaderId": -1, "leaderEpoch": -1},
    "replicaState": {"replicaId": -1, "replicaEpoch": -1},
    "clusterId": None,
    "preVote": False,
    "ackWhenCommitted": True,
    "host": "",
}

#: The fields of an answer about another partition that are not compared.
_OF_ANOTHER = frozenset({"topicName", "name", "partitionIndex", "partition", "index", "currentLeader"})

#: Lists that no rule orders, by the object that they are in.
_UNORDERED = UNORDERED | {"snapshot.voters"}

#: Effects that are compared in order, and those that are compared kind by kind.
MESSAGES = frozenset({"request", "response"})
ENDS = frozenset({"stop", "fatal"})
ON_DISK = ("persist", "append", "truncate", "flush", "storeSnapshot", "deleteBefore", "loadSnapshot")
IN_ORDER = MESSAGES | ENDS | set(ON_DISK)
NOT_IN_ORDER = ("highWatermark", "transition", "appendAccepted", "callFailed")
#: Fields of effects that are not compared.
_LEFT_OUT = frozenset({"effect", "correlationId", "reason"})

Effect = Mapping[str, Any]


class Remaining(NamedTuple):
    """The time of a timer that continues to run: what is left of it, in ms."""

    ms: int

    def fits(self, shown: Json) -> bool:
        """Whether an adapter may show that. A timer that is over, and has not expired by the driver's word,
        may have its last ms to run.
        """
        return shown in ("not armed", "remaining", self.ms, max(1, self.ms)) and shown is not True


class Difference(NamedTuple):
    """A place where expected and found differ; ``None``: no value there."""

    field: str
    expected: Json
    found: Json


def compare(
    shown: Capabilities,
    effects: Sequence[Effect],
    state: Mapping[str, Json],
    found_effects: Sequence[Effect],
    found_state: Mapping[str, Json],
    unknown: set[str] | None = None,
) -> Iterator[Difference]:
    """The places where an answer differs from the expected one, in effects and state.

    ``unknown`` receives the names of fields that were skipped because the reference does not know them.
    Raises nothing for any JSON.
    """
    unknown = set() if unknown is None else unknown
    expected, found = ([e for e in each if e["effect"] in shown.effects] for each in (effects, found_effects))
    if not shown.addresses:
        expected, found = _without_address(expected), _without_address(found)
    orders = [IN_ORDER] if shown.ordered else [*({kind} for kind in ON_DISK), MESSAGES, ENDS]
    mine, theirs = _joined(expected), _joined(found)
    for kinds in orders:
        yield from _compare_order(_of(mine, kinds), _of(theirs, kinds), unknown)
    for kind in NOT_IN_ORDER:
        yield from _compare_group(_of(expected, {kind}), _of(found, {kind}), unknown)
    yield from _compare_group(_forgotten(expected), _forgotten(found), unknown)
    yield from _compare_timers(expected, found)
    for name in sorted(shown.state):
        if name in state or name in found_state:
            yield from compare_values(state.get(name), found_state.get(name), f"state.{name}")


def _of(effects: Sequence[Effect], kinds: Set[str]) -> list[Effect]:
    return [effect for effect in effects if effect["effect"] in kinds]


# Effects.


def _without_address(effects: Sequence[Effect]) -> list[Effect]:
    return [{name: value for name, value in effect.items() if name != "address"} for effect in effects]


def _joined(effects: Sequence[Effect]) -> list[Effect]:
    """The effects whose order counts; consecutive appends are one."""
    joined: list[Effect] = []
    for effect in _of(effects, IN_ORDER):
        if joined and effect["effect"] == joined[-1]["effect"] == "append":
            batches = [*_list(joined[-1].get("batches")), *_list(effect.get("batches"))]
            joined[-1] = {"effect": "append", "batches": batches}
        else:
            joined.append(effect)
    return joined


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _compare_order(expected: list[Effect], found: list[Effect], unknown: set[str]) -> Iterator[Difference]:
    nothing: list[Effect] = []
    for mine, theirs in zip_longest(_groups(expected), _groups(found), fillvalue=nothing):
        differences = list(_compare_group(mine, theirs, unknown))
        yield from differences
        if differences and [e["effect"] for e in mine] != [e["effect"] for e in theirs]:
            return  # the effects after this one are shifted


def _groups(effects: list[Effect]) -> list[list[Effect]]:
    """Messages that leave together are one group: no rule fixes which of them leaves first."""
    groups: list[list[Effect]] = []
    for effect in effects:
        if groups and effect["effect"] in MESSAGES and groups[-1][0]["effect"] in MESSAGES:
            groups[-1].append(effect)
        else:
            groups.append([effect])
    return groups


def _compare_group(expected: list[Effect], found: list[Effect], unknown: set[str]) -> Iterator[Difference]:
    """Compare effects whose order does not count, those of the same key with each other."""
    if not expected and not found:
        return
    mine, theirs = _by_key(expected), _by_key(found)
    unpaired = [_shown(effect) for key, effect in theirs.items() if key not in mine]
    for key, effect in mine.items():
        other = theirs.pop(key, None)
        if other is None:
            yield Difference(key[0], _shown(effect), unpaired[0] if unpaired else None)
        elif effect["effect"] not in ENDS:
            for name in (each for each in effect if each not in _LEFT_OUT):
                yield from compare_values(effect[name], other.get(name), f"{key[0]}: {name}", unknown)
    for key, effect in theirs.items():
        yield Difference(key[0], None, _shown(effect))


def _forgotten(effects: Sequence[Effect]) -> list[Effect]:
    """The nodes whose requests are forgotten; forgetting twice, or one of all, is no more than once."""
    forgotten = {str(each.get("node")): each for each in _of(effects, {"forgetRequests"})}
    return [forgotten["None"]] if "None" in forgotten else list(forgotten.values())


def _by_key(effects: list[Effect]) -> dict[tuple[str, int], Effect]:
    """The effects by what they are about, and those alike by their number."""
    seen = Counter[str]()
    keyed = {}
    for effect in effects:
        key = _key(effect)
        keyed[key, seen[key]] = effect
        seen[key] += 1
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


def _compare_timers(expected: list[Effect], found: list[Effect]) -> Iterator[Difference]:
    """The last time that each timer was armed; an adapter may report a timer that continues to run, or
    not.
    """
    mine, theirs = _last_armed(expected), _last_armed(found)
    for timer in dict.fromkeys([*mine, *theirs]):
        wanted, got = mine.get(timer, "not armed"), theirs.get(timer, "not armed")
        if wanted == "remaining":
            continue
        fits, shown = got == wanted, wanted
        if isinstance(wanted, Remaining):
            fits, shown = wanted.fits(got), f"the {wanted.ms} ms that are left"
        elif isinstance(wanted, tuple):
            low, high = wanted
            fits = isinstance(got, int) and not isinstance(got, bool) and low <= got <= high
            shown = f"{low} ms" if low == high else f"{low} to {high} ms"
        if not fits:
            yield Difference(f"timer {timer}", shown, got)


def _last_armed(effects: list[Effect]) -> dict[str, Json]:
    return {_word(each.get("timer")): each.get("ms") for each in _of(effects, {"timer"})}


# Values.


def compare_values(
    expected: Json, found: Json, path: str, unknown: set[str] | None = None
) -> Iterator[Difference]:
    """The innermost places where two JSON values differ.

    Without ``unknown`` no field of an object may be missing or unknown. Otherwise the defaults of Kafka's
    messages hold, and fields that the reference does not know are skipped and added to ``unknown``.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        inside = path.rpartition(" ")[2].rpartition(".")[2]
        left_out = _OF_ANOTHER if unknown is not None and _is_about_another(expected) else frozenset[str]()
        for name in sorted(expected.keys() | found.keys()):
            if name in left_out:
                continue
            is_known = name in expected or name in DEFAULTS
            if unknown is not None and (name in NOT_COMPARED or not is_known):
                unknown |= {name} & found.keys()
                continue
            default = None if unknown is None else DEFAULTS.get(name)
            left, right = expected.get(name, default), found.get(name, default)
            if _is_same_scalar(left, right):
                continue
            if f"{inside}.{name}" in _UNORDERED and isinstance(left, list) and isinstance(right, list):
                left, right = sorted(left, key=str), sorted(right, key=str)
            yield from compare_values(left, right, f"{path}.{name}", unknown)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (left, right) in enumerate(zip(expected, found, strict=True)):
            if not _is_same_scalar(left, right):
                yield from compare_values(left, right, f"{path}[{index}]", unknown)
    elif expected != found or type(expected) is not type(found):
        yield Difference(path, expected, found)


def _is_same_scalar(one: Json, other: Json) -> bool:
    """Whether two values are equal, for what most of them are; what has parts is left to the comparison."""
    kind = type(one)
    return kind is type(other) and kind is not dict and kind is not list and one == other


def _is_about_another(answer: Mapping[str, Any]) -> bool:
    """Whether part of an answer is the error about an unknown partition. It names the partition of the
    request, and Kafka's answer to FetchSnapshot names no leader; the reference keeps no names of partitions.
    """
    partitions = answer.get("partitions", [answer])
    return any(each.get("errorCode") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for each in partitions)
