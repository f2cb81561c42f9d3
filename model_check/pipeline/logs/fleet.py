"""The logs of a fleet from files to data sets and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kraftcheck.evidence.logs.reader import Options
from kraftcheck.pipeline.datasets import write, write_whole
from kraftcheck.pipeline.logs.files import LogFile
from kraftcheck.pipeline.logs.read import GIVEN, ROWS, read_clusters
from kraftcheck.pipeline.logs.tables import DATASETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Damaged files, missing nodes and the like that are listed in a report.
LISTED: Final = 100
_COUNTS: Final = ("lines", "bytes", "records", "relevant", "overlong", "nul", "invalid")
_FACTS: Final = "epoch bigint, kind string, voter int, leader int, node int, value bigint"
_CLUSTERS: Final = "ids array<string>, forgotten bigint"


@dataclass(frozen=True, slots=True)
class FleetReport:
    """What the logs of a fleet showed.

    The lists hold the first `LISTED` entries, ``problems`` as many as were asked for. ``missing``: clusters
    and the voters that their lines name and of which there are no logs. ``mixed``: clusters whose lines show
    several cluster ids. ``epochs_forgotten``: how many small epochs were not compared between nodes.
    """

    clusters: int
    nodes: int
    files: int
    copies: int
    lines: int
    bytes: int
    records: int
    relevant: int
    problem_counts: dict[str, int]
    problems: list[dict[str, Any]]
    notes: dict[str, int]
    first_notes: dict[str, str]
    damaged: list[dict[str, Any]]
    without_raft: int
    without_raft_files: list[str]
    missing: list[dict[str, Any]]
    mixed: list[dict[str, Any]]
    epochs_forgotten: int
    damage: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        words = {name: name.split("_") for name in asdict(self)}
        keys = {name: "".join([word[0], *map(str.capitalize, word[1:])]) for name, word in words.items()}
        return {keys[name]: value for name, value in asdict(self).items()}


def check_fleet(
    spark: SparkSession, files: Sequence[LogFile], options: Options, output: str | None, limit: int
) -> FleetReport:
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
    read = given.mapInArrow(partial(read_clusters, options=options), ROWS)
    rows = read.persist(StorageLevel.DISK_ONLY)

    def work(folder: str | None) -> FleetReport:
        for name, dataset in DATASETS.items() if folder is not None else ():
            write(_of_kind(rows, name), dataset, f"{folder}/{name}")
        return _report(rows, limit)

    try:
        if output is None:
            return work(None)
        return write_whole(spark, output, work, lambda report: report.relevant > 0)
    finally:
        rows.unpersist()


def _of_kind(rows: DataFrame, kind: str) -> DataFrame:
    """The data set ``kind``."""
    if kind == "epochs":
        return _epochs(rows)
    columns = [each for each in DATASETS[kind].columns.split(", ") if each != "cluster string"]
    return _details(rows, ", ".join(columns), kind).select(*DATASETS[kind].names)


def _details(rows: DataFrame, columns: str, *kinds: str) -> DataFrame:
    from pyspark.sql import functions as f

    parsed = rows.where(f.col("kind").isin(*kinds)).withColumn("d", f.from_json("detail", columns))
    return parsed.select("cluster", "step", "d.*")


def _epochs(rows: DataFrame) -> DataFrame:
    """What all nodes show of each epoch."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    kind, value = f.col("kind"), f.col("value")
    by_epoch = _details(rows, _FACTS, "leaders", "votes", "offsets").groupBy("cluster", "epoch")
    found = by_epoch.agg(
        f.array_sort(f.collect_set("leader")).alias("leaders"),
        f.count_distinct(f.when(f.col("leader").isNotNull(), f.col("node"))).alias("known_by"),
        f.count_distinct(f.when(kind == "vote", f.col("voter"))).alias("votes"),
        f.count_distinct(f.when(kind == "grant", f.col("voter"))).alias("grants"),
        f.min(f.when(kind == "start", f.struct("step", "value"))).alias("first"),
        f.max(f.when(kind == "high", value)).alias("high_watermark"),
    )
    before = Window.partitionBy("cluster").orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    return found.withColumn("start", f.col("first")["value"]).withColumn(
        "committed_before", f.max("high_watermark").over(before)
    )


def _report(rows: DataFrame, limit: int) -> FleetReport:
    from pyspark.sql import functions as f

    # As many rows as there are files, whose names the driver has anyway.
    files = sorted(_dicts(_of_kind(rows, "files")), key=lambda one: str(one["file"]))
    nodes, findings = _dicts(_of_kind(rows, "nodes")), _of_kind(rows, "findings")
    clusters = sorted(_dicts(_details(rows, _CLUSTERS, "clusters")), key=lambda one: str(one["cluster"]))
    by_check = findings.groupBy("severity", "check").agg(
        f.sum("count").alias("n"), f.min(f.struct("file", "line")).alias("first")
    )
    checked = sorted(by_check.collect(), key=lambda row: (-row["n"], row["check"]))
    notes = {row["check"]: row for row in checked if row["severity"] == "note"}
    shown = findings.where("severity = 'error'").orderBy("cluster", "file", "line", "check").limit(limit)
    read = [one for one in files if not one["copy"]]
    broken = [one for one in read if one["damaged"] is not None]
    plain = [one["file"] for one in read if one["damaged"] is None and not one["relevant"]]
    total = Counter({name: sum(one[name] or 0 for one in read) for name in _COUNTS})
    return FleetReport(
        clusters=len(clusters),
        nodes=len(nodes),
        files=len(read),
        copies=len(files) - len(read),
        lines=total["lines"],
        bytes=total["bytes"],
        records=total["records"],
        relevant=total["relevant"],
        problem_counts={row["check"]: row["n"] for row in checked if row["severity"] == "error"},
        problems=_dicts(shown),
        notes={name: notes[name]["n"] for name in sorted(notes)},
        first_notes={name: f"{row['first']['file']}:{row['first']['line']}" for name, row in notes.items()},
        damaged=[{name: one[name] for name in ("file", "damaged", "lines")} for one in broken[:LISTED]],
        without_raft=len(plain),
        without_raft_files=plain[:LISTED],
        missing=_missing(nodes)[:LISTED],
        mixed=[{"cluster": one["cluster"], "ids": one["ids"]} for one in clusters if len(one["ids"]) > 1][
            :LISTED
        ],
        epochs_forgotten=sum(one["forgotten"] for one in clusters),
        damage={name: total[name] for name in _COUNTS[4:] if total[name]},
    )


def _dicts(data: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in data.collect()]


def _missing(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The voters of each cluster that lines name and of which there are no logs."""
    logged: dict[str, set[int]] = {}
    named: dict[str, set[int]] = {}
    for one in nodes:
        logged.setdefault(one["cluster"], set()).add(one["node"])
        named.setdefault(one["cluster"], set()).update(one["names"])
    gone = {cluster: sorted(named[cluster] - logged[cluster]) for cluster in sorted(named)}
    return [{"cluster": cluster, "nodes": each} for cluster, each in gone.items() if each]
