"""All shortest paths: the levels of a search, and every step from one level to the next.

A search keeps one predecessor of each state. Here the same levels are explored again with all of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import LOST, Collector, edges_of
from kraftcheck.engine.system import Limits, PathStep, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import LOSE
from kraftcheck.engine.watch import Progress
from kraftcheck.engine.witness import Witnessing, violated_in


@dataclass(frozen=True, slots=True)
class Edges:
    """Steps from one level to the next: positions in both levels (int32) and step codes (uint32).

    They are in the order of their sources, and from one source in the order in which steps are offered.
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    codes: NDArray[np.uint32]

    def keep(self, wanted: NDArray[np.bool_]) -> Edges:
        """Those that ``wanted`` marks."""
        return Edges(self.sources[wanted], self.targets[wanted], self.codes[wanted])


@dataclass(frozen=True, slots=True)
class Layers:
    """``sizes[k]`` states are k steps away from an initial state; ``edges[k]`` leave these states.

    initial: for each state of level 0 its place in ``System.initial_states()``. ends: by level and position,
    the properties violated in the states where a behaviour ends. tables: the meaning of step codes.
    """

    system: Witnessing
    tables: Tables
    sizes: list[int]
    edges: list[Edges]
    initial: list[int]
    ends: dict[tuple[int, int], tuple[str, ...]]

    def step(self, code: int) -> tuple[PathStep, Hashable]:
        """The step that ``code`` stands for and its action."""
        return self.tables.path_step(code), LOST if code & 3 == LOSE else self.tables.actions[code >> 2]

    def depth(self, violated: str) -> int | None:
        """The length of the shortest paths to a violation of the property ``violated``."""
        return min((level for (level, _), names in self.ends.items() if violated in names), default=None)

    def targets(self, violated: str, level: int) -> NDArray[np.bool_]:
        """The states of ``level`` in which ``violated`` is violated."""
        found = np.zeros(self.sizes[level], np.bool_)
        for (at, position), names in self.ends.items():
            if at == level and violated in names:
                found[position] = True
        return found


class _Collector(Collector):
    """Of the states it keeps only those in which a behaviour ends: by number, the violated properties."""

    def __init__(self, system: Witnessing, tables: Tables) -> None:
        super().__init__()
        self._system, self._tables = system, tables
        self.ends: dict[int, tuple[str, ...]] = {}

    def on_states(self, batch: Batch) -> None:
        for row in np.flatnonzero(batch.rows[:, 0] < 0).tolist():
            state = self._tables.decode(batch.rows[row])
            self.ends[self.count + row] = violated_in(self._system, state)
        super().on_states(replace(batch, rows=batch.rows[:, :0]))

    def edges_between(self, begins: list[int]) -> Iterator[Edges]:
        """The steps from each level to the next; ``begins``: the number of the first state of each level, and
        the number of all states.
        """
        codes = np.unique(np.concatenate([np.empty(0, np.uint32), *(each[2] for each in self.edges)]))
        sources, targets, labels = edges_of(self, np.concatenate(self.fps), codes)
        for begin, middle, end in zip(begins, begins[1:], begins[2:], strict=False):
            first, last = np.searchsorted(sources, (begin, middle))
            new = first + np.flatnonzero((targets[first:last] >= middle) & (targets[first:last] < end))
            yield Edges(sources[new] - np.int32(begin), targets[new] - np.int32(middle), codes[labels[new]])


def collect_layers(
    system: System,
    depth: int,
    limits: Limits,
    progress: Callable[[Progress], None] | None = None,
    *,
    threads: int = 1,
) -> Layers | None:
    """The levels of ``system`` up to ``depth``.

    ``None`` if that is more than ``limits`` allow. Takes 8 bytes a state and 28 a step.
    Raises KeyboardInterrupt.
    """
    witnessing = Witnessing(system)
    tables = Tables(cast(System, witnessing))
    collector = _Collector(witnessing, tables)
    found = explore(
        cast(System, witnessing), threads=threads, limits=replace(limits, max_depth=depth),
        keep_going=True, progress=progress, on_candidates=collector.on_candidates,
        on_states=collector.on_states, tables=tables,
    )  # fmt: skip
    if found.limit not in (None, "max_depth"):
        return None
    begins = [0, *accumulate(found.levels)]
    places = ((bisect_right(begins, number) - 1, number) for number in collector.ends)
    ends = {(level, number - begins[level]): collector.ends[number] for level, number in places}
    edges = list(collector.edges_between(begins))
    return Layers(witnessing, tables, list(found.levels), edges, collector.initial, ends)
