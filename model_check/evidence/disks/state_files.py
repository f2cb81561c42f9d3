"""The small files of a metadata log: ``quorum-state``, ``meta.properties``, ``leader-epoch-checkpoint``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from kraftcheck.evidence.disks.records import VoterKey

#: The largest that is read; Kafka's have some hundred bytes, a voter set included.
MAX_STATE_BYTES: Final = 1 << 20
_NO_DIRECTORY: Final = "A" * 22

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
_Epoch = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Directory = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{22}$")]


class UnreadableFileError(Exception):
    """A file is not what its name says; the message ends a sentence about it."""


@dataclass(frozen=True, slots=True)
class QuorumState:
    """What a replica has persisted of elections (``FileQuorumStateStore``, ``ElectionState``).

    ``version``: that of the file, 0 before kraft.version 1. ``voters``: the configured ids that version 0
    keeps, else None.
    """

    version: int
    epoch: int
    leader: int | None
    vote: VoterKey | None
    voters: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity of a disk (``MetaProperties``). Before 3.7 it has no directory id."""

    version: int
    cluster: str | None
    node: int | None
    directory: str | None


class _Configured(msgspec.Struct, rename="camel"):
    voter_id: _Int32


class _Version(msgspec.Struct):
    data_version: int


class _State0(msgspec.Struct, rename="camel"):
    cluster_id: str
    applied_offset: int
    leader_epoch: _Epoch
    leader_id: _Int32
    voted_id: _Int32
    current_voters: list[_Configured] | None


class _State1(msgspec.Struct, rename="camel"):
    leader_epoch: _Epoch
    leader_id: _Int32
    voted_id: _Int32
    voted_directory_id: _Directory


def quorum_state(content: bytes) -> QuorumState:
    """The content of ``quorum-state``. Raises UnreadableFileError where Kafka would not start with it."""
    if not content:
        raise UnreadableFileError("is empty")
    line = _first_value(re.split(rb"\r|\n", content, maxsplit=1)[0])
    try:
        version = msgspec.json.decode(line, type=_Version).data_version
        if version == 0:
            old = msgspec.json.decode(line, type=_State0)
            vote = None if old.voted_id == -1 else VoterKey(old.voted_id, None)
            voters = tuple(each.voter_id for each in old.current_voters or ())
            return QuorumState(0, old.leader_epoch, _known(old.leader_id), vote, voters)
        if version != 1:
            raise UnreadableFileError(f"has data_version {version}; releases to 4.4 know 0 and 1")
        new = msgspec.json.decode(line, type=_State1)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableFileError(f"cannot be read as quorum-state ({error})") from None
    directory = None if new.voted_directory_id == _NO_DIRECTORY else new.voted_directory_id
    vote = None if new.voted_id == -1 else VoterKey(new.voted_id, directory)
    return QuorumState(1, new.leader_epoch, _known(new.leader_id), vote, None)


def _first_value(line: bytes) -> bytes:
    """The first JSON value of a line; Kafka's parser does not look at what follows it."""
    try:
        text = line.decode("utf-8").lstrip()
        return text[: json.JSONDecoder().raw_decode(text)[1]].encode()
    except (ValueError, RecursionError):
        return line


def _known(leader: int) -> int | None:
    return None if leader == -1 else leader


def meta_properties(content: bytes) -> MetaProperties:
    """The content of ``meta.properties``. Raises UnreadableFileError."""
    found = _properties(content)
    version = found.get("version", "0")
    if version not in ("0", "1"):
        raise UnreadableFileError(f"has version {version!r}; Kafka knows 0 and 1")
    node = found.get("node.id", found.get("broker.id"))
    if node is not None and not re.fullmatch(r"\d{1,10}", node, re.ASCII):
        raise UnreadableFileError(f"has the node id {node!r}, which is no number")
    directory = found.get("directory.id")
    if directory is not None and not re.fullmatch(r"[A-Za-z0-9_-]{22}", directory):
        raise UnreadableFileError(f"has the directory id {directory!r}, which is no id of Kafka's")
    for key in ("cluster.id", "node.id") if version == "1" else ():
        if key not in found:
            raise UnreadableFileError(f"has version 1 and no {key}")
    return MetaProperties(
        int(version), found.get("cluster.id"), None if node is None else int(node), directory
    )


def _properties(content: bytes) -> Mapping[str, str]:
    """The keys and values of a file of ``java.util.Properties`` as Kafka writes it: one in a line."""
    found: dict[str, str] = {}
    for line in content.decode("latin-1").splitlines():
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        key, mark, value = text.partition("=")
        if not mark:
            raise UnreadableFileError(f"has the line {text[:60]!r}, which is no KEY=VALUE")
        found[key.strip()] = re.sub(r"\\(.)", r"\1", value.strip())
    return found


@dataclass(frozen=True, slots=True)
class EpochStart:
    """An entry of ``leader-epoch-checkpoint``: the first offset of an epoch."""

    epoch: int
    offset: int


def leader_epochs(content: bytes) -> tuple[EpochStart, ...]:
    """The content of ``leader-epoch-checkpoint`` (``CheckpointFile``): version, count, then epoch and offset.
    It is empty before the first epoch. Raises UnreadableFileError.
    """
    if not content:
        return ()
    lines = content.decode("latin-1").split("\n")
    numbers = [line.split(" ") for line in lines[2:] if line]
    if lines[0] != "0" or len(lines) < 2 or lines[1] != str(len(numbers)):
        raise UnreadableFileError("is no leader-epoch-checkpoint of version 0 with as many lines as it says")
    if any(len(pair) != 2 or not all(re.fullmatch(r"\d{1,19}", each) for each in pair) for pair in numbers):
        raise UnreadableFileError("has a line that is not an epoch and an offset")
    return tuple(EpochStart(int(epoch), int(offset)) for epoch, offset in numbers)
