"""Data sets: Parquet with fixed columns, and next to its files what kind of data set it is and their sums.

``_sums.json`` is written last. A folder without it is not complete; a folder whose files differ from it, in
size or CRC-32, is damaged. Tasks of Spark compute the sums.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from kraftcheck.engine.summed import Count, Summed
from kraftcheck.pipeline.errors import in_a_sentence, spark_errors
from kraftcheck.pipeline.files import Files, exists, located, remove, shown
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")
#: The file with the sums of a folder; Spark takes no such name for data.
SUMS: Final = "_sums.json"
#: What to do about a damaged file, where no pipeline knows better.
REPAIR: Final = "remove the folder that it is in, and make the data set again"
#: Files of sums that are read at a time.
_AT_A_TIME: Final = 16
#: Seconds in which jobs and tasks end after they were cancelled.
_PATIENCE: Final = 30.0
_PAUSE: Final = 0.1
#: Bytes and CRC-32 of a file.
Sum = tuple[Count, Count]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A kind of data set; docs/pipeline/ says what its columns mean.

    ``version`` grows with every change of ``columns``: names and types of Spark SQL, such as
    "node int, epoch bigint".
    """

    name: str
    version: int
    columns: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in pairs_of(self.columns))

    @property
    def ddl(self) -> str:
        """The columns as Spark SQL writes them."""
        return ", ".join(f"`{name}` {kind}" for name, kind in pairs_of(self.columns))

    def schema(self) -> StructType:
        """The columns as PySpark has them."""
        from pyspark.sql.types import StructType

        return StructType.fromDDL(self.ddl)


class Seal(Summed, frozen=True, kw_only=True):
    """The content of ``_sums.json``: ``files`` by name."""

    dataset: str
    version: int
    files: dict[str, Sum]


def pairs_of(columns: str) -> list[tuple[str, str]]:
    """Names and types of ``columns``; within a type no blank follows a comma."""
    return [(name, kind) for name, _, kind in (each.partition(" ") for each in columns.split(", "))]


