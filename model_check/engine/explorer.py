"""Breadth-first exploration of a system, level by level, with the compiled kernels.

The result equals that of :func:`kraftcheck.engine.reference_explorer.explore_naively` (up to the choice among
equally short counterexamples) as long as no two states share a fingerprint; the result gives the probability
of that.
"""

from __future__ import annotations

import errno
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch, Blocks, Generation, Worker
from kraftcheck.engine.checkpoint import Checkpoint, Found
from kraftcheck.engine.forecast import later_states
from kraftcheck.engine.frontier import IN_MEMORY, Frontier
from kraftcheck.engine.hashing import FINGERPRINT_BITS, SUM_BITS, orbits
from kraftcheck.engine.links import Links
from kraftcheck.engine.resume import Complete, complete, restore, save
from kraftcheck.engine.spill import Spill
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import (
    UNLIMITED,
    Exploration,
    Interrupted,
    Limits,
    System,
    Violation,
    check_property,
    split_goals,
    verdict_of,
)
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.visited import Visited
from kraftcheck.engine.watch import (
    CAPACITY,
    INTERRUPTED,
    PROGRESS_SECONDS,
    Progress,
    available_bytes,
    resident_bytes,
)
from kraftcheck.support.collector import without_collector
from kraftcheck.support.errors import DiskError

#: The errors of the operating system for a folder that is full or cannot be written.
_UNWRITABLE = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT,
    errno.ENOTDIR, errno.EISDIR,
})  # fmt: skip

#: Bytes for code, tables and blocks.
BASE = 1 << 29
#: Bytes, and the part of the memory, that levels beyond their share leave.
RESERVED, RESERVED_PART = 1 << 30, 1 / 5
#: A level, the number of a block's first state in it, and by property the (row, code) of a violating step.
StepsViolating = tuple[int, int, dict[str, tuple[int, int]]]


class LimitReached(Exception):
    """Internal: the exploration ends here; the argument names the limit."""


