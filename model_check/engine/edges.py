"""The steps of a graph that change the state, by their sources, and breadth-first search along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.graph import Graph

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class Edges:
    """The edges of ``graph`` that change the state, in order of their sources.

    ``numbers``: their numbers in the graph; ``sources``, ``targets``, ``labels``: as in the graph; those that
    leave state i are numbers ``starts[i]`` to ``starts[i + 1] - 1``. ``watch``: see the graph. About 16 bytes
    an edge and 8 a state.
    """

    def __init__(self, graph: Graph) -> None:
        self.size, self.watch = graph.size, graph.watch
        kept = np.flatnonzero(graph.moving).astype(np.int32)
        order: NDArray[Any] = graph.sources[kept]
        if np.any(order[1:] < order[:-1]):
            kept = kept[np.argsort(order, kind="stable")]
        self.numbers: NDArray[np.int32] = kept
        self.sources, self.targets = graph.sources[kept], graph.targets[kept]
        self.labels = graph.labels[kept]
        self.starts: Numbers = np.searchsorted(self.sources, np.arange(graph.size + 1)).astype(np.int64)

    def leaving(self, nodes: Numbers) -> Numbers:
        """The edges that leave ``nodes``, in order."""
        begins = self.starts[nodes]
        counts = self.starts[nodes + 1] - begins
        offsets = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        leaving: Numbers = np.arange(counts.sum()) + offsets
        return leaving

    def search(self, sources: Sequence[Numbers], allowed: Mask) -> tuple[Numbers, Numbers]:
        """Breadth first through ``allowed`` states; ``sources[d]`` are already at distance d.

        Returns (distances, the edge by which each state was first reached); -1 where there is none.
        """
        distance = np.full(self.size, -1, np.int64)
        edge = np.full(self.size, -1, np.int64)
        frontier = np.empty(0, np.int64)
        level = 0
        while len(frontier) or level < len(sources):
            self.watch("follows the steps of the graph")
            if level < len(sources):
                fresh = sources[level][allowed[sources[level]] & (distance[sources[level]] < 0)]
                distance[fresh] = level
                frontier = np.concatenate([frontier, fresh])
            leaving = self.leaving(frontier)
            targets = self.targets[leaving]
            fresh_edges = leaving[allowed[targets] & (distance[targets] < 0)]
            found, first = np.unique(self.targets[fresh_edges], return_index=True)
            frontier = found.astype(np.int64)
            edge[frontier] = fresh_edges[first]
            level += 1
            distance[frontier] = level
        return distance, edge

    def back(self, state: int, edge: Numbers) -> list[int]:
        """The edges on the path to ``state`` that :meth:`search` found."""
        path: list[int] = []
        while edge[state] >= 0:
            path.append(int(edge[state]))
            state = int(self.sources[path[-1]])
        return path[::-1]
