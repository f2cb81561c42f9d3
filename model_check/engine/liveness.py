"""*Eventually* properties: is there a fair infinite behaviour that never reaches the goal?

On a finite graph such a behaviour exists exactly when a *lasso* does: a stem to a cycle that a fair behaviour
may go round for ever. Fairness is stated by classes of steps, as in TLA+ (Lamport, "Specifying Systems",
section 8.6):

* weak: a class that is enabled in all states of the cycle is taken in it;
* strong: a class that is enabled in some state of the cycle is taken in it.

Only steps that change the state count; a step from a state to itself is stuttering. A behaviour may stay in
a state for ever (an empty cycle) where no fairness class is enabled, so also in a deadlock.

The search refines strongly connected components, as in Emerson and Lei, "Modalities for model checking",
POPL 1985 (Streett acceptance): a component that no cycle can make weakly fair is dropped, states that
enable a strong class without a step in their component are removed, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from model_check.engine.graph import Graph
from model_check.engine.system import GlobalState, PathStep

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class Strength(Enum):
    """How much a fairness class asks for."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Fairness:
    """A class of steps that is treated fairly; ``matches`` gets a step and its action."""

    name: str
    strength: Strength
    matches: Callable[[PathStep, Hashable], bool]


@dataclass(frozen=True, slots=True)
class Lasso:
    """A behaviour that never reaches the goal: ``stem``, then ``cycle`` for ever.

    An empty cycle means that the behaviour stays in the last state of the stem. ``initial`` is the index
    of the initial state; ``states`` are the graph's state numbers along stem and cycle, first and last
    included.
    """

    initial: int
    stem: tuple[PathStep, ...]
    cycle: tuple[PathStep, ...]
    states: tuple[int, ...]


class _Edges:
    """The edges that change the state, sorted by source."""

    def __init__(self, graph: Graph, fairness: Sequence[Fairness]) -> None:
        self.size = graph.size
        moving = np.flatnonzero(graph.sources != graph.targets)
        order = moving[np.argsort(graph.sources[moving], kind="stable")]
        self.sources = graph.sources[order].astype(np.int64)
        self.targets = graph.targets[order].astype(np.int64)
        self.labels = graph.labels[order]
        self.starts = np.searchsorted(self.sources, np.arange(graph.size + 1))
        self.looping = np.zeros(graph.size, bool)
        self.looping[graph.sources[graph.sources == graph.targets]] = True
        self.of_class: list[Mask] = []
        self.enabled: list[Mask] = []
        for each in fairness:
            matching = np.array([each.matches(*label) for label in graph.label_values], bool)
            edges = matching[self.labels] if len(matching) else np.zeros(0, bool)
            enabled = np.zeros(graph.size, bool)
            enabled[self.sources[edges]] = True
            self.of_class.append(edges)
            self.enabled.append(enabled)

    def leaving(self, nodes: Numbers) -> Numbers:
        """The edges that leave ``nodes``, in order."""
        begins = self.starts[nodes]
        counts = self.starts[nodes + 1] - begins
        offsets = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        leaving: Numbers = np.arange(counts.sum()) + offsets
        return leaving

    def search(self, sources: Sequence[Numbers], allowed: Mask) -> tuple[Numbers, Numbers]:
        """Breadth first through ``allowed`` states; ``sources[d]`` are at distance d already.

        Returns (distances, the edge to each state by which it was first reached); -1 where there is none.
        """
        distance = np.full(self.size, -1, np.int64)
        edge = np.full(self.size, -1, np.int64)
        frontier = np.empty(0, np.int64)
        level = 0
        while len(frontier) or level < len(sources):
            if level < len(sources):
                fresh = sources[level][allowed[sources[level]] & (distance[sources[level]] < 0)]
                distance[fresh] = level
                frontier = np.concatenate([frontier, fresh])
            leaving = self.leaving(frontier)
            targets = self.targets[leaving]
            fresh_edges = leaving[allowed[targets] & (distance[targets] < 0)]
            frontier, first = np.unique(self.targets[fresh_edges], return_index=True)
            edge[frontier] = fresh_edges[first]
            level += 1
            distance[frontier] = level
        return distance, edge

    def back(self, state: int, edge: Numbers) -> list[int]:
        """The edges on the way to ``state`` that :meth:`search` found."""
        way: list[int] = []
        while edge[state] >= 0:
            way.append(int(edge[state]))
            state = int(self.sources[way[-1]])
        return way[::-1]


def _components(edges: _Edges, alive: Mask) -> tuple[int, Numbers, Numbers]:
    """(number of components, component of each state, the edges inside components) among ``alive``."""
    inside = np.flatnonzero(alive[edges.sources] & alive[edges.targets])
    pair = (edges.sources[inside], edges.targets[inside])
    matrix = csr_array((np.ones(len(inside), np.int8), pair), shape=(edges.size, edges.size))
    count, component = connected_components(matrix, directed=True, connection="strong")
    component = component.astype(np.int64)
    return count, component, inside[component[pair[0]] == component[pair[1]]]


def _fair_states(edges: _Edges, fairness: Sequence[Fairness], alive: Mask, may_stay: Mask) -> Mask:
    """The states of ``alive`` that lie on a fair cycle (or where a behaviour may stay)."""
    alive = alive.copy()
    while alive.any():
        count, component, inside = _components(edges, alive)
        dead = ~alive
        has_edge = np.zeros(count, bool)
        has_edge[component[edges.sources[inside]]] = True
        dead |= ~has_edge[component] & ~may_stay
        for number, each in enumerate(fairness):
            taken = np.zeros(count, bool)
            taken[component[edges.sources[inside[edges.of_class[number][inside]]]]] = True
            enabled = edges.enabled[number]
            if each.strength is Strength.STRONG:
                dead |= enabled & ~taken[component]
            else:
                rests = np.zeros(count, bool)
                rests[component[alive & ~enabled]] = True
                dead |= ~taken[component] & ~rests[component]
        if not (dead & alive).any():
            return alive
        alive &= ~dead
    return alive


