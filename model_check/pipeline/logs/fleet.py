"""The logs of a fleet from files to data sets and a report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kraftcheck.evidence.logs.reader import Options
from kraftcheck.evidence.logs.report import print_files, print_problems, print_verdict
from kraftcheck.pipeline.datasets import Dataset, write, write_whole
from kraftcheck.pipeline.logs.files import LogFile
from kraftcheck.pipeline.logs.read import GIVEN, ROWS, read_clusters
from kraftcheck.pipeline.logs.tables import DATASETS
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LISTS = ("files", "copies", "nodes", "problems")
_COUNTS = ("problemCounts", "problemsInDoubt", "notes")
#: Clusters with missing nodes and the like that are printed.
_LISTED = 100


def check_fleet(
    spark: SparkSession, files: Sequence[LogFile], options: Options, output: str | None, limit: int
) -> dict[str, Any]:
    """Read ``files`` on the cluster, write the data sets into the new folder ``output``, and report.

    ``output`` is not written where there is no line of a raft node; ``None``: nothing is. Raises InputError.
    """
    from pyspark import StorageLevel

    by_cluster: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        by_cluster.setdefault(file.cluster, []).append((file.name, file.size))
    # A task for each cluster, the largest first.
    largest = sorted(by_cluster.items(), key=lambda each: -sum(size for _, size in each[1]))
    given = spark.createDataFrame(spark.sparkContext.parallelize(largest, len(largest)), GIVEN)
    read = given.mapInArrow(partial(read_clusters, options=options, limit=limit), ROWS)
    rows = read.persist(StorageLevel.DISK_ONLY)

    def work(folder: str | None) -> dict[str, Any]:
        for name, dataset in DATASETS.items() if folder is not None else ():
            write(_of_kind(rows, name, dataset), dataset, f"{folder}/{name}")
        found = rows.where("kind = 'clusters'").select("cluster", "detail").orderBy("cluster").collect()
        return merged(((row["cluster"], json.loads(row["detail"])) for row in found), limit)

    try:
        if output is None:
            return work(None)
        return write_whole(spark, output, work, is_of_raft)
    finally:
        rows.unpersist()


def _of_kind(rows: DataFrame, kind: str, dataset: Dataset) -> DataFrame:
    from pyspark.sql import functions as f

    columns = dataset.columns.removeprefix("cluster string, ")
    parsed = rows.where(f.col("kind") == kind).withColumn("detail", f.from_json("detail", columns))
    return parsed.select("cluster", "detail.*")


def is_of_raft(report: dict[str, Any]) -> bool:
    """Whether a report shows a line of a raft node."""
    return any(file["relevant"] for file in report["files"])


def merged(reports: Iterable[tuple[str, dict[str, Any]]], limit: int) -> dict[str, Any]:
    """The reports on several clusters as one in the same form: its files, nodes and first problems say which
    ``cluster`` they are of. ``missing`` and ``mixed`` name the clusters with voters without logs, and with
    lines of other clusters.
    """
    whole: dict[str, Any] = {"clusters": [], "missing": [], "mixed": [], "firstNotes": {}}
    whole |= {name: [] for name in _LISTS} | {name: Counter() for name in _COUNTS} | {"epochsForgotten": 0}
    for cluster, one in reports:
        whole["clusters"].append(cluster)
        for name in _LISTS:
            whole[name] += [{"cluster": cluster, **each} if name != "copies" else each for each in one[name]]
        for name in _COUNTS:
            whole[name].update(one[name])
        whole["firstNotes"] = one["firstNotes"] | whole["firstNotes"]
        whole["epochsForgotten"] += one["epochsForgotten"]
        if one["missing"]:
            whole["missing"].append({"cluster": cluster, "nodes": one["missing"]})
        if "other-cluster" in one["notes"]:
            first = one["firstNotes"]["other-cluster"]
            whole["mixed"].append({"cluster": cluster, "first": first, "ids": one["clusterIds"]})
    return whole | {"problems": whole["problems"][:limit]}


def print_fleet(out: Console, report: dict[str, Any], output: str | None, limit: int) -> None:
    """The counts, what is missing or damaged, the first problems, and a verdict."""
    of = f"{len(report['nodes']):,} nodes of {len(report['clusters']):,} clusters"
    heading(out, "fleet")
    entry(out, "logs", f"of {of}")
    if output is not None:
        entry(out, "written", printable(output))
    for one in report["missing"][:_LISTED]:
        ids = ", ".join(map(str, one["nodes"]))
        entry(out, "missing", f"{printable(one['cluster'])}: no logs of voter {ids}, so not compared")
    for one in report["mixed"][:_LISTED]:
        ids, where = printable(", ".join(one["ids"])), printable(one["first"])
        text = f"{printable(one['cluster'])}: lines of clusters {ids}, first at {where}; see --layout"
        entry(out, "mixed", text)
    print_files(out, report)
    print_problems(out, report["problems"])
    print_verdict(out, report, limit, of)
