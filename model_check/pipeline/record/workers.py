"""The tasks of a cluster as workers of a campaign of recordings, a task for each recording."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from kraftcheck.evidence.adapters.answers import AdapterError
from kraftcheck.evidence.kafka.option import Implementation
from kraftcheck.evidence.recorder.campaign import Made
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Schedule
from kraftcheck.evidence.recorder.workers import Keep, KeepMinimal, Order, recorder_of
from kraftcheck.pipeline.batches import in_batches, run_tasks
from kraftcheck.support.errors import InputError
from kraftcheck.support.sources import require_sources, source_digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The largest number of recordings in a job: the driver holds the files of those that are kept.
_MOST: Final = 200


class OnSpark:
    """Workers on the cluster of ``spark``, whose executors start the implementation themselves."""

    def __init__(self, spark: SparkSession, order: Order, implementation: Implementation) -> None:
        self._spark, self._order, self._implementation = spark, order, implementation

    def record(self, names: Sequence[str], keep: Keep) -> None:
        """As :class:`~kraftcheck.evidence.recorder.workers.Workers` says."""
        work = partial(_record, self._implementation, self._order, source_digest())

        def made(batch: Sequence[str]) -> list[tuple[str, Made]]:
            tasks = [name.encode() for name in batch]
            found = run_tasks(self._spark, f"record: {len(tasks)} recordings", work, tasks)
            return [msgspec.msgpack.decode(each, type=tuple[str, Made]) for each in found]

        def done(batch: list[tuple[str, Made]]) -> None:
            for name, each in batch:
                keep(name, each)

        in_batches(self._spark, names, made, done, most=_MOST)

    def shrink(self, found: Sequence[Compared], keep: KeepMinimal) -> None:
        """As :class:`~kraftcheck.evidence.recorder.workers.Workers` says."""
        work = partial(_shrink, self._implementation, self._order, source_digest())

        def smaller(batch: Sequence[Compared]) -> list[tuple[Compared, Schedule]]:
            tasks = [msgspec.msgpack.encode(each) for each in batch]
            found = run_tasks(self._spark, f"record: {len(tasks)} minimal schedules", work, tasks)
            return [msgspec.msgpack.decode(each, type=tuple[Compared, Schedule]) for each in found]

        def done(batch: list[tuple[Compared, Schedule]]) -> None:
            for each, smallest in batch:
                keep(each, smallest)

        in_batches(self._spark, found, smaller, done, most=_MOST)


def _record(implementation: Implementation, order: Order, sources: str, task: bytes) -> bytes:
    """A recording, in a task. Raises InputError."""
    require_sources(sources)
    name = task.decode()
    try:
        return msgspec.msgpack.encode((name, order.record(recorder_of(implementation), name)))
    except AdapterError as error:
        raise InputError(str(error)) from None


def _shrink(implementation: Implementation, order: Order, sources: str, task: bytes) -> bytes:
    """A minimal schedule, in a task. Raises InputError."""
    require_sources(sources)
    found = msgspec.msgpack.decode(task, type=Compared)
    try:
        return msgspec.msgpack.encode((found, order.minimal(recorder_of(implementation), found)))
    except AdapterError as error:
        raise InputError(str(error)) from None
