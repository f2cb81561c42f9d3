"""State graphs as text: for viewers, for networkx, and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import networkx as nx

from kraftcheck.graphs.picture import as_dot, as_svg
from kraftcheck.support.printable import json_text


def as_graphml(graph: nx.MultiDiGraph) -> str:
    """``graph`` in GraphML, for Gephi, yEd or networkx."""
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def as_json(graph: nx.MultiDiGraph) -> str:
    """``graph`` as JSON that ``networkx.node_link_graph(data, edges="edges")`` reads."""
    data = {
        "format": "kraftcheck-graph",
        "version": 2,
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


#: The formats by the name that ``--format`` takes.
FORMATS: Mapping[str, Callable[[nx.MultiDiGraph], str]] = {
    "graphml": as_graphml,
    "dot": as_dot,
    "json": as_json,
    "svg": as_svg,
}
