"""The order in which files are read: of each cluster as `kraftcheck logs` would read them, without copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kraftcheck.evidence.logs.content import chunks_of
from kraftcheck.evidence.logs.layout import Layout
from kraftcheck.evidence.logs.reader import Options, Reader
from kraftcheck.evidence.logs.sources import peek, rotation
from kraftcheck.pipeline.logs.files import LogFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PEEK: Final = 1 << 18
_GIVEN: Final = "cluster string, folder string, file string, size bigint"
_SEEN: Final = "layout int, first array<int>, digest binary, rotation int"


def plan(spark: SparkSession, files: Sequence[LogFile], options: Options) -> DataFrame:
    """The files: cluster, folder, file, layout, copy, and number, their place in the order of their cluster.

    Files are in the order of their first records, which is the order in which a node wrote them; of files of
    different nodes it says nothing, as their clocks differ, and nothing depends on it but which of two lines
    that contradict each other is the problem.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    tasks = max(1, min(len(files), 8 * spark.sparkContext.defaultParallelism))
    given = spark.createDataFrame([(one.cluster, one.folder, one.name, one.size) for one in files], _GIVEN)
    seen = given.repartition(tasks).mapInArrow(partial(_peek, options=options), f"{_GIVEN}, {_SEEN}")
    alike = Window.partitionBy("cluster", "digest").orderBy(f.split("file", "/"))
    copies = seen.withColumn("copy", f.col("first").isNotNull() & (f.row_number().over(alike) > 1))
    order = Window.partitionBy("cluster").orderBy(
        "copy", f.col("first").isNull(), "first", f.desc("rotation"), "file"
    )
    numbered = copies.withColumn("number", f.row_number().over(order))
    return numbered.select("cluster", "folder", "number", "file", "layout", "copy")


def _peek(batches: Iterator[pa.RecordBatch], options: Options) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    layouts = Reader(options).layouts
    added = {
        "layout": pa.int32(),
        "first": pa.list_(pa.int32()),
        "digest": pa.binary(),
        "rotation": pa.int32(),
    }
    for batch in batches:
        found: dict[str, list[object]] = {name: [] for name in added}
        for name, size in zip(
            batch.column("file").to_pylist(), batch.column("size").to_pylist(), strict=True
        ):
            layout, first, digest = _peek_file(name, size, layouts)
            found["layout"].append(None if layout is None else layouts.index(layout))
            found["first"].append(None if first is None else [min(one, 2**31 - 1) for one in first])
            found["digest"].append(digest)
            found["rotation"].append(rotation(name))
        for name, kind in added.items():
            batch = batch.append_column(name, pa.array(found[name], kind))
        yield batch


def _peek_file(
    name: str, size: int, layouts: Sequence[Layout]
) -> tuple[Layout | None, tuple[int, ...] | None, bytes]:
    try:
        with open_file(name) as file:
            return peek(chunks_of(file, [], size=_PEEK), lambda: size, layouts)
    except (OSError, ValueError):  # reported when it is read
        return None, None, name.encode()