def table(columns: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """``rows`` of numbers and bytes as an Arrow table; bytes may come to more than 2 GiB together."""
    import pyarrow

    kinds = {"int": pyarrow.int32(), "bigint": pyarrow.int64(), "binary": pyarrow.large_binary()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in pairs_of(columns)])
    values = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pyarrow.array(each, field.type) for each, field in zip(values, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


# Writing and reading.


def write(
    data: DataFrame,
    dataset: Dataset,
    path: str,
    mode: Literal["errorifexists", "overwrite"] = "errorifexists",
) -> None:
    """Write ``data``, which has the columns of ``dataset``, to the folder ``path``, and then its sums."""
    fields = dataset.schema().fields
    columns = [data[field.name].cast(field.dataType).alias(field.name) for field in fields]
    data.select(*columns).write.mode(mode).parquet(path)
    seal(data.sparkSession, dataset, path)


def read(spark: SparkSession, dataset: Dataset, *paths: str, repair: str = REPAIR) -> DataFrame:
    """The data set in the folders ``paths``, of which there is one at least.

    Raises InputError, with ``repair`` at its end, for a folder that is not complete, holds something else or
    is damaged.
    """
    require_sealed(spark, dataset, paths, repair)
    return spark.read.schema(dataset.schema()).parquet(*paths)


def write_whole(
    spark: SparkSession, folder: str, work: Callable[[str], T], keep: Callable[[T], bool] = lambda _: True
) -> T:
    """The result of ``work``, which writes data sets into the folder that it is given.

    That one becomes ``folder`` when it is complete and ``keep`` accepts the result; otherwise, also after a
    signal or an error, nothing of it stays. Raises InputError if ``folder`` is there already.
    """
    done: Future[T] = Future()
    taken = InputError(f"{folder}: is there already; name a new folder.")
    if exists(spark, folder):
        raise taken
    target, system = located(spark, folder)
    # Spark takes no name that begins so for data.
    own = f"{target.getParent().toString()}/_{target.getName()}.{uuid.uuid4().hex[:12]}"

    def run() -> None:
        try:
            Files(spark, own, f"name another folder than {folder}")
            result = work(own)
            if not keep(result):
                remove(spark, own)
            # Hadoop would move it into a folder that is there.
            elif exists(spark, folder) or not system.rename(located(spark, own)[0], target):
                raise taken
            done.set_result(result)
        except BaseException as error:
            done.set_exception(error)

    try:
        # After a signal Python no longer knows when a call of Java ends. No signal comes to another thread.
        threading.Thread(target=run, name="writes-a-folder", daemon=True).start()
        return done.result()
    except BaseException:
        try:
            _end_jobs(spark, done)
        finally:  # even if there is another signal
            remove(spark, own)
        raise


def _end_jobs(spark: SparkSession, done: Future[T]) -> None:
    """Cancel jobs until ``done``, and wait for their tasks, which would create the folder anew."""
    until = time.monotonic() + _PATIENCE
    with suppress(*spark_errors()):
        while time.monotonic() < until:
            if not done.done():
                # Every time: between two jobs there is none to cancel.
                spark.sparkContext.cancelAllJobs()
            elif not _runs_tasks(spark):
                return
            time.sleep(_PAUSE)


def _runs_tasks(spark: SparkSession) -> bool:
    """Whether a task is running: a job that was cancelled does not wait for its tasks."""
    counts = spark._jsc.sc().taskScheduler().runningTasksByExecutors().valuesIterator()
    while counts.hasNext():
        if counts.next():
            return True
    return False


# Sums.


def sums_of(spark: SparkSession, paths: Sequence[str]) -> dict[str, Sum]:
    """By path, the sums of the files ``paths``, and of those in them that are folders."""
    if not paths:
        return {}
    data = spark.read.format("binaryFile").load(list(paths))
    rows = data.selectExpr("path", "length", "crc32(content)").collect()
    return {str(row[0]): (int(row[1]), int(row[2])) for row in rows}


def seal(spark: SparkSession, dataset: Dataset, folder: str) -> None:
    """Write the sums of the files in ``folder``, which is complete, next to them."""
    write_sums(spark, dataset, folder, sums_of(spark, [folder]))


def write_sums(spark: SparkSession, dataset: Dataset, folder: str, sums: Mapping[str, Sum]) -> None:
    """Write ``sums``, by path those of the files in ``folder``, next to these."""
    found = {path.rpartition("/")[2]: each for path, each in sums.items()}
    content = Seal(dataset=dataset.name, version=dataset.version, files=found).text().encode()
    Files(spark, folder, "name another folder").write(SUMS, content)


def require_sealed(spark: SparkSession, dataset: Dataset, folders: Sequence[str], repair: str) -> None:
    """Raise InputError unless each of ``folders`` is ``dataset`` with the files, unchanged, that were there
    when it was complete; the sentence names the file and ends with ``repair``.
    """

    def sums(folder: str) -> Mapping[str, Sum]:
        what = f"a data set '{dataset.name}' of kraftcheck"
        if not exists(spark, folder):
            raise InputError(f"{shown(folder)}: there is nothing; give {what}.")
        files = Files(spark, folder, repair, create=False)
        if SUMS not in files.names():
            raise InputError(f"{shown(folder)}: is no complete {what[2:]} ({SUMS} is missing); {repair}.")
        path = shown(files.path(SUMS))
        try:
            found = Seal.parse(files.read(SUMS))
        except ValueError:
            raise InputError(f"{path}: is not what was written; {repair}.") from None
        if found.dataset != dataset.name:
            raise InputError(f"{path}: holds '{found.dataset}', expected {what}; {repair}.")
        if found.version != dataset.version:
            raise InputError(
                f"{path}: has version {found.version} of '{dataset.name}', expected {dataset.version}; "
                "make it again with this version of kraftcheck."
            )
        return found.files

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        require_sums(spark, dict(zip(folders, pool.map(sums, folders), strict=True)), repair)


def require_sums(
    spark: SparkSession, expected: Mapping[str, Mapping[str, Sum]], repair: str, *, more: bool = False
) -> list[str]:
    """Raise InputError unless the files of folders are as ``expected``: by folder and name.

    ``more``: other files may be there; their names are returned.
    """
    with in_a_sentence():
        found = sums_of(spark, list(expected))
        wanted: dict[str, Sum] = {}
        for folder, sums in expected.items():
            root = str(located(spark, folder)[0].toString())
            wanted |= {f"{root}/{name}": each for name, each in sums.items()}
    others = sorted(found.keys() - wanted.keys())
    for path in sorted(wanted) if more else sorted(wanted.keys() | others):
        if (what := _difference(found.get(path), wanted.get(path))) is not None:
            raise InputError(f"{shown(path)}: {what}; {repair}.")
    return [path.rpartition("/")[2] for path in others]


def _difference(found: Sum | None, wanted: Sum | None) -> str | None:
    """The fault of a file whose sums are ``found``; ``None``: nothing."""
    if found is None:
        return "is missing"
    if wanted is None:
        return "was not there when the data set was complete"
    if found[0] != wanted[0]:
        return f"has {found[0]:,} bytes instead of the {wanted[0]:,} that were written"
    return None if found == wanted else "is damaged (its checksum does not fit)"
