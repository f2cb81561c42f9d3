"""What became of the mutants of a campaign, each held against the reference as it is in the same place.

Reads the views ``plan`` and ``cells`` of the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kraftcheck.checking.mutation import campaign as mutation
from kraftcheck.checking.mutation import catalogue

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

#: Walks that found nothing, where nothing is to be found, leave nothing open.
OPEN = "verdict = 'undetermined' and not (limit <=> 'walks' and coalesce(expected, 'holds') = 'holds')"

_REFERENCE = "the reference as it is"
#: Cells of mutants, finished or not, each with its control: the same cell of the reference as it is.
_BESIDE = f"""
    select p.mutant, p.scenario, p.engine, p.expected is not null own,
           c.verdict, c.limit, c.error, c.open, c.judged_to, c.eventually_judged,
           coalesce(c.violated, array()) violated,
           r.verdict control, r.limit control_limit, r.judged_to control_to,
           r.eventually_judged control_eventually,
           coalesce(r.violated, array()) of_control,
           coalesce(r.verdict in ('holds', 'violated') or r.limit = 'walks', false) comparable
    from plan p
    left join (select *, {OPEN} open from cells) c on c.cell = p.cell
    left join cells r on r.cell = p.control
    where p.mutant != 'none'"""
_NEW = f"""
    select *, filter(violated, v -> not exists(of_control, w -> w.property = v.property)) new
    from ({_BESIDE})"""
#: The control must have been judged as far as the mutant's violation is away, which is in steps, or in walks.
#: *Eventually* properties are judged where all was explored, no safety property is violated, and the graph
#: fits the limits.
_KILLING = f"""
    select *, filter(new, v -> comparable and (
        case when control_to is null
             then v.kind != 'eventually' or control_eventually
             else v.kind = 'safety' and if(engine = 'check', v.steps, judged_to) <= control_to end)) kills
    from ({_NEW})"""
_KILLS = f"""
    select v.property, k.mutant, count(*) cells, min(v.steps) steps,
           array_sort(collect_set(k.scenario)) scenarios
    from ({_KILLING}) k lateral view explode(kills) as v
    group by v.property, k.mutant
    order by k.mutant, v.property"""
_WHY = f"""
    select *, case
        when size(kills) > 0 then null
        when verdict is null then 'not finished'
        when verdict in ('invalid', 'failed') then concat_ws(': ', verdict, error)
        when open then concat(coalesce(limit, 'a limit'), ' reached')
        when control is null then '{_REFERENCE} has not run there'
        when control = 'failed' then '{_REFERENCE} has failed there'
        when control = 'invalid' then '{_REFERENCE} is invalid there'
        when not comparable
            then concat('{_REFERENCE}: ', coalesce(control_limit, 'a limit'), ' reached there')
        when size(new) > 0 then concat('violates ', new[0].property, '; that {_REFERENCE} does not is not '
            'known, as it violates ', of_control[0].property, ' there')
        when size(violated) > 0 and judged_to is not null
            then concat('ends at ', violated[0].property, ' there, which {_REFERENCE} violates as well')
        when engine = 'check' and not eventually_judged
            then concat('eventually properties were not judged there: ', coalesce(
                concat(limit, ' reached'),
                concat('it violates ', violated[0].property, ', as {_REFERENCE} does')))
        end why
    from ({_KILLING})"""
#: A row for each mutant and each of what became of it in its places.
_PLACES = f"""
    select mutant, what, count(*) cells, min(struct(scenario, why)) first,
           bool_or(own and verdict is null) own_unfinished
    from (select *, case when size(kills) > 0 then 'killed'
                         when why is null then 'survived'
                         when verdict in ('invalid', 'failed') then verdict
                         else 'undetermined' end what
          from ({_WHY}))
    group by mutant, what order by mutant"""

_RESULT = (
    "c.cell, c.verdict, c.judged, c.violated, c.distinct, c.explored_seconds, c.limit, c.error, c.differences"
)
_OWN = f"""
    select p.mutant, p.control, {_RESULT} from plan p join cells c on c.cell = p.cell
    where p.mutant != 'none' and p.expected is not null"""
_OWN_CONTROLS = f"""
    select {_RESULT} from cells c where c.cell in (select control from plan where expected is not null)"""


def found(spark: SparkSession) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What became of each mutant and why, and what it violates that the reference as it is does not.

    A mutant is judged as ``kraftcheck mutate`` judges it where it ran in its own scenario.
    """
    kills = [row.asDict() for row in spark.sql(_KILLS).collect()]
    places: dict[str, dict[str, Row]] = {}
    for row in spark.sql(_PLACES).collect():
        places.setdefault(row.mutant, {})[row.what] = row
    own = _judged(spark)
    status, reasons = {}, {}
    for mutant, rows in places.items():
        result = own.get(mutant)
        what, why = _became(rows) if result is None else (result.status, result.reason)
        status[mutant] = what.value
        if what is not mutation.Status.KILLED and why:
            reasons[mutant] = " ".join(why.split())
    return {"status": status, "reasons": reasons}, kills


def _became(places: dict[str, Row]) -> tuple[mutation.Status, str]:
    """What became of a mutant, and why, by what became of it in its places."""
    undetermined = places.get("undetermined")
    # In its own scenario a mutant is killed by all that it is to violate, not by some of it.
    if "killed" in places and not (undetermined is not None and undetermined.own_unfinished):
        return mutation.Status.KILLED, ""
    if undetermined is not None:
        return mutation.Status.UNDETERMINED, _reason(undetermined)
    if "failed" in places:
        return mutation.Status.FAILED, _reason(places["failed"])
    if "survived" in places:
        return mutation.Status.SURVIVED, ""
    return mutation.Status.UNDETERMINED, _reason(places["invalid"])


def _reason(place: Row) -> str:
    among = f" (one of {place.cells:,} cells)" if place.cells > 1 else ""
    return f"{place.first.scenario}: {place.first.why}{among}"


# Mutants in their own scenarios.


def _judged(spark: SparkSession) -> dict[str, mutation.Result]:
    """What ``kraftcheck mutate`` says of the mutants all of whose cells, and their control, are finished."""
    known = catalogue.shipped()
    controls = {row.cell: _explored([row], None) for row in spark.sql(_OWN_CONTROLS).collect()}
    by_mutant: dict[str, list[Row]] = {}
    for row in spark.sql(_OWN).collect():
        by_mutant.setdefault(row.mutant, []).append(row)
    judged = {}
    for id_, rows in by_mutant.items():
        mutant, control = known.get(id_), controls.get(rows[0].control)
        if mutant is None or control is None:
            continue
        if {row.judged for row in rows} == set(mutant.expect or (None,)):
            judged[id_] = mutation.judge(mutant, control, _explored(rows, mutant))
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
