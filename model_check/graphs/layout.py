"""The places of a graph's nodes in a drawing: by level from left to right, neighbours next to each other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import networkx as nx

#: Between two columns of a level, two levels, and two nodes above each other, in pixels.
COLUMN_GAP, LEVEL_GAP, ROW_GAP = 24, 120, 18
_SWEEPS = 6
#: The fewest nodes of a level that are put into more than one column.
_TALL = 14


@dataclass(frozen=True, slots=True)
class Box:
    """A node's rectangle, in pixels: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


def boxes(
    graph: nx.DiGraph, levels: Mapping[Hashable, int], sizes: Mapping[Hashable, tuple[float, float]]
) -> dict[Hashable, Box]:
    """The rectangle of each node of ``graph``; no two overlap.

    levels: by node its level, from 0 on; sizes: by node its width and height. A level with many nodes has
    several columns. Levels are ordered by the barycentres of their nodes' neighbours (Sugiyama, Tagawa and
    Toda 1981).
    """
    tall = max(_TALL, ceil(1.6 * sqrt(len(levels))))
    placed: dict[Hashable, Box] = {}
    left = 0.0
    for level in _ordered(graph, levels):
        count = ceil(len(level) / tall)
        most = ceil(len(level) / count)
        for begin in range(0, len(level), most):
            column = level[begin : begin + most]
            height = sum(sizes[node][1] + ROW_GAP for node in column) - ROW_GAP
            top = -height / 2
            for node in column:
                placed[node] = Box(left, top, *sizes[node])
                top += sizes[node][1] + ROW_GAP
            left += max(sizes[node][0] for node in column) + COLUMN_GAP
        left += LEVEL_GAP - COLUMN_GAP
    return placed


def _ordered(graph: nx.DiGraph, levels: Mapping[Hashable, int]) -> list[list[Hashable]]:
    """The nodes by level, in an order with few crossings of edges."""
    by_level: dict[int, list[Hashable]] = {}
    for node, number in levels.items():
        by_level.setdefault(number, []).append(node)
    ordered = [by_level[number] for number in sorted(by_level)]
    place = {node: _share(rank, level) for level in ordered for rank, node in enumerate(level)}
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        for level in ordered if forth else ordered[::-1]:
            wanted = {}
            for node in level:
                around = graph.predecessors(node) if forth else graph.successors(node)
                known = [place[each] for each in around if levels[each] != levels[node]]
                wanted[node] = sum(known) / len(known) if known else place[node]
            level.sort(key=wanted.__getitem__)
            place.update({node: _share(rank, level) for rank, node in enumerate(level)})
    return ordered


def _share(rank: int, level: Sequence[Hashable]) -> float:
    """The place of a node within its level, from 0 to 1."""
    return (rank + 0.5) / len(level)
