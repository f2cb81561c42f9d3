"""The logs of a fleet from files to data sets and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from model_check.logs.reader import Options
from model_check.pipeline.datasets import write
from model_check.pipeline.logs import tables
from model_check.pipeline.logs.compare import epochs, problems
from model_check.pipeline.logs.files import LogFile
from model_check.pipeline.logs.plan import plan
from model_check.pipeline.logs.scan import ROWS, Row, scan_folders

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: The most tasks that reading is divided into.
_TASKS: Final = 20_000
#: Damaged files, missing nodes and the like that are listed in a report.
LISTED: Final = 100
_FILE: Final = (
    "damaged string, relevant bigint, nodes array<int>, bytes bigint, lines bigint, records bigint, "
    "overlong bigint, nul bigint, invalid bigint"
)
_NODE: Final = (
    "releases array<string>, relevant bigint, processes bigint, transitions bigint, elections bigint, "
    "leaderships bigint, first_epoch bigint, last_epoch bigint, first_time string, last_time string, "
    "names array<int>, cluster_id string"
)


@dataclass(frozen=True, slots=True)
class FleetReport:
    """What the logs of a fleet showed.

    The lists hold the first `LISTED` entries, ``problems`` as many as were asked for.
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
    """Clusters and the voters that their lines name and of which there are no logs."""
    split: list[dict[str, Any]]
    """Nodes with logs in several folders, between which no state is carried on."""
    mixed: list[dict[str, Any]]
    """Clusters whose lines show several cluster ids."""
    damage: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        words = {name: "".join(_capital(name.split("_"))) for name in asdict(self)}
        return {"format": 1, **{words[name]: value for name, value in asdict(self).items()}}


def _capital(words: list[str]) -> list[str]:
    return [words[0], *(word.capitalize() for word in words[1:])]


def check_fleet(
    spark: SparkSession, files: Sequence[LogFile], options: Options, output: str | None, limit: int
) -> FleetReport:
    """Read ``files`` on the cluster, write the data sets into the folder ``output``, and report."""
    from pyspark import StorageLevel

    planned = plan(spark, files, options).persist(StorageLevel.DISK_ONLY)
    folders = len({(one.cluster, one.folder) for one in files})
    # Sorted by Spark, so that a task has each node's files one after the other.
    read = (
        planned.where("not copy")
        .repartition(min(folders, _TASKS), "cluster", "folder")
        .sortWithinPartitions("cluster", "folder", "number")
        .select("cluster", "folder", "number", "file", "layout")
    )
    rows = read.mapInArrow(partial(scan_folders, options=options), ROWS).persist(StorageLevel.DISK_ONLY)
    try:
        found = _tables(rows, planned)
        found["findings"] = found["findings"].persist(StorageLevel.DISK_ONLY)
        if output is not None:
            for name, dataset in tables.DATASETS.items():
                write(found[name], dataset, f"{output}/{name}")
        return _report(found, limit)
    finally:
        if "findings" in locals().get("found", {}):
            found["findings"].unpersist()
        rows.unpersist()
        planned.unpersist()


def _tables(rows: DataFrame, planned: DataFrame) -> dict[str, DataFrame]:
    """The data sets, with the columns of `tables`."""
    from pyspark.sql import functions as f

    kind = f.col("kind")
    where = ("file", "line", "time")
    by_epoch = epochs(rows)
    votes = rows.where(kind.isin("vote", "grant"))
    sets = rows.where(kind.isin("voters", "committed"))
    high = f.col("high")["value"].alias("high_watermark")
    return {
        "transitions": rows.where(kind == "transition").select(
            *("cluster", "node", "process", "what", "role", "epoch", "leader", "voted"),
            f.col("value").alias("offset"),
            f.col("high").alias("high_watermark"),
            *where,
        ),
        "votes": votes.select(
            *("cluster", "epoch", "voter", f.col("value").alias("candidate"), "kind", "node", *where)
        ),
        "leaders": rows.where(kind == "leader").select(
            *("cluster", "epoch", f.col("value").alias("leader"), "node", *where)
        ),
        "epochs": by_epoch.select(
            *("cluster", "epoch", "leaders", "known_by", "votes", "grants"),
            f.col("start")["value"].alias("start"),
            high,
            f.col("before")["value"].alias("committed_before"),
        ),
        "high_watermarks": rows.where(kind == "high watermark").select(
            *("cluster", "node", "process", "epoch", "role"), f.col("value").alias("high_watermark"), *where
        ),
        "voter_sets": sets.select(
            *("cluster", "node", f.col("value").alias("offset"), f.col("names").alias("voters")),
            (kind == "committed").alias("committed"),
            *where,
        ),
        "findings": _findings(rows, by_epoch),
        "files": _files(rows, planned),
        "nodes": rows.where(kind == "node")
        .withColumn("d", f.from_json("detail", _NODE))
        .select("cluster", "node", "folder", "d.*"),
    }