@dataclass(slots=True)
class Search:
    """The state of one exploration."""

    system: System
    tables: Tables
    blocks: Blocks
    links: Links
    spill: Spill
    in_memory: int
    limits: Limits
    keep_going: bool
    progress: Callable[[Progress], None] | None
    on_candidates: Callable[[int, list[Worker]], None] | None = None
    on_states: Callable[[Batch], None] | None = None
    checkpoint: Checkpoint | None = None
    representatives: Callable[[Batch, Visited], Batch] | None = None
    levels: list[int] = field(default_factory=list)
    violations: dict[str, Violation] = field(default_factory=dict)
    origins: dict[str, Found] = field(default_factory=dict)
    distinct: int = 0
    peak: int = 0
    begin: float = field(default_factory=time.monotonic)
    spent: float = 0.0
    _complete: Complete | None = None
    _steps: deque[StepsViolating] = field(default_factory=deque)
    _reported: tuple[float, int] = (0.0, 0)

    def new_frontier(self) -> Frontier:
        """An empty level."""
        return Frontier(self.links.folder, self.in_memory, self._is_roomy)

    def _is_roomy(self) -> bool:
        """Whether a level may take more memory than its share: much is left of what the user allows, even
        when the visited set will have grown to what is expected.
        """
        if self.limits.max_memory is None:
            return False
        whole, left = available_bytes(self.limits.max_memory)
        visited = self.blocks.visited
        growth = max(0, visited.expected_bytes - visited.bytes)
        return left - growth > max(RESERVED, RESERVED_PART * whole)

    def elapsed(self) -> float:
        """Seconds of this search, including those ``spent`` before it continued from a checkpoint."""
        return time.monotonic() - self.begin + self.spent

    def start(self) -> Frontier:
        """Level 0."""
        states = initial_states(self.system)
        if not states:
            raise ValueError("the system has no initial state")
        self.tables.symmetry.check_initial(states)
        rows = np.stack([self.tables.encode(state) for state in states])
        fps = self.tables.fingerprints(rows)
        numbers = np.flatnonzero(self.blocks.visited.add_all(orbits(fps)))
        self.links.next_level()
        batch = Batch(
            rows[numbers], fps[numbers], numbers.astype(np.uint32), np.zeros(len(numbers), np.uint32)
        )
        frontier = self.new_frontier()
        self.levels.append(0)
        self._admit(batch, frontier)
        return frontier

    def _admit(self, batch: Batch, frontier: Frontier) -> None:
        """Take new states of the current level in: links, invariants, frontier."""
        if self.representatives is not None:
            batch = self.representatives(batch, self.blocks.visited)
        self.links.append(batch.parents, batch.codes, batch.orbits if self.links.fingerprints else None)
        level, first = len(self.levels) - 1, self.levels[-1]
        self.levels[-1] += len(batch.rows)
        self.distinct += len(batch.rows)
        self.blocks.totals.states += batch.states
        broken = self.blocks.judge(batch.rows)
        for name, row in sorted(broken.items(), key=lambda item: item[1]):
            self.violate(name, level, first + row, [])
        if self.on_states is not None:
            self.on_states(batch)
        frontier.append(batch.rows, batch.fps)

    def violate(self, name: str, level: int, number: int, more: list[int]) -> None:
        """Report a violation by the steps to state ``number`` of ``level``, then the step codes ``more``."""
        if check_property(self.system, name) in self.violations:
            return
        initial, codes = self.links.trace(level, number)
        path = tuple(self.tables.path_step(code) for code in codes + more)
        self.origins[name] = Found(name, level, number, more)
        self.violations[name] = Violation(name, len(path), path, initial)

    def expand_level(self, frontier: Frontier) -> Frontier:
        """Generate the next level."""
        following = self.new_frontier()
        base, size, level = 0, frontier.size, len(self.levels) - 1
        self.links.next_level()
        visited, later = self.blocks.visited, later_states(self.levels) or 0
        most = later if self.limits.max_states is None else self.limits.max_states - self.distinct
        visited.expect(len(visited) + min(later, most))
        self.levels.append(0)
        absorbing: Future[Batch] | None = None
        try:
            for rows, workers in self._generated(frontier):
                # The table entries that these candidates lacked were resolved while the previous candidates
                # were absorbed, whose new states are taken in while these are absorbed.
                found = None if absorbing is None else absorbing.result()
                if found is not None and self._takes_turns():
                    self._take(found, following, size)
                    found = None
                self._steps.append((level, base, self.blocks.violations(workers)))
                if self.on_candidates is not None:
                    self.on_candidates(base, workers)
                absorbing = self.blocks.absorb(workers, rows, base)
                base += len(rows)
                if found is not None:
                    self._take_new(found, following)
                    try:
                        self._check(size)
                    except LimitReached:
                        self._steps.clear()  # Of the block that is generated ahead.
                        raise
            if absorbing is not None:
                self._take(absorbing.result(), following, size)
            self._take_held(following, size)
        finally:
            while self._steps:
                self._violate_by_steps()
            if not self.levels[-1]:
                self.levels.pop()
        return following

    def _violate_by_steps(self) -> None:
        """Report the violations by steps of the next block."""
        level, base, found = self._steps.popleft()
        for name, (row, code) in found.items():
            self.violate(name, level, base + row, [code])

    def _takes_turns(self) -> bool:
        """Whether new states are taken in before the next candidates are absorbed: where that changes the
        visited set, and where there is one thread.
        """
        return (
            self.blocks.ahead == 0
            or self.representatives is not None
            or bool(self.spill.parts)
            or self.spill.is_due(self.blocks)
        )

    def _take(self, batch: Batch, following: Frontier, size: int) -> None:
        """Take the new states of a block in, or hold them where parts of the visited set on disk must be read
        first; the level that is expanded has ``size`` states.
        """
        if self.spill.parts:
            self.spill.hold(batch)
        else:
            self._take_new(batch, following)
        if self.spill.is_due(self.blocks):
            self._take_held(following, size)
            self.spill.write(self.blocks)
        self._check(size)

    def _take_held(self, following: Frontier, size: int) -> None:
        for batch in self.spill.taken(self.blocks, partial(self._check, size)):
            self._take_new(batch, following)
            self._check(size)

    def _take_new(self, batch: Batch, following: Frontier) -> None:
        """What the steps of a block violate comes before what its new states do, and after earlier blocks."""
        self._violate_by_steps()
        self._admit(batch, following)

    def _check(self, size: int) -> None:
        self._check_limits()
        self._report(size)

    def _generated(self, frontier: Frontier) -> Iterator[tuple[NDArray[np.int32], list[Worker]]]:
        """Block by block, the rows and the workers with their candidates; some blocks are begun ahead."""
        begun: deque[Generation] = deque()
        for rows, fps in frontier.blocks(keep=self.checkpoint is not None):
            begun.append(self.blocks.begin(rows, fps))
            if len(begun) > self.blocks.ahead:
                yield begun[0].rows, self.blocks.finish(begun.popleft())
        while begun:
            yield begun[0].rows, self.blocks.finish(begun.popleft())

    def _check_limits(self) -> None:
        limits = self.limits
        memory = resident_bytes()
        self.peak = max(self.peak, memory)
        if limits.max_states is not None and self.distinct > limits.max_states:
            raise LimitReached("max_states")
        if limits.max_memory is not None and memory > limits.max_memory:
            raise LimitReached("max_memory")
        if limits.max_seconds is not None and time.monotonic() - self.begin > limits.max_seconds:
            raise LimitReached("max_seconds")
        if not limits.over_capacity and self.blocks.totals.capacity:
            raise LimitReached(CAPACITY)

    def _report(self, frontier: int) -> None:
        if self.progress is None:
            return
        seconds = self.elapsed()
        since, before = self._reported
        if seconds - since < PROGRESS_SECONDS:
            return
        self._reported = (seconds, self.distinct)
        self.progress(
            Progress(
                level=len(self.levels) - 1,
                distinct=self.distinct,
                generated=self.blocks.totals.generated,
                frontier=frontier,
                rate=(self.distinct - before) / (seconds - since),
                memory=self.peak,
                seconds=seconds,
                estimate=self._estimate(),
            )
        )

    def _estimate(self) -> int | None:
        """A guess at the number of all states, once it is likely that half of them are known: earlier ones
        are often far off.
        """
        complete = self.levels[:-1]
        known, later = sum(complete), later_states(complete)
        return None if later is None or later > known else max(known + later, self.distinct)

    def run(self) -> str | None:
        """Explore; the limit that ended the search, if any. The checkpoint then has all complete levels."""
        limit = self._run()
        if self.checkpoint is not None and self._complete is not None:
            if limit is not None:
                save(self, self.checkpoint, self._complete)
            self._complete.frontier.close()
        return limit

    def _run(self) -> str | None:
        try:
            frontier = self._first_frontier()
            while frontier.alive and (self.keep_going or not self.violations):
                if self.checkpoint is not None:
                    self._note(frontier, self.checkpoint)
                if self.limits.max_depth is not None and len(self.levels) > self.limits.max_depth:
                    return "max_depth"
                frontier = self.expand_level(frontier)
        except LimitReached as reached:
            return str(reached)
        except KeyboardInterrupt:
            return INTERRUPTED
        return None

    def _note(self, frontier: Frontier, checkpoint: Checkpoint) -> None:
        """The last level is complete. The kept parts of the previous level are released now."""
        before, self._complete = self._complete, complete(self, frontier, checkpoint.made_for)
        if before is not None:
            before.frontier.close()
        if checkpoint.due():
            save(self, checkpoint, self._complete)

    def _first_frontier(self) -> Frontier:
        saved = None if self.checkpoint is None else self.checkpoint.load()
        if self.checkpoint is None or saved is None:
            return self.start()
        return restore(self, self.checkpoint, saved)

    @property
    def bits(self) -> int:
        """The bits that distinguish states: outside the visited set those of the sum alone."""
        return SUM_BITS if self.links.elsewhere or self.on_candidates else FINGERPRINT_BITS

    def _collisions(self) -> float:
        """Pairs of states times the chance of one. The least of g random numbers takes fewer values than one
        number: two such minima agree g * g / (2 * g - 1) times as often.
        """
        group = len(self.tables.symmetry.permutations)
        pairs = self.distinct**2 / 2 * group**2 / (2 * group - 1)
        return float(min(1.0, pairs / 2.0**self.bits))

    def result(self, limit: str | None) -> Exploration:
        """The result of :meth:`run`."""
        totals = self.blocks.totals
        hit, missing = split_goals(self.system, self.blocks.goals)
        return Exploration(
            verdict=verdict_of(bool(self.violations), limit, missing),
            distinct=self.distinct,
            states=totals.states,
            generated=totals.generated,
            skipped=totals.skipped,
            depth=max(len(self.levels) - 1, 0),
            levels=tuple(self.levels),
            violations=tuple(self.violations.values()),
            reached_goals=hit,
            missing_goals=missing,
            constrained={"capacity": totals.capacity, "within": totals.within},
            deadlocks=totals.deadlocks,
            calls=self.tables.calls,
            seconds=self.elapsed(),
            peak_memory=max(self.peak, resident_bytes()),
            visited_bytes=self.blocks.visited.bytes,
            spilled_bytes=self.spill.bytes,
            collision_probability=self._collisions(),
            limit=limit,
        )


