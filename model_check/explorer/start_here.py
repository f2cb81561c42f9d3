"""A scenario that begins in the state at the end of a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from kraftcheck.engine.system import GlobalState
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.short_forms import without_own_words
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import shortened
from kraftcheck.systems import scenario
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.text.replica import print_replica
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces.json_form import scenario_data
from kraftcheck.traces.paths import path_text
from kraftcheck.traces.words import label, node_fields


@dataclass(frozen=True, slots=True)
class Beginning:
    """The scenario, with ``notes`` for its reader: where it comes from, and what it leaves out."""

    scenario: Scenario
    notes: tuple[str, ...]


def scenario_here(ground: Ground, path: Path) -> Beginning:
    """The scenario that begins at the end of ``path``, with the budgets that are left.

    Goals, messages in flight and the past that properties read are left out; the notes say so. Raises
    InputError where a scenario cannot give the state of a replica.
    """
    if not path:
        return Beginning(ground.scenario, ())
    if not isinstance(ground.scenario, KRaftScenario):
        raise InputError("no scenario of brokers can begin in a given state; save the path as a trace.")
    state = ground.walk(path).state
    data = scenario_data(ground.scenario)
    texts = dict(_texts(ground, state))
    replicas = {**cast(dict[str, Any], data["replicas"]), "initial": texts}
    replicas.pop("initial-leader", None)
    left = zip(ground.system.budget_names, state.budgets, strict=True)
    data |= {
        "name": _name(ground.scenario.name),
        "about": f"The state of {ground.scenario.name} after the path {path_text(path)}.",
        "replicas": replicas,
        "budgets": {name.replace("_", "-"): count for name, count in left},
        "check": {
            key: value for key, value in cast(dict[str, Any], data.get("check", {})).items() if key != "goals"
        },
        "expect": {"verdict": "holds"},
    }
    try:
        chosen = scenario.from_data(data, "there")
        _require_same(ground, state, chosen)
    except InputError as error:
        reason = shortened(str(error), 200).rstrip(".")
        raise InputError(
            f"a scenario cannot begin in this state: {reason}; save the path as a trace."
        ) from None
    return Beginning(chosen, tuple(_notes(ground, path, state)))


def _name(name: str) -> str:
    return f"{name[:55]}-here"


def _texts(ground: Ground, state: GlobalState) -> Iterator[tuple[str, str]]:
    for place, local in zip(ground.system.places, cast(tuple[Node, ...], state.locals), strict=True):
        if local.replica is None:
            raise InputError(
                f"a scenario cannot begin with replica {place} stopped; let it start first, or save a trace."
            )
        yield str(place), without_own_words(print_replica(local.replica))


def _require_same(ground: Ground, state: GlobalState, chosen: Scenario) -> None:
    begun = kind_of(chosen).build(chosen).initial_states()[0]
    for place, wanted, found in zip(ground.system.places, state.locals, begun.locals, strict=True):
        old, new = node_fields(wanted), node_fields(found)
        differing = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if differing or wanted != found:
            what = ", ".join(differing) or "disk"
            raise InputError(f"it has no way to give {what} of replica {place}")


def _notes(ground: Ground, path: Path, state: GlobalState) -> Iterator[str]:
    yield f"The state of {ground.scenario.name} after the path {path_text(path)}."
    yield "Left out: the goals, and the past that properties read (earlier votes, leaders and commits)."
    for message in state.messages:
        each = cast(Any, message)
        yield f"Left out, as if it never arrived: {each.source} to {each.destination}: {label(each)}"
