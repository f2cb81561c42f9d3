"""A node's disk in a recorded run, by the reference's effects; compared with the recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kraftcheck.evidence.recordings import lines, performed
from kraftcheck.evidence.recordings.identity import disk_found
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import Recording, StepEvent
from kraftcheck.evidence.recordings.state import differences
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_records import (
    UncoveredMessageError,
    batch_of,
    read_quorum_state,
    record_names,
    snapshot_size,
)
from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
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
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Log, Snapshot, SnapshotId, Value
from kraftcheck.reference.messages import FetchSnapshotResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.snapshots import control_records
from kraftcheck.support.errors import InputError

#: The effects that reach the disk.
DISK_EFFECTS = (Persist, AppendBatch, Truncate, Flush, StoreSnapshot, DeleteBefore, LoadSnapshot)


class Stored:
    """The disk of a node over all its processes.

    file: the quorum-state file as recordings show it. is_known: ``False`` after steps that were not compared,
    until the next process shows its disk. directory: its id, once a process or a replacement has shown it.
    kept: the offset up to which the log was flushed when the last process crashed, if it had more records and
    the power stayed on.
    """

    def __init__(self) -> None:
        self.disk = Disk()
        self.file: Json = None
        self.is_known = True
        self.directory: str | None = None
        self.kept: int | None = None

    def outside(self, line: lines.NodeLine) -> None:
        """A broker's log is written back in the background, or the disk is replaced by an empty one."""
        if isinstance(line, lines.WipeLine):
            self.disk, self.file, self.is_known = Disk(), None, True
            self.directory = line.dir_id
        elif isinstance(line, lines.OsFlushLine):
            to = min(line.to, self.disk.log.end_offset)
            self.disk, self.kept = replace(self.disk, flushed=max(self.disk.flushed, to)), None

    def found_by(self, event: StepEvent, start: lines.StartLine, known: KnownBatches) -> Iterator[Found]:
        """The new process must find the disk of the reference; after steps that were not compared, its
        recorded disk is adopted.

        Raises UncoveredMessageError where the recording does not show it whole.
        """
        file = event.shown["persisted"]
        if not self.is_known:
            self.disk = disk_found(event, start, known.by_position)
            self.file, self.is_known = file, True
            return
        batches = [
            [entry.base_offset, entry.end_offset - 1, entry.epoch, entry.is_control, record_names(entry)]
            for entry in self.disk.log.batches
        ]
        yield from differences(self.file, file, "persisted")
        self.disk = replace(self.disk, quorum_state=read_quorum_state(self.file, event.where))
        yield from differences(batches, event.shown["logBatches"], "logBatches")

    def write(self, effects: Sequence[Effect], files: Sequence[Json]) -> None:
        """``effects`` happen; they write ``files``."""
        for effect in effects:
            if isinstance(effect, DISK_EFFECTS):
                self.disk = disks.apply(self.disk, effect)
                self.kept = None if isinstance(effect, Flush) else self.kept
        if files:
            self.file = files[-1]

    def left_by(self, end: lines.EndLine) -> Iterator[Found]:
        """A process ends; it leaves the state that the line shows."""
        yield from differences(self.disk.log.end_offset, end.leo, "leo")
        yield from self._flushed(end.flushed)
        self.kept = None
        if end.power_loss:
            self.disk = disks.lose_power(self.disk)
        elif self.disk.flushed < self.disk.log.end_offset:
            self.kept = self.disk.flushed
        try:
            self.disk = disks.as_found(self.disk)
        except ValueError as error:
            yield Found("during", f"batches that form a log: {error}", None)

    def _flushed(self, flushed: int) -> Iterator[Found]:
        """No rule fixes when records that a crashed process had not flushed are written back."""
        if self.kept is not None and flushed == min(self.kept, self.disk.log.end_offset):
            self.disk = replace(self.disk, flushed=flushed)
        yield from differences(self.disk.flushed, flushed, "flushed")


def last_value(log: Log, end: int) -> tuple[int, ...]:
    """The last value before offset ``end``, from a snapshot if need be; nothing if there is none."""
    for entry in reversed(log.batches):
        last = entry.records[-1]
        if entry.end_offset <= end and isinstance(last, Value):
            return (last.value,)
    return log.snapshots[-1].values if log.snapshots else ()


def creation(id: SnapshotId, replica: Replica, *, clean: bool) -> CreateSnapshot:
    """A call ``createSnapshot``: the state machine keeps the last value that it received."""
    values = last_value(replica.log, id.end_offset)
    size = snapshot_size(*control_records(replica, id.end_offset), values)
    return CreateSnapshot(id, values, size, clean)


class KnownBatches:
    """The batches and snapshots of a recording. They are needed only where a disk is taken over from the
    recording, so they are collected only then.

    ``snapshots``: those that some node has created so far; recordings show no more of them than their size.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.snapshots: dict[SnapshotId, Snapshot] = {}

    def with_content(self, response: FetchSnapshotResponse) -> FetchSnapshotResponse:
        """``response`` with its snapshot. Raises UncoveredMessageError if no node has created it."""
        if response.error is not ErrorCode.NONE or response.partition_error is not ErrorCode.NONE:
            return response
        if response.snapshot not in self.snapshots:
            raise UncoveredMessageError("a snapshot that no node was seen to create")
        return replace(response, content=self.snapshots[response.snapshot])

    @cached_property
    def by_position(self) -> dict[tuple[int, int], Batch]:
        """Every batch by base offset and epoch. Raises InputError where one is not well formed."""
        known: dict[tuple[int, int], Batch] = {}
        for event in self._recording.events:
            shown = [batch for partition in lines.fetched(event.message) for batch in partition.batches]
            if isinstance(event, StepEvent):
                appends = [each for each in event.line.log if isinstance(each, performed.Append)]
                shown += [batch for append in appends for batch in append.batches]
            for batch in shown:
                try:
                    known[batch.base, batch.epoch] = batch_of(batch)
                except UncoveredMessageError:
                    continue
                except ValueError as error:
                    raise InputError(f"{event.where}: {error}.") from None
        return known
