"""What a campaign found, by Spark SQL from its data sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.campaign import mutants
from kraftcheck.pipeline.campaign.store import Store
from kraftcheck.pipeline.session import sql_settings
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import BrokenInitialPrefix

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from kraftcheck.checking.coverage.report import Report
    from kraftcheck.systems.kind import ModelSystem

#: How many cells each list of single cells names.
MOST = 1_000

_WHICH = "c.scenario, c.protocol, c.bounds, c.mutant, c.judged, c.engine, c.seed"
_WITHOUT_TRACES = """
    transform(violated, v -> named_struct('property', v.property, 'kind', v.kind, 'steps', v.steps))
    violated"""
_TOTALS = f"""
    select count(*) finished,
           count_if(as_expected) as_expected,
           count_if(not as_expected) not_as_expected,
           count_if({mutants.OPEN}) open,
           coalesce(sum(seconds), 0D) seconds,
           coalesce(sum(distinct), 0) distinct_states,
           coalesce(max(peak_memory), 0) peak_memory
    from cells"""
_FOUND = """
    select v.property, c.scenario, c.protocol, c.bounds, c.engine,
           count(*) cells, min(v.steps) steps, first(c.expected) expected
    from cells c lateral view explode(violated) as v
    where mutant = 'none'
    group by v.property, c.scenario, c.protocol, c.bounds, c.engine
    order by v.property, c.scenario, c.protocol, c.bounds, c.engine"""
_DIFFERENT = f"""
    select {_WHICH}, c.expected, c.verdict, c.differences from cells c
    where not as_expected order by c.scenario, c.mutant, c.cell limit {MOST}"""
_TROUBLE = f"""
    select {_WHICH}, c.verdict, c.error from cells c
    where verdict in ('invalid', 'failed') order by c.verdict, c.scenario, c.cell limit {MOST}"""
_LIMITS = f"""
    select {_WHICH}, c.limit, c.seconds, c.peak_memory, c.distinct distinct_states from cells c
    where limit is not null and limit != 'walks' order by c.scenario, c.cell limit {MOST}"""
_SLOWEST = f"""
    select {_WHICH}, c.seconds, c.peak_memory, c.distinct distinct_states from cells c
    order by c.seconds desc limit 10"""


def make(store: Store) -> dict[str, Any]:
    """The report. Raises InputError where there is no campaign."""
    spark = store.spark
    with sql_settings(spark, {"spark.sql.shuffle.partitions": str(_partitions(spark))}):
        planned = store.planned()
        plan = planned.agg({"cell": "count", "campaign": "first"}).collect()[0]
        finished = store.finished().join(planned.select("cell"), "cell", "left_semi")
        planned.createOrReplaceTempView("plan")
        # Counterexamples are large, and not of interest here.
        finished = finished.selectExpr("* except (violated)", _WITHOUT_TRACES).persist()
        try:
            finished.createOrReplaceTempView("cells")
            return _made(store, plan["count(cell)"], plan["first(campaign)"])
        finally:
            finished.unpersist()


def _partitions(spark: SparkSession) -> int:
    """What is reported is small: even a million cells are some hundred MB."""
    slots: int = spark.sparkContext.defaultParallelism
    return min(200, max(2, slots))


def _made(store: Store, planned: int, campaign: str) -> dict[str, Any]:
    spark = store.spark
    verdicts = {
        row.verdict: row.n for row in _rows(spark, "select verdict, count(*) n from cells group by 1")
    }
    became, kills = mutants.found(spark)
    limits = _rows(
        spark, "select limit, count(*) n from cells where limit is not null group by limit order by limit"
    )
    return {
        "campaign": campaign,
        "cells": {"planned": planned, "verdicts": verdicts} | _rows(spark, _TOTALS)[0].asDict(),
        "found": _dicts(spark, _FOUND),
        "not_as_expected": _dicts(spark, _DIFFERENT),
        "mutants": became,
        "kills": kills,
        "coverage": _coverage(store),
        "limits": {"cells": {row.limit: row.n for row in limits}, "which": _dicts(spark, _LIMITS)},
        "trouble": _dicts(spark, _TROUBLE),
        "slowest": _dicts(spark, _SLOWEST),
    }


def _rows(spark: SparkSession, query: str) -> list[Row]:
    found: list[Row] = spark.sql(query).collect()
    return found


def _dicts(spark: SparkSession, query: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in _rows(spark, query)]


# Coverage.


def _coverage(store: Store) -> dict[str, Any] | None:
    """What the cells of the reference as it is exercise together, and what none does; ``None``: not noted."""
    rows = _rows(store.spark, "select distinct explode(covered) item from cells where mutant = 'none'")
    if not rows:
        return None
    found = _as_report(store, [row.item for row in rows])
    return {"data": found.as_data(), "lines": [list(line) for line in found.lines()]}


def _as_report(store: Store, told: list[str]) -> Report:
    from kraftcheck.checking.coverage.covering import Covered, guards_of
    from kraftcheck.checking.coverage.report import Report, to_cover

    parted = [text.partition(" ") for text in told]
    items = frozenset((kind, name) for kind, _, name in parted if kind != "guard")
    guards = [name.rpartition(" ") for kind, _, name in parted if kind == "guard"]
    seen = frozenset((place, answer == "true") for place, _, answer in guards)
    systems = _systems(store)
    return Report(Covered(items, seen or None), to_cover(systems), guards_of(systems))


def _systems(store: Store) -> list[ModelSystem]:
    """The systems whose steps are noted; what contradicts itself is none, and its cells say so."""
    from kraftcheck.systems.kinds import kind_of
    from kraftcheck.systems.scenario import from_data

    covered = store.planned().where("coverage").select("content").distinct()
    rows = store.scenarios().join(covered, "content", "left_semi").orderBy("content").collect()
    systems = []
    for row in rows:
        scenario = from_data(json.loads(row.text), row.content)
        try:
            systems.append(kind_of(scenario).build(scenario))
        except BrokenInitialPrefix as broken:
            systems.append(broken.system)
        except InputError:
            continue
    return systems
