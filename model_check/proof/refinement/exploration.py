"""All states and transitions of a system, as arrays, with a shortest path to each state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import Collector, edges_of
from kraftcheck.engine.memo import ACT, DELIVER, LIMIT, SIGNAL_LOCAL
from kraftcheck.engine.system import Exploration, Limits, PathStep
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import LOSE
from kraftcheck.engine.watch import Progress
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.system import KRaftSystem


@dataclass(frozen=True)
class Explored:
    """A system that was explored whole, with all orders of steps.

    States are numbered in the order of discovery, 0 is the initial one. ``locals_``: int32[states,
    components], numbers of local states in ``tables``; ``parents``: int64[states], and ``codes``, the step
    from there (of the initial state: none). ``sources``, ``targets``: int32[edges]; ``steps``: int32[edges],
    the number of the outcome, -1 where the network loses a message.
    """

    tables: Tables
    exploration: Exploration
    locals_: NDArray[np.int32]
    parents: NDArray[np.int64]
    codes: NDArray[np.uint32]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    edge_codes: NDArray[np.uint32]

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.locals_)

    @property
    def steps(self) -> NDArray[np.int32]:
        """The number of the outcome of each edge; -1 for a loss."""
        return outcomes_of(self.edge_codes)

    @property
    def tree_steps(self) -> NDArray[np.int32]:
        """The number of the outcome that led to each state first; -1 for a loss and the initial state."""
        found = outcomes_of(self.codes)
        found[0] = -1
        return found

    def befores(self) -> NDArray[np.int32]:
        """The number of the local state that each outcome starts from."""
        found = np.full(len(self.tables.owners), -1, np.int32)
        for key in self.tables.resolved:
            if key >> 60 in (DELIVER, ACT):
                value = self.tables.memo.get(key)
                start, count = value >> 20, value & (1 << 20) - 1
                found[start : start + count] = key >> 30 & LIMIT - 1
        return found

    def changed_by_others(self) -> list[tuple[int, int]]:
        """Numbers of local states that a step of another component changes, and their values after it."""
        keys = [key for key in self.tables.resolved if key >> 60 == SIGNAL_LOCAL]
        found = {(key & LIMIT - 1, self.tables.memo.get(key)) for key in keys}
        return sorted((before, after) for before, after in found if before != after)

    def path_to(self, state: int) -> list[PathStep]:
        """The steps of the shortest path to ``state``."""
        found = []
        while state:
            found.append(self.tables.path_step(int(self.codes[state])))
            state = int(self.parents[state])
        return found[::-1]

    def distinct_transitions(self) -> tuple[int, int]:
        """The number of different (state, action, successor) without losses of messages, and the number of
        losses.
        """
        losses = self.edge_codes & 3 == LOSE
        names: dict[object, int] = {}
        tables = self.tables
        actions = np.array([names.setdefault(each, len(names)) for each in tables.actions], np.int64)
        counted = 0
        # Edges come in the order of their sources, block by block.
        for begin in range(0, len(self.sources), _CHUNK):
            end = min(begin + _CHUNK, len(self.sources))
            kept = ~losses[begin:end]
            pairs = self.sources[begin:end][kept].astype(np.int64) << 32 | self.targets[begin:end][kept]
            labels = actions[(self.edge_codes[begin:end][kept] >> 2).astype(np.int64)]
            order = np.lexsort((labels, pairs))
            pairs, labels = pairs[order], labels[order]
            counted += int(np.count_nonzero((np.diff(pairs) != 0) | (np.diff(labels) != 0))) + bool(
                len(pairs)
            )
        return counted, int(losses.sum())


_CHUNK = 4_000_000


def outcomes_of(codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The outcomes that step codes name; -1 for the loss of a message."""
    return np.where(codes & 3 == LOSE, -1, (codes >> 2).astype(np.int32)).astype(np.int32)


class _Tree(Collector):
    """Also collects the tree of first predecessors."""

    def __init__(self) -> None:
        super().__init__()
        self.parents: list[NDArray[np.int64]] = []
        self.codes: list[NDArray[np.uint32]] = []

    def on_states(self, batch: Batch) -> None:
        self.parents.append(batch.parents.astype(np.int64) + self.level_begin)
        self.codes.append(batch.codes)
        super().on_states(batch)


def explore_whole(
    system: KRaftSystem,
    *,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
    max_states: int | None = None,
) -> Explored:
    """Explore ``system``, which must judge no properties. Raises InputError above ``max_states`` states."""
    tables, tree = Tables(system), _Tree()
    exploration = explore(
        system, threads=threads, limits=Limits(max_states=max_states), keep_going=True, progress=progress,
        on_candidates=tree.on_candidates, on_states=tree.on_states, tables=tables,
    )  # fmt: skip
    if exploration.limit is not None:
        raise InputError(
            f"{system.name}: more than {max_states:,} states, which are not kept in memory; "
            "choose a smaller scenario."
        )
    fps = np.concatenate(tree.fps)
    rows = np.concatenate([each[:, : system.components] for each in tree.rows])
    codes = np.unique(np.concatenate([np.unique(each[2]) for each in tree.edges]))
    sources, targets, labels = edges_of(tree, fps, codes)
    return Explored(
        tables,
        exploration,
        rows,
        np.concatenate(tree.parents),
        np.concatenate(tree.codes),
        sources,
        targets,
        codes[labels].astype(np.uint32),
    )
