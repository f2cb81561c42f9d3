"""The messages that matter, as facts.

The wording is that of org.apache.kafka.raft (KafkaRaftClient, QuorumState, LeaderState, FollowerState and
internals.KRaftControlRecordStateMachine), releases 3.3 to 4.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, NamedTuple

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
    offset: int | None


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
SHUTDOWN: Final = "graceful shutdown begins"
STOPPED: Final = "graceful shutdown ends"
OLD_PEER: Final = "a voter does not know pre-votes"
FETCH_BACK: Final = "a replica fetches at a smaller offset than before"
FATAL: Final = "fatal fault"

#: A line without log context, hence found on its own.
FATAL_TEXT: Final = b"Encountered fatal fault: Unexpected error in raft IO thread"

_SAID: Final = {
    b"Reading KRaft snapshot and log": STARTING,
    b"Loading snapshot (": LOADING,
    b"Beginning graceful shutdown": SHUTDOWN,
    b"Graceful shutdown ": STOPPED,
    b"Prospective received unsupported version": OLD_PEER,
    b"Detected non-monotonic update of fetch offset": FETCH_BACK,
}

_ARROW = re.compile(rb"\) from (?=(?:" + WORDS + rb")\()")
_HIGH = re.compile(rb"(?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}), metadata=")
_HIGH_FROM = re.compile(rb"\) from (?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}),")
_HIGH_EPOCH = re.compile(rb" for (the first time for )?epoch (\d{1,10})\b")
_END = re.compile(rb"endOffset=Optional(?:\[LogOffsetMetadata\(offset=(\d{1,19}),|\.empty)")
_VOTE = re.compile(
    rb", (?:replica|candidate)Epoch=(\d{1,10}), (?:replica|candidate)Id=(\d{1,10})"
    rb"(?:, (?:replica|candidate)DirectoryId=([\w-]+))?(?:, voterDirectoryId=[\w-]+)?"
    rb", lastOffsetEpoch=(\d{1,10}), lastOffset=(\d{1,19})(?:, preVote=(true|false))?\)"
    rb"[\])]* with epoch (\d{1,10}) is (granted|rejected)\Z"
)
_CLUSTER = re.compile(rb"clusterId='([\w-]{1,64})'")
_OFFSET_AND_EPOCH: Final = rb"OffsetAndEpoch[\[(]offset=(\d{1,19}), epoch=(\d{1,10})[\])]"


def _fitting(pattern: bytes, make: Callable[[re.Match[bytes]], Fact]) -> Callable[[bytes], Fact]:
    """A function that reads the rest of a message that fits ``pattern``."""
    compiled = re.compile(pattern)

    def read(rest: bytes) -> Fact:
        match = compiled.match(rest)
        if match is None:
            raise Unreadable
        return make(match)

    return read


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
    _, new, old, starts, old_shown = _completed(rest)
    return Transition(False, new, old, starts, old_shown)


def _high_watermark(rest: bytes) -> Fact:
    new = _HIGH.match(rest)
    if new is None:
        raise Unreadable
    epoch = _HIGH_EPOCH.search(rest, new.end())
    previous = _HIGH_FROM.search(rest, new.end())
    if epoch is None and previous is None:
        raise Unreadable
    _, voters, states = rest.partition(b" and voters ")
    ends: tuple[int | None, ...] | None = None
    if voters:
        if not states.startswith((b"[", b"{")) or not states.endswith((b"]", b"}")):
            raise Unreadable
        ends = tuple(int(one) if one else None for one in _END.findall(states)) or None
    return HighWatermark(
        offset=int(new[1]),
        epoch=None if epoch is None else int(epoch[2]),
        first=epoch is not None and epoch[1] is not None,
        previous=None if previous is None else int(previous[1]),
        ends=ends,
    )


def _vote(rest: bytes) -> Fact:
    match = _VOTE.search(rest)
    if match is None or match[1] != match[7]:
        raise Unreadable
    cluster = _CLUSTER.match(rest)
    return VoteAnswer(
        candidate=key_of(int(match[2]), match[3]),
        epoch=int(match[1]),
        last_epoch=int(match[4]),
        last_offset=int(match[5]),
        pre_vote=match[6] == b"true",
        granted=match[8] == b"granted",
        cluster=b"" if cluster is None else cluster[1],
    )


def _said(what: str, rest: bytes) -> Fact:
    return Said(what)


#: The beginning of a message → the function that reads the rest. No beginning begins another.
MESSAGES: Final[dict[bytes, Callable[[bytes], Fact]]] = {
    b"Completed transition to ": _completed,
    b"Attempting durable transition to ": _attempting,
    b"High watermark set to ": _high_watermark,
    b"Follower high watermark updated to ": _fitting(rb"(\d{1,19})\Z", lambda at: HighWatermark(int(at[1]))),
    b"Follower end offset updated to ": _fitting(
        _OFFSET_AND_EPOCH, lambda at: Appended(int(at[1]), int(at[2]), base=None)
    ),
    b"Leader appended records at base offset ": _fitting(
        rb"(\d{1,19}), new end offset is " + _OFFSET_AND_EPOCH,
        lambda at: Appended(int(at[2]), int(at[3]), base=int(at[1])),
    ),
    b"Vote request VoteRequestData(": _vote,
    b"Latest set of voters is ": _fitting(
        rb"(VoterSet\(.*) at offset (-?\d{1,19})\Z", lambda at: VoterSetRead(keys(at[1]), int(at[2]))
    ),
    b"Latest kraft.version is ": _fitting(
        rb"\D{0,40}?(\d{1,5}) at offset (-?\d{1,19})\Z", lambda at: VersionRead(int(at[1]), int(at[2]))
    ),
    b"Starting voters are ": _fitting(rb"VoterSet\(.*\)\Z", lambda at: VoterSetRead(keys(at[0]), None)),
    b"Truncated to offset ": _fitting(
        rb"(\d{1,19}) from Fetch response from leader -?\d{1,10}\Z", lambda at: Truncated(int(at[1]))
    ),
    b"Fully truncated the log at ": _fitting(
        rb"\(LogOffsetMetadata\(offset=(\d{1,19}), .*\), (\d{1,10})\) after downloading snapshot ",
        lambda at: SnapshotLoaded(int(at[1]), int(at[2])),
    ),
    **{text: partial(_said, what) for text, what in _SAID.items()},
}


def parse(beginning: bytes, message: bytes) -> Fact:
    """The fact that ``message`` states; ``beginning`` is its key in `MESSAGES`. Raises Unreadable."""
    return MESSAGES[beginning](message[len(beginning) :])
