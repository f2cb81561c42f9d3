"""State graphs as text: for viewers, for networkx, and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx

from kraftcheck.graphs.picture import as_svg
from kraftcheck.support.printable import json_text


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
    return json_text(data) + "\n"


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
    "svg": as_svg,
}
