"""What a campaign found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.campaign import mutants
from kraftcheck.pipeline.campaign.cells import NO_MUTANT
from kraftcheck.pipeline.campaign.store import Row, Store
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import BrokenInitialPrefix

if TYPE_CHECKING:
    from kraftcheck.checking.coverage.report import Report
    from kraftcheck.systems.kind import ModelSystem

#: How many cells each list of single cells names, and how many the list of the slowest.
_MOST, _SLOWEST = 1_000, 10
_WHICH = ("scenario", "protocol", "bounds", "mutant", "judged", "engine", "seed")


def make(store: Store) -> dict[str, Any]:
    """The report. Raises InputError where there is no campaign."""
    plan = store.planned()
    ids = {row["cell"] for row in plan}
    cells = [row for row in store.finished() if row["cell"] in ids]
    return of_rows(plan, cells) | {"coverage": _coverage(store, cells)}


def of_rows(plan: Sequence[Row], cells: Sequence[Row]) -> dict[str, Any]:
    """The report, but for coverage, from the planned cells and what the finished ones found."""
    became, kills = mutants.found(plan, {row["cell"]: row for row in cells})
    by_scenario = sorted(cells, key=lambda row: (row["scenario"], row["cell"]))
    limited = [row for row in by_scenario if row["limit"] not in (None, "walks")]
    limits = Counter(row["limit"] for row in by_scenario if row["limit"] is not None)
    different = [row for row in by_scenario if row["as_expected"] is False]
    trouble = [row for row in by_scenario if row["verdict"] in ("invalid", "failed")]
    slowest = sorted(cells, key=lambda row: -(row["seconds"] or 0))[:_SLOWEST]
    return {
        "campaign": plan[0]["campaign"],
        "cells": {
            "planned": len(plan),
            "verdicts": dict(Counter(row["verdict"] for row in cells)),
            "finished": len(cells),
            "as_expected": sum(row["as_expected"] is True for row in cells),
            "not_as_expected": len(different),
            "open": sum(map(mutants.is_open, cells)),
            "seconds": _sum(row["seconds"] for row in cells),
            "distinct_states": _sum(row["distinct"] for row in cells),
            "peak_memory": max((row["peak_memory"] or 0 for row in cells), default=0),
        },
        "found": _found(cells),
        "not_as_expected": _listed(different, _columns("expected", "verdict", "differences")),
        "mutants": became,
        "kills": kills,
        "limits": {"cells": dict(sorted(limits.items())), "which": _listed(limited, _measured)},
        "trouble": _listed(trouble, _columns("verdict", "error")),
        "slowest": _listed(slowest, _measured),
    }


def _sum(values: Iterable[Any]) -> Any:
    return sum(value or 0 for value in values)


def _columns(*names: str) -> Callable[[Row], Row]:
    return lambda row: {name: row[name] for name in (*_WHICH, *names)}


def _measured(row: Row) -> Row:
    measured = _columns("limit", "seconds", "peak_memory")(row)
    return measured | {"distinct_states": row["distinct"]}


def _listed(rows: Sequence[Row], shown: Callable[[Row], Row]) -> list[Row]:
    return [shown(row) for row in rows[:_MOST]]


def _found(cells: Iterable[Row]) -> list[Row]:
    """What the unchanged reference violates, by property, scenario, variant, bounds and engine."""
    places: dict[tuple[str, ...], list[tuple[int | None, str | None]]] = {}
    for row in cells:
        for each in (row["violated"] or ()) if row["mutant"] == NO_MUTANT else ():
            key = (each["property"], row["scenario"], row["protocol"], row["bounds"], row["engine"])
            places.setdefault(key, []).append((each["steps"], row["expected"]))
    names = ("property", "scenario", "protocol", "bounds", "engine")
    return [
        dict(zip(names, key, strict=True))
        | {
            "cells": len(each),
            "steps": min((steps for steps, _ in each if steps is not None), default=None),
            "expected": each[0][1],
        }
        for key, each in sorted(places.items())
    ]


# Coverage.


def _coverage(store: Store, cells: Sequence[Row]) -> dict[str, Any] | None:
    """What the cells of the unchanged reference exercise, and what none does; ``None``: not noted."""
    items = {item for row in cells if row["mutant"] == NO_MUTANT for item in row["covered"] or ()}
    if not items:
        return None
    found = _as_report(_systems(store.covering()), items)
    return {"data": found.as_data(), "lines": [list(line) for line in found.lines()]}


def _as_report(systems: list[ModelSystem], told: Iterable[str]) -> Report:
    from kraftcheck.checking.coverage.covering import Covered, guards_of
    from kraftcheck.checking.coverage.report import Report, to_cover

    parted = [text.partition(" ") for text in told]
    items = frozenset((kind, name) for kind, _, name in parted if kind != "guard")
    guards = [name.rpartition(" ") for kind, _, name in parted if kind == "guard"]
    seen = frozenset((place, answer == "true") for place, _, answer in guards)
    return Report(Covered(items, seen or None), to_cover(systems), guards_of(systems))


def _systems(contents: Iterable[str]) -> list[ModelSystem]:
    """The systems whose steps are noted; a scenario that contradicts itself has none, as its cells say."""
    from kraftcheck.systems.kinds import kind_of
    from kraftcheck.systems.scenario import from_data

    systems = []
    for content in contents:
        scenario = from_data(json.loads(content), "a scenario of the campaign")
        try:
            systems.append(kind_of(scenario).build(scenario))
        except BrokenInitialPrefix as broken:
            systems.append(broken.system)
        except InputError:
            continue
    return systems
