"""Nodes held against each other: columns find what contradicts, `kraftcheck.evidence.history.cluster` judges.

Nothing here orders lines of different nodes by their times.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kraftcheck.evidence.history.cluster import Cluster, Seen, check_complete, report_disagreement
from kraftcheck.evidence.history.facts import Key
from kraftcheck.evidence.logs.findings import Findings, Where
from kraftcheck.pipeline.logs.scan import ROWS, Row, batch_of, problem_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SAID = ("leader", "vote", "grant")
_KEY = re.compile(r"(\d+)(?: \((.*)\))?")


def epochs(rows: DataFrame) -> DataFrame:
    """What all nodes show of each epoch.

    ``start`` and ``high`` come with the lines that show them; ``before`` is the largest high watermark of
    smaller epochs, likewise.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    kind, line = f.col("kind"), ("value", "node", "file", "line", "time")
    first = f.when(kind == "epoch start", f.struct("number", "step", *line))
    # The largest; of those the one that `Cluster.high_watermark` keeps.
    order = ((-f.col(name)).alias(f"minus_{name}") for name in ("node", "number", "step"))
    high = f.when(kind == "epoch high", f.struct("value", *order, *line[1:]))
    facts = rows.where(kind.isin(*_SAID, "epoch start", "epoch high"))
    by_epoch = facts.groupBy("cluster", "epoch").agg(
        f.array_sort(f.collect_set(f.when(kind == "leader", f.col("value").cast("int")))).alias("leaders"),
        _distinct(f.when(kind == "leader", f.col("node")), "known_by"),
        _distinct(f.when(kind == "vote", f.col("voter")), "votes"),
        _distinct(f.when(kind == "grant", f.col("voter")), "grants"),
        f.min(first).alias("start"),
        f.max(high).alias("high"),
    )
    before = Window.partitionBy("cluster").orderBy("epoch").rowsBetween(Window.unboundedPreceding, -1)
    shown = f.col("high")
    ranked = f.struct(
        shown["value"].alias("value"), (-f.col("epoch")).alias("e"), *(shown[one] for one in line[1:])
    )
    return by_epoch.withColumn("before", f.max(f.when(shown.isNotNull(), ranked)).over(before))


def _distinct(column: Any, name: str) -> Any:
    from pyspark.sql import functions as f

    return f.count_distinct(column).cast("int").alias(name)


def problems(rows: DataFrame, by_epoch: DataFrame) -> DataFrame:
    """The problems that only several nodes together show, as rows of `Row`."""
    from pyspark.sql import functions as f

    incomplete = by_epoch.where("start.value < before.value")
    sets = rows.where("kind = 'committed'")
    differ = sets.groupBy("cluster", "value").agg(f.count_distinct("names").alias("n")).where("n > 1")
    disputed_sets = sets.join(differ.select("cluster", "value"), ["cluster", "value"], "left_semi")
    disagreeing = _disputed(rows).groupBy("cluster", "epoch").applyInArrow(_replay, ROWS)
    wiped = rows.where("kind = 'wiped'").select("cluster", f.col("node").alias("voter")).distinct()
    return (
        disagreeing.join(wiped, ["cluster", "voter"], "left_anti")
        .select(*Row._fields)
        .union(disputed_sets.groupBy("cluster", "value").applyInArrow(_replay_sets, ROWS))
        .union(incomplete.select("cluster", "epoch", "start", "before").mapInArrow(_complete, ROWS))
    )


def _disputed(rows: DataFrame) -> DataFrame:
    """The facts of the epochs in which leaders, or a voter's vote and the grants counted, differ."""
    from pyspark.sql import functions as f

    said = rows.where(f.col("kind").isin(*_SAID))
    subject = f.when(f.col("kind") == "leader", f.lit(-1)).otherwise(f.col("voter"))
    groups = said.groupBy("cluster", "epoch", subject.alias("subject"))
    differ = groups.agg(f.min("value").alias("low"), f.max("value").alias("top")).where("low < top")
    return said.join(differ.select("cluster", "epoch").distinct(), ["cluster", "epoch"], "left_semi")


def _in_order(table: pa.Table) -> list[dict[str, Any]]:
    """The rows in the order in which `kraftcheck logs` comes to them."""
    ordered: list[dict[str, Any]] = table.sort_by(
        [("number", "ascending"), ("step", "ascending")]
    ).to_pylist()
    return ordered


def _seen(row: dict[str, Any]) -> Seen:
    return Seen(row["value"], row["node"], Where(row["file"], row["line"]), (row["time"] or "").encode())


def _replay(table: pa.Table) -> pa.Table:
    """The problems of one epoch, no more than there are facts of it."""
    facts = _in_order(table)
    of_leaders = Findings(sys.maxsize)
    cluster = Cluster(of_leaders)
    for fact in facts:
        if fact["kind"] == "leader":
            cluster.leader(fact["epoch"], _seen(fact))
        elif fact["kind"] == "vote":
            cluster.vote(fact["epoch"], _seen(fact))
        else:
            cluster.grant(fact["epoch"], fact["voter"], _seen(fact))
    found = _rows(facts[0]["cluster"], of_leaders)
    for one in cluster.disagreements:
        findings = Findings()
        report_disagreement(one, findings)
        found += [row._replace(voter=one.voter) for row in _rows(facts[0]["cluster"], findings)]
    return _table(found)


def _replay_sets(table: pa.Table) -> pa.Table:
    """The problems of the voter sets at one offset, no more than there are facts of it."""
    facts = _in_order(table)
    of_sets = Findings(sys.maxsize)
    cluster = Cluster(of_sets)
    for fact in facts:
        voters = frozenset(_key(name) for name in fact["names"])
        cluster.committed_set(fact["value"], voters, _seen(fact))
    return _table(_rows(facts[0]["cluster"], of_sets))


def _key(text: str) -> Key:
    match = _KEY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return Key(int(match[1]), match[2])


def _complete(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The problems of leaders whose logs end before what was committed."""
    for batch in batches:
        for epoch in batch.to_pylist():
            findings = Findings()
            check_complete(epoch["epoch"], _seen(epoch["start"]), _seen(epoch["before"]), findings)
            yield batch_of(_rows(epoch["cluster"], findings))


def _rows(cluster: str, findings: Findings) -> list[Row]:
    return [Row("problem", cluster, "", 0, 0, **problem_columns(one)) for one in findings.problems]


def _table(rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch_of(rows)])
