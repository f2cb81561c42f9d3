"""Queries on a state graph: shortest paths, the steps that all paths share, the states that need a fault.

All answers are exact for the states within the bounds. Every path to some states takes a step of some name
exactly if none of these states is reached without the steps of that name. A step that every path takes is on
each of them, so that only the steps of one shortest path are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.system import PathStep
from kraftcheck.graphs.projection import Condition, Projection
from kraftcheck.graphs.states import States

Mask = NDArray[np.bool_]


def where(states: States, condition: Condition) -> Mask:
    """The states in which ``condition`` holds."""
    found = np.zeros(states.graph.size, np.bool_)
    for number in range(states.graph.size):
        state = states.graph.state(number)
        found[number] = condition.holds(states.system, state, states.violated.get(number, ()))
    return found


def initial(states: States) -> Mask:
    """The initial states."""
    found = np.zeros(states.graph.size, np.bool_)
    found[list(states.graph.initial)] = True
    return found


class Search:
    """Breadth-first searches through the steps of a graph.

    ``sources`` and ``targets``: int32, in any order.
    """

    def __init__(self, size: int, sources: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        self.size = size
        self.sources, self.targets = sources, targets
        self._order = np.argsort(sources, kind="stable")
        self._starts = np.searchsorted(sources[self._order], np.arange(size + 1))

    def reached(
        self, begin: Mask, *, edges: Mask | None = None, avoid: Mask | None = None
    ) -> tuple[Mask, NDArray[np.int64]]:
        """The states that can be reached from ``begin``, and by state the step by which it is reached first.

        edges: which steps may be taken; avoid: states that are left out, as first ones as well.
        """
        seen = begin.copy() if avoid is None else begin & ~avoid
        by = np.full(self.size, -1, np.int64)
        frontier = np.flatnonzero(seen)
        while len(frontier):
            counts = self._starts[frontier + 1] - self._starts[frontier]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            steps = self._order[np.repeat(self._starts[frontier], counts) + within]
            usable = ~seen[self.targets[steps]]
            if edges is not None:
                usable &= edges[steps]
            if avoid is not None:
                usable &= ~avoid[self.targets[steps]]
            steps = steps[usable]
            new, firsts = np.unique(self.targets[steps], return_index=True)
            by[new] = steps[firsts]
            seen[new] = True
            # In the order in which they were reached, so that a shortest path is the first one of its length.
            frontier = new[np.argsort(firsts)]
        return seen, by


@dataclass(frozen=True, slots=True)
class StatePath:
    """A path through the graph: its states, and the label numbers of its steps, one fewer."""

    states: tuple[int, ...]
    labels: tuple[int, ...]

    def steps(self, states: States) -> tuple[PathStep, ...]:
        """Its steps, to be taken by the system again."""
        return tuple(states.graph.label_values[label][0] for label in self.labels)


class Queries:
    """Questions to one graph."""

    def __init__(self, states: States) -> None:
        self.states = states
        graph = states.graph
        self.search = Search(graph.size, graph.sources, graph.targets)

    def shortest(self, begin: Mask, end: Mask) -> StatePath | None:
        """A shortest path from a state of ``begin`` to one of ``end``, or ``None``."""
        seen, by = self.search.reached(begin)
        ends = np.flatnonzero(end & seen)
        best: list[int] | None = None
        for number in ends.tolist():
            path = self._back(by, number, None if best is None else len(best))
            if path is not None:
                best = path
        if best is None:
            return None
        graph = self.states.graph
        first = int(graph.sources[best[0]]) if best else int(ends[begin[ends]][0])
        return StatePath(
            (first, *(int(graph.targets[step]) for step in best)),
            tuple(int(graph.labels[step]) for step in best),
        )

    def _back(self, by: NDArray[np.int64], number: int, most: int | None) -> list[int] | None:
        """The steps on the path to state ``number``; ``None`` if they are ``most`` or more."""
        found: list[int] = []
        while by[number] >= 0:
            if most is not None and len(found) + 1 >= most:
                return None
            found.append(int(by[number]))
            number = int(self.states.graph.sources[by[number]])
        return None if most is not None and len(found) >= most else found[::-1]

    def shared(self, end: Mask, projection: Projection) -> Shared | None:
        """The common parts of all paths from the beginning to ``end``; ``None`` if there is no path."""
        begin = initial(self.states)
        path = self.shortest(begin, end)
        if path is None:
            return None
        names = np.array(self.states.names)[self.states.graph.labels]
        steps = self._without(
            [self.states.names[label] for label in path.labels],
            begin,
            end,
            lambda name: {"edges": names != name},
        )
        labels = np.array([self.states.label(number, projection) for number in range(self.states.graph.size)])
        passed = self._without(
            [str(labels[number]) for number in path.states],
            begin,
            end,
            lambda label: {"avoid": labels == label},
        )
        return Shared(path, steps, passed, tuple(self._dominators(begin, end)))

    def _without(
        self, tried: Sequence[str], begin: Mask, end: Mask, restricted: Callable[[str], dict[str, Mask]]
    ) -> tuple[str, ...]:
        found = []
        for name in dict.fromkeys(tried):
            seen, _ = self.search.reached(begin, **restricted(name))
            if not (seen & end).any():
                found.append(name)
        return tuple(found)

    def _dominators(self, begin: Mask, end: Mask) -> Iterable[int]:
        """The states on every path from ``begin`` to ``end``, the first one first."""
        graph = self.states.graph
        forth, _ = self.search.reached(begin)
        back, _ = Search(graph.size, graph.targets, graph.sources).reached(end)
        useful = forth & back
        kept = useful[graph.sources] & useful[graph.targets]
        directed = nx.DiGraph()
        directed.add_edges_from(zip(graph.sources[kept].tolist(), graph.targets[kept].tolist(), strict=True))
        directed.add_edges_from(("begin", number) for number in np.flatnonzero(begin & useful).tolist())
        directed.add_edges_from((number, "end") for number in np.flatnonzero(end & useful).tolist())
        above: dict[Hashable, Hashable] = nx.immediate_dominators(directed, "begin")
        found: list[int] = []
        node = above.get("end")
        while isinstance(node, int):
            found.append(node)
            node = above[node]
        return reversed(found)

    def after_faults(self, projection: Projection) -> tuple[AfterFault, ...]:
        """The looks that states have only after a fault, in the order of the numbers of states."""
        graph = self.states.graph
        faulty = np.array([bool(faults) for faults in self.states.faults], np.bool_)
        edges = ~faulty[graph.labels] if len(graph.labels) else np.empty(0, np.bool_)
        spared, _ = self.search.reached(initial(self.states), edges=edges)
        reached, by = self.search.reached(initial(self.states))
        without: set[str] = set()
        found: dict[str, list[int]] = {}
        for number in np.flatnonzero(reached).tolist():
            label = self.states.label(number, projection)
            if spared[number]:
                without.add(label)
            else:
                found.setdefault(label, []).append(number)
        answer = []
        for label, numbers in found.items():
            if label not in without:
                path = self._back(by, numbers[0], None) or []
                labels = graph.labels[path].tolist()
                faults = tuple(name for each in labels for name in self.states.faults[each])
                answer.append(AfterFault(label, len(numbers), numbers[0], len(path), faults))
        return tuple(answer)


@dataclass(frozen=True, slots=True)
class Shared:
    """The common parts of all paths: names of steps, looks of states, and single states (by number); ``path``
    is a shortest one, whose order the first two have.
    """

    path: StatePath
    steps: tuple[str, ...]
    labels: tuple[str, ...]
    states: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AfterFault:
    """The look of ``states`` states, each of which needs a fault: the first one, how many steps away it
    is, and the faults on a shortest path to it.
    """

    label: str
    states: int
    first: int
    steps: int
    faults: tuple[str, ...]
