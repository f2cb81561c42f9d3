"""Where the boxes and edges of a drawing go: in layers, by steps from the beginning.

The method is Sugiyama's ("Methods for visual understanding of hierarchical system structures", 1981): each
box is in a layer, edges that pass layers are cut into parts, each layer is ordered by where its neighbours
are, and places come last. Between any two layers of boxes lies one for what is written on edges, so that
nothing is written over anything else.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

GAP = 24.0
LAYER_GAP = 18.0
SWEEPS = 8

Size = tuple[float, float]
Point = tuple[float, float]
Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of nodes; by edge the points that it passes, from source to target, and where its text stands;
    the size of all.
    """

    nodes: dict[Hashable, Point]
    edges: dict[Edge, tuple[Point, ...]]
    texts: dict[Edge, Point]
    width: float
    height: float


@dataclass(slots=True)
class _Item:
    """A box, or the place where an edge crosses a layer."""

    size: Size
    x: float = 0.0


class _Layers:
    def __init__(
        self, graph: nx.DiGraph, ranks: Mapping[Hashable, int], sizes: Mapping[Hashable, Size]
    ) -> None:
        self.items: dict[Hashable, _Item] = {node: _Item(sizes[node]) for node in graph}
        self.layers: list[list[Hashable]] = [[] for _ in range(2 * max(ranks.values()) + 2)]
        for node in graph:
            self.layers[2 * ranks[node]].append(node)
        self.above: dict[Hashable, list[Hashable]] = {node: [] for node in graph}
        self.below: dict[Hashable, list[Hashable]] = {node: [] for node in graph}
        self.chains: dict[Edge, list[Hashable]] = {}
        self.written: dict[Edge, Hashable] = {}

    def add_edge(self, edge: Edge, ranks: Mapping[Hashable, int], size: Size) -> None:
        """The chain of an edge, with its text in the layer below its upper end."""
        source, target = edge
        first, last = 2 * ranks[source], 2 * ranks[target]
        step = -1 if last < first else 1
        between = range(first + step, last, step) if first != last else (first + 1,)
        chain: list[Hashable] = [source]
        text_at = min(between) if first >= last else max(between)
        for layer in between:
            item = (source, target, layer)
            self.items[item] = _Item(size if layer == text_at else (4.0, 4.0))
            self.above[item], self.below[item] = [], []
            self.layers[layer].append(item)
            chain.append(item)
            if layer == text_at:
                self.written[edge] = item
        chain.append(target)
        self.chains[edge] = chain
        for one, other in pairwise(chain):
            upper, lower = (
                (one, other) if self._layer(one, ranks) <= self._layer(other, ranks) else (other, one)
            )
            self.below[upper].append(lower)
            self.above[lower].append(upper)

    def _layer(self, item: Hashable, ranks: Mapping[Hashable, int]) -> int:
        return 2 * ranks[item] if item in ranks else item[2]  # type: ignore[index]

    def order(self) -> None:
        """Order each layer by where the neighbours are, downwards and upwards in turn."""
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            for layer in self.layers if down else self.layers[::-1]:
                place = {item: at for items in self.layers for at, item in enumerate(items)}
                means = {
                    item: _mean([float(place[each]) for each in neighbours[item]], float(place[item]))
                    for item in layer
                }
                layer.sort(key=lambda item: means[item])

    def place(self) -> None:
        """Give every item its x, near those of its neighbours."""
        for layer in self.layers:
            self._spread(layer, [0.0] * len(layer))
        for sweep in range(2 * SWEEPS):
            for layer in self.layers if sweep % 2 == 0 else self.layers[::-1]:
                wanted = []
                for item in layer:
                    near = [self.items[each].x for each in (*self.above[item], *self.below[item])]
                    wanted.append(_mean(near, self.items[item].x))
                self._spread(layer, wanted)
        left = min(item.x - item.size[0] / 2 for item in self.items.values())
        for item in self.items.values():
            item.x += GAP - left

    def _spread(self, layer: Sequence[Hashable], wanted: Sequence[float]) -> None:
        """Places in order and without overlap that are nearest to ``wanted`` (least squares)."""
        offsets, total, before = [], 0.0, 0.0
        for item in layer:
            width = self.items[item].size[0]
            total += (before + width) / 2 + (GAP if before else 0.0)
            offsets.append(total)
            before = width
        blocks: list[tuple[float, int]] = []
        for want, offset in zip(wanted, offsets, strict=True):
            mean, count = want - offset, 1
            while blocks and blocks[-1][0] > mean:
                other, others = blocks.pop()
                mean = (mean * count + other * others) / (count + others)
                count += others
            blocks.append((mean, count))
        at = 0
        for mean, count in blocks:
            for _ in range(count):
                self.items[layer[at]].x = mean + offsets[at]
                at += 1


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def ranks_of(graph: nx.DiGraph, first: Sequence[Hashable]) -> dict[Hashable, int]:
    """By node the number of steps from one of ``first``; 0 where none of them leads there."""
    ranks: dict[Hashable, int] = {}
    for rank, nodes in enumerate(nx.bfs_layers(graph, [node for node in first if node in graph])):
        ranks |= dict.fromkeys(nodes, rank)
    return {node: ranks.get(node, 0) for node in graph}


def lay_out(
    graph: nx.DiGraph,
    first: Sequence[Hashable],
    sizes: Mapping[Hashable, Size],
    texts: Mapping[Edge, Size],
) -> Layout:
    """Places for the nodes and edges of ``graph``, which has at least one node and no loops.

    ``first``: the nodes at the top. ``sizes``: width and height of each node's box, ``texts``: of what is
    written on each edge.
    """
    ranks = ranks_of(graph, first)
    layers = _Layers(graph, ranks, sizes)
    for edge in graph.edges:
        layers.add_edge(edge, ranks, texts[edge])
    layers.order()
    layers.place()
    heights = [max((layers.items[item].size[1] for item in layer), default=0.0) for layer in layers.layers]
    centres, top = [], LAYER_GAP
    for height in heights:
        centres.append(top + height / 2)
        top += height + LAYER_GAP

    def point(item: Hashable, layer: int) -> Point:
        return layers.items[item].x, centres[layer]

    places = {item: point(item, at) for at, layer in enumerate(layers.layers) for item in layer}
    edges = {edge: tuple(places[item] for item in chain) for edge, chain in layers.chains.items()}
    width = max(item.x + item.size[0] / 2 for item in layers.items.values()) + GAP
    return Layout(
        {node: places[node] for node in graph},
        edges,
        {edge: places[item] for edge, item in layers.written.items()},
        width,
        top,
    )