def _cycle(edges: _Edges, fairness: Sequence[Fairness], start: int, fair: Mask) -> list[int]:
    """A cycle from ``start`` in its component of ``fair`` that satisfies all of ``fairness``."""
    _, component, inside = _components(edges, fair)
    here = fair & (component == component[start])
    inside = inside[component[edges.sources[inside]] == component[start]]
    way: list[int] = []
    if not len(inside):
        return way
    at = start

    def go(goal: int) -> None:
        nonlocal at
        _, back = edges.search([np.array([at])], here)
        way.extend(edges.back(goal, back))
        at = goal

    for number, each in enumerate(fairness):
        own = inside[edges.of_class[number][inside]]
        visited = {start, *(int(edges.targets[edge]) for edge in way)}
        if len(own):
            if not any(edges.of_class[number][edge] for edge in way):
                go(int(edges.sources[own[0]]))
                way.append(int(own[0]))
                at = int(edges.targets[own[0]])
        elif each.strength is Strength.WEAK and all(edges.enabled[number][state] for state in visited):
            go(int(np.flatnonzero(here & ~edges.enabled[number])[0]))
    if not way:
        first = inside[edges.sources[inside] == start][0]
        way.append(int(first))
        at = int(edges.targets[first])
    go(start)
    return way


def check_eventually(
    graph: Graph,
    goal: Callable[[GlobalState], bool],
    fairness: Sequence[Fairness] = (),
    *,
    when: Callable[[GlobalState], bool] | None = None,
    stuttering: bool = True,
) -> Lasso | None:
    """``None`` if every fair behaviour reaches ``goal``, otherwise a lasso with a shortest stem.

    With ``when``: if every fair behaviour reaches ``goal`` from every reachable state that satisfies
    ``when`` on (leads-to). Without ``stuttering`` a behaviour stays in a state only if that has no step to
    another state, or a step to itself. Check safety first: a state that breaks an invariant has no successors
    here and looks like a deadlock, and so may a state whose steps the constraints cut.
    """
    edges = _Edges(graph, fairness)
    reached = np.array([goal(graph.state(number)) for number in range(graph.size)], bool)
    everywhere = np.ones(graph.size, bool)
    origin = [np.array(graph.initial, np.int64)]
    distance, to_start = edges.search(origin, everywhere)
    sources = origin
    if when is not None:
        starts = np.array([when(graph.state(number)) for number in range(graph.size)], bool) & ~reached
        depth = int(distance.max(initial=0))
        sources = [np.flatnonzero(starts & (distance == level)) for level in range(depth + 1)]
    far, on_way = edges.search(sources, ~reached)
    may_stay = everywhere if stuttering else edges.looping | (np.diff(edges.starts) == 0)
    fair = _fair_states(edges, fairness, far >= 0, may_stay)
    candidates = np.flatnonzero(fair)
    if not len(candidates):
        return None
    end = int(candidates[np.argmin(far[candidates])])
    way = edges.back(end, on_way)
    if when is not None:
        begin = int(edges.sources[way[0]]) if way else end
        way = edges.back(begin, to_start) + way
    cycle = _cycle(edges, fairness, end, fair)
    first = int(edges.sources[way[0]]) if way else end
    steps = [graph.label_values[edges.labels[edge]][0] for edge in way + cycle]
    return Lasso(
        initial=graph.initial_indices[graph.initial.index(first)],
        stem=tuple(steps[: len(way)]),
        cycle=tuple(steps[len(way) :]),
        states=(first, *(int(edges.targets[edge]) for edge in way + cycle)),
    )


def out_of_reach(graph: Graph, goal: Mask, fairness: Sequence[Fairness]) -> Mask:
    """The states from which no path of steps that ``fairness`` asks for leads to one of ``goal`` (a mask).

    A step that belongs to no class need never be taken, so that a path with one is no promise.
    """
    fair = np.array([any(each.matches(*label) for each in fairness) for label in graph.label_values], bool)
    taken = np.flatnonzero(fair[graph.labels]) if len(fair) else np.empty(0, np.int64)
    goals = np.flatnonzero(goal)
    root = np.full(len(goals), graph.size)
    backwards = np.concatenate([root, graph.targets[taken]]), np.concatenate([goals, graph.sources[taken]])
    ones = np.ones(len(backwards[0]), np.int8)
    matrix = csr_array((ones, backwards), shape=(graph.size + 1, graph.size + 1))
    found = breadth_first_order(matrix, graph.size, return_predecessors=False)
    lost = np.ones(graph.size + 1, bool)
    lost[found] = False
    return lost[: graph.size]


def shortest_stem(graph: Graph, wanted: Mask) -> tuple[PathStep, ...]:
    """A shortest behaviour to one of the ``wanted`` states (a mask), of which one is reachable."""
    edges = _Edges(graph, ())
    distance, edge = edges.search([np.array(graph.initial, np.int64)], np.ones(graph.size, bool))
    candidates = np.flatnonzero(wanted & (distance >= 0))
    end = int(candidates[np.argmin(distance[candidates])])
    return tuple(graph.label_values[edges.labels[number]][0] for number in edges.back(end, edge))
