"""Strongly connected components by networkx, with which those by arrays must agree."""

from __future__ import annotations

import networkx as nx
import numpy as np

from kraftcheck.engine.cycles import Ends
from kraftcheck.engine.edges import Numbers


def by_networkx(size: int, sources: Ends, targets: Ends) -> Numbers:
    """As :func:`kraftcheck.engine.cycles.strong_components`, except for the order of the numbers."""
    graph = nx.DiGraph(zip(sources.tolist(), targets.tolist(), strict=True))
    graph.add_nodes_from(range(size))
    component = np.empty(size, np.int64)
    for number, members in enumerate(nx.strongly_connected_components(graph)):
        component[list(members)] = number
    return component
