"""The answers of a state graph: as data, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from kraftcheck.graphs.projection import Condition, Projection, seen
from kraftcheck.graphs.queries import Queries, StatePath, initial, where
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import build as build_trace
from kraftcheck.traces.paths import path_text

#: How many values of a field are shown.
MOST_SEEN = 8


class Answers:
    """Answers about the graph of ``chosen``, with states shown by ``projection``.

    Each is a mapping for JSON: ``question``, ``found`` (whether there is anything of the kind), and what.
    """

    def __init__(self, queries: Queries, chosen: Scenario, projection: Projection) -> None:
        self.queries, self.chosen, self.projection = queries, chosen, projection
        self.states = queries.states

    def path(self, begin: Condition | None, end: Condition) -> dict[str, Any]:
        """A shortest path from ``begin`` (from the beginning, if it is ``None``) to ``end``."""
        first = initial(self.states) if begin is None else where(self.states, begin)
        found = self.queries.shortest(first, where(self.states, end))
        data: dict[str, Any] = {"question": "path", "scenario": self.chosen.name, "found": found is not None}
        return data | (self._never(begin, end) if found is None else self._shown(found))

    def shared(self, end: Condition) -> dict[str, Any]:
        """The common parts of all paths from the beginning to ``end``."""
        found = self.queries.shared(where(self.states, end), self.projection)
        data: dict[str, Any] = {
            "question": "shared",
            "scenario": self.chosen.name,
            "found": found is not None,
        }
        if found is None:
            return data | self._never(end)
        single = [self.states.label(number, self.projection) for number in found.states]
        return data | {
            "shared_steps": list(found.steps),
            "shared_looks": list(found.labels),
            "shared_states": single,
            "shortest": self._shown(found.path),
        }

    def after_faults(self) -> dict[str, Any]:
        """The looks that states have only after a fault."""
        found = self.queries.after_faults(self.projection)
        return {
            "question": "after-faults",
            "scenario": self.chosen.name,
            "found": bool(found),
            "looks": [
                {"look": each.label, "states": each.states, "steps": each.steps, "faults": list(each.faults)}
                for each in found
            ],
        }

    def _never(self, *conditions: Condition | None) -> dict[str, Any]:
        """Fields that are never as asked for, with what they are instead."""
        graph = self.states.graph
        missing = []
        for condition in (each for some in conditions if some is not None for each in some.each()):
            if where(self.states, condition).any():
                continue
            ((field, owner, text),) = condition.wanted
            values = {
                each
                for number in range(graph.size)
                for each in seen(self.states.system, graph.state(number), field, owner)
            }
            name = field if owner is None else f"{field}.{owner}"
            missing.append({"field": name, "asked": text, "seen": sorted(values)})
        return {"never": missing}

    def _shown(self, path: StatePath) -> dict[str, Any]:
        """A path, with the path by which ``kraftcheck trace show`` shows it from the beginning."""
        begin = np.zeros(self.states.graph.size, np.bool_)
        begin[path.states[0]] = True
        before = self.queries.shortest(initial(self.states), begin)
        assert before is not None
        steps = (*before.steps(self.states), *path.steps(self.states))
        return {
            "begins": self.states.label(path.states[0], self.projection),
            "steps_before": len(before.labels),
            "steps": [
                {"action": self.states.names[label], "then": self.states.label(number, self.projection)}
                for label, number in zip(path.labels, path.states[1:], strict=True)
            ],
            "violates": list(self.states.violated.get(path.states[-1], ())),
            "path": path_text(build_trace(self.states.system, self.chosen, steps).path),
        }


def in_words(data: dict[str, Any]) -> Iterator[str]:
    """An answer as lines of text."""
    if data["question"] == "path":
        yield from (_path(data) if data["found"] else _nowhere(data, "No such path is within the bounds."))
    elif data["question"] == "shared":
        yield from (_shared(data) if data["found"] else _nowhere(data, "No path there is within the bounds."))
    elif not data["found"]:
        yield "Everything that can be seen of states is there without a fault as well."
    else:
        for each in data["looks"]:
            many = "1 state" if each["states"] == 1 else f"{each['states']:,} states"
            faults = Counter(each["faults"])
            needed = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in faults.items())
            yield f"{each['look']}: {many}; the first one {_steps(each['steps'])} away, with {needed}"


def _nowhere(data: dict[str, Any], sentence: str) -> Iterator[str]:
    yield sentence
    for each in data["never"]:
        values = each["seen"]
        more = f" and {len(values) - MOST_SEEN:,} others" if len(values) > MOST_SEEN else ""
        yield f"{each['field']} is never {each['asked']}; seen: {' | '.join(values[:MOST_SEEN])}{more}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def _path(data: dict[str, Any]) -> Iterator[str]:
    before = data["steps_before"]
    yield f"     {data['begins']}" + (f" (after {_steps(before)})" if before else "")
    for number, step in enumerate(data["steps"], 1):
        yield f"{number:3}. {step['action']}"
        yield f"     {step['then']}"
    if data["violates"]:
        yield f"     violates {', '.join(data['violates'])}"
    yield f"Again: kraftcheck trace show {data['scenario']} --path {data['path']}"


def _shared(data: dict[str, Any]) -> Iterator[str]:
    yield "Every path there takes steps called:"
    yield from (f"  {name}" for name in data["shared_steps"] or ["(none that all paths take)"])
    yield "and passes states that look like this:"
    yield from (f"  {look}" for look in data["shared_looks"] or ["(nothing that all paths pass)"])
    many = len(data["shared_states"])
    yield f"Single states that are on every path: {many}" + (", the last of them" if many else "")
    yield from (f"  {look}" for look in data["shared_states"][-1:])
    yield f"A shortest path ({_steps(len(data['shortest']['steps']))}):"
    yield from _path(data["shortest"] | {"scenario": data["scenario"]})
