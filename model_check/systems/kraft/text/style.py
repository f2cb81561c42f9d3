"""The notation of the values of replicas in the short form: ``2/dir``, ``4@2``, ``0-1``, ``2:5``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from kraftcheck.reference.log import EpochEnd, Log, SnapshotId
from kraftcheck.reference.types import INT32, INT64
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters
from kraftcheck.support.codec import following
from kraftcheck.systems.short_form import Style
from kraftcheck.systems.syntax import NONE, Syntax, listed, number, one_word

T = TypeVar("T")

ANY = number(example="5")
EPOCH = number(0, INT32, "5")
OFFSET = number(0, INT64, "4")
KRAFT_VERSION = number(0, 2**15 - 1, "1")


def usual_endpoints(replica_id: int | None) -> tuple[Endpoint, ...]:
    """The default endpoint of a replica: that of a static voter of this id."""
    if replica_id is None or not 0 <= replica_id <= INT32:
        return ()
    return static_voters([replica_id]).endpoints(replica_id)


def whole(text: str, low: int = -INT64 - 1, high: int = INT64) -> int | None:
    """The whole number in a range that ``text`` is, or ``None``."""
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if low <= value <= high else None


def print_key(key: ReplicaKey) -> str:
    """``2``, or with its directory ``2/dir``."""
    return str(key.id) if key.directory is None else f"{key.id}/{key.directory}"


def _key(text: str) -> ReplicaKey | None:
    replica, slash, directory = text.partition("/")
    replica_id = whole(replica, -INT32 - 1, INT32)
    if replica_id is None or bool(slash) != bool(directory):
        return None
    return ReplicaKey(replica_id, directory or None)


def _endpoint(text: str) -> Endpoint | None:
    match = re.fullmatch(r"([^:,\s]+)://([^:,\s]+):([0-9]{1,5})", text)
    if match is None or int(match[3]) > 65535:
        return None
    return Endpoint(match[1], match[2], int(match[3]))


def _pair(low: int, high: int, separator: str, make: Callable[[int, int], T]) -> Callable[[str], T | None]:
    """A reader of two numbers with ``separator`` between them."""

    def read(text: str) -> T | None:
        match = re.fullmatch(f"(-?[0-9]+){separator}(-?[0-9]+)", text)
        first, second = (None, None) if match is None else (whole(match[1]), whole(match[2], low, high))
        return None if first is None or second is None else make(first, second)

    return read


def print_id(id: SnapshotId) -> str:
    """A snapshot by its end offset and its epoch: ``21@1``."""
    return f"{id.end_offset}@{id.epoch}"


KEY = one_word(
    "a replica id, alone or with its directory",
    _key,
    print_key,
    "replica ids, each alone or with its directory,",
    "2",
)
KEYS = listed(KEY, commas=True, example="1,2,3")
IDS = listed(number(0, INT32), commas=True, example="1,2,3")
#: ``1,2/dir``, or ``none``; and of numbers.
print_keys, print_numbers = KEYS.show, IDS.show
_ENDPOINT = one_word(
    "an endpoint",
    _endpoint,
    lambda each: f"{each.name}://{each.host}:{each.port}",
    "endpoints",
    "CONTROLLER://node-1:9093",
)
ENDPOINTS = listed(_ENDPOINT, commas=True, example=_ENDPOINT.example)
_AN_END = "an end offset and the epoch of the last record before it"
_END = one_word(
    _AN_END,
    _pair(-INT64 - 1, INT64, "@", lambda offset, epoch: EpochEnd(epoch, offset)),
    lambda end: f"{end.offset}@{end.epoch}",
    "",
    "4@2",
)
#: The fields ``end_offset`` and ``last_epoch`` of a request in one word.
LAST = one_word(
    _AN_END,
    _pair(-INT64 - 1, INT64, "@", lambda offset, epoch: (offset, epoch)),
    lambda end: f"{end[0]}@{end[1]}",
    "",
    "4@2",
)
SNAPSHOT = one_word(_AN_END, _pair(-INT64 - 1, INT64, "@", SnapshotId), print_id, "", "21@1")
#: A smallest and a largest kraft.version, as wide as the wire allows.
KRAFT_RANGE = one_word(
    "a smallest and a largest kraft.version",
    _pair(-INT64 - 1, INT64, "-", lambda low, high: (low, high)),
    lambda known: f"{known[0]}-{known[1]}",
    "",
    "0-1",
)


def _voters(text: str) -> VoterSet:
    return VoterSet(tuple(Voter(key, usual_endpoints(key.id)) for key in KEYS.read(text)))


#: Voters by their keys, with the endpoints that follow from their ids.
VOTERS = Syntax(KEYS.expected, _voters, lambda voters: KEYS.show(voters.keys), example=KEYS.example)


def _derived(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a log of which only the batches, start and snapshots are known."""
    return following(fields["batches"], fields["start_offset"], fields["snapshots"])


def _member(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name


STYLE = Style(
    commas=True,
    flags=True,
    member=_member,
    special={
        int: ANY,
        ReplicaKey: KEY,
        Endpoint: _ENDPOINT,
        EpochEnd: _END,
        SnapshotId: SNAPSHOT,
        VoterSet: VOTERS,
    },
    derived={Log: _derived},
)


def print_optional(number: int | None) -> str:
    """A number, or ``none``."""
    return NONE if number is None else str(number)
