"""One block of the frontier through the kernels, on several threads: generate, deduplicate, build, judge.

The phases have a barrier between them and need no locks: a thread owns a range of rows while it generates
and builds, and the shards with its number while it deduplicates. The tables change only between kernel
runs. New states keep the order of their first candidates (rows in order, steps in order within a row), and
neither that order nor any fingerprint depends on the numbers that interning gave: so results are the same
for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine import transition
from kraftcheck.engine.build import build
from kraftcheck.engine.checkpoint import Totals
from kraftcheck.engine.expand import expand
from kraftcheck.engine.hashing import orbits
from kraftcheck.engine.judge import BAD, UNKNOWN, judge
from kraftcheck.engine.pool import Job, Pool, Stages
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import Room, View
from kraftcheck.engine.visited import SHARDS, Visited, partition

BLOCK = 1 << 18
# Fingerprints in the filter of candidates: few, so that it stays in the cache of a core.
RECENT = 1 << 13
GOOD = 1 << 18
# Budgets whose prices a thread has at hand.
PURSES = 32
MISSES = 1 << 14
NEVER = 1 << 62
# Blocks smaller than this go through one thread: distributing them would cost more.
SMALL = 2048
# Rows of a piece of background work: a phase may wait that long for a thread.
PIECE = 8192
# The number of blocks that are generated ahead, where there are several threads.
AHEAD = 2
# The number of jobs per thread in a phase, so that no thread waits long for the last one.
PARTS = 2


@dataclass(slots=True)
class Batch:
    """New states in order: rows, fingerprints (uint64[rows, 2 * permutations]), parent numbers in the level
    before, step codes.
    """

    rows: NDArray[np.int32]
    fps: NDArray[np.uint64]
    parents: NDArray[np.uint32]
    codes: NDArray[np.uint32]

    @property
    def orbits(self) -> NDArray[np.void]:
        """The fingerprints in the form of the visited set."""
        return orbits(self.fps)

    @property
    def states(self) -> int:
        """The number of states in the orbits together."""
        ordered = np.sort(self.fps[:, : self.fps.shape[1] // 2], axis=1)
        return len(ordered) + int(np.count_nonzero(ordered[:, 1:] != ordered[:, :-1]))


class Worker:
    """The buffers of one thread."""

    def __init__(self) -> None:
        size = 8 * BLOCK
        self.fps = np.empty(size, np.uint64)
        self.tags = np.empty(size, np.uint16)
        self.rows = np.empty(size, np.int32)
        self.codes = np.empty(size, np.uint32)
        self.by_shard = np.empty(0, np.uint64)
        self.tags_by_shard = np.empty(0, np.uint16)
        self.order = np.empty(0, np.int32)
        self.starts = np.empty(SHARDS + 1, np.int64)
        self.new = np.empty(0, np.uint8)
        self.recent = np.zeros(2 * RECENT, np.uint64)
        self.unfiltered = np.zeros(0, np.uint64)
        self.good = np.zeros(GOOD, np.uint64)
        self.pending = np.empty(BLOCK, np.int32)
        self.misses = np.empty(MISSES, np.int64)
        self.missing = np.empty((MISSES, 2), np.int32)
        self.counters = np.zeros(transition.COUNTERS, np.int64)
        self.firsts = np.empty((0, 3), np.int64)
        self.goals = np.zeros(0, np.uint8)
        self.reran = False
        self.saved = np.zeros(transition.COUNTERS, np.int64)
        self.changes = np.zeros(1, np.int64)
        self.purses = np.zeros((PURSES, 1), np.uint64)

    def prepare(self, room: Room) -> None:
        """Make room for what kernels write."""
        sets = room.sets
        if len(self.changes) < room.changes:
            self.changes = np.zeros(2 * room.changes, np.int64)
        if self.purses.shape[1] < 1 + 2 * room.prices:
            self.purses = np.zeros((PURSES, 1 + 2 * room.prices), np.uint64)
        if len(self.goals) < sets:
            more = max(64, 2 * sets) - len(self.goals)
            self.goals = np.concatenate([self.goals, np.zeros(more, np.uint8)])
            fresh = np.full((more, 3), NEVER, np.int64)
            self.firsts = np.concatenate([self.firsts, fresh])

    def generate(
        self,
        view: View,
        rows: NDArray[np.int32],
        fps: NDArray[np.uint64],
        index: NDArray[np.int32],
        reduced: bool,
        filtered: bool,
    ) -> None:
        """Append the candidates of the rows in ``index``; the buffers double where they are full."""
        recent = self.recent if filtered else self.unfiltered
        while len(index):
            done = expand(
                view, rows, fps, index, reduced, self.misses, self.pending, recent,
                self.fps, self.tags, self.rows, self.codes, self.firsts, self.goals, self.counters,
                self.saved, self.changes, self.purses,
            )  # fmt: skip
            index = index[done:]
            if len(index):
                self.fps = np.concatenate([self.fps, np.empty_like(self.fps)])
                self.tags = np.concatenate([self.tags, np.empty_like(self.tags)])
                self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
                self.codes = np.concatenate([self.codes, np.empty_like(self.codes)])

    @property
    def candidates(self) -> int:
        """Number of candidates in the buffers."""
        return int(self.counters[transition.POSITION])

    def sort(self) -> None:
        """Put candidates back in row order after pending rows were appended behind the others."""
        size = self.candidates
        order = np.argsort(self.rows[:size], kind="stable")
        buffers: tuple[NDArray[Any], ...] = (self.fps, self.tags, self.rows, self.codes)
        for buffer in buffers:
            buffer[:size] = buffer[:size][order]

    def unmark(self) -> None:
        """No candidate is marked as new."""
        if len(self.new) < len(self.fps):
            self.new = np.empty(len(self.fps), np.uint8)
        self.new[: self.candidates] = 0

    def split(self) -> None:
        """Sort the candidates by shard, and mark none of them as new."""
        size = self.candidates
        self.unmark()
        if len(self.order) < size:
            self.by_shard = np.empty(len(self.fps), np.uint64)
            self.tags_by_shard = np.empty(len(self.fps), np.uint16)
            self.order = np.empty(len(self.fps), np.int32)
        partition(
            self.fps[:size], self.tags[:size], self.by_shard[:size], self.tags_by_shard[:size],
            self.order[:size], self.starts,
        )  # fmt: skip


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

    ``filtered``: whether recently emitted candidates may be left out; ``reduced``: whether orders of
    commuting steps may be left out.
    """

    tables: Tables
    visited: Visited
    threads: int
    filtered: bool = True
    reduced: bool = False
    totals: Totals = field(default_factory=Totals)
    goals: set[str] = field(default_factory=set)
    index: NDArray[np.int32] = field(default_factory=lambda: np.arange(BLOCK, dtype=np.int32))
    _workers: tuple[list[Worker], ...] = ()
    _turn: int = 0
    _pool: Pool | None = None

    def __post_init__(self) -> None:
        if self.threads > 1:
            self._pool = Pool(self.threads)
        # In addition to those ahead, one block that is resolved and one whose candidates are absorbed.
        several = 1 if self._pool is None else AHEAD + 2
        self._workers = tuple([Worker() for _ in range(self.threads)] for _ in range(several))

    @property
    def ahead(self) -> int:
        """The number of blocks that may begin before the oldest is finished."""
        return AHEAD if self._pool is not None else 0

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.close()

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """The results of ``jobs``, which run on the threads. Raises the exception of a job that raises
        one.
        """
        if self._pool is None or len(jobs) == 1:
            return [job() for job in jobs]
        futures = self._pool.start(jobs)
        wait(futures)
        return [future.result() for future in futures]

    def begin(self, rows: NDArray[np.int32], fps: NDArray[np.uint64]) -> Generation:
        """Begin to generate the candidates of all rows, in the background where there are several threads.

        They do not depend on the additions of earlier blocks to the visited set.
        """
        self._turn = (self._turn + 1) % len(self._workers)
        workers = self._workers[self._turn]
        if len(rows) < SMALL:
            workers = workers[:1]
        bounds = [len(rows) * i // len(workers) for i in range(len(workers) + 1)]
        running = []
        for number, worker in enumerate(workers):
            worker.counters[:] = 0
            pieces = self._pieces(worker, rows, fps, bounds[number], bounds[number + 1])
            if self._pool is not None:
                running.append(self._pool.begin(pieces))
            else:
                for _ in pieces:
                    pass
        return Generation(rows, fps, workers, running)

    def _pieces(
        self, worker: Worker, rows: NDArray[np.int32], fps: NDArray[np.uint64], begin: int, end: int
    ) -> Iterator[None]:
        """Generate the candidates of the rows from ``begin`` to ``end`` in pieces, each with the current
        entries of the tables.
        """
        for first in range(begin, end, PIECE):
            index = self.index[first : min(end, first + PIECE)]
            self._generate(worker, rows, fps, index, self.filtered)
            yield

    def _generate(
        self,
        worker: Worker,
        rows: NDArray[np.int32],
        fps: NDArray[np.uint64],
        index: NDArray[np.int32],
        filtered: bool,
    ) -> None:
        """Append the candidates of the rows in ``index`` to the buffers of ``worker``.

        New entries of the tables are not settled yet, and arrays only grow, so that no kernel sees them.
        """
        worker.prepare(self.tables.room)
        worker.generate(self.tables.view(), rows, fps, index, self.reduced, filtered)

    def finish(self, generation: Generation) -> list[Worker]:
        """The workers that hold the candidates, in row order.

        Resolves missing table entries, while the blocks begun after this continue in the background. Kernels
        must not see tables that change: new entries wait until none of them is running.
        """
        rows, fps, workers = generation.rows, generation.fps, generation.workers
        for future in generation.running:
            future.result()
        waiting = [worker for worker in workers if worker.counters[transition.PENDING]]
        while waiting:
            jobs = [
                partial(self._generate, worker, rows, fps, self._take_pending(worker), False)
                for worker in waiting
            ]
            self._resolve(waiting)
            with nullcontext() if self._pool is None else self._pool.paused():
                self.tables.settle()
            for worker in waiting:
                worker.reran = True
            self.run(jobs)
            waiting = [worker for worker in waiting if worker.counters[transition.PENDING]]
        for worker in workers:
            self._collect(worker)
        return workers

    def _take_pending(self, worker: Worker) -> NDArray[np.int32]:
        size = int(worker.counters[transition.PENDING])
        worker.counters[transition.PENDING] = 0
        return worker.pending[:size].copy()

    def _resolve(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            for key in sorted(set(worker.misses[: worker.counters[transition.MISSES]].tolist())):
                self.tables.resolve(key)
            worker.counters[transition.MISSES] = 0

    def _collect(self, worker: Worker) -> None:
        if worker.reran:
            worker.sort()
            worker.reran = False
        self.totals.generated += int(worker.counters[transition.GENERATED])
        self.totals.within += int(worker.counters[transition.CUT_WITHIN])
        self.totals.capacity += int(worker.counters[transition.CUT_CAPACITY])
        self.totals.deadlocks += int(worker.counters[transition.DEADLOCKS])
        self.totals.skipped += int(worker.counters[transition.SKIPPED])
        for number in np.flatnonzero(worker.goals).tolist():
            self.goals.update(self.tables.name_sets[number])
            worker.goals[number] = 0

    def violations(self, workers: Sequence[Worker]) -> dict[str, tuple[int, int]]:
        """By property, the (row, step code) of the first violating transition of the last block; the first
        of all comes first, whichever numbers its step and its set of properties have.
        """
        found: dict[str, tuple[int, int, int]] = {}
        for worker in workers:
            for number in np.flatnonzero(worker.firsts[:, 0] != NEVER).tolist():
                row, order, code = worker.firsts[number].tolist()
                worker.firsts[number] = NEVER
                for name in self.tables.name_sets[number]:
                    found[name] = min(found.get(name, (NEVER, 0, 0)), (row, order, code))
        first = sorted(found.items(), key=lambda each: (each[1][:2], each[0]))
        return {name: (row, code) for name, (row, _, code) in first}

    def absorb(self, workers: Sequence[Worker], rows: NDArray[np.int32], base: int) -> Future[Batch]:
        """The new states among the candidates, in order, which join the visited set.

        ``base`` is the number of the block's first row in its level. With several threads the result comes
        later; candidates of blocks absorbed before come first.
        """
        stages = self._stages(workers, rows, base)
        return self._at_once(stages) if self._pool is None else self._pool.start_stages(stages)

    def chosen(
        self, workers: Sequence[Worker], rows: NDArray[np.int32], choose: Callable[[Worker], None]
    ) -> Batch:
        """The states of the candidates that ``choose`` marks as new, whether they are or not, in order."""
        stages = self._chosen(workers, rows, choose)
        done = self._at_once(stages) if self._pool is None else self._pool.start_stages(stages)
        found: Batch = done.result()
        return found

    def _at_once(self, stages: Stages) -> Future[Batch]:
        done: Future[Batch] = Future()
        while not done.done():
            try:
                for job in next(stages):
                    job()
            except StopIteration as end:
                done.set_result(end.value)
        return done

    def _stages(self, workers: Sequence[Worker], rows: NDArray[np.int32], base: int) -> Stages:
        yield [worker.split for worker in workers]
        parts = PARTS * len(workers)
        yield [partial(self._deduplicate, workers, first, parts) for first in range(parts)]
        return (yield from self._built(workers, rows, base))

    def _chosen(
        self, workers: Sequence[Worker], rows: NDArray[np.int32], choose: Callable[[Worker], None]
    ) -> Stages:
        for worker in workers:
            worker.unmark()
        yield [partial(choose, worker) for worker in workers]
        return (yield from self._built(workers, rows, 0))

    def _built(self, workers: Sequence[Worker], rows: NDArray[np.int32], base: int) -> Stages:
        pieces = []
        for worker in workers:
            bounds = [worker.candidates * i // PARTS for i in range(PARTS + 1)]
            pieces += [(worker, slice(*bounds[i : i + 2])) for i in range(PARTS)]
        sizes = [int(np.count_nonzero(worker.new[piece])) for worker, piece in pieces]
        total = sum(sizes)
        batch = Batch(
            np.empty((total, rows.shape[1]), np.int32),
            np.empty((total, 2 * len(self.tables.symmetry.permutations)), np.uint64),
            np.empty(total, np.uint32),
            np.empty(total, np.uint32),
        )
        ends = np.cumsum(sizes).tolist()
        yield [
            partial(self._build, worker, piece, rows, base, batch, slice(end - size, end))
            for (worker, piece), size, end in zip(pieces, sizes, ends, strict=True)
        ]
        return batch

    def _deduplicate(self, workers: Sequence[Worker], first: int, step: int) -> None:
        """Mark new candidates and add them to the visited set: shard ``first``, every ``step``-th after."""
        for worker in workers:
            size = worker.candidates
            self.visited.add(
                first, step, worker.by_shard[:size], worker.tags_by_shard[:size], worker.order[:size],
                worker.starts, worker.new,
            )  # fmt: skip

    def _build(
        self, worker: Worker, piece: slice, rows: NDArray[np.int32], base: int, batch: Batch, to: slice
    ) -> None:
        """Write the new states among the candidates in ``piece`` to the rows ``to`` of ``batch``."""
        build(
            self.tables.view(), rows, worker.fps[piece], worker.tags[piece], worker.rows[piece],
            worker.codes[piece], worker.new[piece], batch.rows[to], batch.fps[to], batch.parents[to],
            batch.codes[to], base, np.empty(rows.shape[1], np.int32),
        )  # fmt: skip

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
            jobs = [
                partial(judge, view, rows, todo[i], w.good, status, firsts[i], w.missing)
                for i, w in enumerate(workers)
            ]
            written = self.run(jobs)
            for worker, count in zip(workers, written, strict=True):
                for row, invariant in worker.missing[:count].tolist():
                    self.tables.resolve_verdict(rows[row], invariant)
            todo = [part[status[part] == UNKNOWN] for part in todo]
        bad = np.flatnonzero(status == BAD)
        rows[bad, 0] = ~rows[bad, 0]
        lowest = firsts.min(axis=0).tolist()
        return {name: row for name, row in zip(names, lowest, strict=True) if row != NEVER}
