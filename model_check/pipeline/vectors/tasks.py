"""Where candidates come from, one task of the cluster each, and the rows that a task gives.

Of candidates that cover the same pairs only the smallest can be chosen (see :mod:`.cover`); a task keeps as
many of them as are wanted of each pair, or all.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kraftcheck.pipeline.datasets import Dataset
from kraftcheck.systems import scenario as scenarios
from kraftcheck.systems.kinds import KINDS, kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.vectors import form
from kraftcheck.vectors.candidates import Candidate, Candidates

SCENARIO = "scenario"

CANDIDATES = Dataset(
    "vector-candidates",
    1,
    "kind string, source string, tier int, features array<string>, size bigint, tie string, file string, "
    "hash string, vector string",
)


@dataclass(frozen=True, slots=True)
class Task:
    """What one task looks at: ``name`` is a scenario's, or a protocol's; ``model`` the name of the kind of
    system that it is of.
    """

    kind: str
    name: str
    model: str
    scenario: dict[str, Any] | None = None


def tasks(chosen: list[Scenario], *, beyond: bool) -> list[Task]:
    """The tasks for these scenarios; ``beyond``: and for what no scenario comes to."""
    found = [
        Task(SCENARIO, each.name, kind_of(each).name, each.model_dump(mode="json", by_alias=True))
        for each in chosen
    ]
    for each in KINDS if beyond else ():
        found += [Task(kind, name, each.name) for kind, name in each.vectors.load().beyond()]
    return found


def rows(task: Task, max_states: int, keep: int | None) -> Iterator[dict[str, Any]]:
    """The rows of ``task``, in the columns of :data:`CANDIDATES`. Raises InputError for a bad scenario."""
    source = f"{task.kind} {task.name}".strip()
    for each in _smallest(_candidates(task, max_states), keep):
        vector = each.make()
        hashed = form.digest(form.content(vector))
        vector["hash"] = hashed
        yield {
            "kind": each.kind,
            "source": source,
            "tier": each.tier,
            "features": list(each.features),
            "size": each.size,
            "tie": each.tie,
            "file": file_of(vector),
            "hash": hashed,
            "vector": form.canonical(vector),
        }


def file_of(vector: form.Vector) -> str:
    """The file of a vector: by its node and what happens in a step, the others by their kind."""
    if vector["kind"] != form.STEP:
        return f"{vector['kind']}s.json"
    folder = "steps" if vector["node"] == form.REPLICA else f"steps/{vector['node']}"
    event = vector["event"]
    if not isinstance(event, dict):
        return f"{folder}/{event}.json"
    message = event.get("request") or event.get("response")
    name = str(message["type"] if isinstance(message, dict) and "type" in message else event["type"])
    return f"{folder}/{re.sub(r'(?<=[a-z])(?=[A-Z])', '-', name.replace('KRaft', 'Kraft')).lower()}.json"


def _smallest(candidates: Iterator[Candidate], keep: int | None) -> Iterator[Candidate]:
    if keep is None:
        yield from candidates
        return
    groups: dict[tuple[str, int, tuple[str, ...]], dict[tuple[int, str], Candidate]] = {}
    for each in candidates:
        group = groups.setdefault((each.kind, each.tier, each.features), {})
        group[each.order] = each
        if len(group) > 2 * keep:
            kept = heapq.nsmallest(keep, group)
            groups[each.kind, each.tier, each.features] = {order: group[order] for order in kept}
    for group in groups.values():
        yield from (group[order] for order in heapq.nsmallest(keep, group))


def _candidates(task: Task, max_states: int) -> Iterator[Candidate]:
    nodes: Candidates = next(each for each in KINDS if each.name == task.model).vectors.load()
    if task.scenario is None:
        return nodes.beyond()[task.kind, task.name]()
    return nodes.of_scenario(scenarios.from_data(task.scenario, task.name), max_states)
