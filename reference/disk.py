"""What survives the process: quorum-state file, log and directory id, and how effects change them.

Source: Kafka: FileQuorumStateStore, KafkaRaftLog; the flush rules of KIP-595.
"""

from __future__ import annotations

from kraftcheck.reference import log as logs
from kraftcheck.reference.effects import (
    AppendBatch,
    DeleteBefore,
    Effect,
    Flush,
    LoadSnapshot,
    Persist,
    StoreSnapshot,
    Truncate,
)
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.types import Directory, EndOffset

_OF_THE_DISK = frozenset((Persist, AppendBatch, Truncate, Flush, StoreSnapshot, DeleteBefore, LoadSnapshot))


class Disk(Frozen):
    """Durable state. ``quorum_state`` is ``None`` before the first start; the log is durable below
    ``flushed``, and what is beyond it is lost if the machine loses power. ``directory`` is the id that the
    disk was formatted with, ``None`` where nothing depends on it. ``newer``: another release wrote a file of
    it in a version that this software does not know.
    """

    quorum_state: QuorumState | None = None
    log: Log = Log()
    flushed: EndOffset = 0
    directory: Directory | None = None
    newer: bool = False


def apply(disk: Disk, effect: Effect) -> Disk:
    """``disk`` after ``effect``; effects that do not touch the disk leave it as it is."""
    if type(effect) not in _OF_THE_DISK:
        return disk
    if isinstance(effect, Persist):
        return replace(disk, quorum_state=effect.quorum_state)
    if isinstance(effect, AppendBatch):
        return replace(disk, log=logs.append(disk.log, effect.batch))
    if isinstance(effect, Truncate):
        log = logs.truncate(disk.log, effect.offset)
        return replace(disk, log=log, flushed=min(disk.flushed, log.end_offset))
    if isinstance(effect, Flush):
        return replace(disk, flushed=min(effect.offset, disk.log.end_offset))
    if isinstance(effect, StoreSnapshot):
        return replace(disk, log=logs.with_snapshot(disk.log, effect.snapshot))
    if isinstance(effect, DeleteBefore):
        return replace(disk, log=logs.delete_before(disk.log, effect.id.end_offset))
    assert isinstance(effect, LoadSnapshot)
    return replace(disk, log=logs.reset_to(effect.snapshot), flushed=effect.snapshot.id.end_offset)


def lose_power(disk: Disk) -> Disk:
    """``disk`` without the batches that were not flushed."""
    return replace(disk, log=logs.truncate(disk.log, disk.flushed))


def as_found(disk: Disk, *, written_back: bool = True) -> Disk:
    """``disk`` as the next process finds it: an epoch without a record leaves no trace.

    ``written_back``: whether what the last process wrote and did not flush is durable by now. Nothing in
    Kafka makes it so at start-up; the operating system does, some time later.
    """
    log = logs.log_of(disk.log.batches, disk.log.start_offset, disk.log.snapshots)
    log = logs.or_newest_snapshot(log)
    return replace(
        disk, log=log, flushed=log.end_offset if written_back else max(disk.flushed, log.start_offset)
    )
