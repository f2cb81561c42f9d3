"""The Parquet that pipelines write and read: its columns, written down and versioned.

The name and the version of a schema travel with the files, as metadata of their first column; so does
nothing else, and any tool that reads Parquet reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from model_check.errors import InputError
from model_check.pipeline.spark_errors import first_line, spark_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_MARK = "kraftcheck"


@dataclass(frozen=True, slots=True)
class Column:
    """``type`` in the words of Spark SQL ("bigint", "array<string>"); ``meaning`` with its unit."""

    name: str
    type: str
    meaning: str


def ddl(columns: Sequence[Column]) -> str:
    """``columns`` as Spark SQL writes them."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)


def table(columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """``rows`` of numbers and bytes as an Arrow table; bytes may come to more than 2 GiB together."""
    import pyarrow

    kinds = {"int": pyarrow.int32(), "bigint": pyarrow.int64(), "binary": pyarrow.large_binary()}
    schema = pyarrow.schema([(column.name, kinds[column.type]) for column in columns])
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [pyarrow.array(each, field.type) for each, field in zip(values, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A kind of Parquet data set. ``version`` grows with every change of its columns."""

    name: str
    version: int
    meaning: str
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """The columns as Spark SQL writes them."""
        return ddl(self.columns)

    def schema(self) -> StructType:
        """The columns, the first of which carries the name and the version."""
        from pyspark.sql.types import StructField, StructType

        first, *others = StructType.fromDDL(self.ddl).fields
        mark = {_MARK: {"dataset": self.name, "version": self.version}}
        return StructType([StructField(first.name, first.dataType, True, mark), *others])


def write(
    data: DataFrame,
    dataset: Dataset,
    path: str,
    *,
    mode: Literal["errorifexists", "overwrite", "append"] = "errorifexists",
    partition_by: Sequence[str] = (),
) -> None:
    """Write ``data``, which has the columns of ``dataset``, to the folder ``path`` of any file system.

    Files appear when all of them are complete.
    """
    schema = dataset.schema()
    mark = schema.fields[0].metadata
    columns = [
        data[column.name].cast(schema[column.name].dataType).alias(column.name, **_with(mark, number))
        for number, column in enumerate(dataset.columns)
    ]
    data.select(*columns).write.mode(mode).partitionBy(*partition_by).parquet(path)


def _with(mark: dict[str, object], number: int) -> dict[str, object]:
    return {"metadata": mark} if number == 0 else {}


def read(spark: SparkSession, dataset: Dataset, path: str) -> DataFrame:
    """The data set in the folder ``path``. Raises InputError for what is none, or another, or incomplete."""
    what = f"a data set '{dataset.name}' of kraftcheck"
    try:
        if not exists(spark, path):
            raise InputError(f"{path}: there is nothing; give {what}.")
        if not exists(spark, f"{path}/_SUCCESS"):
            raise InputError(f"{path}: is not complete (_SUCCESS is missing); make {what} again.")
        data = spark.read.parquet(path)
    except spark_errors() as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}); give {what}.") from None
    _require(data, dataset, path)
    return data.select(*(column.name for column in dataset.columns))


def is_foreign(spark: SparkSession, path: str) -> bool:
    """Whether there is a complete data set in the folder ``path`` that kraftcheck did not write."""
    if not exists(spark, f"{path}/_SUCCESS"):
        return False
    try:
        data = spark.read.parquet(path)
    except spark_errors():
        return True
    return not any(_MARK in field.metadata for field in data.schema.fields)


def _require(data: DataFrame, dataset: Dataset, path: str) -> None:
    first = dataset.columns[0].name
    mark = data.schema[first].metadata.get(_MARK) if first in data.columns else None
    if not isinstance(mark, dict):
        raise InputError(f"{path}: was not written by kraftcheck; give a data set '{dataset.name}'.")
    if mark.get("dataset") != dataset.name:
        raise InputError(f"{path}: holds '{mark.get('dataset')}', expected a data set '{dataset.name}'.")
    if mark.get("version") != dataset.version:
        raise InputError(
            f"{path}: has version {mark.get('version')} of '{dataset.name}', expected {dataset.version}; "
            "make it again with this version of kraftcheck."
        )
    wanted = {field.name: field.dataType for field in dataset.schema().fields}
    for name, kind in wanted.items():
        if name not in data.columns or data.schema[name].dataType != kind:
            raise InputError(f"{path}: column '{name}' is missing or not {kind.simpleString()}.")


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is something at ``path``, in any file system that the cluster knows.

    Raises InputError where it knows none such, or may not look.
    """
    try:
        place, system = located(spark, path)
        return bool(system.exists(place))
    except spark_errors() as error:
        raise InputError(
            f"{path}: cannot be looked at ({first_line(error)}); name a folder that the cluster can use."
        ) from None


def located(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """``path`` and its file system, as Hadoop has them."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    return place, place.getFileSystem(spark._jsc.hadoopConfiguration())


def make_folder(spark: SparkSession, path: str) -> None:
    """Have a folder at ``path``, before long work whose results go there.

    Raises InputError where none can be.
    """
    reason = "it is no folder, or may not be written"
    try:
        place, system = located(spark, path)
        made = bool(system.mkdirs(place))
    except spark_errors() as error:
        made, reason = False, first_line(error)
    if not made:
        raise InputError(f"{path}: cannot be made ({reason}); name a folder that the cluster can write.")


def remove(spark: SparkSession, path: str) -> None:
    """Remove ``path`` and all below it, as far as that can be done."""
    with suppress(*spark_errors()):
        place, system = located(spark, path)
        system.delete(place, True)