@contextmanager
def explaining_a_full_disk(folder: Path | None) -> Iterator[None]:
    """Raises DiskError where levels cannot be written, to ``folder`` or a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        # If no folder takes a temporary file, tempfile has found none.
        place = folder or tempfile.tempdir or "temporary files"
        raise DiskError(
            f"{place}: cannot be written ({error.strerror}); the levels of an "
            "exploration are kept there; make room, or choose another folder with TMPDIR or --checkpoint."
        ) from None


def explore(
    system: System,
    *,
    threads: int = 1,
    limits: Limits = UNLIMITED,
    keep_going: bool = False,
    partial_order: bool = True,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
    on_candidates: Callable[[int, list[Worker]], None] | None = None,
    on_states: Callable[[Batch], None] | None = None,
    tables: Tables | None = None,
    representatives: Callable[[Batch, Visited], Batch] | None = None,
    run: Callable[[Search], str | None] = Search.run,
    keep_fingerprints: bool = False,
) -> Exploration:
    """Explore all states of ``system`` within ``limits``.

    The search stops after the level in which the first violation appears; with ``keep_going`` it continues,
    and reports for each property the first violation. ``checkpoint``: the place to which the search is saved
    periodically, and when a limit or Ctrl-C ends it; a checkpoint that exists already is continued. It is
    removed when the search is complete. ``limits.max_seconds`` counts from the continuation. ``progress`` is
    called about once a second. ``partial_order``: leave out orders of steps that commute (see
    :mod:`kraftcheck.engine.expand`), unless every step of every state is needed, which is the case with
    ``keep_going``, ``on_candidates`` or symmetry. ``on_candidates``, ``on_states``, ``tables`` and
    ``representatives`` are for parts of the engine that collect the graph; the last one needs a single
    thread, as it adds to the tables. In other searches the visited set goes to disk beyond its share of the
    memory (:mod:`kraftcheck.engine.spill`). ``run``: does the search, and returns the limit that ended it;
    ``keep_fingerprints``: for one that needs those of all levels. Counts, levels, violations and paths do not
    depend on ``threads``.

    Raises :class:`Interrupted` on Ctrl-C, ``ValueError`` for a system that contradicts itself (see
    :func:`initial_states`), CheckpointError for a checkpoint that cannot be used, DiskError where the disk is
    full, and MemoryError.
    """
    tables = tables if tables is not None else Tables(system)
    graph = on_candidates is not None or representatives is not None
    whole = keep_going or graph or not tables.symmetry.trivial
    folder = None if checkpoint is None else checkpoint.folder
    keep_fingerprints = keep_fingerprints or checkpoint is not None
    most = limits.max_memory
    in_memory = IN_MEMORY if most is None else max(0, available_bytes(most)[0] - BASE) // 8
    with (
        explaining_a_full_disk(folder),
        Links(folder, fingerprints=keep_fingerprints) as links,
        closing(Spill(links.folder, in_memory, most, possible=not graph)) as spill,
        closing(
            Blocks(
                tables, Visited(), max(1, threads), filtered=on_candidates is None,
                reduced=partial_order and not whole,
            )
        ) as blocks,
    ):  # fmt: skip
        search = Search(
            system, tables, blocks, links, spill, in_memory, limits, keep_going, progress,
            on_candidates, on_states, checkpoint, representatives,
        )  # fmt: skip
        with without_collector():
            limit = run(search)
        if checkpoint is not None and limit is None:
            checkpoint.remove()
        result = search.result(limit)
        if limit == INTERRUPTED:
            raise Interrupted(result)
        return result
