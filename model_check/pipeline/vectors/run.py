"""The pipeline: candidates by tasks of the cluster, the choice, and the set that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.datasets import Dataset, read, write, write_whole
from kraftcheck.pipeline.vectors.cover import cover, smallest
from kraftcheck.pipeline.vectors.tasks import CANDIDATES, Task, rows
from kraftcheck.vectors import files
from kraftcheck.vectors.form import Vector

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CHOSEN = Dataset(
    "vectors", 1, "kind string, file string, hash string, covers array<string>, source string, vector string"
)

#: Rows of a batch from Python to Spark: some hundred kilobytes.
_BATCH = 100
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Made:
    """How many candidates there were that could be chosen, and the files that were written."""

    candidates: int
    files: tuple[dict[str, Any], ...]


def candidates(spark: SparkSession, tasks: list[Task], max_states: int, keep: int | None) -> DataFrame:
    """The candidates of ``tasks``, each task in a partition of its own."""
    schema = CANDIDATES.schema()

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        arrow = to_arrow_schema(schema)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                buffer = []
                for row in rows(tasks[number], max_states, keep):
                    buffer.append(row)
                    if len(buffer) == _BATCH:
                        yield pyarrow.RecordBatch.from_pylist(buffer, arrow)
                        buffer = []
                if buffer:
                    yield pyarrow.RecordBatch.from_pylist(buffer, arrow)

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(found, schema)


def make(
    spark: SparkSession,
    tasks: list[Task],
    folder: Path,
    *,
    max_states: int,
    keep: int | None,
    parquet: str | None = None,
    progress: Progress = lambda text: None,
) -> Made:
    """Write the set of the vectors that cover what ``tasks`` find: each pair ``keep`` times where there are
    so many candidates, or with ``None`` every candidate. ``parquet``: a new folder for the data sets.

    Raises InputError.
    """

    def work(place: str | None) -> Made:
        progress(f"asking the reference: {len(tasks)} tasks")
        found = candidates(spark, tasks, max_states, keep)
        if place is not None:
            write(found, CANDIDATES, f"{place}/candidates")
            found = read(spark, CANDIDATES, f"{place}/candidates")
        found = found.dropDuplicates(["kind", "tie"]) if keep is None else smallest(found, keep)
        found = found.persist()
        try:
            count = found.count()
            progress(f"choosing from {count:,} candidates")
            chosen = found.withColumn("covers", found["features"])
            if keep is not None:
                taken = spark.createDataFrame(cover(found, keep), "tie string, covers array<string>")
                chosen = found.join(taken, "tie")
            if place is not None:
                write(chosen, CHOSEN, f"{place}/vectors")
            progress("writing")
            return Made(count, tuple(files.write(folder, _vectors(chosen))))
        finally:
            found.unpersist()

    return work(None) if parquet is None else write_whole(spark, parquet, work)


def _vectors(chosen: DataFrame) -> Iterator[tuple[str, Vector]]:
    ordered = chosen.select("file", "hash", "covers", "vector").orderBy("file", "hash")
    for row in ordered.toLocalIterator():
        yield row["file"], {**json.loads(row["vector"]), "covers": [*row["covers"]]}
