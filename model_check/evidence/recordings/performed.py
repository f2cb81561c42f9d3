"""What a step of a recording performed, as types: operations on the log, callbacks, the quorum-state file."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from kraftcheck.evidence.recordings.wire_types import ZERO_UUID, RecordBatch


class Append(Struct, tag_field="op", tag="append", rename="camel"):
    """A leader appends ``batches``; a follower those of the message from ``base`` to ``end``."""

    by: Literal["leader", "follower"]
    batches: list[RecordBatch] = []
    base: int = -1
    end: int = -1
    last_epoch: int = -1


class Flush(Struct, tag_field="op", tag="flush"):
    """The log is flushed up to ``to``."""

    to: int


class Truncate(Struct, tag_field="op", tag="truncate"):
    """The log ends at ``to``."""

    to: int


class DeleteBefore(Struct, tag_field="op", tag="deleteBefore"):
    """The log starts at the end of a snapshot."""

    offset: int
    epoch: int


class TruncateToSnapshot(Struct, tag_field="op", tag="truncateToSnapshot"):
    """A snapshot replaces the log."""

    offset: int
    epoch: int


class Commit(Struct, tag_field="cb", tag="commit"):
    """The state machine gets a committed batch; one of control records has no ``values``."""

    base: int
    last: int
    epoch: int
    values: list[int] | UnsetType = UNSET


class LeaderReport(Struct, tag_field="cb", tag="leaderChange"):
    """The state machine learns of a leader, or that an epoch has none yet."""

    leader: int
    epoch: int


class LoadBootstrap(Struct, tag_field="cb", tag="loadBootstrap"):
    """The state machine gets the checkpoint from which the cluster starts."""


class LoadSnapshot(Struct, tag_field="cb", tag="loadSnapshot"):
    """The state machine gets a snapshot; ``value`` is the last one in it."""

    offset: int
    epoch: int
    value: int | None


class StoredFile(Struct, rename="camel"):
    """The quorum-state file; version 0 has no directory id."""

    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str = ZERO_UUID


Operation = Append | Flush | Truncate | DeleteBefore | TruncateToSnapshot
Callback = Commit | LeaderReport | LoadBootstrap | LoadSnapshot
