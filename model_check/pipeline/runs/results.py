"""Recorded runs in any file system, judged on the cluster and kept as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kraftcheck.evidence.recordings.report import RunResult
from kraftcheck.evidence.recordings.runs import FILES
from kraftcheck.pipeline import datasets
from kraftcheck.pipeline.files import require_plain
from kraftcheck.pipeline.runs.executor import judges
from kraftcheck.pipeline.runs.rows import from_rows
from kraftcheck.pipeline.runs.schemas import DIFFERENCES, FINDINGS, NESTED, RULES, RUNS
from kraftcheck.pipeline.session import sql_settings
from kraftcheck.pipeline.spark_errors import first_line, spark_errors
from kraftcheck.pipeline.whole_folder import write_whole
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SUMMARY, _TRACE = FILES
#: Every file is a partition of its own, and so a task.
_ONE_BY_ONE = {"spark.sql.files.maxPartitionBytes": "1", "spark.sql.files.openCostInBytes": "1"}
_ROWS_OF_FILE = 1_000
#: The folder of the file ``path``.
_FOLDER = "substring_index(path, '/', size(split(path, '/')) - 1)"


def judge(
    spark: SparkSession, folders: Sequence[str], out: str, preset: str, switches: Sequence[str]
) -> None:
    """Judge the runs in ``folders`` and write the data sets into the folder ``out``, which is not there yet.

    A folder that has a file of a run is one; of another one all folders ``run-*`` below it are. Raises
    InputError for a folder without runs.
    """
    if datasets.exists(spark, out):
        raise InputError(f"-o: {out} is there already; choose another folder.")
    files = [_files_in(spark, folder) for folder in folders]
    found = files[0]
    for more in files[1:]:
        found = found.unionAll(more)
    with sql_settings(spark, _ONE_BY_ONE):
        empty = spark.createDataFrame([], NESTED)
        judged = _with_contents(spark, found).mapInArrow(
            judges(empty.toArrow().schema, preset, list(switches)), NESTED
        )
        judged = judged.persist()
        try:
            # Of four data sets some alone would look like runs without differences.
            write_whole(spark, out, partial(_write, judged))
        finally:
            judged.unpersist()


def _files_in(spark: SparkSession, folder: str) -> DataFrame:
    """The files of the runs that ``folder`` stands for: ``folder`` and ``name`` of each, and its ``path``."""
    from pyspark.sql import functions as f

    what = f"expected {' and '.join(FILES)}, or folders run-* that have them"
    require_plain(folder)
    try:
        alone = any(datasets.exists(spark, f"{folder}/{name}") for name in FILES)
        files = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", not alone)
            .option("pathGlobFilter", f"{{{','.join(FILES)}}}")
            .load(folder)
            .selectExpr("path", f"{_FOLDER} folder", "element_at(split(path, '/'), -1) name")
        )
        if not alone:
            files = files.where(f.col("folder").rlike(r"/run-[^/]*$"))
        if files.isEmpty():
            raise InputError(f"{folder}: there is no recorded run; {what}.")
    except spark_errors() as error:
        raise InputError(f"{folder}: cannot be read ({first_line(error)}); {what}.") from None
    return files


def _with_contents(spark: SparkSession, files: DataFrame) -> DataFrame:
    """``folder``, ``summary`` and ``trace`` of each run; a file that is not there is null."""
    from pyspark.sql import functions as f

    files = files.distinct()
    places = {name: [row.path for row in files.where(f.col("name") == name).collect()] for name in FILES}
    for path in (*places[_SUMMARY], *places[_TRACE]):
        require_plain(path)
    summaries = _read(spark, places[_SUMMARY], "summary").toArrow()
    known = f.broadcast(spark.createDataFrame(summaries))
    traces = _read(spark, places[_TRACE], "trace")
    alone = known.join(traces.select("folder"), "folder", "left_anti")
    return (
        traces.join(known, "folder", "left")
        .select("folder", "summary", "trace")
        .unionAll(alone.select("folder", "summary", f.lit(None).cast("binary").alias("trace")))
    )


def _read(spark: SparkSession, paths: list[str], name: str) -> DataFrame:
    if not paths:
        return spark.createDataFrame([], f"folder string, {name} binary")
    return spark.read.format("binaryFile").load(paths).selectExpr(f"{_FOLDER} folder", f"content {name}")


def _write(judged: DataFrame, out: str) -> None:
    judged = judged.coalesce(max(1, judged.count() // _ROWS_OF_FILE))
    datasets.write(judged, RUNS, f"{out}/runs")
    for dataset, column, name in (
        (DIFFERENCES, "differences", "differences"),
        (FINDINGS, "findings", "findings"),
    ):
        datasets.write(judged.selectExpr("folder", f"inline({column})"), dataset, f"{out}/{name}")
    rules = judged.selectExpr("folder", "explode(rules) as (rule, steps)")
    datasets.write(rules, RULES, f"{out}/rules")


def read_results(spark: SparkSession, out: str) -> tuple[list[RunResult], list[str]]:
    """The results in the folder ``out``, in the order of the folders, and what is wrong with others."""
    parts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for dataset, name in ((DIFFERENCES, "differences"), (FINDINGS, "findings"), (RULES, "rules")):
        rows = datasets.read(spark, dataset, f"{out}/{name}").collect()
        for row in rows:
            parts.setdefault(row.folder, {}).setdefault(name, []).append(row.asDict())
    results, errors = [], []
    for row in datasets.read(spark, RUNS, f"{out}/runs").orderBy("folder").collect():
        if row.error is not None:
            errors.append(row.error)
            continue
        own = parts.get(row.folder, {})
        rules = {each["rule"]: each["steps"] for each in own.get("rules", [])}
        results.append(from_rows(row.asDict(), own.get("differences", []), own.get("findings", []), rules))
    return results, errors
