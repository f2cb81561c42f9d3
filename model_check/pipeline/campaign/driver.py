"""Running the cells of a campaign that are not finished, batch by batch, each a job of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kraftcheck.pipeline.batches import in_batches
from kraftcheck.pipeline.campaign.cells import Cell
from kraftcheck.pipeline.campaign.executor import runs_cells
from kraftcheck.pipeline.campaign.store import CELLS, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    finished = 0

    def work(batch: Sequence[Cell]) -> int:
        _run_batch(spark, store, batch, sources)
        return len(batch)

    def done(count: int) -> None:
        nonlocal finished
        finished += count
        progress(finished)

    in_batches(spark, cells, work, done, most=_MOST_CELLS)


def _run_batch(spark: SparkSession, store: Store, cells: Sequence[Cell], sources: str) -> None:
    """Run ``cells``, each in a task of its own, and keep the results together."""
    spark.sparkContext.setJobDescription(f"campaign: {len(cells)} cells")
    schema = spark.createDataFrame([], CELLS.schema()).toArrow().schema
    tasks = [(cell.task(sources),) for cell in cells]
    # As many partitions as cells: a task each.
    dealt = spark.createDataFrame(spark.sparkContext.parallelize(tasks, len(tasks)), "task string")
    found = dealt.mapInArrow(runs_cells(schema), CELLS.schema())
    store.add(found.repartition(1))
