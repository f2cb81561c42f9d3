"""Details of violations on request: their causes, and the smallest bounds that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kraftcheck.checking.counterexamples import causes_of
from kraftcheck.checking.eventually import causes_of_lassos
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.checking.smallest_bounds import (
    MOST_STATES,
    Smallest,
    smallest_bounds,
    smallest_bounds_of_eventually,
)
from kraftcheck.engine.system import Violation
from kraftcheck.engine.watch import IncompleteGraphError, Watch
from kraftcheck.systems.kind import Judged
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Eventually, Scenario
from kraftcheck.traces import build
from kraftcheck.traces.paths import path_text

Data = dict[str, Any]


def more_data(result: CheckResult, causes: int | None, bounds: bool, threads: int = 1) -> dict[str, Any]:
    """For JSON: ``causes``, up to so many of each property, and ``smallest_bounds``, each on request.

    ``None`` in the place of causes: more would have to be explored again than the limits allow.
    """
    data: dict[str, Any] = {}
    with result.watch.running():
        if causes is not None:
            data["causes"] = dict(_all_causes(result, causes, threads))
        if bounds:
            data["smallest_bounds"] = dict(_all_bounds(result, threads))
            if (kept := least_kept(result.scenario, result.watch, threads)) is not None:
                data["least_promise"] = kept
    return data


def _violations(result: CheckResult) -> tuple[Violation, ...]:
    """The run that leads to replicas.initial-leader has no alternatives: no bound concerns it."""
    return () if result.initial_prefix else result.exploration.violations


def _all_causes(result: CheckResult, most: int, threads: int) -> Iterator[tuple[str, list[Data] | None]]:
    for each in _violations(result):
        yield each.property, _causes(result, each, most)
    for name, wanted, judged in _violated(result):
        if judged.lasso is not None:
            yield name, _lassos(result, wanted, judged, most, threads)


def _all_bounds(result: CheckResult, threads: int) -> Iterator[tuple[str, Data]]:
    for each in _violations(result):
        simplest = result.simplest.get(each.property)
        begin = each if simplest is None else simplest.violation
        yield each.property, _as_data(smallest_bounds(result.scenario, begin, result.watch, threads))
    for name, wanted, judged in _violated(result):
        alone = result.scenario.check.model_copy(update={"eventually": (wanted,)})
        scenario = result.scenario.model_copy(update={"check": alone})
        yield name, _as_data(smallest_bounds_of_eventually(scenario, judged, result.watch, threads))


def least_kept(scenario: Scenario, watch: Watch | None = None, threads: int = 1) -> dict[str, Any] | None:
    """The strictest number that ``scenario`` could promise, if it promises one, by trying from 0.

    ``smallest`` is ``None`` where the largest that may be promised is not kept either, or more than a million
    states would have to be explored (``open``).
    """
    watch = Watch() if watch is None else watch
    tried: dict[str, Any] | None = None
    for name, value, strict in kind_of(scenario).promises(scenario):
        found = check(
            strict,
            threads=threads,
            limits=watch.rest(max_states=MOST_STATES),
            progress=watch.progress("smallest bounds"),
        )
        violated, limit = found.exploration.violations, found.exploration.limit
        tried = {"name": name, "smallest": None, "tried": value, "open": limit is not None and not violated}
        if not violated:
            return tried if tried["open"] else tried | {"smallest": value}
    return tried


def _violated(result: CheckResult) -> Iterator[tuple[str, Eventually, Judged]]:
    """The *eventually* properties that do not hold, by their names, and also by their goals where a
    scenario wants several of one property.
    """
    names = Counter(judged.name for judged in result.judged)
    for wanted, judged in zip(result.scenario.check.eventually, result.judged, strict=False):
        if judged.violated:
            several = names[judged.name] > 1
            yield f"{judged.name} ({wanted.goal})" if several else judged.name, wanted, judged


def _as_data(found: Smallest) -> Data:
    return {
        each.name: {"before": each.before, "smallest": each.smallest, "open": each.open}
        for each in found.bounds
    }


def _causes(result: CheckResult, violation: Violation, most: int) -> list[dict[str, Any]] | None:
    found = causes_of(result.system, violation, result.watch)
    if found is None:
        return None
    return [
        {
            "step": cause.step,
            "faults": list(cause.faults),
            "steps": best.violation.depth,
            "participants": best.actors,
            "switches": best.switches,
            "path": path_text(build(result.system, result.scenario, best.violation).path),
        }
        for cause, best in found[:most]
    ]


def _lassos(
    result: CheckResult, wanted: Eventually, judged: Judged, most: int, threads: int
) -> list[dict[str, Any]] | None:
    try:
        found = causes_of_lassos(result.scenario, wanted, most, result.watch, threads)
    except IncompleteGraphError:
        return None
    return [
        {
            "cycle": list(cause.cycle),
            "faults": list(cause.faults),
            "steps": len(lasso.stem),
            "cycle_steps": len(lasso.cycle),
            "path": path_text(result.trace_of(replace(judged, lasso=lasso)).path),
        }
        for cause, lasso in found
    ]


def in_words(result: CheckResult, data: dict[str, Any]) -> Iterator[str]:
    """The result of :func:`more_data`, a sentence or so at a time."""
    for violated, found in data.get("causes", {}).items():
        if found is None:
            yield f"{violated}: more would have to be explored to look for causes than the limits allow."
        for each in found or ():
            text = _lasso_in_words(each) if "cycle" in each else _steps_in_words(each)
            asked = result.scenario.asked_preset
            under = "" if asked is None else f" --protocol {asked}"
            show = f"kraftcheck trace show {result.scenario.name}{under} --path {each['path']}"
            yield f"{violated} by {text}: {show}"
    if "causes" in data and any(judged.dead_end is not None for judged in result.judged):
        yield "Causes of a dead end are not looked for: -v shows it."
    for violated, lowered in data.get("smallest_bounds", {}).items():
        bounds = [f"{name} {_told(each)}" for name, each in lowered.items()]
        yield f"{violated} with the smallest bounds: {'; '.join(bounds) or 'none to lower'}"
    if kept := data.get("least_promise"):
        yield f"{kept['name']}: {_kept_in_words(kept)}"


def _steps_in_words(cause: dict[str, Any]) -> str:
    steps, acting = _count(cause["steps"], "step"), _count(cause["participants"], "participant")
    return f"{cause['step'] or 'the initial state'}; {_faults(cause)}; in {steps} of {acting}"


def _lasso_in_words(cause: dict[str, Any]) -> str:
    after = f"; {_faults(cause)}; after {_count(cause['steps'], 'step')}"
    if not cause["cycle"]:
        return f"doing nothing for ever{after}"
    return f"{', '.join(cause['cycle'])} for ever, {_count(cause['cycle_steps'], 'step')} a round{after}"


def _faults(cause: dict[str, Any]) -> str:
    return f"faults: {', '.join(cause['faults'])}" if cause["faults"] else "no fault"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _kept_in_words(kept: dict[str, Any]) -> str:
    if kept["open"]:
        return f"{kept['tried']} could not be decided within the limits"
    if kept["smallest"] is None:
        return f"not even {kept['tried']} holds"
    return f"{kept['smallest']} is the smallest that holds"


def _told(lowered: dict[str, Any]) -> str:
    before, smallest = (_value(lowered[key]) for key in ("before", "smallest"))
    text = smallest if before == smallest else f"{smallest} (of {before})"
    return text + (", less was not decided within the limits" if lowered["open"] else "")


def _value(value: Any) -> str:
    return str(value) if isinstance(value, int) else (", ".join(value) or "none")
