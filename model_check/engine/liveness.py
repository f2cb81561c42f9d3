"""*Eventually* properties: is there a fair infinite behaviour that never reaches the goal?

On a finite graph such a behaviour exists exactly when a *lasso* does: a stem to a cycle that a fair behaviour
may go round for ever. Fairness is stated by classes of steps, as in TLA+ (Lamport, "Specifying Systems",
section 8.6):

* weak: a class that is enabled in all states of the cycle is taken in it;
* strong: a class that is enabled in some state of the cycle is taken in it.

Only steps that change the state count; a step from a state to itself is stuttering. A behaviour may stay in
a state for ever (an empty cycle) where no fairness class is enabled, so also in a deadlock.

The forms, in the notation of temporal logic: *eventually* (F goal), *always eventually* (G F goal),
*leads to* (G (when -> F goal)), an *end* to some steps (F G not taken), and *always recoverable* (A G E F goal
of CTL).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from model_check.engine.cycles import Demand, Fair, Strength, demand, fair_states, short_cycle
from model_check.engine.edges import Edges, Mask, Numbers
from model_check.engine.graph import Graph
from model_check.engine.system import GlobalState, PathStep

#: How many ends of equally short stems are tried for the shortest cycle.
MOST_ENDS = 20


@dataclass(frozen=True, slots=True)
class Fairness:
    """A class of steps that is treated fairly; ``matches`` gets a step and its action."""

    name: str
    strength: Strength
    matches: Callable[[PathStep, Hashable], bool]


#: The class of all steps.
ANY_STEP = Fairness("any step", Strength.WEAK, lambda step, action: True)


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


def check_eventually(
    graph: Graph,
    goal: Callable[[GlobalState], bool],
    fairness: Sequence[Fairness] = (),
    *,
    when: Callable[[GlobalState], bool] | None = None,
    stuttering: bool = True,
    through: Mask | None = None,
    most: int | None = None,
) -> Lasso | None:
    """``None`` if every fair behaviour reaches ``goal``, otherwise a lasso: a shortest stem, a short cycle.

    With ``when``: if every fair behaviour reaches ``goal`` from every reachable state that satisfies
    ``when`` on (leads-to; with all states: always-eventually). Without ``stuttering`` a behaviour stays in a
    state only if that has no step to another state, or a step to itself. ``through``: only behaviours count
    that take one of these edges of the graph (a mask) for ever. ``most``: up to how many edges networkx finds
    the components. Check safety first: a state that breaks an invariant has no successors here and looks like
    a deadlock, and so may a state whose steps the constraints cut.
    """
    edges = Edges(graph)
    free = ~graph.mask(goal)
    everywhere = np.ones(graph.size, bool)
    origin = [np.array(graph.initial, np.int64)]
    distance, to_start = edges.search(origin, everywhere)
    sources = origin
    if when is not None:
        starts = graph.mask(when) & free
        depth = int(distance.max(initial=0))
        sources = [np.flatnonzero(starts & (distance == level)) for level in range(depth + 1)]
    far, on_way = edges.search(sources, free)
    demands = _demands(graph, edges, fairness, through)
    may_stay = everywhere if stuttering else edges.looping | (np.diff(edges.starts) == 0)
    fair = fair_states(edges, demands, far >= 0, may_stay, most=most)
    found = _end_and_cycle(edges, demands, far, fair)
    if found is None:
        return None
    end, cycle = found
    way = edges.back(end, on_way)
    if when is not None:
        begin = int(edges.sources[way[0]]) if way else end
        way = edges.back(begin, to_start) + way
    return _lasso(graph, edges, end, way, cycle)


def check_ends(
    graph: Graph,
    steps: Mask,
    fairness: Sequence[Fairness] = (),
    *,
    within: Callable[[GlobalState], bool] = lambda state: True,
    most: int | None = None,
) -> Lasso | None:
    """``None`` if no fair behaviour takes one of ``steps`` (a mask of edges) for ever; otherwise a lasso.

    Behaviours that come to a state that is not ``within`` do not count.
    """
    return check_eventually(
        graph, lambda state: not within(state), fairness, through=steps, stuttering=True, most=most
    )


def _demands(graph: Graph, edges: Edges, fairness: Sequence[Fairness], through: Mask | None) -> list[Demand]:
    demands = []
    for each in fairness:
        matching = np.array([each.matches(*label) for label in graph.label_values], bool)
        of_class = matching[edges.labels] if len(matching) else np.zeros(0, bool)
        demands.append(demand(edges, of_class, each.strength))
    return demands if through is None else [*demands, demand(edges, through[edges.numbers], None)]


def _end_and_cycle(
    edges: Edges, demands: Sequence[Demand], far: Numbers, fair: Fair
) -> tuple[int, list[int]] | None:
    """The end of a shortest stem, and of the ``MOST_ENDS`` first ones the one with the shortest cycle."""
    candidates = np.flatnonzero(fair.alive)
    if not len(candidates):
        return None
    nearest = candidates[far[candidates] == far[candidates].min()]
    found = [(short_cycle(edges, demands, end, fair), end) for end in nearest[:MOST_ENDS].tolist()]
    cycle, end = min(found, key=lambda one: len(one[0]))
    return end, cycle


def _lasso(graph: Graph, edges: Edges, end: int, way: list[int], cycle: list[int]) -> Lasso:
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


def check_recoverable(
    graph: Graph, goal: Callable[[GlobalState], bool], fairness: Sequence[Fairness] | None = None
) -> tuple[PathStep, ...] | None:
    """``None`` if from every reachable state some path leads to ``goal``; otherwise a shortest way to a state
    from which none does. With ``fairness``: some path of steps that it asks for.
    """
    lost = out_of_reach(graph, graph.mask(goal), (ANY_STEP,) if fairness is None else fairness)
    edges = Edges(graph)
    distance, edge = edges.search([np.array(graph.initial, np.int64)], np.ones(graph.size, bool))
    return _stem(graph, edges, distance, edge, lost) if (lost & (distance >= 0)).any() else None


def shortest_stem(graph: Graph, wanted: Mask) -> tuple[PathStep, ...]:
    """A shortest behaviour to one of the ``wanted`` states (a mask), of which one is reachable."""
    edges = Edges(graph)
    distance, edge = edges.search([np.array(graph.initial, np.int64)], np.ones(graph.size, bool))
    return _stem(graph, edges, distance, edge, wanted)


def _stem(graph: Graph, edges: Edges, distance: Numbers, edge: Numbers, wanted: Mask) -> tuple[PathStep, ...]:
    candidates = np.flatnonzero(wanted & (distance >= 0))
    end = int(candidates[np.argmin(distance[candidates])])
    return tuple(graph.label_values[edges.labels[number]][0] for number in edges.back(end, edge))
