"""The pipeline: candidates by tasks of the cluster, the choice, and the set that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.datasets import Column, Dataset, exists, read, write
from kraftcheck.pipeline.vectors.cover import cover, smallest
from kraftcheck.pipeline.vectors.tasks import CANDIDATES, Task, rows
from kraftcheck.support.errors import InputError
from kraftcheck.vectors import files
from kraftcheck.vectors.form import Vector

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CHOSEN = Dataset(
    "vectors",
    1,
    "the vectors of a set",
    (
        Column("kind", "string", "step, sequence, function or message"),
        Column("file", "string", "the file of the set that it is in"),
        Column("hash", "string", "SHA-256 of the vector's canonical JSON"),
        Column("covers", "array<string>", "the pairs of a rule and an outcome for which it was chosen"),
        Column("source", "string", "what it was found in"),
        Column("vector", "string", "the vector as canonical JSON, with its hash"),
    ),
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
    so many candidates, or with ``None`` every candidate. ``parquet``: where the data sets go, if anywhere.

    Raises InputError.
    """
    for name in () if parquet is None else ("candidates", "vectors"):
        if exists(spark, f"{parquet}/{name}"):
            raise InputError(f"--parquet: {parquet}/{name} is there already; choose another folder.")
    progress(f"asking the reference: {len(tasks)} tasks")
    found = candidates(spark, tasks, max_states, keep)
    if parquet is not None:
        write(found, CANDIDATES, f"{parquet}/candidates")
        found = read(spark, CANDIDATES, f"{parquet}/candidates")
    if keep is None:
        found = found.dropDuplicates(["kind", "tie"])
    else:
        found = smallest(found, keep)
    found = found.persist()
    try:
        count = found.count()
        chosen = _all(found) if keep is None else _chosen(spark, found, keep, progress)
        if parquet is not None:
            write(chosen, CHOSEN, f"{parquet}/vectors")
        progress("writing")
        return Made(count, tuple(files.write(folder, _vectors(chosen))))
    finally:
        found.unpersist()


def _chosen(spark: SparkSession, found: DataFrame, keep: int, progress: Progress) -> DataFrame:
    from pyspark.sql import functions as f

    def told(round_: int, count: int) -> None:
        progress(f"choosing: {count} vectors after {round_} rounds")

    taken = [(each.tie, [*each.covers]) for each in cover(found, keep, told)]
    names = spark.createDataFrame(taken, "tie string, covers array<string>")
    return found.join(f.broadcast(names), "tie")


def _all(found: DataFrame) -> DataFrame:
    return found.withColumn("covers", found["features"])


def _vectors(chosen: DataFrame) -> Iterator[tuple[str, Vector]]:
    ordered = chosen.select("file", "hash", "covers", "vector").orderBy("file", "hash")
    for row in ordered.toLocalIterator():
        yield row["file"], {**json.loads(row["vector"]), "covers": [*row["covers"]]}
