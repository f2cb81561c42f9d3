"""Strongly connected components of a graph given as arrays: by networkx, or by scipy where it is large.

networkx keeps a dictionary for every state and walks them in Python; scipy.sparse.csgraph walks the arrays
themselves (Pearce, "An improved algorithm for finding the strongly connected components of a directed graph",
2005). Both find the same components; the numbers of components have no meaning.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.sparse import connected_components, csr_array

Numbers = NDArray[np.int64]
Ends = NDArray[Any]

#: With more edges than this the arrays are searched directly: for that many edges networkx takes about a
#: second, during which no limit is checked, the arrays a hundredth of one.
NETWORKX_EDGES = 100_000


def strong_components(size: int, sources: Ends, targets: Ends, *, most: int | None = None) -> Numbers:
    """The number of the strongly connected component of each of ``size`` states; 0 is the first one.

    ``most``: the number of edges up to which networkx computes them (``NETWORKX_EDGES``).
    """
    if len(sources) <= (NETWORKX_EDGES if most is None else most):
        return _by_networkx(size, sources, targets)
    return _by_scipy(size, sources, targets)


def _by_networkx(size: int, sources: Ends, targets: Ends) -> Numbers:
    """States without an edge are left out of the graph: each is a component of its own."""
    graph = nx.DiGraph(zip(sources.tolist(), targets.tolist(), strict=True))
    component = np.full(size, -1, np.int64)
    count = 0
    for members in nx.strongly_connected_components(graph):
        component[list(members)] = count
        count += 1
    alone = np.flatnonzero(component < 0)
    component[alone] = np.arange(count, count + len(alone))
    return component


def _by_scipy(size: int, sources: Ends, targets: Ends) -> Numbers:
    matrix = csr_array((np.ones(len(sources), np.int8), (sources, targets)), shape=(size, size))
    _, component = connected_components(matrix, directed=True, connection="strong")
    numbers: Numbers = component.astype(np.int64)
    return numbers
