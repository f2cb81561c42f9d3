"""The state graph of a small scenario as a networkx graph, whole or folded, and its file formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

import networkx as nx

from model_check.engine.graph import LOST, collect_graph
from model_check.engine.steps import broken_invariants
from model_check.engine.system import GlobalState
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.kraft.system import KRaftSystem
from reference.transitions import role_name


def state_graph(system: KRaftSystem, max_states: int) -> nx.MultiDiGraph:
    """The reachable graph of ``system``: a node for each state within the bounds, an edge for each step.

    Nodes are numbered in the order of a breadth-first search and have the attributes ``label`` (role and
    epoch of every replica), ``in_flight`` (number of messages), ``initial``, and ``violates`` (the invariants
    that do not hold there, which have no successors). Edges have ``action``. Steps that violate a property
    are no edges. Raises IncompleteGraphError.
    """
    found = collect_graph(system, max_states=max_states)
    graph = nx.MultiDiGraph(name=system.name, fold="none", states=found.size)
    for number in range(found.size):
        state = found.state(number)
        graph.add_node(
            number,
            label=label(system, state),
            in_flight=len(state.messages),
            initial=number in found.initial,
            violates=" ".join(broken_invariants(system, state)),
        )
    names = [_name(action, step.message) for step, action in found.label_values]
    edges = zip(found.sources.tolist(), found.targets.tolist(), found.labels.tolist(), strict=True)
    graph.add_edges_from((source, target, {"action": names[number]}) for source, target, number in edges)
    return graph


def _name(action: object, message: object) -> str:
    return f"loss of {cast(InFlight, message)}" if action == LOST else str(action)


def label(system: KRaftSystem, state: GlobalState) -> str:
    """Role and epoch of every replica: ``1 Leader e1, 2 Follower e1``."""
    parts = []
    for identity, local in zip(system.identities, state.locals, strict=True):
        replica = cast(Node, local).replica
        what = "stopped" if replica is None else f"{role_name(replica.role)} e{replica.epoch}"
        parts.append(f"{identity.id} {what}")
    return ", ".join(parts)


def fold(graph: nx.MultiDiGraph) -> nx.MultiDiGraph:
    """``graph`` with the states of the same roles and epochs in one node.

    Nodes have ``label``, ``states`` (how many they stand for), ``internal`` (how many steps lead from one to
    another of them), ``initial`` and ``violates``; edges have ``action`` and ``steps``, the number
    of steps of that name.
    """
    folded = nx.MultiDiGraph(name=graph.graph["name"], fold="role-epoch", states=graph.number_of_nodes())
    numbers: dict[str, int] = {}
    group: dict[int, int] = {}
    for node, data in graph.nodes(data=True):
        number = group[node] = numbers.setdefault(data["label"], len(numbers))
        if number not in folded:
            folded.add_node(number, label=data["label"], states=0, internal=0, initial=False, violates="")
        entry = folded.nodes[number]
        entry["states"] += 1
        entry["initial"] = entry["initial"] or data["initial"]
        entry["violates"] = " ".join(dict.fromkeys(f"{entry['violates']} {data['violates']}".split()))
    counted: Counter[tuple[int, int, str]] = Counter()
    for source, target, action in graph.edges(data="action"):
        if group[source] == group[target]:
            folded.nodes[group[source]]["internal"] += 1
        else:
            counted[group[source], group[target], action] += 1
    for (source, target, action), steps in counted.items():
        folded.add_edge(source, target, action=action, steps=steps)
    return folded


# Formats.


def as_graphml(graph: nx.MultiDiGraph) -> str:
    """``graph`` in GraphML, for Gephi, yEd or networkx."""
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def as_json(graph: nx.MultiDiGraph) -> str:
    """``graph`` as JSON that ``networkx.node_link_graph(data, edges="edges")`` reads."""
    data = {
        "format": "kraftcheck-graph",
        "version": 1,
        "directed": True,
        "multigraph": True,
        "graph": dict(graph.graph),
        "nodes": [{"id": node, **attributes} for node, attributes in graph.nodes(data=True)],
        "edges": [
            {"source": source, "target": target, "key": key, **attributes}
            for source, target, key, attributes in graph.edges(keys=True, data=True)
        ],
    }
    return json.dumps(data, ensure_ascii=False) + "\n"


def as_dot(graph: nx.MultiDiGraph) -> str:
    """``graph`` in the language of Graphviz."""
    lines = [f"digraph {_quoted(graph.graph['name'])} {{", "  node [shape=box];"]
    for node, data in graph.nodes(data=True):
        text = data["label"].replace(", ", "\n")
        text += f"\n{data['states']} states" if "states" in data else f"\n{data['in_flight']} in flight"
        look = ", peripheries=2" if data["initial"] else ""
        if data["violates"]:
            text += f"\nviolates {data['violates']}"
            look += ", color=red"
        lines.append(f"  {node} [label={_quoted(text)}{look}];")
    for source, target, data in graph.edges(data=True):
        count = data.get("steps", 1)
        text = data["action"] if count == 1 else f"{data['action']} ×{count}"
        lines.append(f"  {source} -> {target} [label={_quoted(text)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: Any) -> str:
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


#: The formats by the name that ``--format`` takes.
FORMATS: Mapping[str, Callable[[nx.MultiDiGraph], str]] = {
    "graphml": as_graphml,
    "dot": as_dot,
    "json": as_json,
}
