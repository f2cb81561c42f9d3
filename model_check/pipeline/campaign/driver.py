"""Running the cells of a campaign that are not finished, batch by batch, each a job of Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from kraftcheck.pipeline.campaign.cells import Cell
from kraftcheck.pipeline.campaign.executor import runs_cells
from kraftcheck.pipeline.campaign.store import CELLS, Store
from kraftcheck.pipeline.errors import in_a_sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Jobs at a time: while the last cells of one are running, the next has cells for those that are idle.
JOBS = 2
#: How long a batch should take, in seconds: what a kill loses at most, and what few large files need.
_SHORT, _LONG = 5.0, 20.0
_MOST_CELLS = 1_000


def run(
    spark: SparkSession,
    store: Store,
    cells: Sequence[Cell],
    sources: str,
    progress: Callable[[int], None],
) -> None:
    """Run ``cells`` and keep what they find in ``store``; ``progress`` gets the number of finished cells.

    Raises InputError where the executors cannot run them.
    """
    slots = max(1, spark.sparkContext.defaultParallelism)
    size, begun, finished = slots, 0, 0
    running: dict[Future[float], int] = {}
    pool = ThreadPoolExecutor(JOBS)
    try:
        while begun < len(cells) or running:
            while begun < len(cells) and len(running) < JOBS:
                batch = cells[begun : begun + size]
                running[pool.submit(_run_batch, spark, store, batch, sources)] = len(batch)
                begun += len(batch)
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                count, seconds = running.pop(future), future.result()
                finished += count
                size = _next_size(size, slots, seconds)
                progress(finished)
    except BaseException:
        spark.sparkContext.cancelAllJobs()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next_size(size: int, slots: int, seconds: float) -> int:
    if seconds < _SHORT:
        return min(size * 2, max(_MOST_CELLS, slots))
    return max(size // 2, slots) if seconds > _LONG else size


def _run_batch(spark: SparkSession, store: Store, cells: Sequence[Cell], sources: str) -> float:
    """Run ``cells``, each in a task of its own, and keep the results together; the seconds that took."""
    begin = time.monotonic()
    spark.sparkContext.setJobDescription(f"campaign: {len(cells)} cells")
    schema = spark.createDataFrame([], CELLS.schema()).toArrow().schema
    tasks = [(cell.task(sources),) for cell in cells]
    # As many partitions as cells: a task each.
    dealt = spark.createDataFrame(spark.sparkContext.parallelize(tasks, len(tasks)), "task string")
    found = dealt.mapInArrow(runs_cells(schema), CELLS.schema())
    with in_a_sentence():
        store.add(found.repartition(1))
    return time.monotonic() - begin
