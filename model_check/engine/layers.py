"""All shortest paths: the levels of a search, and every step from one level to the next.

A search keeps one predecessor of each state. Here the same levels are explored again with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch, Worker
from kraftcheck.engine.explorer import Progress, explore
from kraftcheck.engine.graph import LOST
from kraftcheck.engine.system import Limits, PathStep, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import LOSE
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


@dataclass(slots=True)
class _Collector:
    system: Witnessing
    tables: Tables
    fps: list[list[NDArray[np.uint64]]] = field(default_factory=list)
    raw: list[tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]] = field(default_factory=list)
    edges: list[Edges] = field(default_factory=list)
    initial: list[int] = field(default_factory=list)
    ends: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)

    def on_states(self, batch: Batch) -> None:
        if not self.fps:
            self.fps.append([])
            self.initial = batch.parents.tolist()
        level = len(self.fps) - 1
        first = sum(map(len, self.fps[level]))
        for row in np.flatnonzero(batch.rows[:, 0] < 0).tolist():
            state = self.tables.decode(batch.rows[row])
            self.ends[level, first + row] = violated_in(self.system, state)
        self.fps[level].append(batch.fps[:, 0])

    def on_candidates(self, base: int, workers: list[Worker]) -> None:
        if base == 0:
            self.close_level()
            self.fps.append([])
        for worker in workers:
            size = worker.candidates
            rows = worker.rows[:size] + np.int32(base)
            self.raw.append((rows, worker.fps[:size].copy(), worker.codes[:size].copy()))

    def close_level(self) -> None:
        """Keep the steps to states that are new in this level."""
        if len(self.fps) < 2:
            return
        none = (np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.uint32))
        sources, reached, codes = (np.concatenate(part) for part in zip(none, *self.raw, strict=True))
        self.raw = []
        known = np.concatenate([np.empty(0, np.uint64), *self.fps[-1]])
        order = np.argsort(known)
        places = np.searchsorted(known, reached, sorter=order)
        places[places == len(known)] = 0
        new = known[order[places]] == reached if len(known) else np.zeros(len(reached), np.bool_)
        targets = order[places[new]] if len(known) else np.empty(0, np.int64)
        self.edges.append(Edges(sources[new], targets.astype(np.int32), codes[new]))


def collect_layers(
    system: System,
    depth: int,
    limits: Limits,
    progress: Callable[[Progress], None] | None = None,
    *,
    threads: int = 1,
) -> Layers | None:
    """The levels of ``system`` up to ``depth``.

    ``None`` if that is more than ``limits`` allow. Takes 8 bytes a state and 12 a step that is kept.
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
    collector.close_level()
    sizes = [sum(map(len, level)) for level in collector.fps]
    return Layers(witnessing, tables, sizes, collector.edges, collector.initial, collector.ends)
