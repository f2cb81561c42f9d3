"""A node's recorded state and the content of votes as typed values."""

from __future__ import annotations

from typing import NamedTuple

from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.recording import Message
from kraftcheck.support.errors import InputError

#: The directory id that stands for none (Kafka: Uuid.ZERO_UUID).
NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"

#: A replica: its id and its directory id, which is empty where kraft.version 0 knows none.
Key = tuple[int, str]


def same_replica(one: Key, other: Key) -> bool:
    """Whether two keys may name one replica: a key without directory id names whoever has the id."""
    return one[0] == other[0] and (one[1] == other[1] or not one[1] or not other[1])


def shown(key: Key) -> str:
    """A key for people."""
    return f"{key[0]} ({key[1]})" if key[1] else str(key[0])


class View(NamedTuple):
    """The state of a node after a step; ``None`` for what the node does not know.

    end: log end offset. snapshot: end offset and epoch of the latest one. contacts: a leader's ``progress``.
    """

    role: str
    epoch: int
    leader: int | None
    voted: Key | None
    end: int
    last_epoch: int
    high_watermark: int | None
    log_start: int
    snapshot: tuple[int, int] | None
    voters: tuple[Key, ...]
    kraft_version: int
    is_voter: bool
    contacts: dict[str, Json]
    fields: Fields


def view_of(fields: Fields, before: View | None) -> View:
    """The state in a line's ``s``. Raises InputError where a field is missing or of the wrong type."""
    values = fields.values
    leader, known = fields.number("leader"), fields.number("hw")
    voters = before.voters if before is not None and _unchanged(fields, before) else _keys(fields)
    return View(
        role=fields.text("state"),
        epoch=fields.number("epoch"),
        leader=None if leader < 0 else leader,
        voted=_key(values["voted"], fields) if "voted" in values else None,
        end=fields.number("leo"),
        last_epoch=fields.number("lastEpoch"),
        high_watermark=None if known < 0 else known,
        log_start=fields.number("logStart") if "logStart" in values else 0,
        snapshot=_pair(fields) if "snapshot" in values else None,
        voters=voters,
        kraft_version=fields.number("kraftVersion"),
        is_voter=fields.flag("isVoter"),
        contacts=fields.inner("progress").values if "progress" in values else {},
        fields=fields,
    )


def _unchanged(fields: Fields, before: View) -> bool:
    return bool(fields.values.get("voters") == before.fields.values["voters"])


def _keys(fields: Fields) -> tuple[Key, ...]:
    return tuple(_key(entry, fields) for entry in fields.items("voters"))


def _key(entry: Json, fields: Fields) -> Key:
    if isinstance(entry, list) and entry and type(entry[0]) is int:
        if len(entry) == 1:
            return entry[0], ""
        if isinstance(entry[1], str):
            return entry[0], _directory(entry[1])
    raise InputError(f"{fields.where}: a replica must be shown as [id, directory id].")


def _pair(fields: Fields) -> tuple[int, int]:
    numbers = fields.numbers("snapshot")
    if len(numbers) != 2:
        raise InputError(f"{fields.where}: field 'snapshot' must be [end offset, epoch].")
    return numbers[0], numbers[1]


def _directory(text: str) -> str:
    return "" if text == NO_DIRECTORY else text


class Stored(NamedTuple):
    """The content of a quorum-state file."""

    epoch: int
    leader: int | None
    voted: Key | None


def stored(fields: Fields) -> Stored:
    """A write of the quorum-state file; version 0 has no directory ids."""
    leader, voted = fields.number("leaderId"), fields.number("votedId")
    directory = _directory(fields.text("votedDirectoryId", NO_DIRECTORY))
    return Stored(
        fields.number("leaderEpoch"),
        None if leader < 0 else leader,
        None if voted < 0 else (voted, directory),
    )


class Ballot(NamedTuple):
    """A Vote request: who asks in which epoch with which log. ``voter`` is the directory id asked for."""

    candidate: Key
    epoch: int
    last_epoch: int
    end: int
    pre_vote: bool
    voter: str


def ballot(message: Message) -> Ballot | None:
    """The content of a Vote request; ``None`` where it asks nothing of one partition."""
    partition = _partition(message)
    if partition is None:
        return None
    return Ballot(
        (partition.number("replicaId"), _directory(partition.text("replicaDirectoryId", NO_DIRECTORY))),
        partition.number("replicaEpoch"),
        partition.number("lastOffsetEpoch"),
        partition.number("lastOffset"),
        partition.flag("preVote", False),
        _directory(partition.text("voterDirectoryId", NO_DIRECTORY)),
    )


def is_granted(message: Message) -> bool:
    """Whether a Vote response grants the vote."""
    partition = _partition(message)
    return partition is not None and partition.flag("voteGranted", False)


def fetching(message: Message) -> tuple[Key, int] | None:
    """Who sends a Fetch request, and the offset it asks for; ``None``: of no partition."""
    partition = _partition(message)
    if partition is None:
        return None
    who = message.data.inner("replicaState").number("replicaId") if "replicaState" in message.data else -1
    directory = _directory(partition.text("replicaDirectoryId", NO_DIRECTORY))
    return (who, directory), partition.number("fetchOffset")


def _partition(message: Message) -> Fields | None:
    for topic in message.data.objects("topics", []):
        for partition in topic.objects("partitions", []):
            return partition
    return None
