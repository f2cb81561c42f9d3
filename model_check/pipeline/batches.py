"""Work in batches, each a job of Spark, so that what was done is known while the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kraftcheck.pipeline.errors import in_a_sentence

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

#: Jobs at a time: while the last tasks of one are running, the next has tasks for executors that are idle.
JOBS = 2
#: How long a batch should take, in seconds: what a kill loses at most, and what few large files need.
_SHORT, _LONG = 5.0, 20.0
#: The columns of tasks and of their results.
_TASK, _RESULT = "task binary", "result binary"

#: What a task does with its content.
Work = Callable[[bytes], bytes]


def in_batches(
    spark: SparkSession,
    items: Sequence[T],
    work: Callable[[Sequence[T]], R],
    done: Callable[[R], None],
    *,
    most: int,
) -> None:
    """Have ``work`` run a job for some of ``items``, again and again, and hand each result to ``done``.

    work: is called in another thread, with at most ``most`` items or as many as there are cores. done: is
    called in this thread. An exception of either cancels all jobs. Raises InputError for an error of Spark.
    """
    slots = max(1, spark.sparkContext.defaultParallelism)
    size, begun = slots, 0
    running: set[Future[tuple[R, float]]] = set()
    pool = ThreadPoolExecutor(JOBS)
    try:
        while begun < len(items) or running:
            while begun < len(items) and len(running) < JOBS:
                running.add(pool.submit(_timed, work, items[begun : begun + size]))
                begun += size
            ended, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in ended:
                running.remove(future)
                result, seconds = future.result()
                size = _next_size(size, slots, max(most, slots), seconds)
                done(result)
    except BaseException:
        spark.sparkContext.cancelAllJobs()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _timed(work: Callable[[Sequence[T]], R], batch: Sequence[T]) -> tuple[R, float]:
    begin = time.monotonic()
    with in_a_sentence():
        result = work(batch)
    return result, time.monotonic() - begin


def _next_size(size: int, slots: int, most: int, seconds: float) -> int:
    if seconds < _SHORT:
        return min(size * 2, most)
    return max(size // 2, slots) if seconds > _LONG else size


def run_tasks(spark: SparkSession, what: str, work: Work, tasks: Sequence[bytes]) -> list[bytes]:
    """A job: what ``work`` makes of each of ``tasks``, in their order, on executors. ``what``: its name."""
    spark.sparkContext.setJobDescription(what)
    rows = [(bytearray(task),) for task in tasks]
    # As many partitions as rows: a task each.
    dealt = spark.createDataFrame(spark.sparkContext.parallelize(rows, len(rows)), _TASK)
    return [bytes(row.result) for row in dealt.mapInArrow(partial(_rows, work), _RESULT).collect()]


def _rows(work: Work, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for batch in batches:
        for task in batch.column("task").to_pylist():
            made = pyarrow.array([work(task)], pyarrow.large_binary())
            yield pyarrow.RecordBatch.from_arrays([made], ["result"])
