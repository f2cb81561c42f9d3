"""Batches and snapshots that a recording shows in another place than the one that needs them."""

from __future__ import annotations

from functools import cached_property

from kraftcheck.evidence.recordings.lines import CallLine
from kraftcheck.evidence.recordings.recording import Recording
from kraftcheck.evidence.recordings.sizes import snapshot_size
from kraftcheck.evidence.recordings.wire_records import UncoveredMessageError, read_batch
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Log, Snapshot, SnapshotId, Value
from kraftcheck.reference.messages import FetchSnapshotResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.snapshots import control_records


def last_value(log: Log, end: int) -> tuple[int, ...]:
    """The last value before offset ``end``, from a snapshot if need be; nothing if there is none."""
    for entry in reversed(log.batches):
        last = entry.records[-1]
        if entry.end_offset <= end and isinstance(last, Value):
            return (last.value,)
    return log.snapshots[-1].values if log.snapshots else ()


def creation(line: CallLine, replica: Replica) -> CreateSnapshot:
    """The snapshot that the call ``createSnapshot`` asks of ``replica``: the state machine of recorded runs
    keeps the last value that it received.
    """
    assert line.offset is not None
    id = SnapshotId(line.offset, line.epoch)
    values = last_value(replica.log, id.end_offset)
    size = snapshot_size(*control_records(replica, id.end_offset), values)
    return CreateSnapshot(id, values, size, line.clean)


class KnownBatches:
    """The batches and snapshots of a recording. They are needed only where a disk is taken over from the
    recording, so they are collected only then.

    ``snapshots``: those that some node has created so far; recordings show no more of them than their size.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.snapshots: dict[SnapshotId, Snapshot] = {}

    def with_content(self, response: FetchSnapshotResponse) -> FetchSnapshotResponse:
        """``response`` with the snapshot whose bytes it brings. Raises UncoveredMessageError if no node is
        known to have created it.
        """
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
            shown = [entry for operation in event.log for entry in operation.objects("batches", [])]
            if event.message is not None and event.message.api == "Fetch" and not event.message.is_request:
                for topic in event.message.data.objects("responses"):
                    for partition in topic.objects("partitions"):
                        shown.extend(partition.objects("batches", []))
            for entry in shown:
                try:
                    content = read_batch(entry)
                except UncoveredMessageError:
                    continue
                known[content.base_offset, content.epoch] = content
        return known
