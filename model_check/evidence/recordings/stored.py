"""The contents of a node's disk in a recorded run, by the reference's effects; compared with the recorded
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.identity import disk_found
from kraftcheck.evidence.recordings.known import KnownBatches
from kraftcheck.evidence.recordings.lines import EndLine, NodeLine, OsFlushLine, StartLine, WipeLine
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.state import differences
from kraftcheck.evidence.recordings.wire_records import read_quorum_state, record_names, write_quorum_state
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
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.replica import Replica

#: The effects that reach the disk.
DISK_EFFECTS = (Persist, AppendBatch, Truncate, Flush, StoreSnapshot, DeleteBefore, LoadSnapshot)


def written(effects: Sequence[Effect], before: Replica) -> list[Json]:
    """The quorum-state files written; ``before``, the replica at the beginning of the step, decides the
    version.
    """
    return [
        write_quorum_state(effect.quorum_state, before) for effect in effects if isinstance(effect, Persist)
    ]


class Stored:
    """The disk of a node over all its processes.

    file: the quorum-state file as recordings show it. is_known: ``False`` after steps that were not compared,
    until the next process shows its disk. kept: the offset up to which the log was flushed when the last
    process crashed, if it had more records and the power stayed on.
    """

    def __init__(self) -> None:
        self.disk = Disk()
        self.file: Json = None
        self.is_known = True
        self.kept: int | None = None

    def outside(self, line: NodeLine) -> None:
        """A broker's log is written back in the background, or the disk is replaced by an empty one."""
        if isinstance(line, WipeLine):
            self.disk, self.file, self.is_known = Disk(), None, True
        elif isinstance(line, OsFlushLine):
            to = min(line.to, self.disk.log.end_offset)
            self.disk, self.kept = replace(self.disk, flushed=max(self.disk.flushed, to)), None

    def found_by(self, start: StartLine, where: str, known: KnownBatches) -> Iterator[Found]:
        """The new process must find the disk of the reference; after steps that were not compared, its
        recorded disk is adopted.

        Raises UncoveredMessageError where the recording does not show it whole.
        """
        if not self.is_known:
            self.disk = disk_found(start, where, known.by_position)
            self.file = start.persisted
            self.is_known = True
            return
        batches = [
            [entry.base_offset, entry.end_offset - 1, entry.epoch, entry.is_control, record_names(entry)]
            for entry in self.disk.log.batches
        ]
        yield from differences(self.file, start.persisted, "persisted")
        self.disk = replace(self.disk, quorum_state=read_quorum_state(self.file, where))
        yield from differences(batches, list(map(list, start.log_batches)), "logBatches")

    def write(self, effects: Sequence[Effect], files: Sequence[Json]) -> None:
        """``effects`` happen; they write ``files``."""
        for effect in effects:
            if isinstance(effect, DISK_EFFECTS):
                self.disk = disks.apply(self.disk, effect)
                self.kept = None if isinstance(effect, Flush) else self.kept
        if files:
            self.file = files[-1]

    def left_by(self, end: EndLine) -> Iterator[Found]:
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
        """No rule fixes when records that a crashed process had not flushed, and the next one finds, are
        written back.
        """
        if self.kept is not None and flushed == min(self.kept, self.disk.log.end_offset):
            self.disk = replace(self.disk, flushed=flushed)
        yield from differences(self.disk.flushed, flushed, "flushed")
