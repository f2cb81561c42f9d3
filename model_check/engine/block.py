"""One block of the frontier through the kernels, on several threads: generate, deduplicate, build, judge.

The phases have a barrier between them and need no locks: a thread owns a range of rows while it generates
and builds, and the shards with its number while it deduplicates. The tables change only between kernel
runs. New states keep the order of their first candidates (rows in order, steps in order within a row), and
neither that order nor any fingerprint depends on the numbers that interning gave: so results are the same
for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model_check.engine import judge as judging
from model_check.engine import transition as counts
from model_check.engine.build import build
from model_check.engine.expand import expand
from model_check.engine.tables import Tables, View, orbits
from model_check.engine.visited import SHARDS, Visited, partition

BLOCK = 1 << 16
RECENT = 1 << 15
GOOD = 1 << 18
MISSES = 1 << 14
NEVER = 1 << 62
# Blocks smaller than this go through one thread: handing them over would cost more.
SMALL = 2048


@dataclass(slots=True)
class Batch:
    """New states in order: rows, fingerprints (uint64[rows, permutations]), parent numbers in the level
    before, step codes.
    """

    rows: NDArray[np.int32]
    fps: NDArray[np.uint64]
    parents: NDArray[np.uint32]
    codes: NDArray[np.uint32]

    @property
    def orbits(self) -> NDArray[np.uint64]:
        """The fingerprints that the visited set knows."""
        return orbits(self.fps)

    @property
    def states(self) -> int:
        """How many states the orbits have together."""
        ordered = np.sort(self.fps, axis=1)
        return len(ordered) + int(np.count_nonzero(ordered[:, 1:] != ordered[:, :-1]))


@dataclass(slots=True)
class Totals:
    """Sums over the expanded rows, and ``states``, the size of all orbits that were found.

    ``skipped``: transitions left out because they commute with the one that led to the row.
    """

    generated: int = 0
    within: int = 0
    capacity: int = 0
    deadlocks: int = 0
    states: int = 0
    skipped: int = 0


class Worker:
    """The buffers of one thread."""

    def __init__(self) -> None:
        size = 8 * BLOCK
        self.fps = np.empty(size, np.uint64)
        self.rows = np.empty(size, np.int32)
        self.codes = np.empty(size, np.uint32)
        self.by_shard = np.empty(0, np.uint64)
        self.order = np.empty(0, np.int32)
        self.starts = np.empty(SHARDS + 1, np.int64)
        self.new = np.empty(0, np.uint8)
        self.recent = np.zeros(RECENT, np.uint64)
        self.unfiltered = np.zeros(1, np.uint64)
        self.good = np.zeros(GOOD, np.uint64)
        self.pending = np.empty(BLOCK, np.int32)
        self.misses = np.empty(MISSES, np.int64)
        self.missing = np.empty((MISSES, 2), np.int32)
        self.counters = np.zeros(counts.COUNTERS, np.int64)
        self.firsts = np.empty((0, 3), np.int64)
        self.goals = np.zeros(0, np.uint8)
        self.reran = False
        self.saved = np.zeros(counts.COUNTERS, np.int64)
        self.changes = np.zeros(1, np.int64)

    def prepare(self, sets: int, changes: int) -> None:
        """Make room for marks on ``sets`` name sets and for as many changes in a step."""
        if len(self.changes) < changes:
            self.changes = np.zeros(2 * changes, np.int64)
        if len(self.goals) < sets:
            more = max(64, 2 * sets) - len(self.goals)
            self.goals = np.concatenate([self.goals, np.zeros(more, np.uint8)])
            fresh = np.full((more, 3), NEVER, np.int64)
            self.firsts = np.concatenate([self.firsts, fresh])

    def enlarge(self) -> None:
        """Double the candidate buffers."""
        self.fps = np.concatenate([self.fps, np.empty_like(self.fps)])
        self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.codes = np.concatenate([self.codes, np.empty_like(self.codes)])

    def generate(
        self,
        view: View,
        rows: NDArray[np.int32],
        fps: NDArray[np.uint64],
        index: NDArray[np.int32],
        reduced: bool,
        filtered: bool,
    ) -> None:
        """Append the candidates of the rows in ``index``."""
        begin = 0
        recent = self.recent if filtered else self.unfiltered
        while begin < len(index):
            done = expand(
                view, rows, fps, index[begin:], reduced, self.misses, self.pending, recent,
                self.fps, self.rows, self.codes, self.firsts, self.goals, self.counters, self.saved,
                self.changes,
            )  # fmt: skip
            begin += done
            if begin < len(index):
                self.enlarge()

    @property
    def candidates(self) -> int:
        """Number of candidates in the buffers."""
        return int(self.counters[counts.POSITION])

    def sort(self) -> None:
        """Put candidates back in row order after pending rows were appended behind the others."""
        size = self.candidates
        order = np.argsort(self.rows[:size], kind="stable")
        for buffer in (self.fps, self.rows, self.codes):
            buffer[:size] = buffer[:size][order]

    def split(self) -> None:
        """Sort the candidates by shard."""
        size = self.candidates
        if len(self.order) < size:
            self.by_shard = np.empty(len(self.fps), np.uint64)
            self.order = np.empty(len(self.fps), np.int32)
            self.new = np.empty(len(self.fps), np.uint8)
        self.new[:size] = 0
        partition(self.fps[:size], self.by_shard[:size], self.order[:size], self.starts)


def wait(futures: Sequence[Future[None]]) -> None:
    """Wait until all have ended; an exception in one of them is raised here."""
    for future in futures:
        future.result()


Job = tuple[Worker, NDArray[np.int32], bool]


@dataclass(frozen=True, slots=True)
class Generation:
    """A block whose candidates are being generated by ``running``, into the buffers of ``workers``."""

    rows: NDArray[np.int32]
    fps: NDArray[np.uint64]
    workers: list[Worker]
    running: list[Future[None]]


@dataclass(slots=True)
class Blocks:
    """Runs blocks of rows of one system through the kernels.

    ``filtered``: whether candidates may be left out that were emitted a short while before; ``reduced``:
    whether orders of steps that commute may be.
    """

    tables: Tables
    visited: Visited
    threads: int
    filtered: bool = True
    reduced: bool = False
    totals: Totals = field(default_factory=Totals)
    goals: set[str] = field(default_factory=set)
    _workers: tuple[list[Worker], ...] = ()
    _turn: int = 0
    _running: list[Future[None]] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None
    _index: NDArray[np.int32] = field(default_factory=lambda: np.arange(BLOCK, dtype=np.int32))

    def __post_init__(self) -> None:
        # The next block is generated while Python resolves what the one before was lacking.
        self._workers = tuple([Worker() for _ in range(self.threads)] for _ in range(2))
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _start(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Future[Any]]:
        """Run ``task`` once for each tuple of arguments, each on a thread; with one thread, at once."""
        if self._pool is not None:
            return [self._pool.submit(task, *each) for each in arguments]
        for each in arguments:
            task(*each)
        return []

    def _all(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run ``task`` once for each tuple of arguments, each on its thread; wait for all."""
        if self._pool is None or len(arguments) == 1:
            return [task(*each) for each in arguments]
        return [future.result() for future in [self._pool.submit(task, *each) for each in arguments]]

    def begin(self, rows: NDArray[np.int32], fps: NDArray[np.uint64]) -> Generation:
        """Begin to generate the candidates of all rows, with what the tables know now."""
        self._turn = 1 - self._turn
        workers = self._workers[self._turn]
        if len(rows) < SMALL:
            workers = workers[:1]
        bounds = [len(rows) * i // len(workers) for i in range(len(workers) + 1)]
        for worker in workers:
            worker.counters[:] = 0
        jobs = [(w, self._index[bounds[i] : bounds[i + 1]], self.filtered) for i, w in enumerate(workers)]
        self._running = self._generate(rows, fps, jobs)
        return Generation(rows, fps, workers, self._running)

    def _generate(
        self, rows: NDArray[np.int32], fps: NDArray[np.uint64], jobs: Sequence[Job]
    ) -> list[Future[None]]:
        view = self.tables.view()
        for worker, _, _ in jobs:
            worker.prepare(len(self.tables.name_sets), self.tables.changes_at_most)
        return self._start(
            lambda worker, index, filtered: worker.generate(view, rows, fps, index, self.reduced, filtered),
            jobs,
        )

    def finish(self, generation: Generation) -> list[Worker]:
        """The workers that hold the candidates, in row order.

        Resolves what the tables lack, while the kernels generate what was begun after this. They must not see
        tables that change: new entries wait until all of them have come to their end.
        """
        rows, fps, workers = generation.rows, generation.fps, generation.workers
        wait(generation.running)
        waiting = [worker for worker in workers if worker.counters[counts.PENDING]]
        while waiting:
            jobs = [(worker, self._take_pending(worker), False) for worker in waiting]
            self._resolve(waiting)
            wait(self._running)
            self.tables.settle()
            for worker in waiting:
                worker.reran = True
            wait(self._generate(rows, fps, jobs))
            waiting = [worker for worker in waiting if worker.counters[counts.PENDING]]
        for worker in workers:
            self._collect(worker)
        return workers

    def _take_pending(self, worker: Worker) -> NDArray[np.int32]:
        size = int(worker.counters[counts.PENDING])
        worker.counters[counts.PENDING] = 0
        return worker.pending[:size].copy()

    def _resolve(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            for key in np.unique(worker.misses[: worker.counters[counts.MISSES]]).tolist():
                self.tables.resolve(key)
            worker.counters[counts.MISSES] = 0

    def _collect(self, worker: Worker) -> None:
        if worker.reran:
            worker.sort()
            worker.reran = False
        self.totals.generated += int(worker.counters[counts.GENERATED])
        self.totals.within += int(worker.counters[counts.CUT_WITHIN])
        self.totals.capacity += int(worker.counters[counts.CUT_CAPACITY])
        self.totals.deadlocks += int(worker.counters[counts.DEADLOCKS])
        self.totals.skipped += int(worker.counters[counts.SKIPPED])
        for number in np.flatnonzero(worker.goals).tolist():
            self.goals.update(self.tables.name_sets[number])
            worker.goals[number] = 0

    def violations(self, workers: Sequence[Worker]) -> dict[str, tuple[int, int]]:
        """By property, the (row, step code) of the first violating transition of the last block."""
        found: dict[str, tuple[int, int, int]] = {}
        for worker in workers:
            for number in np.flatnonzero(worker.firsts[:, 0] != NEVER).tolist():
                row, order, code = worker.firsts[number].tolist()
                worker.firsts[number] = NEVER
                for name in self.tables.name_sets[number]:
                    found[name] = min(found.get(name, (NEVER, 0, 0)), (row, order, code))
        return {name: (row, code) for name, (row, _, code) in found.items()}

    def deduplicate(self, workers: Sequence[Worker]) -> None:
        """Mark the candidates whose fingerprints are new, and add them to the visited set."""
        self._all(lambda worker: worker.split(), [(worker,) for worker in workers])

        def own(first: int) -> None:
            for shard in range(first, SHARDS, len(workers)):
                for worker in workers:
                    begin, end = worker.starts[shard : shard + 2].tolist()
                    if begin < end:
                        self.visited.add(
                            shard, worker.by_shard[begin:end], worker.order[begin:end], worker.new
                        )

        self._all(own, [(number,) for number in range(len(workers))])

    def build(self, workers: Sequence[Worker], rows: NDArray[np.int32], base: int) -> Batch:
        """The new states among the candidates, in order; ``base`` is the number of the block's first row."""
        view = self.tables.view()
        counts = [int(np.count_nonzero(worker.new[: worker.candidates])) for worker in workers]
        total = sum(counts)
        batch = Batch(
            np.empty((total, rows.shape[1]), np.int32),
            np.empty((total, len(self.tables.symmetry.permutations)), np.uint64),
            np.empty(total, np.uint32),
            np.empty(total, np.uint32),
        )

        def write(worker: Worker, begin: int, end: int) -> None:
            size = worker.candidates
            build(
                view, rows, worker.fps[:size], worker.rows[:size], worker.codes[:size], worker.new[:size],
                batch.rows[begin:end], batch.fps[begin:end], batch.parents[begin:end], batch.codes[begin:end],
                base, np.empty(rows.shape[1], np.int32),
            )  # fmt: skip

        ends = np.cumsum(counts).tolist()
        self._all(write, [(w, end - count, end) for w, count, end in zip(workers, counts, ends, strict=True)])
        return batch

    def judge(self, rows: NDArray[np.int32]) -> dict[str, int]:
        """Judge the invariants on new rows and mark those that break one (first column inverted).

        Returns by invariant the first row that breaks it.
        """
        names = [invariant.name for invariant in self.tables.system.invariants]
        if not names or not len(rows):
            return {}
        workers = self._workers[0] if len(rows) >= SMALL else self._workers[0][:1]
        status = np.zeros(len(rows), np.uint8)
        firsts = np.full((len(workers), len(names)), NEVER, np.int64)
        todo = np.array_split(np.arange(len(rows), dtype=np.int32), len(workers))
        while any(len(part) for part in todo):
            view = self.tables.view()
            jobs = [(w, todo[i], firsts[i]) for i, w in enumerate(workers)]
            counts = self._all(
                lambda w, index, first, v=view: judging.judge(
                    v, rows, index, w.good, status, first, w.missing
                ),
                jobs,
            )
            for worker, count in zip(workers, counts, strict=True):
                for row, invariant in worker.missing[:count].tolist():
                    self.tables.resolve_verdict(rows[row], invariant)
            todo = [part[status[part] == judging.UNKNOWN] for part in todo]
        bad = np.flatnonzero(status == judging.BAD)
        rows[bad, 0] = ~rows[bad, 0]
        lowest = firsts.min(axis=0).tolist()
        return {name: row for name, row in zip(names, lowest, strict=True) if row != NEVER}
