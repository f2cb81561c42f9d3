"""The whole reachable graph of a model that fits in memory (up to a few million states), as arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model_check.engine.block import Batch, Worker
from model_check.engine.explorer import explore
from model_check.engine.representatives import Represent, Representatives
from model_check.engine.steps import initial_states
from model_check.engine.system import Exploration, GlobalState, Limits, PathStep, System
from model_check.engine.tables import LOSE, Tables

LOST = "lose"


@dataclass(frozen=True, slots=True)
class Graph:
    """A labelled directed multigraph on states 0 to ``size - 1``.

    ``initial``: numbers of the initial states, with ``initial_indices``, where each stands in
    ``System.initial_states()``. Edge e leads from ``sources[e]`` to ``targets[e]`` (int32) and carries label
    number ``labels[e]``; ``label_values`` has the labels: (step, action), the action ``"lose"`` for a loss.
    ``state(i)`` is state i. ``exploration``: how the graph was found, or ``None`` for a graph made by hand.

    Where states are replaced by representatives, ``successors[e]`` is the number of the state that step e
    leads to from its source, before it is replaced: that of ``targets[e]``, or one from ``size`` on, of which
    ``state`` knows as well.
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

    @property
    def moving(self) -> NDArray[np.bool_]:
        """The edges that change the state."""
        changed: NDArray[np.bool_] = self.sources != self.ends
        return changed

    @property
    def ends(self) -> NDArray[np.int32]:
        """The states that the steps lead to before they are replaced by others."""
        return self.targets if self.successors is None else self.successors

    def mask(self, holds: Callable[[GlobalState], bool] | NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which states satisfy ``holds`` (a mask stays as it is)."""
        if isinstance(holds, np.ndarray):
            return holds
        return np.fromiter((holds(self.state(number)) for number in range(self.size)), bool, self.size)


class _Collector:
    """Collects states and candidates from an exploration; numbers states in the order of discovery."""

    def __init__(self) -> None:
        self.rows: list[NDArray[np.int32]] = []
        self.fps: list[NDArray[np.uint64]] = []
        self.edges: list[tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]] = []
        self.count = 0
        self.level_begin = self.level_end = 0

    def on_states(self, batch: Batch) -> None:
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


class IncompleteGraphError(Exception):
    """The reachable graph has more states than were allowed."""


def collect_graph(
    system: System, *, threads: int = 1, max_states: int = 2_000_000, represent: Represent | None = None
) -> Graph:
    """The reachable graph of ``system``. Needs about 100 bytes a state and 20 an edge.

    ``represent``: what stands for a state (see :mod:`~model_check.engine.representatives`); the graph is
    that of these states.

    Steps that the constraints cut are not edges (``exploration.constrained`` counts them), nor are
    violating steps; states that break an invariant have no successors. Raises IncompleteGraphError when there
    are more than ``max_states`` states.
    """
    tables, collector = Tables(system), _Collector()
    if not tables.symmetry.trivial:
        raise ValueError("a graph shows all states: symmetry is for searches")
    others = None if represent is None else Representatives(tables, represent)
    exploration = explore(
        system, threads=1 if others else threads, limits=Limits(max_states=max_states), keep_going=True,
        on_candidates=collector.on_candidates, on_states=collector.on_states, tables=tables,
        representatives=others,
    )  # fmt: skip
    if exploration.limit is not None:
        raise IncompleteGraphError(f"the graph has more states than the {max_states:,} allowed")
    rows, fps = np.concatenate(collector.rows), np.concatenate(collector.fps)
    no_edge = (np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.uint32))
    sources, target_fps, codes = (
        np.concatenate(part) for part in zip(no_edge, *collector.edges, strict=True)
    )
    successors = None
    if others is None or not others.rows:
        targets = _numbers_of(target_fps, fps)
    else:
        stands = np.concatenate([np.arange(len(fps)), _numbers_of(np.concatenate(others.by), fps)])
        successors = _numbers_of(target_fps, np.concatenate([fps, *others.fps]))
        targets, rows = stands[successors].astype(np.int32), np.concatenate([rows, *others.rows])
    distinct_codes, labels = np.unique(codes, return_inverse=True)
    begin = list(dict.fromkeys(initial_states(system)))
    indices = tuple(initial_states(system).index(state) for state in begin)
    return Graph(
        size=len(fps),
        initial=tuple(range(len(begin))),
        initial_indices=indices,
        sources=sources,
        targets=targets,
        labels=labels.astype(np.int32),
        label_values=tuple(_label(tables, code) for code in distinct_codes.tolist()),
        state=lambda number: tables.decode(rows[number]),
        exploration=exploration,
        successors=successors,
    )


def _numbers_of(wanted: NDArray[np.uint64], fps: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Where each of ``wanted`` stands in ``fps``, which has them all."""
    order = np.argsort(fps)
    numbers: NDArray[np.int32] = order[np.searchsorted(fps, wanted, sorter=order)].astype(np.int32)
    return numbers


def _label(tables: Tables, code: int) -> tuple[PathStep, Hashable]:
    step = tables.path_step(code)
    return step, LOST if code & 3 == LOSE else tables.actions[code >> 2]
