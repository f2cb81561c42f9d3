"""Shortest paths from the beginning to states of a graph, as ``kraftcheck trace show --path`` takes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.steps import steps
from kraftcheck.engine.system import PathStep
from kraftcheck.graphs.queries import Search, initial
from kraftcheck.graphs.states import States


class Paths:
    """The shortest paths of a graph: those of its breadth-first search.

    ``depths``: by state the number of steps on the path to it.
    """

    def __init__(self, states: States) -> None:
        self._states = states
        graph = states.graph
        _, self._by = Search(graph.size, graph.sources, graph.targets).reached(initial(states))
        self._options: dict[int, dict[PathStep, int]] = {}
        self.depths: NDArray[np.int64] = np.zeros(graph.size, np.int64)
        # States are numbered in the order of a breadth-first search, so that a path comes from lower numbers.
        for number in np.flatnonzero(self._by >= 0).tolist():
            self.depths[number] = self.depths[graph.sources[self._by[number]]] + 1

    def steps_to(self, number: int) -> list[int]:
        """The edges of the path to state ``number``, in order."""
        found: list[int] = []
        while self._by[number] >= 0:
            found.append(int(self._by[number]))
            number = int(self._states.graph.sources[found[-1]])
        return found[::-1]

    def begins_first(self, edges: Iterable[int], number: int) -> bool:
        """Whether the path of ``edges`` to state ``number`` begins in the first initial state."""
        graph = self._states.graph
        root = next((int(graph.sources[edge]) for edge in edges), number)
        return graph.initial_indices[graph.initial.index(root)] == 0

    def options(self, edges: Iterable[int]) -> list[int]:
        """The numbers by which a trace names these steps: each among all that its state offers."""
        return [self._option(edge) for edge in edges]

    def _option(self, edge: int) -> int:
        graph = self._states.graph
        number = int(graph.sources[edge])
        if number not in self._options:
            offered = steps(self._states.system, graph.state(number))
            self._options[number] = {
                step.path: option for option, step in reversed([*enumerate(offered)]) if step.cut is None
            }
        return self._options[number][graph.label_values[graph.labels[edge]][0]]
