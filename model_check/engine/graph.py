"""The whole reachable graph of a model that fits in memory (up to a few million states), as arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch, Worker
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.representatives import Represent, Representatives
from kraftcheck.engine.system import Exploration, GlobalState, Limits, PathStep, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import LOSE
from kraftcheck.engine.watch import CAPACITY, IncompleteGraphError, Progress

LOST = "lose"
#: The number of states in a loop after which limits are checked.
WATCHED_STATES = 2_000
T = TypeVar("T")
_NO_NUMBERS, _NO_FPS, _NO_CODES = np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.uint32)


def unwatched(doing: str) -> None:
    """No limits."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A labelled directed multigraph on states 0 to ``size - 1``.

    ``initial``: numbers of the initial states, with ``initial_indices``, their places in
    ``System.initial_states()``. Edge e leads from ``sources[e]`` to ``targets[e]`` (int32) and carries label
    number ``labels[e]``; ``label_values`` has the labels: (step, action), the action ``"lose"`` for a loss.
    ``state(i)`` is state i. ``exploration``: the exploration that found the graph, or ``None`` for a graph
    made by hand.

    Where states are replaced by representatives, ``successors[e]`` is the number of the state that step e
    leads to from its source, before it is replaced: that of ``targets[e]``, or one from ``size`` on, which
    ``state`` also knows.

    ``views``: states that differ in messages and budgets alone have one number; the first state of each
    number, and the number of each state. ``None``: not known.

    ``system``: the system that the graph is of. ``left(b)``: the remaining amount of budget number b in each
    state. ``watch``: is called periodically with the current activity, and raises IncompleteGraphError where
    a limit is reached.
    """

    size: int
    initial: tuple[int, ...]
    initial_indices: tuple[int, ...]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    labels: NDArray[np.int32]
    label_values: tuple[tuple[PathStep, Hashable], ...]
    state: Callable[[int], GlobalState]
    exploration: Exploration | None = None
    successors: NDArray[np.int32] | None = None
    views: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None
    system: System | None = None
    left: Callable[[int], NDArray[np.int64]] | None = None
    watch: Callable[[str], None] = unwatched

    @property
    def moving(self) -> NDArray[np.bool_]:
        """The edges that change the state."""
        changed: NDArray[np.bool_] = self.sources != self.ends
        return changed

    @property
    def ends(self) -> NDArray[np.int32]:
        """The states that the steps lead to before they are replaced by others."""
        return self.targets if self.successors is None else self.successors

    def over_views(self, value: Callable[[GlobalState], T], kind: Any) -> NDArray[Any]:
        """``value`` of each state, as an array of type ``kind``; it must not depend on messages and budgets.

        Asked once for all states that differ in these alone, where the graph knows them.
        """
        if self.views is None:
            return self._values(value, kind, np.arange(self.size))
        firsts, which = self.views
        return self._values(value, kind, firsts)[which]

    def _values(
        self, value: Callable[[GlobalState], T], kind: Any, numbers: NDArray[np.int64]
    ) -> NDArray[Any]:
        def values() -> Iterator[T]:
            for done, number in enumerate(numbers.tolist()):
                if done % WATCHED_STATES == 0:
                    self.watch(f"looks at {done:,} of {len(numbers):,} states")
                yield value(self.state(number))

        return np.fromiter(values(), kind, len(numbers))

    def mask(self, holds: Callable[[GlobalState], bool] | NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which states satisfy ``holds``, as for :meth:`over_views` (a mask stays as it is)."""
        return holds if isinstance(holds, np.ndarray) else self.over_views(holds, bool)


class Collector:
    """Collects states and candidates from an exploration; numbers states in the order of discovery."""

    def __init__(self) -> None:
        self.rows: list[NDArray[np.int32]] = []
        self.fps: list[NDArray[np.uint64]] = []
        self.edges: list[tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]] = []
        self.initial: list[int] = []
        self.count = 0
        self.level_begin = self.level_end = 0

    def on_states(self, batch: Batch) -> None:
        if not self.rows:
            # Of the initial states with one representative only the first is listed.
            self.initial = batch.parents.tolist()
        self.rows.append(batch.rows)
        self.fps.append(batch.fps[:, 0])
        self.count += len(batch.fps)

    def on_candidates(self, base: int, workers: list[Worker]) -> None:
        if base == 0:
            self.level_begin, self.level_end = self.level_end, self.count
        for worker in workers:
            size = worker.candidates
            sources = worker.rows[:size] + np.int32(self.level_begin + base)
            self.edges.append((sources, worker.fps[:size].copy(), worker.codes[:size].copy()))


#: Why there is no graph, by the limit that was reached.
_TOO_LARGE = {
    "max_states": "the graph has more states than the {0.max_states:,} allowed",
    "max_memory": "the graph needs more than the {0.max_memory:,} bytes allowed",
    "max_seconds": "the graph takes more than {0.max_seconds} seconds",
    CAPACITY: "the network has no room for a step",
}


