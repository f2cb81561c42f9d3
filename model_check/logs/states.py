"""The states that production prints: ``FollowerState(epoch=5, leader=1, ...)``, in the form of any release.

The forms are those of the toString methods of the state classes in org.apache.kafka.raft, releases 3.3 to
4.5; a form that is not known is read by the names of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from model_check.logs.releases import Releases, forms

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


class NotShown(Enum):
    """The value of a field that the form does not print."""

    NOT_SHOWN = "not shown"


NOT_SHOWN: Final = NotShown.NOT_SHOWN
Hidden = Literal[NotShown.NOT_SHOWN]


class Unreadable(ValueError):
    """A line that begins like one that matters and cannot be read: cut, mixed with another, or damaged."""


class Key(NamedTuple):
    """What names a replica: its id and, where known, the directory id of its metadata log."""

    id: int
    directory: str | None

    def matches(self, other: Key) -> bool:
        """Whether both may name the same replica: equal ids, and equal directory ids where both are known."""
        if self.id != other.id:
            return False
        return self.directory is None or other.directory is None or self.directory == other.directory

    def __str__(self) -> str:
        return str(self.id) if self.directory is None else f"{self.id} ({self.directory})"


@dataclass(frozen=True, slots=True)
class LoggedState:
    """A state as one line shows it."""

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
        """What stays as it is while the node stays in this state."""
        return (self.role, self.epoch, self.leader, self.voted, self.voters, self.timeout, self.epoch_start)

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


_TOKEN = re.compile(rb"[\[({]|[\])}]|(?:^|,\s*|\s)([A-Za-z]+)=")
_OPENING = frozenset(b"([{")
_BRACKET = re.compile(rb"[\[({]")
_CLOSING = re.compile(rb"[\])}]")
_KEY = re.compile(
    rb"ReplicaKey\(id=(\d{1,10}), directoryId=(?:Optional\[)?(<undefined>|Optional\.empty|[\w-]+)"
)
_VOTE = re.compile(
    rb"(\d{1,10})=(?:VoterState\(replicaKey=ReplicaKey\([^)]*\), state=)?(GRANTED|REJECTED|UNRECORDED)"
)
_VOTER_OBJECT = re.compile(rb"(?:^|[{ ])(\d{1,10})=[\w.$]+@[0-9a-f]+")
_OFFSET = re.compile(rb"(?:Optional\[)?LogOffsetMetadata\(offset=(\d{1,19}),")
_NODE = re.compile(rb"\(id: (\d{1,10}) ")
_INTEGER = re.compile(rb"-?\d{1,19}")
_OPTIONAL = re.compile(rb"OptionalInt\[(\d{1,10})\]")
_ABSENT = (b"null", b"Optional.empty", b"OptionalInt.empty", b"-1")
_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


def fields(body: bytes) -> dict[str, bytes]:
    """The fields of ``a=1, b=[..], c=X(d=2)`` at the outermost level. Raises Unreadable on unbalanced
    brackets.

    Release 3.8 prints one comma too few and two releases one space too few; both are read.
    """
    found: dict[str, bytes] = {}
    depth, name, start = 0, "", 0
    for token in _TOKEN.finditer(body):
        if token[1] is None:
            depth += 1 if token[0][0] in _OPENING else -1
            if depth < 0:
                raise Unreadable
        elif depth == 0:
            if name:
                found[name] = body[start : token.start()]
            name, start = token[1].decode("ascii"), token.end()
    if depth or not name:
        raise Unreadable
    found[name] = body[start:]
    return found


@cache
def _known_forms(word: bytes) -> tuple[tuple[tuple[str, ...], re.Pattern[bytes]], ...]:
    """The known forms of ``word``: their fields, and a regular expression with a group for each."""
    found = []
    for name, shown in forms().states:
        if name.encode() == word:
            pattern = rb"(?:, |,| )".join(field.encode() + b"=(.*?)" for field in shown)
            found.append((shown, re.compile(pattern + rb"\Z", re.DOTALL)))
    return tuple(found)


def _fields(word: bytes, body: bytes) -> dict[str, bytes]:
    """As `fields`, faster where the form is known."""
    for names, pattern in _known_forms(word):
        match = pattern.match(body)
        if match is not None:
            values = match.groups()
            if all(_one_value(value) for value in values):
                return dict(zip(names, values, strict=True))
    return fields(body)


def _one_value(value: bytes) -> bool:
    """Whether it is one balanced value, and not several fields of a form that is not known."""
    bracket = _BRACKET.search(value)
    if bracket is None:
        return b"=" not in value and _CLOSING.search(value) is None
    if b"=" in value and (value[-1] not in b"])}" or b"=" in value[: bracket.start()]):
        return False
    return (
        value.count(b"(") == value.count(b")")
        and value.count(b"[") == value.count(b"]")
        and value.count(b"{") == value.count(b"}")
    )


@lru_cache(maxsize=512)
def parse_state(text: bytes) -> LoggedState:
    """The state that ``text`` prints. Raises Unreadable."""
    word, bracket, rest = text.partition(b"(")
    if word not in ROLES or not bracket or not rest.endswith(b")"):
        raise Unreadable
    shown = _fields(word, rest[:-1])
    form = (word.decode("ascii"), tuple(shown))
    releases = forms().states.get(form, frozenset())
    role = ROLES[word]
    votes = shown.get("epochElection", shown.get("voteStates"))
    granted, electorate = _election(votes)
    if votes is not None:
        for mark in ("EpochElection[", "EpochElection("):
            if votes.startswith(mark.encode()):
                releases &= forms().marks[mark]
    local = _local(shown)
    return LoggedState(
        role=role,
        epoch=_integer(shown, "epoch"),
        leader=_leader(role, shown, local),
        voted=_voted(role, shown, local),
        voters=_ids(shown["voters"]) if "voters" in shown else None,
        high_watermark=_high_watermark(shown),
        timeout=_timeout(shown),
        local=local,
        epoch_start=_integer(shown, "epochStartOffset") if role == "Leader" else None,
        granted=granted,
        electorate=electorate,
        releases=releases,
    )


def keys(text: bytes) -> tuple[Key, ...]:
    """All replica keys that ``text`` prints, in order."""
    return tuple(_as_key(match[1], match[2]) for match in _KEY.finditer(text))


def offset(text: bytes) -> int | None:
    """The offset of a printed LogOffsetMetadata, optional or not; None where it is absent."""
    match = _OFFSET.match(text)
    return None if match is None else int(match[1])


def key_of(replica: int, directory: bytes | None) -> Key:
    """A key from its printed parts; the zero UUID means that there is no directory id."""
    text = None if directory is None else directory.decode("ascii", "replace")
    return Key(replica, None if text in (None, _ZERO_UUID, "<undefined>", "Optional.empty") else text)


def _as_key(replica: bytes, directory: bytes) -> Key:
    return key_of(int(replica), directory)


def _integer(shown: Mapping[str, bytes], name: str) -> int:
    if (value := shown.get(name)) is None or _INTEGER.fullmatch(value) is None:
        raise Unreadable
    return int(value)


def _ids(text: bytes) -> tuple[int, ...]:
    if not (text.startswith(b"[") and text.endswith(b"]")):
        raise Unreadable
    parts = text[1:-1].split(b", ") if len(text) > 2 else []
    if any(_INTEGER.fullmatch(part) is None for part in parts):
        raise Unreadable
    return tuple(sorted(int(part) for part in parts))


def _election(text: bytes | None) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    if text is None:
        return None, None
    votes = {int(match[1]): match[2] for match in _VOTE.finditer(text)}
    if votes:
        return frozenset(one for one, vote in votes.items() if vote == b"GRANTED"), frozenset(votes)
    # Release 3.9 prints the values as objects without content.
    ids = frozenset(int(match[1]) for match in _VOTER_OBJECT.finditer(text))
    return None, ids or None


def _local(shown: Mapping[str, bytes]) -> Key | None:
    for name in ("localVoterNode", "localReplicaKey"):
        if name in shown:
            found = keys(shown[name])
            if not found:
                raise Unreadable
            return found[0]
    if "localId" not in shown:
        return None
    return key_of(_integer(shown, "localId"), shown.get("localDirectoryId"))


def _leader(role: str, shown: Mapping[str, bytes], local: Key | None) -> int | Hidden | None:
    if role in ("Leader", "Resigned"):
        return NOT_SHOWN if local is None else local.id
    if role in ("Candidate", "Voted"):
        return None
    text = shown.get("leader", shown.get("leaderId"))
    if text is None:
        return NOT_SHOWN
    if text in _ABSENT:
        return None
    match = _OPTIONAL.fullmatch(text) or _NODE.search(text)
    if match is None and _INTEGER.fullmatch(text) is None:
        raise Unreadable
    return int(text if match is None else match[1])


def _voted(role: str, shown: Mapping[str, bytes], local: Key | None) -> Key | Hidden | None:
    if role == "Candidate":
        return NOT_SHOWN if local is None else local
    if "votedId" in shown:
        return Key(_integer(shown, "votedId"), None)
    text = shown.get("votedKey")
    if text is None:
        return NOT_SHOWN
    if text in _ABSENT:
        return None
    found = keys(text)
    if not found:
        raise Unreadable
    return found[0]


def _high_watermark(shown: Mapping[str, bytes]) -> int | Hidden | None:
    text = shown.get("highWatermark")
    return NOT_SHOWN if text is None else offset(text)


def _timeout(shown: Mapping[str, bytes]) -> int | None:
    for name in ("electionTimeoutMs", "fetchTimeoutMs"):
        if name in shown:
            return _integer(shown, name)
    return None
