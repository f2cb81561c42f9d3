"""The record batches whose content a recording shows somewhere, by position."""

from __future__ import annotations

from functools import cached_property

from model_check.conform.recording import Recording
from model_check.conform.wire import UncoveredMessageError, batch
from reference.log import Batch


class KnownBatches:
    """Looked up only where a disk is taken over from a recording, so collected only then."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

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
                    content = batch(entry)
                except UncoveredMessageError:
                    continue
                known[content.base_offset, content.epoch] = content
        return known
