"""The logs of a fleet from files to data sets and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kraftcheck.evidence.logs.reader import Options
from kraftcheck.pipeline.datasets import exists, write
from kraftcheck.pipeline.logs import tables
from kraftcheck.pipeline.logs.compare import epochs, problems
from kraftcheck.pipeline.logs.files import LogFile
from kraftcheck.pipeline.logs.plan import plan
from kraftcheck.pipeline.logs.scan import ROWS, Row, scan_folders
from kraftcheck.pipeline.whole_folder import write_whole
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Reading is divided into so many tasks for each core, so that none waits long for the last one.
_TASKS: Final = 16
#: Damaged files, missing nodes and the like that are listed in a report.
LISTED: Final = 100
_COUNTS: Final = ("lines", "bytes", "records", "relevant", "overlong", "nul", "invalid")
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
    """Read ``files`` on the cluster, write the data sets into the folder ``output``, and report.

    ``output`` is not there yet, nor afterwards where there is no line of a raft node; ``None``: nothing is
    written. Raises InputError.
    """
    from pyspark import StorageLevel

    if output is not None and exists(spark, output):
        raise InputError(f"-o {output}: is there already; give a new folder.")
    planned = plan(spark, files, options).persist(StorageLevel.DISK_ONLY)
    folders = len({(one.cluster, one.folder) for one in files})
    tasks = min(folders, _TASKS * spark.sparkContext.defaultParallelism)
    # Sorted by Spark, so that a task has each node's files one after the other.
    read = (
        planned.where("not copy")
        .repartition(tasks, "cluster", "folder")
        .sortWithinPartitions("cluster", "folder", "number")
        .select("cluster", "folder", "number", "file", "layout")
    )
    rows = read.mapInArrow(partial(scan_folders, options=options), ROWS).persist(StorageLevel.DISK_ONLY)
    found = _tables(rows, planned)
    for name in ("findings", "files", "nodes"):
        found[name] = found[name].persist(StorageLevel.DISK_ONLY)
    try:
        if output is None:
            return _report(found, limit)
        # Of nine data sets some alone would look like a fleet of which nothing else is known.
        return write_whole(spark, output, partial(_write, found, limit), lambda report: report.relevant > 0)
    finally:
        for data in (found["findings"], found["files"], found["nodes"], rows, planned):
            data.unpersist()


def _write(found: dict[str, DataFrame], limit: int, output: str) -> FleetReport:
    """Write the data sets into the folder ``output``."""
    for name, dataset in tables.DATASETS.items():
        write(found[name], dataset, f"{output}/{name}")
    return _report(found, limit)


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

    # As many rows as there are files, whose names the driver has anyway.
    files = sorted((row.asDict() for row in found["files"].collect()), key=lambda one: str(one["file"]))
    nodes = [row.asDict() for row in found["nodes"].collect()]
    findings = found["findings"]
    by_check = findings.groupBy("severity", "check").agg(
        f.sum("count").alias("n"), f.min(f.struct("file", "line")).alias("first")
    )
    checked = sorted(by_check.collect(), key=lambda row: (-row["n"], row["check"]))
    notes = {row["check"]: row for row in checked if row["severity"] == "note"}
    shown = findings.where("severity = 'error'").orderBy("cluster", "file", "line", "check").limit(limit)
    read = [one for one in files if not one["copy"]]
    damaged = [
        {name: one[name] for name in ("file", "damaged", "lines")}
        for one in read
        if one["damaged"] is not None
    ]
    plain = [one["file"] for one in read if one["damaged"] is None and not one["relevant"]]
    gaps = _gaps(nodes)
    total = {name: sum(one[name] or 0 for one in read) for name in _COUNTS}
    return FleetReport(
        clusters=len({one["cluster"] for one in files}),
        nodes=len({(one["cluster"], one["node"]) for one in nodes}),
        files=len(read),
        copies=len(files) - len(read),
        lines=total["lines"],
        bytes=total["bytes"],
        records=total["records"],
        relevant=total["relevant"],
        problem_counts={row["check"]: row["n"] for row in checked if row["severity"] == "error"},
        problems=[row.asDict() for row in shown.collect()],
        notes={name: notes[name]["n"] for name in sorted(notes)},
        first_notes={name: f"{row['first']['file']}:{row['first']['line']}" for name, row in notes.items()},
        damaged=damaged[:LISTED],
        without_raft=len(plain),
        without_raft_files=plain[:LISTED],
        damage={name: total[name] for name in _COUNTS[4:] if total[name]},
        missing=gaps["missing"],
        split=gaps["split"],
        mixed=gaps["mixed"],
    )


def _gaps(nodes: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What `FleetReport` says of nodes that are missing or spread, and of clusters that are mixed."""
    logged: dict[str, set[int]] = {}
    named: dict[str, set[int]] = {}
    folders: dict[tuple[str, int], set[str]] = {}
    ids: dict[str, set[str]] = {}
    for one in nodes:
        cluster, node = one["cluster"], one["node"]
        logged.setdefault(cluster, set()).add(node)
        named.setdefault(cluster, set()).update(one["names"])
        folders.setdefault((cluster, node), set()).add(one["folder"])
        ids.setdefault(cluster, set()).update([one["cluster_id"]] if one["cluster_id"] else [])
    missing = {cluster: sorted(named[cluster] - logged[cluster]) for cluster in sorted(named)}
    return {
        "missing": [{"cluster": name, "nodes": gone} for name, gone in missing.items() if gone][:LISTED],
        "split": [
            {"cluster": cluster, "node": node, "folders": sorted(where)}
            for (cluster, node), where in sorted(folders.items())
            if len(where) > 1
        ][:LISTED],
        "mixed": [
            {"cluster": name, "ids": sorted(found)} for name, found in sorted(ids.items()) if len(found) > 1
        ][:LISTED],
    }
