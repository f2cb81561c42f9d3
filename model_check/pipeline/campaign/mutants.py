"""What became of the mutants of a campaign, each compared with its control: the unchanged reference in the
same cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kraftcheck.checking.mutation import campaign as mutation
from kraftcheck.checking.mutation import catalogue
from kraftcheck.pipeline.campaign.cells import NO_MUTANT
from kraftcheck.support.forks import End, Ended

Row = dict[str, Any]

_REFERENCE = "the unchanged reference"


class Place(NamedTuple):
    """What became of a mutant in one cell.

    ``what``: killed, survived, undetermined, invalid or failed. ``kills``: the violations that count.
    ``own_unfinished``: the cell is one of its own scenario, and not finished.
    """

    scenario: str
    what: str
    why: str | None
    kills: list[Row]
    own_unfinished: bool


def is_open(cell: Row) -> bool:
    """Whether a finished cell leaves something undetermined: walks that found nothing, where nothing is
    expected, do not.
    """
    if cell["verdict"] != "undetermined":
        return False
    return not (cell["limit"] == "walks" and cell["expected"] in (None, "holds"))


def found(plan: Sequence[Row], cells: Mapping[str, Row]) -> tuple[dict[str, Any], list[Row]]:
    """What became of each mutant and why, and what it violates that the unchanged reference does not.

    ``cells``: the finished ones by id. A mutant is judged as ``kraftcheck mutate`` judges it where it ran in
    its own scenario.
    """
    places: dict[str, list[Place]] = {}
    for planned in sorted(plan, key=lambda row: str(row["mutant"])):
        if planned["mutant"] != NO_MUTANT:
            control = cells.get(planned["control"])
            place = _place(planned, cells.get(planned["cell"]), control)
            places.setdefault(planned["mutant"], []).append(place)
    own = _judged(plan, cells)
    status, reasons = {}, {}
    for mutant, of_mutant in places.items():
        result = own.get(mutant)
        what, why = _became(of_mutant) if result is None else (result.status, result.reason)
        status[mutant] = what.value
        if what is not mutation.Status.KILLED and why:
            reasons[mutant] = " ".join(why.split())
    return {"status": status, "reasons": reasons}, _all_kills(places)


def _all_kills(places: Mapping[str, Sequence[Place]]) -> list[Row]:
    kills: dict[tuple[str, str], list[tuple[int | None, str]]] = {}
    for mutant, of_mutant in places.items():
        for place in of_mutant:
            for each in place.kills:
                kills.setdefault((mutant, each["property"]), []).append((each["steps"], place.scenario))
    return [
        {
            "property": name,
            "mutant": mutant,
            "cells": len(each),
            "steps": min((steps for steps, _ in each if steps is not None), default=None),
            "scenarios": sorted({scenario for _, scenario in each}),
        }
        for (mutant, name), each in sorted(kills.items())
    ]


def _place(planned: Row, cell: Row | None, control: Row | None) -> Place:
    known = {each["property"] for each in (control or {}).get("violated") or ()}
    violated = [] if cell is None else cell["violated"] or []
    new = [each for each in violated if each["property"] not in known]
    kills = [each for each in new if cell is not None and _kills(each, cell, control)]
    own = planned["expected"] is not None and cell is None
    if kills:
        return Place(planned["scenario"], "killed", None, kills, own)
    why = "not finished" if cell is None else _why(cell, control, violated, new)
    what = "survived" if why is None else "undetermined"
    if cell is not None and cell["verdict"] in ("invalid", "failed"):
        what = cell["verdict"]
    return Place(planned["scenario"], what, why, kills, own)


def _comparable(control: Row | None) -> bool:
    return control is not None and (
        control["verdict"] in ("holds", "violated") or control["limit"] == "walks"
    )


def _kills(violation: Row, cell: Row, control: Row | None) -> bool:
    """Whether ``violation`` kills the mutant: the control must have been judged as far as it is away, in
    steps, or in walks that have ended. *Eventually* properties are judged where all was explored, no safety
    property is violated, and the graph fits the limits.
    """
    if control is None or not _comparable(control):
        return False
    if control["judged_to"] is None:
        return violation["kind"] != "eventually" or bool(control["eventually_judged"])
    if violation["kind"] != "safety" or cell["judged_to"] is None:
        return False
    if cell["engine"] == "check":
        return bool(violation["steps"] <= control["judged_to"])
    # The walk that violates it comes after those that have ended.
    return bool(cell["judged_to"] < control["judged_to"])


def _why(cell: Row, control: Row | None, violated: Sequence[Row], new: Sequence[Row]) -> str | None:
    """Why a cell that does not kill its mutant leaves it undetermined; ``None``: the mutant survived."""
    limit = cell["limit"] or "a limit"
    if cell["verdict"] in ("invalid", "failed"):
        return ": ".join(text for text in (cell["verdict"], cell["error"]) if text)
    if is_open(cell):
        return f"{limit} reached"
    if control is None:
        return f"{_REFERENCE} has not run there"
    if control["verdict"] == "failed":
        return f"{_REFERENCE} has failed there"
    if control["verdict"] == "invalid":
        return f"{_REFERENCE} is invalid there"
    if not _comparable(control):
        return f"{_REFERENCE}: {control['limit'] or 'a limit'} reached there"
    if new:
        return (
            f"violates {new[0]['property']}; that {_REFERENCE} does not is not known, as it violates "
            f"{control['violated'][0]['property']} there"
        )
    if violated and cell["judged_to"] is not None:
        return f"ends at {violated[0]['property']} there, which {_REFERENCE} violates too"
    if cell["engine"] == "check" and not cell["eventually_judged"]:
        because = f"it violates {violated[0]['property']}, as {_REFERENCE} does" if violated else ""
        because = f"{cell['limit']} reached" if cell["limit"] else because
        return f"eventually properties were not judged there: {because}"
    return None


def _became(places: Sequence[Place]) -> tuple[mutation.Status, str]:
    """What became of a mutant, and why, by what became of it in its cells."""
    by_what: dict[str, list[Place]] = {}
    for place in places:
        by_what.setdefault(place.what, []).append(place)
    undetermined = by_what.get("undetermined", [])
    # In its own scenario a mutant is killed by all that it must violate, not by some of it.
    if "killed" in by_what and not any(place.own_unfinished for place in undetermined):
        return mutation.Status.KILLED, ""
    if undetermined:
        return mutation.Status.UNDETERMINED, _reason(undetermined)
    if "failed" in by_what:
        return mutation.Status.FAILED, _reason(by_what["failed"])
    if "survived" in by_what:
        return mutation.Status.SURVIVED, ""
    return mutation.Status.UNDETERMINED, _reason(by_what["invalid"])


def _reason(places: Sequence[Place]) -> str:
    first = min(places, key=lambda place: (place.scenario, place.why or ""))
    among = f" (one of {len(places):,} cells)" if len(places) > 1 else ""
    return f"{first.scenario}: {first.why}{among}"


# Mutants in their own scenarios.


def _judged(plan: Sequence[Row], cells: Mapping[str, Row]) -> dict[str, mutation.Result]:
    """What ``kraftcheck mutate`` says of the mutants all of whose cells, and their control, are finished."""
    known = catalogue.shipped()
    by_mutant: dict[str, list[Row]] = {}
    controls: dict[str, Row | None] = {}
    for planned in plan:
        if planned["mutant"] != NO_MUTANT and planned["expected"] is not None:
            controls[planned["mutant"]] = cells.get(planned["control"])
            if (cell := cells.get(planned["cell"])) is not None:
                by_mutant.setdefault(planned["mutant"], []).append(cell)
    judged = {}
    for id_, rows in by_mutant.items():
        mutant, control = known.get(id_), controls[id_]
        if mutant is None or control is None:
            continue
        if {row["judged"] for row in rows} == set(mutant.expect or (None,)):
            judged[id_] = mutation.judge(mutant, _explored([control], None), _explored(rows, mutant))
    return judged


def _explored(rows: list[Row], mutant: catalogue.Mutant | None) -> Ended:
    """Rows as what ``kraftcheck mutate`` has of its processes."""
    error = next((row["error"] for row in rows if row["error"] is not None), None)
    order = mutant.expect if mutant is not None else ()
    told = sorted(rows, key=lambda row: order.index(row["judged"]) if row["judged"] in order else -1)
    return Ended([*map(_exploration, told)], End.DONE if error is None else End.FAILED, error or "")


def _exploration(row: Row) -> dict[str, Any]:
    first = row["violated"][0] if row["violated"] else {"property": None, "steps": None}
    return {
        "judged": row["judged"],
        "verdict": row["verdict"],
        "property": first["property"],
        "steps": first["steps"],
        "states": row["distinct"],
        "seconds": row["explored_seconds"],
        "limit": row["limit"],
        "trace": [],
        "differences": row["differences"] or [],
    }
