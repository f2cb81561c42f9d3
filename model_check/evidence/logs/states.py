"""The states that Apache Kafka prints: ``FollowerState(epoch=5, leader=1, ...)``, in the form of any release
from 3.3 to 4.5 (``forms.toml``); a form that is not known is read by the names of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kraftcheck.evidence.history.facts import NOT_SHOWN, Hidden, Key
from kraftcheck.evidence.logs.releases import Releases, forms

ROLES: Final[Mapping[bytes, str]] = {
    b"Unattached": "Unattached",
    b"UnattachedState": "Unattached",
    b"Voted": "Voted",
    b"VotedState": "Voted",
    b"ProspectiveState": "Prospective",
    b"CandidateState": "Candidate",
    b"Leader": "Leader",
    b"LeaderState": "Leader",
    b"FollowerState": "Follower",
    b"ResignedState": "Resigned",
}
WORDS: Final = b"|".join(sorted(ROLES, reverse=True))


class Unreadable(ValueError):
    """A line that begins like one that matters and cannot be read: cut, mixed with another, or damaged."""


class LoggedState(NamedTuple):
    """A state as one line shows it. A plain tuple: there are many."""

    role: str
    """As in the specification: Unattached, Voted, Prospective, Candidate, Leader, Follower, Resigned."""
    epoch: int
    leader: int | Hidden | None
    voted: Key | Hidden | None
    voters: tuple[int, ...] | None
    """Ids of the voter set at entry, ascending; None where the form does not print it."""
    high_watermark: int | Hidden | None
    timeout: int | None
    """Election or fetch timeout in ms."""
    local: Key | None
    """The node itself, where the form prints it."""
    epoch_start: int | None
    """Leader: the offset at which its epoch starts."""
    granted: frozenset[int] | None
    """Prospective and Candidate: the voters that have granted; None where the form does not print it."""
    electorate: frozenset[int] | None
    """Prospective and Candidate: the voters that are asked; None where the form does not print it."""
    releases: Releases
    """The releases that print this form; empty if the form is not known."""

    @property
    def identity(self) -> tuple[object, ...]:
        """The values that do not change while the node is in this state."""
        # Role, epoch, leader, vote and voters.
        return self[:5], self.timeout, self.epoch_start

    @property
    def durable(self) -> bool:
        """Whether the change to this state is written to the quorum-state file first (PERSIST-6)."""
        return self.role not in ("Prospective", "Resigned")

    def __str__(self) -> str:
        parts = [f"{self.role}, epoch {self.epoch}"]
        if self.leader is not NOT_SHOWN and self.role != "Leader":
            parts.append(f"leader {'none' if self.leader is None else self.leader}")
        if self.voted is not NOT_SHOWN:
            parts.append(f"vote {'none' if self.voted is None else self.voted.id}")
        return ", ".join(parts)


#: The value of a field: brackets are balanced, as deep as any release nests them. A value ends before a comma
#: or, where a release forgets it, before the space that separates the next field.
_DEEPEST: Final = 8
_PLAIN: Final = rb"[^\[({\])}]"


def _nested(depth: int) -> bytes:
    inner = rb"(?:%s++|%s)*+" % (_PLAIN, _nested(depth - 1)) if depth else _PLAIN + rb"*+"
    return rb"[\[({]%s[\])}]" % inner


_FIELD = re.compile(rb"([A-Za-z]+)=((?:[^\[({\])},=\s]++|\s?+%s)*+)(?:,\s*|\s|\Z)" % _nested(_DEEPEST))
_KEY = re.compile(
    rb"ReplicaKey\(id=(\d{1,10}), directoryId=(?:Optional\[)?"
    rb"(<undefined>|Optional\.empty|[\w-]{1,64})(?![\w-])"
)
_VOTE = re.compile(
    rb"(\d{1,10})=(?:VoterState\(replicaKey=ReplicaKey\([^)]*\), state=)?(GRANTED|REJECTED|UNRECORDED)"
)
_VOTER_OBJECT = re.compile(rb"(?:^|[{ ])(\d{1,10})=[\w.$]+@[0-9a-f]+")
_OFFSET = re.compile(rb"(?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}),")
_NODE = re.compile(rb"\(id: (\d{1,10}) ")
#: No number that Kafka prints has more digits.
_DIGITS: Final = 19
_INTEGER = re.compile(rb"-?\d{1,19}")
_OPTIONAL = re.compile(rb"OptionalInt\[(\d{1,10})\]")
_ABSENT = (b"null", b"Optional.empty", b"OptionalInt.empty", b"-1")
#: More voters than this are no quorum.
VOTERS_KEPT: Final = 256
_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


def fields(body: bytes) -> dict[bytes, bytes]:
    """The fields of ``a=1, b=[..], c=X(d=2)`` at the outermost level. Raises Unreadable on unbalanced
    brackets.

    Release 3.8 prints one comma too few and two releases one space too few; both are read.
    """
    found, place = dict[bytes, bytes](), 0
    while place < len(body):
        match = _FIELD.match(body, place)
        if match is None:
            raise Unreadable
        found[match[1]] = match[2]
        place = match.end()
    return found


#: The same states, voters and keys are printed again and again, mostly in neighbouring lines.
_REMEMBERED: Final = 32


@lru_cache(maxsize=_REMEMBERED)
def parse_state(text: bytes) -> LoggedState:
    """The state that ``text`` prints. Raises Unreadable."""
    word, bracket, rest = text.partition(b"(")
    role = ROLES.get(word)
    if role is None or not bracket or not rest.endswith(b")"):
        raise Unreadable
    shown = fields(rest[:-1])
    epoch = _integer(shown.get(b"epoch"))
    timeout = shown.get(b"electionTimeoutMs", shown.get(b"fetchTimeoutMs"))
    start = shown.get(b"epochStartOffset")
    granted = electorate = None
    releases = _printing().get((word, *shown), frozenset())
    votes = shown.get(b"epochElection", shown.get(b"voteStates"))
    if votes is not None:
        granted, electorate, releases = _election(votes, releases)
    local = _local(shown)
    return LoggedState(
        role,
        epoch,
        _leader(role, shown, local),
        _voted(role, shown, local),
        _ids(shown[b"voters"]) if b"voters" in shown else None,
        offset(shown[b"highWatermark"]) if b"highWatermark" in shown else NOT_SHOWN,
        None if timeout is None else _integer(timeout),
        local,
        None if start is None else _integer(start),
        granted,
        electorate,
        releases,
    )


@cache
def _printing() -> Mapping[tuple[bytes, ...], Releases]:
    """Word and fields of a printed state, in order → the releases that print it so."""
    return {
        tuple(text.encode() for text in (word, *names)): found
        for (word, names), found in forms().states.items()
    }


@lru_cache(maxsize=_REMEMBERED)
def keys(text: bytes) -> tuple[Key, ...]:
    """All replica keys that ``text`` prints, in order. Raises Unreadable if there are too many."""
    found = tuple(key_of(int(match[1]), match[2]) for match in _KEY.finditer(text))
    if len(found) > VOTERS_KEPT:
        raise Unreadable
    return found


def offset(text: bytes) -> int | None:
    """The offset of a printed LogOffsetMetadata, optional or not; None where it is absent."""
    match = _OFFSET.match(text)
    return None if match is None else int(match[1])


def key_of(replica: int, directory: bytes | None) -> Key:
    """A key from its printed parts; the zero UUID means that there is no directory id."""
    text = None if directory is None else directory.decode("ascii", "replace")
    return Key(replica, None if text in (None, _ZERO_UUID, "<undefined>", "Optional.empty") else text)


def _integer(text: bytes | None) -> int:
    if text is None or not text.isdigit() or len(text) > _DIGITS:
        raise Unreadable
    return int(text)


@lru_cache(maxsize=_REMEMBERED)
def _ids(text: bytes) -> tuple[int, ...]:
    if not (text.startswith(b"[") and text.endswith(b"]")):
        raise Unreadable
    parts = text[1:-1].split(b", ") if len(text) > 2 else []
    if len(parts) > VOTERS_KEPT or any(_INTEGER.fullmatch(part) is None for part in parts):
        raise Unreadable
    return tuple(sorted(int(part) for part in parts))


@lru_cache(maxsize=_REMEMBERED)
def _election(
    text: bytes, releases: Releases
) -> tuple[frozenset[int] | None, frozenset[int] | None, Releases]:
    """The voters that have granted, those that are asked, and which of ``releases`` print them so."""
    for mark in ("EpochElection[", "EpochElection("):
        if text.startswith(mark.encode()):
            releases &= forms().marks[mark]
    votes = {int(match[1]): match[2] for match in _VOTE.finditer(text)}
    if len(votes) > VOTERS_KEPT:
        raise Unreadable
    if votes:
        granted = frozenset(one for one, vote in votes.items() if vote == b"GRANTED")
        return granted, frozenset(votes), releases
    # Release 3.9 prints the values as objects without content.
    ids = frozenset(int(match[1]) for match in _VOTER_OBJECT.finditer(text))
    if len(ids) > VOTERS_KEPT:
        raise Unreadable
    return None, ids or None, releases


def _local(shown: Mapping[bytes, bytes]) -> Key | None:
    text = shown.get(b"localVoterNode", shown.get(b"localReplicaKey"))
    if text is not None:
        return _first_key(text)
    if b"localId" not in shown:
        return None
    return key_of(_integer(shown[b"localId"]), shown.get(b"localDirectoryId"))


def _first_key(text: bytes) -> Key:
    found = keys(text)
    if not found:
        raise Unreadable
    return found[0]


def _leader(role: str, shown: Mapping[bytes, bytes], local: Key | None) -> int | Hidden | None:
    if role in ("Leader", "Resigned"):
        return NOT_SHOWN if local is None else local.id
    if role in ("Candidate", "Voted"):
        return None
    text = shown.get(b"leader", shown.get(b"leaderId"))
    if text is None:
        return NOT_SHOWN
    if text in _ABSENT:
        return None
    match = _OPTIONAL.fullmatch(text) or _NODE.search(text)
    if match is None and _INTEGER.fullmatch(text) is None:
        raise Unreadable
    return int(text if match is None else match[1])


def _voted(role: str, shown: Mapping[bytes, bytes], local: Key | None) -> Key | Hidden | None:
    if role == "Candidate":
        return NOT_SHOWN if local is None else local
    text = shown.get(b"votedKey")
    if text is not None:
        return None if text in _ABSENT else _first_key(text)
    return Key(_integer(shown[b"votedId"]), None) if b"votedId" in shown else NOT_SHOWN