def collect_graph(
    system: System,
    *,
    threads: int = 1,
    limits: Limits = Limits(max_states=2_000_000),  # noqa: B008
    represent: Represent | None = None,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[str], None] = unwatched,
    tables: Tables | None = None,
) -> Graph:
    """The reachable graph of ``system``. Needs about 120 bytes a state and 28 an edge.

    ``represent``: the representative of a state (see :mod:`~kraftcheck.engine.representatives`); the graph is
    that of representatives.

    Steps that the constraints prune are not edges (``exploration.constrained`` counts them), nor are
    violating steps; states that break an invariant have no successors. With ``limits.max_depth`` it is the
    graph of the levels up to that one, whose states have no successors. Raises IncompleteGraphError where
    another limit of ``limits`` is reached. ``progress``: is called with the state of the search; ``watch``:
    see :class:`Graph`. ``tables``: those of ``system``.
    """
    tables, collector = tables or Tables(system), Collector()
    if not tables.symmetry.trivial:
        raise ValueError("a graph shows all states: symmetry is for searches")
    others = None if represent is None else Representatives(tables, represent)
    exploration = explore(
        system, threads=1 if others else threads, limits=limits, keep_going=True, progress=progress,
        on_candidates=collector.on_candidates, on_states=collector.on_states, tables=tables,
        representatives=others,
    )  # fmt: skip
    if exploration.limit not in (None, "max_depth"):
        problem = _TOO_LARGE[exploration.limit].format(limits)
        raise IncompleteGraphError(problem, exploration.limit, exploration.levels)
    watch("building the graph")
    rows, fps = np.concatenate(collector.rows), np.concatenate(collector.fps)
    columns = rows[:, : system.components + 1]
    stands, known = None, fps
    if others is not None and others.rows:
        stands = np.concatenate([np.arange(len(fps)), _numbers_of(np.concatenate(others.by), fps)])
        known, rows = np.concatenate([fps, *others.fps]), np.concatenate([rows, *others.rows])
    codes = np.unique(np.concatenate([np.unique(each[2]) for each in collector.edges] or [_NO_CODES]))
    watch("building the graph")
    sources, ends, labels = edges_of(collector, known, codes, watch)
    return Graph(
        size=len(fps),
        initial=tuple(range(len(collector.initial))),
        initial_indices=tuple(collector.initial),
        sources=sources,
        targets=ends if stands is None else stands[ends].astype(np.int32),
        labels=labels,
        label_values=tuple(_label(tables, code) for code in codes.tolist()),
        state=lambda number: tables.decode(rows[number]),
        exploration=exploration,
        successors=None if stands is None else ends,
        views=_views(columns),
        system=system,
        left=lambda index: _left(rows[: len(fps)], system.components, index),
        watch=watch,
    )


def edges_of(
    collector: Collector,
    known: NDArray[np.uint64],
    codes: NDArray[np.uint32],
    watch: Callable[[str], None] = unwatched,
) -> tuple[NDArray[np.int32], ...]:
    """Sources, ends and labels of the edges; the collector's own copies are released meanwhile."""
    size = sum(len(each[0]) for each in collector.edges)
    arrays = tuple(np.empty(size, np.int32) for _ in range(3))
    order = np.argsort(known).astype(np.int32)
    ascending = known[order]
    begin = 0
    for number, (sources, fps, found) in enumerate(collector.edges):
        watch("building the graph")
        part = slice(begin, begin + len(sources))
        arrays[0][part] = sources
        # In order they are found several times as fast: their neighbours are in the cache.
        by = np.argsort(fps)
        arrays[1][part][by] = order[np.searchsorted(ascending, fps[by])]
        arrays[2][part] = np.searchsorted(codes, found)
        collector.edges[number] = (_NO_NUMBERS, _NO_FPS, _NO_CODES)
        begin = part.stop
    return arrays


def _left(rows: NDArray[np.int32], components: int, index: int) -> NDArray[np.int64]:
    """The remaining amount of budget number ``index``: see
    :meth:`~kraftcheck.engine.tables.Tables.decode`.
    """
    low, high = (rows[:, components + part].astype(np.int64) for part in (1, 2))
    units: NDArray[np.int64] = (low | high << 31) >> 8 * index & 255
    return units


def _views(columns: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """See :class:`Graph`: rows that are equal have one number."""
    which: NDArray[np.int64] = np.zeros(len(columns), np.int64)
    firsts = np.zeros(1, np.int64)
    for column in columns.T:
        both = which * (int(column.max(initial=0)) + 1) + column
        _, firsts, which = np.unique(both, return_index=True, return_inverse=True)
    return firsts, which.astype(np.int32)


def _numbers_of(wanted: NDArray[np.uint64], fps: NDArray[np.uint64]) -> NDArray[np.int32]:
    """The position of each of ``wanted`` in ``fps``, which has them all."""
    order = np.argsort(fps)
    numbers: NDArray[np.int32] = order[np.searchsorted(fps, wanted, sorter=order)].astype(np.int32)
    return numbers


def _label(tables: Tables, code: int) -> tuple[PathStep, Hashable]:
    step = tables.path_step(code)
    return step, LOST if code & 3 == LOSE else tables.actions[code >> 2]
