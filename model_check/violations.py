"""What is said of violations where it is asked for: their causes, and the smallest bounds that show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from model_check.counterexamples import causes_of
from model_check.engine.system import Violation
from model_check.run import CheckResult
from model_check.smallest_bounds import Lowered, smallest_bounds, smallest_bounds_of_eventually
from model_check.trace import build
from model_check.trace.narrate import path_text


def more_data(result: CheckResult, causes: int | None, bounds: bool, threads: int = 1) -> dict[str, Any]:
    """For JSON: ``causes``, up to so many of each property, and ``smallest_bounds``, each where asked for.

    ``None`` in the place of causes: too many states would have to be explored again.
    """
    data: dict[str, Any] = {}
    # The run that leads to replicas.led-by is what it is: there is no other one, and no bound concerns it.
    violations = () if result.prelude else result.exploration.violations
    if causes is not None:
        data["causes"] = {each.property: _causes(result, each, causes) for each in violations}
    if bounds:
        found = {each.property: _bounds(result, each, threads) for each in violations}
        for judged in result.judged:
            if not judged.holds:
                lowered = smallest_bounds_of_eventually(result.scenario, judged, threads=threads)
                found[judged.name] = lowered.bounds
        data["smallest_bounds"] = {name: _as_data(lowered) for name, lowered in found.items()}
    return data


def _as_data(bounds: Iterable[Lowered]) -> dict[str, Any]:
    return {
        each.name: {"before": each.before, "smallest": each.smallest, "open": each.open} for each in bounds
    }


def _causes(result: CheckResult, violation: Violation, most: int) -> list[dict[str, Any]] | None:
    found = causes_of(result.system, violation)
    if found is None:
        return None
    return [
        {
            "step": cause.step,
            "faults": list(cause.faults),
            "steps": best.violation.depth,
            "replicas": best.actors,
            "switches": best.switches,
            "path": path_text(build(result.system, result.scenario, best.violation).path),
        }
        for cause, best in found[:most]
    ]


def _bounds(result: CheckResult, violation: Violation, threads: int) -> tuple[Lowered, ...]:
    simplest = result.simplest.get(violation.property)
    begin = violation if simplest is None else simplest.violation
    return smallest_bounds(result.scenario, begin, threads=threads).bounds


def in_words(result: CheckResult, data: dict[str, Any]) -> Iterator[str]:
    """What :func:`more_data` gives, a sentence or so at a time."""
    if "causes" in data and any(not judged.holds for judged in result.judged):
        yield "Causes of an eventually property are not looked for: -v shows one counterexample."
    for violated, found in data.get("causes", {}).items():
        if found is None:
            yield f"{violated}: there are too many states to look for causes."
            continue
        for each in found:
            faults = f"faults: {', '.join(each['faults'])}" if each["faults"] else "no fault"
            steps = "1 step" if each["steps"] == 1 else f"{each['steps']} steps"
            replicas = "1 replica" if each["replicas"] == 1 else f"{each['replicas']} replicas"
            yield (
                f"{violated} by {each['step'] or 'the initial state'}; {faults}; in {steps} of {replicas}: "
                f"kraftcheck trace show {result.scenario.name} --path {each['path']}"
            )
    for violated, lowered in data.get("smallest_bounds", {}).items():
        told = [f"{name} {_told(each)}" for name, each in lowered.items()]
        yield f"{violated} with the smallest bounds: {'; '.join(told) or 'none to lower'}"


def _told(lowered: dict[str, Any]) -> str:
    before, smallest = (_value(lowered[key]) for key in ("before", "smallest"))
    told = smallest if before == smallest else f"{smallest} (of {before})"
    return told + (", less is too large to tell" if lowered["open"] else "")


def _value(value: Any) -> str:
    return str(value) if isinstance(value, int) else (", ".join(value) or "none")
