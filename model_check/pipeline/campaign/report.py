"""What a campaign found, by Spark SQL from its data sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from model_check.errors import InputError
from model_check.model import BrokenPrelude
from model_check.mutation import campaign as mutation
from model_check.mutation import catalogue
from model_check.pipeline.campaign.store import Store
from model_check.pipeline.session import sql_settings

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from model_check.coverage.report import Report
    from model_check.model import ModelSystem

#: How many cells each list of single cells names.
MOST = 1_000

_WHICH = "c.scenario, c.protocol, c.bounds, c.mutant, c.judged, c.engine, c.seed"
#: Walks that found nothing, where nothing is to be found, leave nothing open.
_OPEN = "verdict = 'undetermined' and not (limit <=> 'walks' and coalesce(expected, 'holds') = 'holds')"

_WITHOUT_TRACES = "transform(violated, v -> named_struct('property', v.property, 'steps', v.steps)) violated"
_TOTALS = f"""
    select count(*) finished,
           count_if(as_expected) as_expected,
           count_if(not as_expected) not_as_expected,
           count_if({_OPEN}) open,
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
#: What a mutant violates and the reference, in the same place, does not.
_KILLS = """
    select v.property, c.mutant, count(*) cells, min(v.steps) steps,
           array_sort(collect_set(c.scenario)) scenarios
    from cells c lateral view explode(violated) as v
    where c.mutant != 'none' and not exists (
        select 1 from cells r lateral view explode(r.violated) as w
        where r.mutant = 'none' and w.property = v.property and r.scenario = c.scenario
          and r.protocol = c.protocol and r.bounds = c.bounds and r.engine = c.engine and r.seed <=> c.seed)
    group by v.property, c.mutant
    order by c.mutant, v.property"""
_MUTANTS = f"""
    select mutant, count_if({_OPEN}) open, count_if(verdict = 'failed') failed,
           bool_or(expected is not null) own
    from cells where mutant != 'none' group by mutant order by mutant"""
_OWN = """
    select mutant, scenario, verdict, judged, violated, distinct, explored_seconds, limit, error, differences
    from cells
    where (mutant != 'none' and expected is not null)
       or (mutant = 'none' and engine = 'check' and protocol = 'scenario' and bounds = 'scenario')"""
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
    kills = _dicts(spark, _KILLS)
    limits = _rows(
        spark, "select limit, count(*) n from cells where limit is not null group by limit order by limit"
    )
    return {
        "campaign": campaign,
        "cells": {"planned": planned, "verdicts": verdicts} | _rows(spark, _TOTALS)[0].asDict(),
        "found": _dicts(spark, _FOUND),
        "not_as_expected": _dicts(spark, _DIFFERENT),
        "mutants": _mutants(spark, kills),
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


# Mutants.


def _mutants(spark: SparkSession, kills: list[dict[str, Any]]) -> dict[str, Any]:
    """What became of each mutant: as ``kraftcheck mutate`` judges it where it ran in its own scenario."""
    killed = {each["mutant"] for each in kills}
    own = _judged(spark)
    status, reasons = {}, {}
    for row in _rows(spark, _MUTANTS):
        if row.mutant in own:
            result = own[row.mutant]
            status[row.mutant] = result.status.value
            if result.status is not mutation.Status.REFUTED:
                reasons[row.mutant] = " ".join(result.reason.split())
        elif row.mutant in killed:
            status[row.mutant] = mutation.Status.REFUTED.value
        else:
            kind = mutation.Status.FAILED if row.failed else mutation.Status.SURVIVED
            status[row.mutant] = (mutation.Status.UNDETERMINED if row.open else kind).value
    return {"status": status, "reasons": reasons}


def _judged(spark: SparkSession) -> dict[str, mutation.Result]:
    known = catalogue.shipped()
    controls: dict[str, mutation.Explored] = {}
    found: dict[str, list[Row]] = {}
    for row in _rows(spark, _OWN):
        if row.mutant == "none":
            controls[row.scenario] = _explored([row], None)
        else:
            found.setdefault(row.mutant, []).append(row)
    judged = {}
    for id_, rows in found.items():
        mutant = known.get(id_)
        if mutant is None or mutant.scenario not in controls:
            continue
        # A mutant of which a cell is not finished is not judged.
        if {row.judged for row in rows} == set(mutant.expect or (None,)):
            judged[id_] = mutation.judge(mutant, controls[mutant.scenario], _explored(rows, mutant))
    return judged


def _explored(rows: list[Row], mutant: catalogue.Mutant | None) -> mutation.Explored:
    """Rows as what ``kraftcheck mutate`` has of its workers."""
    error = next((row.error for row in rows if row.error is not None), None)
    order = mutant.expect if mutant is not None else ()
    told = sorted(rows, key=lambda row: order.index(row.judged) if row.judged in order else -1)
    return mutation.Explored(tuple(map(_exploration, told)), error)


def _exploration(row: Row) -> dict[str, Any]:
    first = row.violated[0] if row.violated else None
    return {
        "judged": row.judged,
        "verdict": row.verdict,
        "property": None if first is None else first.property,
        "steps": None if first is None else first.steps,
        "states": row.distinct,
        "seconds": row.explored_seconds,
        "limit": row.limit,
        "trace": [],
        "differences": row.differences or [],
    }


# Coverage.


def _coverage(store: Store) -> dict[str, Any] | None:
    """What the cells of the reference as it is exercise together, and what none does; ``None``: not noted."""
    rows = _rows(store.spark, "select distinct explode(covered) item from cells where mutant = 'none'")
    if not rows:
        return None
    found = _as_report(store, [row.item for row in rows])
    return {"data": found.as_data(), "lines": [list(line) for line in found.lines()]}


def _as_report(store: Store, told: list[str]) -> Report:
    from model_check.coverage.covering import Covered, guards_of
    from model_check.coverage.report import Report, to_cover

    parted = [text.partition(" ") for text in told]
    items = frozenset((kind, name) for kind, _, name in parted if kind != "guard")
    guards = [name.rpartition(" ") for kind, _, name in parted if kind == "guard"]
    seen = frozenset((place, answer == "true") for place, _, answer in guards)
    systems = _systems(store)
    return Report(Covered(items, seen or None), to_cover(systems), guards_of(systems))


def _systems(store: Store) -> list[ModelSystem]:
    """The systems whose steps are noted; what contradicts itself is none, and its cells say so."""
    from model_check.kinds import model_of
    from model_check.scenario import from_data

    covered = store.planned().where("coverage").select("content").distinct()
    rows = store.scenarios().join(covered, "content", "left_semi").orderBy("content").collect()
    systems = []
    for row in rows:
        scenario = from_data(json.loads(row.text), row.content)
        try:
            systems.append(model_of(scenario).build(scenario))
        except BrokenPrelude as broken:
            systems.append(broken.system)
        except InputError:
            continue
    return systems
