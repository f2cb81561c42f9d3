"""The state graph of a small scenario, as arrays and as a networkx graph, whole or projected."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import cast

import networkx as nx
import numpy as np

from kraftcheck.checking.answers import tables_of
from kraftcheck.engine.graph import LOST, Graph, collect_graph
from kraftcheck.engine.system import GlobalState, Limits, PathStep, System
from kraftcheck.engine.witness import Witnessing, faults_of, violated_in
from kraftcheck.graphs.projection import ROLE_EPOCH, Projection
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import kind_of

_CUT = re.compile(r"crashes after effect \d+ of \d+")


@dataclass(frozen=True, slots=True)
class States:
    """The reachable graph of ``system``, with the states after steps that violate a property.

    ``violated``: by state what is violated there, or by the step to it; nothing goes on from such a state.
    ``names`` and ``faults``: by label number of an edge what the step is called, and the faults in it.
    """

    system: ModelSystem
    graph: Graph
    violated: dict[int, tuple[str, ...]]
    names: tuple[str, ...]
    faults: tuple[tuple[str, ...], ...]

    def label(self, number: int, projection: Projection = ROLE_EPOCH) -> str:
        """A state, as ``projection`` shows it."""
        return projection.label(self.system, self.graph.state(number))


def collect_states(
    system: ModelSystem, max_states: int, threads: int = 1, *, max_depth: int | None = None
) -> States:
    """The reachable graph of ``system``, with ``max_depth`` up to that level. Raises IncompleteGraphError."""
    witnessing = Witnessing(system)
    limits = Limits(max_states, max_depth=max_depth)
    with tables_of(cast(System, witnessing)) as tables:
        graph = collect_graph(tables.system, threads=threads, limits=limits, tables=tables)
    # Nothing goes on from a state that violates something, so that only dead ends are looked at.
    ends = np.setdiff1d(np.arange(graph.size), graph.sources).tolist()
    judged = {number: violated_in(witnessing, graph.state(number)) for number in ends}
    violated = {number: names for number, names in judged.items() if names}
    faults = kind_of(system).faults
    return States(
        system,
        graph,
        violated,
        tuple(_name(step, action) for step, action in graph.label_values),
        tuple(
            tuple(faults_of(step, action, system.budget_names, faults)) for step, action in graph.label_values
        ),
    )


def _name(step: PathStep, action: object) -> str:
    return f"loss of {step.message}" if action == LOST else str(action)


def state_graph(states: States, projection: Projection = ROLE_EPOCH) -> nx.MultiDiGraph:
    """``states`` as a graph of networkx: a node for each state, an edge for each step.

    Nodes are numbered in the order of a breadth-first search and have the attributes ``label``
    (``projection``), ``in_flight`` (number of messages), ``initial``, and ``violates`` (the properties that
    are violated there, or by the steps to it). Edges have ``action``.
    """
    found = states.graph
    graph = nx.MultiDiGraph(name=states.system.name, projection="none", states=found.size)
    for number in range(found.size):
        state: GlobalState = found.state(number)
        graph.add_node(
            number,
            label=projection.label(states.system, state),
            in_flight=len(state.messages),
            initial=number in found.initial,
            violates=" ".join(states.violated.get(number, ())),
        )
    edges = zip(found.sources.tolist(), found.targets.tolist(), found.labels.tolist(), strict=True)
    graph.add_edges_from((source, target, {"action": states.names[label]}) for source, target, label in edges)
    return graph


def projected(graph: nx.MultiDiGraph, name: str = "role-epoch") -> nx.MultiDiGraph:
    """``graph`` with the states of the same label in one node; those that violate something are apart.

    Nodes have ``label``, ``states`` (how many they stand for), ``internal`` (how many steps lead from one to
    another of them), ``initial`` and ``violates``; edges have ``action`` and ``steps``, the number
    of steps of that name.
    """
    found = nx.MultiDiGraph(name=graph.graph["name"], projection=name, states=graph.number_of_nodes())
    numbers: dict[tuple[str, str], int] = {}
    group: dict[int, int] = {}
    for node, data in graph.nodes(data=True):
        number = group[node] = numbers.setdefault((data["label"], data["violates"]), len(numbers))
        if number not in found:
            attributes = {"label": data["label"], "violates": data["violates"]}
            found.add_node(number, states=0, internal=0, initial=False, **attributes)
        entry = found.nodes[number]
        entry["states"] += 1
        entry["initial"] = entry["initial"] or data["initial"]
    counted: Counter[tuple[int, int, str]] = Counter()
    for source, target, action in graph.edges(data="action"):
        if group[source] == group[target]:
            found.nodes[group[source]]["internal"] += 1
        else:
            counted[group[source], group[target], action] += 1
    for (source, target, action), steps in counted.items():
        found.add_edge(source, target, action=action, steps=steps)
    return found


def merged(graph: nx.MultiDiGraph) -> nx.DiGraph:
    """``graph`` with one edge for each pair of nodes: ``steps``, their number, and ``actions``, a mapping
    from what steps are called to how many there are; steps that differ only in where a crash cuts them short
    are one there.
    """
    found = nx.DiGraph(**graph.graph)
    found.add_nodes_from(graph.nodes(data=True))
    for source, target, data in graph.edges(data=True):
        if not found.has_edge(source, target):
            found.add_edge(source, target, steps=0, actions=Counter())
        edge = found.edges[source, target]
        edge["steps"] += data.get("steps", 1)
        edge["actions"][_CUT.sub("crashes on the way", data["action"])] += data.get("steps", 1)
    return found
