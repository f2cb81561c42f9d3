"""The messages that matter, as facts; ``messages.toml`` lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from kraftcheck.evidence.history.facts import Appended, HighWatermark, Key, VoteAnswer
from kraftcheck.evidence.logs.states import WORDS, LoggedState, Unreadable, key_of, keys, parse_state


class Transition(NamedTuple):
    """``Attempting durable transition to`` (``completed`` is False) or ``Completed transition to``."""

    completed: bool
    new: LoggedState
    old: LoggedState | None
    """None at the start of a process and where the release does not print it."""
    starts: bool
    """Whether the line says that there was no state before."""
    old_shown: bool


class VoterSetRead(NamedTuple):
    """``Latest set of voters is`` (with its offset) or ``Starting voters are`` (without)."""

    voters: tuple[Key, ...]
    offset: int | None = None


class VersionRead(NamedTuple):
    """``Latest kraft.version is``."""

    version: int
    offset: int


class Truncated(NamedTuple):
    """The log was truncated to ``offset``, its new end."""

    offset: int


class SnapshotLoaded(NamedTuple):
    """The log was replaced by a snapshot that ends at ``offset``; ``epoch`` is its last record's."""

    offset: int
    epoch: int


class Said(NamedTuple):
    """A line of which only its being there matters; ``what`` is its kind."""

    what: str
    detail: str = ""


Fact = (
    Transition
    | HighWatermark
    | VoteAnswer
    | VoterSetRead
    | VersionRead
    | Truncated
    | SnapshotLoaded
    | Appended
    | Said
)

STARTING: Final = "process starts"
LOADING: Final = "reads a snapshot"
STOPPED: Final = "graceful shutdown ends"
OLD_PEER: Final = "a voter does not know pre-votes"
FETCH_BACK: Final = "a replica fetches at a smaller offset than before"
FATAL: Final = "fatal fault"
#: Why the next transition happens.
CAUSES: Final = frozenset(
    {
        "its fetch timeout expires",
        "no majority fetches in time",
        "too many voters reject it",
        "its election times out",
        "its pre-vote times out",
        "it is asked to resign",
        "it shuts down",
        "its removal is committed",
    }
)

#: A line without log context, hence found on its own.
FATAL_TEXT: Final = b"Encountered fatal fault: Unexpected error in raft IO thread"

_ARROW = re.compile(rb"\) from (?=(?:" + WORDS + rb")\()")
_HIGH = re.compile(rb"(?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}), metadata=")
_HIGH_FROM = re.compile(rb"\) from (?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}),")
_HIGH_EPOCH = re.compile(rb" for (the first time for )?epoch (\d{1,10})\b")
_END = re.compile(rb"endOffset=Optional(?:\[LogOffsetMetadata\(offset=(\d{1,19}),|\.empty)")

#: Reads the rest of a message, after its beginning. Raises Unreadable.
Reader = Callable[[bytes], Fact]


def _transition(rest: bytes) -> Transition:
    if rest.endswith(b") from null"):
        return Transition(True, parse_state(rest[:-10]), None, starts=True, old_shown=True)
    arrow = _ARROW.search(rest)
    if arrow is None:
        return Transition(True, parse_state(rest), None, starts=False, old_shown=False)
    new, old = parse_state(rest[: arrow.start() + 1]), parse_state(rest[arrow.end() :])
    return Transition(True, new, old, starts=False, old_shown=True)


#: Most changes are printed twice, attempted and completed; few texts are between the two.
_completed: Final = lru_cache(maxsize=32)(_transition)


def _attempting(rest: bytes) -> Fact:
    return _completed(rest)._replace(completed=False)


def _high_watermark(rest: bytes) -> Fact:
    new = _HIGH.match(rest)
    if new is None:
        raise Unreadable
    epoch = _HIGH_EPOCH.search(rest, new.end())
    previous = _HIGH_FROM.search(rest, new.end())
    if epoch is None and previous is None:
        raise Unreadable
    _, voters, states = rest.partition(b" and voters ")
    if voters and not (states.startswith((b"[", b"{")) and states.endswith((b"]", b"}"))):
        raise Unreadable
    ends = tuple(int(one) if one else None for one in _END.findall(states))
    return HighWatermark(
        offset=int(new[1]),
        epoch=None if epoch is None else int(epoch[2]),
        first=epoch is not None and epoch[1] is not None,
        previous=None if previous is None else int(previous[1]),
        ends=ends or None,
    )


def _vote(found: Mapping[str, bytes | None]) -> Fact:
    candidate, epoch, last_epoch, last_offset = (
        int(found[name] or b"") for name in ("candidate", "epoch", "last_epoch", "last_offset")
    )
    return VoteAnswer(
        candidate=key_of(candidate, found["directory"]),
        epoch=epoch,
        last_epoch=last_epoch,
        last_offset=last_offset,
        pre_vote=found["pre_vote"] == b"true",
        granted=found["answer"] == b"granted",
        cluster=found["cluster"] or b"",
    )


def _numbers(kind: type[Any]) -> Callable[[Mapping[str, bytes | None]], Fact]:
    """A function that makes a fact of this kind of numbers, and of voters."""

    def make(found: Mapping[str, bytes | None]) -> Fact:
        values = {
            name: keys(text) if name == "voters" else int(text)
            for name, text in found.items()
            if text is not None
        }
        fact: Fact = kind(**values)
        return fact

    return make


_WHOLE: Mapping[str, Reader] = {
    "completed": _completed,
    "attempting": _attempting,
    "high_watermark": _high_watermark,
}
_BY_GROUPS: Mapping[str, Callable[[Mapping[str, bytes | None]], Fact]] = {
    "vote": _vote,
    **{
        kind.__name__: _numbers(kind)
        for kind in (HighWatermark, Appended, VoterSetRead, VersionRead, Truncated, SnapshotLoaded)
    },
}


def _reader(entry: Mapping[str, Any]) -> Reader:
    """The function that reads the rest of a message as ``messages.toml`` describes it."""
    if "says" in entry:
        said = Said(entry["says"])
        return lambda rest: said
    if entry["fact"] in _WHOLE:
        return _WHOLE[entry["fact"]]
    pattern, make = re.compile("".join(entry["pattern"]).encode()), _BY_GROUPS[entry["fact"]]

    def read(rest: bytes) -> Fact:
        match = pattern.match(rest)
        if match is None:
            raise Unreadable
        return make(match.groupdict())

    return read


def _read() -> dict[bytes, Reader]:
    text = (files("kraftcheck.evidence.logs") / "messages.toml").read_text(encoding="utf-8")
    return {entry["begins"].encode(): _reader(entry) for entry in tomllib.loads(text)["message"]}


#: The beginning of a message → the function that reads the rest.
MESSAGES: Final = _read()


def parse(beginning: bytes, message: bytes) -> Fact:
    """The fact that ``message`` states; ``beginning`` is its key in `MESSAGES`. Raises Unreadable."""
    return MESSAGES[beginning](message[len(beginning) :])
