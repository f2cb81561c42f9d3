"""Lines of a recording as facts: states, quorum-state files, batches, and the content of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kraftcheck.evidence.history.chain import Batch
from kraftcheck.evidence.history.facts import Key
from kraftcheck.evidence.history.replica import Stored, WholeState
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.lines import RecordedState
from kraftcheck.evidence.recordings.recording import Message
from kraftcheck.support.errors import InputError

#: The directory id that stands for none (Kafka: Uuid.ZERO_UUID).
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def key(replica: int, directory: str) -> Key:
    """A replica as a message or file names it."""
    return Key(replica, None if directory in ("", _NO_DIRECTORY) else directory)


def state_of(
    state: RecordedState, shown: dict[str, Json], where: str, before: WholeState | None
) -> WholeState:
    """The state in a line's ``s``, which is ``shown`` there. Raises InputError for a malformed replica."""
    same = before is not None and shown["voters"] == before.shown["voters"]
    return WholeState(
        role=state.state,
        epoch=state.epoch,
        leader=None if state.leader < 0 else state.leader,
        voted=None if state.voted is None else _key_of(state.voted, where),
        end=state.leo,
        last_epoch=state.last_epoch,
        high_watermark=None if state.hw < 0 else state.hw,
        log_start=state.log_start or 0,
        snapshot=None if state.snapshot is None else (state.snapshot[0], state.snapshot[1]),
        voters=before.voters if before and same else tuple(_key_of(each, where) for each in state.voters),
        kraft_version=state.kraft_version,
        is_voter=state.is_voter,
        progress=state.progress or {},
        timers=state.deadlines,
        shown=shown,
    )


def _key_of(entry: list[int | str], where: str) -> Key:
    id, directory = entry[0], entry[1] if len(entry) > 1 else ""
    if isinstance(id, int) and isinstance(directory, str):
        return key(id, directory)
    raise InputError(f"{where}: a replica must be shown as [id, directory id].")


def stored(fields: Fields) -> Stored:
    """A write of the quorum-state file; version 0 has no directory ids."""
    leader, voted = fields.number("leaderId"), fields.number("votedId")
    candidate = key(voted, fields.text("votedDirectoryId", _NO_DIRECTORY))
    return Stored(
        fields.number("leaderEpoch"), None if leader < 0 else leader, None if voted < 0 else candidate
    )


def batch_of(fields: Fields) -> Batch:
    """A batch, shown as base, last, epoch and records."""
    end, epoch, base = fields.number("last") + 1, fields.number("epoch"), fields.number("base")
    return Batch(base, end, epoch, fields.values.get("records"), _voters_in(fields))


def _voters_in(batch: Fields) -> tuple[Key, ...] | None:
    if not batch.flag("control", False):
        return None
    found: tuple[Key, ...] | None = None
    for record in batch.objects("records"):
        if record.values.get("type") == "KRAFT_VOTERS":
            found = tuple(
                key(voter.number("voterId"), voter.text("voterDirectoryId", _NO_DIRECTORY))
                for voter in record.inner("value").objects("voters")
            )
    return found


# Messages.


class Ballot(NamedTuple):
    """A Vote request: the sender, its epoch and its log. ``voter`` is the directory id of the addressee."""

    candidate: Key
    epoch: int
    last_epoch: int
    end: int
    pre_vote: bool
    voter: str | None


def ballot(message: Message | None) -> Ballot | None:
    """The content of a Vote request; ``None`` where it names no single partition."""
    if message is None or message.api != "Vote" or not message.is_request:
        return None
    partition = _requested(message)
    if partition is None:
        return None
    return Ballot(
        key(partition.number("replicaId"), partition.text("replicaDirectoryId", _NO_DIRECTORY)),
        partition.number("replicaEpoch"),
        partition.number("lastOffsetEpoch"),
        partition.number("lastOffset"),
        partition.flag("preVote", False),
        key(0, partition.text("voterDirectoryId", _NO_DIRECTORY)).directory,
    )


def is_granted(message: Message | None) -> bool:
    """Whether a message is a Vote response that grants the vote."""
    if message is None or message.api != "Vote" or message.is_request:
        return False
    partition = _requested(message)
    return partition is not None and partition.flag("voteGranted", False)


def fetching(message: Message | None) -> tuple[Key, int] | None:
    """The sender of a Fetch request, and the requested offset; ``None``: it is none, or of no partition."""
    if message is None or message.api != "Fetch" or not message.is_request:
        return None
    partition = _requested(message)
    if partition is None:
        return None
    id = message.data.inner("replicaState").number("replicaId") if "replicaState" in message.data else -1
    sender = key(id, partition.text("replicaDirectoryId", _NO_DIRECTORY))
    return sender, partition.number("fetchOffset")


def fetched(message: Message | None) -> Iterator[Fields]:
    """The partitions of a Fetch response; none for any other message."""
    if message is not None and message.api == "Fetch" and not message.is_request:
        for topic in message.data.objects("responses", []):
            yield from topic.objects("partitions", [])


def is_fetched(message: Message) -> bool:
    """Whether a leader has answered a Fetch without an error, with or without records."""
    if message.synthetic is not None:
        return False
    partitions = list(fetched(message))
    if not partitions or message.data.number("errorCode", 0) != 0:
        return False
    return all(partition.number("errorCode", 0) == 0 for partition in partitions)


def _requested(message: Message) -> Fields | None:
    for topic in message.data.objects("topics", []):
        for partition in topic.objects("partitions", []):
            return partition
    return None
