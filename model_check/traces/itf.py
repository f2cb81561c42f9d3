"""A trace in the Informal Trace Format of Apalache, which viewers of TLA+ traces read.

Source: the format's ADR-015 of Apalache. Values are texts, as the other views show them.
"""

from __future__ import annotations

from kraftcheck.support.printable import json_text
from kraftcheck.systems.kind import Flying, Place
from kraftcheck.traces.model import Trace
from kraftcheck.traces.view import view_of
from kraftcheck.traces.words import label, node_fields

Value = object


def dumps(trace: Trace) -> str:
    """``trace`` as JSON. Variables: ``step`` (what leads to the state), ``replicas`` (a map from names to the
    fields of the local states), ``in_flight`` (messages; equal ones are one element of the set) and
    ``budgets``. A behaviour that repeats has ``loop``, the index of the state to which it returns.
    """
    view = view_of(trace)
    nodes = dict(trace.nodes)
    states = [_state(0, "the beginning", nodes, trace.in_flight, trace.budgets)]
    for step, seen in zip(trace.steps, view.steps, strict=True):
        nodes.update(step.nodes)
        head = f"{seen.actor}: {seen.head}"
        states.append(_state(step.number, head, nodes, step.in_flight, step.budgets))
    data: dict[str, Value] = {
        "#meta": {
            "format": "ITF",
            "description": view.title,
            "source": f"kraftcheck trace show {view.permalink}",
        },
        "vars": ["step", "replicas", "in_flight", "budgets"],
        "states": states,
    }
    if trace.loop is not None:
        data["loop"] = trace.loop
    return json_text(data, indent=1) + "\n"


def _state(
    index: int,
    step: str,
    nodes: dict[Place, object],
    flying: tuple[Flying, ...],
    budgets: tuple[tuple[str, int], ...],
) -> Value:
    replicas = [
        [str(place), {"#map": [list(pair) for pair in node_fields(node).items()]}]
        for place, node in nodes.items()
    ]
    messages = dict.fromkeys(f"{each.source}→{each.destination} {label(each)}" for each in flying)
    return {
        "#meta": {"index": index},
        "step": step,
        "replicas": {"#map": replicas},
        "in_flight": {"#set": list(messages)},
        "budgets": {"#map": [list(pair) for pair in budgets]},
    }
