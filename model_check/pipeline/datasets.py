"""The Parquet that pipelines write and read: its columns, written down and versioned.

The name and the version of a schema travel with the files, as metadata of their first column; so does
nothing else, and any tool that reads Parquet reads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kraftcheck.pipeline.files import located, require_plain, shown
from kraftcheck.pipeline.seals import SEAL, require_sealed, seal
from kraftcheck.pipeline.spark_errors import REPAIR, damaged, first_line, innermost, spark_errors
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_MARK = "kraftcheck"
_FILE = rf"(_SUCCESS|part-[^/]*\.parquet|{re.escape(SEAL)}(\.new)?)"
#: The files of a data set, with the sums of a local file system.
_OURS = re.compile(rf"{_FILE}|\.{_FILE}\.crc", re.ASCII)


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
    """A kind of Parquet data set. ``version`` grows with every change of its columns. ``sealed``: its files
    have checksums next to them (:mod:`kraftcheck.pipeline.seals`), as a later run takes it up.
    """

    name: str
    version: int
    meaning: str
    columns: tuple[Column, ...]
    sealed: bool = False

    @property
    def ddl(self) -> str:
        """The columns as Spark SQL writes them."""
        return ddl(self.columns)

    def schema(self) -> StructType:
        """The columns, the first of which carries the name and the version."""
        from pyspark.sql.types import StructField, StructType

        first, *others = StructType.fromDDL(self.ddl).fields
        return StructType([StructField(first.name, first.dataType, True, self.mark), *others])

    @property
    def mark(self) -> dict[str, object]:
        """The metadata of the first column."""
        return {_MARK: {"dataset": self.name, "version": self.version}}

    @property
    def comment(self) -> str:
        """What stands for them where Spark keeps only a comment."""
        return f"kraftcheck: {self.name}, version {self.version}"


def write(
    data: DataFrame,
    dataset: Dataset,
    path: str,
    *,
    mode: Literal["errorifexists", "overwrite", "append"] = "errorifexists",
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
    data.select(*columns).write.mode(mode).parquet(path)
    if dataset.sealed:
        seal(data.sparkSession, path)


def _with(mark: dict[str, object], number: int) -> dict[str, object]:
    return {"metadata": mark} if number == 0 else {}


def read(spark: SparkSession, dataset: Dataset, *paths: str, repair: str = REPAIR) -> DataFrame:
    """The data set in the folders ``paths``, of which there is one at least.

    Raises InputError for what is none, or another, or incomplete, with what to do about it: ``repair``.
    """
    what = f"a data set '{dataset.name}' of kraftcheck"
    (path, *others) = paths
    try:
        if not others and not exists(spark, path):
            raise InputError(f"{path}: there is nothing; give {what}.")
        if not others and not exists(spark, f"{path}/_SUCCESS"):
            raise InputError(f"{path}: is not complete (_SUCCESS is missing); make {what} again.")
        if dataset.sealed:
            require_sealed(spark, paths, repair)
        require_files(spark, dataset, paths, repair)
        data = spark.read.schema(dataset.schema()).parquet(*paths)
    except spark_errors() as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}); give {what}.") from None
    return data.select(*(column.name for column in dataset.columns))


def foreign_in(spark: SparkSession, path: str) -> str | None:
    """What is at ``path`` that a data set of kraftcheck, even one that was not written to its end, would not
    have: its name, or that of the folder; ``None``: nothing.
    """
    if not exists(spark, path):
        return None
    place, system = located(spark, path)
    name = str(place.getName())
    if not system.getFileStatus(place).isDirectory():
        return name
    files = []
    for each in system.listStatus(place):
        entry, is_file = str(each.getPath().getName()), bool(each.isFile())
        if not (_OURS.fullmatch(entry) if is_file else entry == "_temporary"):
            return f"{name}/{entry}"
        if entry.endswith(".parquet"):
            files.append(str(each.getPath().toString()))
    if not files:
        return None
    try:
        schema = spark.read.parquet(*files).schema
    except spark_errors():
        return name
    return None if any(_MARK in field.metadata for field in schema.fields) else name


def require_files(
    spark: SparkSession, dataset: Dataset, folders: Sequence[str], repair: str = REPAIR
) -> None:
    """Raise InputError unless every file in ``folders`` is Parquet that kraftcheck wrote as ``dataset``.

    Spark itself looks at one file of them, and takes what another one does not have for null.
    """
    jvm, settings = spark._jvm, spark._jsc.hadoopConfiguration()
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader
    _, system = located(spark, folders[0])
    places = spark.sparkContext._gateway.new_array(jvm.org.apache.hadoop.fs.Path, len(folders))
    for number, folder in enumerate(folders):
        require_plain(folder)
        places[number] = jvm.org.apache.hadoop.fs.Path(folder)
    visible = jvm.org.apache.parquet.hadoop.util.HiddenFileFilter.INSTANCE
    # Spark does not look into folders either.
    files = [each for each in system.listStatus(places, visible) if each.isFile()]
    if not files:
        raise InputError(f"{folders[0]}: has no file; expected a data set '{dataset.name}'; {repair}.")
    try:
        footers = reader.readAllFootersInParallel(settings, files, True)
        # All are alike as a rule, which a look at all of them together shows.
        first = _schema_in(footers[0].getParquetMetadata())
        if first is not None and str(footers.toString()).count(first) == len(files):
            footers = [footers[0]]
    except spark_errors():
        footers = [_footer(reader, settings, file, repair) for file in files]
    known: set[str] = set()
    for footer in footers:
        text = _schema_in(footer.getParquetMetadata())
        if text is None or text not in known:
            _require(text, dataset, shown(footer.getFile()), repair)
            known.add(text or "")


def _footer(reader: Any, settings: Any, file: Any, repair: str) -> Any:
    """What stands at the end of one ``file``. Raises InputError where that cannot be read."""
    try:
        return reader.readFooters(settings, file, True)[0]
    except spark_errors() as error:
        raise InputError(damaged(shown(file.getPath()), innermost(error), repair)) from None


def _schema_in(footer: Any) -> str | None:
    """The schema that Spark wrote into a file, as JSON."""
    text = footer.getFileMetaData().getKeyValueMetaData().get("org.apache.spark.sql.parquet.row.metadata")
    return None if text is None else str(text)


def _require(schema: str | None, dataset: Dataset, file: str, repair: str) -> None:
    from pyspark.sql.types import StructType

    foreign = f"{file}: was not written by kraftcheck; expected a data set '{dataset.name}'; {repair}."
    try:
        found = {field.name: field for field in StructType.fromJson(json.loads(schema or "")).fields}
    except (ValueError, KeyError, TypeError):
        raise InputError(foreign) from None
    first = found.get(dataset.columns[0].name)
    metadata = {} if first is None else first.metadata
    if metadata.get("comment") == dataset.comment:
        metadata = dataset.mark
    mark = metadata.get(_MARK)
    if not isinstance(mark, dict):
        raise InputError(foreign)
    if mark.get("dataset") != dataset.name:
        raise InputError(
            f"{file}: holds '{mark.get('dataset')}', expected a data set '{dataset.name}'; {repair}."
        )
    if mark.get("version") != dataset.version:
        raise InputError(
            f"{file}: has version {mark.get('version')} of '{dataset.name}', expected {dataset.version}; "
            "make it again with this version of kraftcheck."
        )
    for field in dataset.schema().fields:
        kind = field.dataType.simpleString()
        # Whether elements of an array may be null is not compared: Spark writes what its functions promise.
        if field.name not in found or found[field.name].dataType.simpleString() != kind:
            raise InputError(f"{file}: column '{field.name}' is missing or not {kind}; {repair}.")


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
