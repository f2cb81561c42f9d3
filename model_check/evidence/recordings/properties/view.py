"""Lines of a recording as facts: states, quorum-state files, batches, and the content of messages."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET, to_builtins

from kraftcheck.evidence.history.chain import Batch
from kraftcheck.evidence.history.facts import Key
from kraftcheck.evidence.history.replica import Stored, WholeState
from kraftcheck.evidence.recordings.lines import Message, RecordedState, StoredFile, fetched
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_records import UncoveredMessageError, record_of
from kraftcheck.evidence.recordings.wire_types import ZERO_UUID, RecordBatch
from kraftcheck.reference.log import Voters
from kraftcheck.support.errors import InputError


def key(replica: int, directory: str) -> Key:
    """A replica as a message or file names it."""
    return Key(replica, None if directory in ("", ZERO_UUID) else directory)


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


def stored(file: StoredFile) -> Stored:
    """A write of the quorum-state file."""
    voted = None if file.voted_id < 0 else key(file.voted_id, file.voted_directory_id)
    return Stored(file.leader_epoch, None if file.leader_id < 0 else file.leader_id, voted)


def batch_of(batch: RecordBatch) -> Batch:
    """A batch with its records as they are written. Raises ValueError for a malformed voter set."""
    return Batch(batch.base, batch.last + 1, batch.epoch, to_builtins(batch.records), _voters_in(batch))


def _voters_in(batch: RecordBatch) -> tuple[Key, ...] | None:
    found: tuple[Key, ...] | None = None
    for record in batch.records if batch.control else ():
        try:
            content = record_of(record)
        except UncoveredMessageError:
            continue
        if isinstance(content, Voters):
            found = tuple(key(each.key.id, each.key.directory or "") for each in content.voters.voters)
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
    """The content of a Vote request; ``None`` where it names no partition."""
    partition = _partition(message, "Vote", is_request=True)
    if partition is None:
        return None
    return Ballot(
        key(partition.replicaId, partition.replicaDirectoryId),
        partition.replicaEpoch,
        partition.lastOffsetEpoch,
        partition.lastOffset,
        partition.preVote,
        key(0, partition.voterDirectoryId).directory,
    )


def is_granted(message: Message | None) -> bool:
    """Whether a message is a Vote response that grants the vote."""
    partition = _partition(message, "Vote", is_request=False)
    return partition is not None and partition.voteGranted


def fetching(message: Message | None) -> tuple[Key, int] | None:
    """The sender of a Fetch request, and the requested offset; ``None``: it is none, or of no partition."""
    partition = _partition(message, "Fetch", is_request=True)
    if message is None or partition is None:
        return None
    state = message.content.replicaState
    return key(-1 if state is UNSET else state.replicaId, partition.replicaDirectoryId), partition.fetchOffset


def is_fetched(message: Message) -> bool:
    """Whether a leader has answered a Fetch without an error, with or without records."""
    partitions = fetched(message)
    if message.synthetic is not None or not partitions:
        return False
    return not any(each.errorCode for each in (message.content, *partitions))


def _partition(message: Message | None, api: str, *, is_request: bool) -> Any:
    """The first partition of a request or response of ``api``; ``None`` for any other message."""
    if message is None or message.api != api or message.is_request != is_request:
        return None
    return next((each for topic in message.content.topics for each in topic.partitions), None)