def _findings(rows: DataFrame, by_epoch: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    every = rows.where(f.col("kind").isin("problem", "note")).select(*Row._fields)
    is_note = f.col("kind") == "note"
    return every.union(problems(rows, by_epoch)).select(
        *("cluster", "node", "file", "line", "time"),
        f.when(is_note, "note").otherwise("error").alias("severity"),
        f.col("what").alias("check"),
        f.col("names").alias("rules"),
        *("expected", "found", "earlier_file", "earlier_line"),
        f.when(is_note, f.col("value")).otherwise(1).alias("count"),
    )


def _files(rows: DataFrame, planned: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    counted = rows.where("kind = 'file'").select("cluster", "number", f.from_json("detail", _FILE).alias("d"))
    joined = planned.join(counted, ["cluster", "number"], "left")
    return joined.select("cluster", "folder", "number", "file", "copy", "d.*")


# --- the report -------------------------------------------------------------------------------------------


def _report(found: dict[str, DataFrame], limit: int) -> FleetReport:
    from pyspark.sql import functions as f

    files, findings, nodes = found["files"], found["findings"], found["nodes"]
    counts = ("lines", "bytes", "records", "relevant", "overlong", "nul", "invalid")
    total = files.agg(
        f.count_distinct("cluster").alias("clusters"),
        f.sum(f.when(f.col("copy"), 0).otherwise(1)).alias("files"),
        f.sum(f.col("copy").cast("int")).alias("copies"),
        *(f.sum(name).alias(name) for name in counts),
    ).first()
    assert total is not None
    plain = files.where("not copy and damaged is null and relevant = 0")
    by_check = findings.groupBy("severity", "check").agg(
        f.sum("count").alias("n"), f.min(f.struct("cluster", "file", "line")).alias("first")
    )
    checked = by_check.orderBy(f.desc("n"), "check").collect()
    notes = {row["check"]: row for row in checked if row["severity"] == "note"}
    shown = findings.where("severity = 'error'").orderBy("cluster", "file", "line", "check").limit(limit)
    return FleetReport(
        clusters=total["clusters"],
        nodes=nodes.select("cluster", "node").distinct().count(),
        files=total["files"] or 0,
        copies=total["copies"] or 0,
        **{name: total[name] or 0 for name in counts[:4]},
        problem_counts={row["check"]: row["n"] for row in checked if row["severity"] == "error"},
        problems=[row.asDict() for row in shown.collect()],
        notes={name: row["n"] for name, row in sorted(notes.items())},
        first_notes={name: f"{row['first']['file']}:{row['first']['line']}" for name, row in notes.items()},
        damaged=_listed(files.where("damaged is not null").select("file", "damaged", "lines"), "file"),
        without_raft=plain.count(),
        without_raft_files=[row["file"] for row in plain.orderBy("file").limit(LISTED).collect()],
        missing=_listed(_missing(nodes), "cluster"),
        split=_listed(_several(nodes.groupBy("cluster", "node"), "folder", "folders"), "cluster", "node"),
        mixed=_listed(_several(nodes.groupBy("cluster"), "cluster_id", "ids"), "cluster"),
        damage={name: total[name] for name in counts[4:] if total[name]},
    )


def _missing(nodes: DataFrame) -> DataFrame:
    """Clusters, and the voters that lines name without there being logs of theirs."""
    from pyspark.sql import functions as f

    by_cluster = nodes.groupBy("cluster").agg(
        f.array_sort(
            f.array_except(f.array_distinct(f.flatten(f.collect_set("names"))), f.collect_set("node"))
        ).alias("nodes")
    )
    return by_cluster.where(f.size("nodes") > 0)


def _several(groups: Any, column: str, name: str) -> DataFrame:
    from pyspark.sql import functions as f

    listed: Column = f.array_sort(f.collect_set(column))
    found: DataFrame = groups.agg(listed.alias(name))
    return found.where(f.size(name) > 1)


def _listed(data: DataFrame, *order: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in data.orderBy(*order).limit(LISTED).collect()]
