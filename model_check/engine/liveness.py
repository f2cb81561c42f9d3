"""*Eventually* properties: is there a fair infinite behaviour that never reaches the goal?

On a finite graph such a behaviour exists exactly when a *lasso* does: a stem to a cycle that a fair behaviour
may repeat forever. Fairness is stated by classes of steps, as in TLA+ (Lamport, "Specifying Systems", section
8.6):

* weak: a class that is enabled in all states of the cycle is taken in it;
* strong: a class that is enabled in some state of the cycle is taken in it.

Only steps that change the state count; a step from a state to itself is stuttering. A behaviour may stay in a
state forever (an empty cycle) where no fairness class is enabled, so also in a deadlock.

The forms, in the notation of temporal logic: *eventually* (F goal), *always eventually* (G F goal),
*leads to* (G (when -> F goal)), an *end* to some steps (F G not taken), and *always recoverable*
(A G E F goal of CTL).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from kraftcheck.engine import sparse
from kraftcheck.engine.cycles import ByLabel, Demand, Fair, demand_of_steps, fair_states, short_cycle
from kraftcheck.engine.edges import Edges, Mask, Numbers
from kraftcheck.engine.fairness import Fairness, Lasso, UnpaidStep, Withheld
from kraftcheck.engine.graph import WATCHED_STATES, Graph
from kraftcheck.engine.steps import Cached, apply_outcome, events
from kraftcheck.engine.system import GlobalState, PathStep, System

#: States of a graph: a predicate, or a mask.
Goal = Callable[[GlobalState], bool] | Mask
#: The number of ends of equally short stems that are tried for the shortest cycle.
MOST_ENDS = 20


#: Whether a step that only a spent budget prevents is owed in a state.
Owed = Callable[[GlobalState, UnpaidStep], bool]


def always(state: GlobalState, step: UnpaidStep) -> bool:
    """Each such step is owed."""
    return True


class Waiting:
    """The states in which ``goal`` is pending: on the path, without it, from the initial states or, with
    ``when``, from every reachable state that satisfies it. ``far``: their distance in steps from there, plus,
    with ``when``, the distance from an initial state to there; -1 where nothing is pending.
    """

    def __init__(self, graph: Graph, goal: Goal, when: Goal | None = None) -> None:
        self.graph, self.edges = graph, Edges(graph)
        free = ~graph.mask(goal)
        sources = [np.array(graph.initial, np.int64)]
        distance, self._to_start = self.edges.search(sources, np.ones(graph.size, bool))
        if when is not None:
            starts = graph.mask(when) & free
            depth = int(distance.max(initial=0))
            sources = [np.flatnonzero(starts & (distance == level)) for level in range(depth + 1)]
        self.far, self._on_path = self.edges.search(sources, free)

    def edges_to(self, end: int) -> list[int]:
        """The edges of a shortest path from an initial state to ``end``, where the goal is pending."""
        path = self.edges.back(end, self._on_path)
        begin = int(self.edges.sources[path[0]]) if path else end
        return self.edges.back(begin, self._to_start) + path

    def path(self, end: int, cycle: Sequence[int] = ()) -> Lasso:
        """The path to ``end``, and from there the edges ``cycle``."""
        path = self.edges_to(end)
        first = int(self.edges.sources[path[0]]) if path else end
        labels = tuple(int(self.edges.labels[edge]) for edge in (*path, *cycle))
        steps = [self.graph.label_values[label][0] for label in labels]
        return Lasso(
            initial=self.graph.initial_indices[self.graph.initial.index(first)],
            stem=tuple(steps[: len(path)]),
            cycle=tuple(steps[len(path) :]),
            states=(first, *(int(self.edges.targets[edge]) for edge in (*path, *cycle))),
            labels=labels,
        )

    def shortest(self, wanted: Mask) -> Lasso | None:
        """A shortest path to one of the ``wanted`` states (a mask) in which the goal is pending."""
        candidates = np.flatnonzero(wanted & (self.far >= 0))
        if not len(candidates):
            return None
        return self.path(int(candidates[np.argmin(self.far[candidates])]))


def lassos(
    graph: Graph,
    goal: Goal,
    fairness: Sequence[Fairness] = (),
    *,
    when: Goal | None = None,
    through: Mask | None = None,
    budgets: Sequence[int] = (),
    owed: Owed = always,
) -> Iterator[Lasso]:
    """Fair behaviours that never reach ``goal``; none if every one does.

    The first has a shortest stem and a short cycle; then comes one for each other component of states with a
    fair cycle, those with shorter stems first. With ``when``: behaviours that do not reach ``goal`` from a
    reachable state that satisfies ``when`` on (leads-to; with all states: always-eventually). ``through``:
    only behaviours that take one of these edges of the graph (a mask) forever. ``budgets``: the numbers of
    those that fair steps cost. A step that costs a spent one is still owed where ``owed`` holds: a lasso
    without it is returned (``Lasso.withheld``) only if there is no other. Check safety first: a state that
    breaks an invariant has no successors here and looks like a deadlock, and so may a state whose steps the
    constraints prune.
    """
    waiting = Waiting(graph, goal, when)
    edges, far = waiting.edges, waiting.far
    demands = _demands(graph, edges, fairness, through)
    fair = fair_states(edges, list(demands.values()), far >= 0)
    unpaid = unpaid_steps(graph, fairness, budgets, fair.alive, owed)
    more = demands | _also_owed(graph, fairness, demands, unpaid)
    owing = fair_states(edges, list(more.values()), fair.alive) if unpaid else fair
    if owing.alive.any() or not fair.alive.any():
        demands, fair = more, owing
    for end, cycle in _ends_and_cycles(edges, list(demands.values()), far, fair):
        lasso = waiting.path(end, cycle)
        if demands is not more:
            yield _withheld(lasso, unpaid)
            return
        yield lasso


def unpaid_of(system: System, state: GlobalState) -> Iterator[UnpaidStep]:
    """The steps that ``state`` would offer with larger budgets. Steps that would only change budgets are left
    out: they are stuttering.
    """
    for component, message, outcomes in events(system, state):
        for choice, outcome in enumerate(outcomes):
            price = Counter(outcome.costs)
            missing = tuple(index for index, left in enumerate(state.budgets) if left < price[index])
            if missing:
                path = PathStep("act" if message is None else "deliver", component, message, choice)
                step = apply_outcome(system, state, path, outcome, ())
                if step is None or step.target != state:
                    yield UnpaidStep(path, outcome.action, missing)


#: By the name of a class the states in which only a spent budget prevents its steps, each with the missing
#: budgets.
UnpaidSteps = dict[str, dict[int, set[int]]]


def unpaid_steps(
    graph: Graph,
    fairness: Sequence[Fairness],
    budgets: Sequence[int],
    among: Mask,
    owed: Owed = always,
) -> UnpaidSteps:
    """The steps of ``fairness`` that only spent ``budgets`` prevent, in the states ``among`` (a mask), where
    ``owed`` holds.
    """
    found: UnpaidSteps = {}
    if graph.system is None or graph.left is None:
        return found
    spent = np.zeros(graph.size, bool)
    for index in budgets:
        spent |= graph.left(index) == 0
    system, wanted = cast(System, Cached(graph.system)), np.flatnonzero(spent & among).tolist()
    for done, number in enumerate(wanted):
        if done % WATCHED_STATES == 0:
            graph.watch(f"looks at {done:,} of {len(wanted):,} states without budgets")
        state = graph.state(number)
        for each in unpaid_of(system, state):
            for fair in fairness if set(each.missing) <= set(budgets) else ():
                if fair.matches(each.step, each.action) and owed(state, each):
                    found.setdefault(fair.name, {}).setdefault(number, set()).update(each.missing)
    return found


def _also_owed(
    graph: Graph, fairness: Sequence[Fairness], demands: dict[str, Demand], unpaid: UnpaidSteps
) -> dict[str, Demand]:
    """The demands of the classes of ``unpaid``, whose steps count as possible."""
    owed = {}
    for each in fairness:
        if each.name in unpaid:
            taken, enabled = np.zeros(len(graph.label_values), bool), np.zeros(graph.size, bool)
            nothing = Demand(taken, None, enabled, each.strength)
            demand = demands.get(each.name, nothing)
            enabled = demand.enabled.copy()
            enabled[list(unpaid[each.name])] = True
            owed[each.name] = replace(demand, enabled=enabled)
    return owed


def _withheld(lasso: Lasso, unpaid: UnpaidSteps) -> Lasso:
    """``lasso`` with the steps that the states of its cycle would owe with larger budgets."""
    cycle = set(lasso.states[len(lasso.stem) :])
    classes = {name: cycle & set(states) for name, states in unpaid.items()}
    budgets = {index for name, states in classes.items() for at in states for index in unpaid[name][at]}
    names = tuple(name for name, states in classes.items() if states)
    return replace(lasso, withheld=Withheld(names, tuple(sorted(budgets))))


def _demands(
    graph: Graph, edges: Edges, fairness: Sequence[Fairness], through: Mask | None
) -> dict[str, Demand]:
    """By the names of the classes; with steps that must be taken in any case under the name of none."""
    demands, by_label = {}, ByLabel(edges, len(graph.label_values))
    for each in fairness:
        labels = np.array([each.matches(*label) for label in graph.label_values], bool)
        if labels.any():
            demands[each.name] = by_label.demand(labels, each.strength)
    return demands if through is None else demands | {"": demand_of_steps(edges, through[edges.numbers])}


def _ends_and_cycles(
    edges: Edges, demands: Sequence[Demand], far: Numbers, fair: Fair
) -> Iterator[tuple[int, list[int]]]:
    """The end of a shortest stem, and of the ``MOST_ENDS`` first ones the one with the shortest cycle; then
    the end of a shortest stem to each other component, and a cycle there.
    """
    candidates = np.flatnonzero(fair.alive)
    if not len(candidates):
        return
    candidates = candidates[np.argsort(far[candidates], kind="stable")]
    nearest = candidates[far[candidates] == far[candidates[0]]]
    found = [(short_cycle(edges, demands, end, fair), end) for end in nearest[:MOST_ENDS].tolist()]
    cycle, first = min(found, key=lambda one: len(one[0]))
    yield first, cycle
    _, places = np.unique(fair.component[candidates], return_index=True)
    for end in candidates[np.sort(places)].tolist():
        if fair.component[end] != fair.component[first]:
            yield end, short_cycle(edges, demands, end, fair)


def out_of_reach(graph: Graph, goal: Mask, fairness: Sequence[Fairness]) -> Mask:
    """The states from which no path of steps of ``fairness`` leads to one of ``goal`` (a mask).

    A step that belongs to no class need never be taken, so that a path with one guarantees nothing.
    """
    fair = np.array([any(each.matches(*label) for each in fairness) for label in graph.label_values], bool)
    taken = np.flatnonzero(fair[graph.labels]) if len(fair) else np.empty(0, np.int64)
    goals = np.flatnonzero(goal).astype(np.int32)
    root = np.full(len(goals), graph.size, np.int32)
    backwards = np.concatenate([root, graph.targets[taken]]), np.concatenate([goals, graph.sources[taken]])
    ones = np.ones(len(backwards[0]), np.int8)
    scipy = sparse.loaded()
    matrix = scipy.csr_array((ones, backwards), shape=(graph.size + 1, graph.size + 1))
    found = scipy.csgraph.breadth_first_order(matrix, graph.size, return_predecessors=False)
    lost = np.ones(graph.size + 1, bool)
    lost[found] = False
    return lost[: graph.size]
