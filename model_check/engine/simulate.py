"""Random walks: for spaces too large to exhaust, and to see typical behaviour.

A walk starts in a random initial state and takes, at each state, one of its steps within the constraints,
until it violates a property, has no such step, or is long enough. Walks show that something can happen, never
that it cannot: the verdict is *undetermined* unless a property is violated.

Many walks are taken at once, as levels of a search that keeps one successor of each state
(:mod:`kraftcheck.engine.choose` says which), on the kernels that explore. So all steps that are possible
where a walk passes are looked at: violations and goals are those of the steps that it could have taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Blocks, Worker
from kraftcheck.engine.choose import SKETCH_BITS, begin, choose, sketch
from kraftcheck.engine.hashing import content_hash, orbits
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import (
    UNLIMITED,
    Exploration,
    Limits,
    System,
    Verdict,
    Violation,
    check_property,
    split_goals,
)
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import LOSE
from kraftcheck.engine.visited import Visited
from kraftcheck.engine.watch import INTERRUPTED, PROGRESS_SECONDS, resident_bytes
from kraftcheck.support.collector import without_collector

#: So many walks are taken at first, so that the next ones know which steps are rare; then twice as many each
#: time, up to the most, and not more than keep so many links to the steps before.
FIRST_WALKS, MOST_WALKS, MOST_LINKS = 64, 1 << 16, 1 << 25

#: Of walks that are taken together, by step: the number of each in the step before, and the code of its
#: step; in the beginning the number of its initial state.
_Links = list[tuple[NDArray[np.uint32], NDArray[np.uint32]]]


class _Stopped(Exception):
    """Internal: the walks end here; the argument names the limit."""


@dataclass(slots=True)
class _Walks:
    """Walks of one system. ``taken``: how often each outcome was taken before the current walks;
    ``registers``: see :func:`kraftcheck.engine.choose.sketch`; ``walks``: how many have ended.
    """

    system: System
    seed: np.uint64
    depth: int
    keep_going: bool
    limits: Limits
    tell: Callable[[str], None] | None
    tables: Tables
    blocks: Blocks
    initial: NDArray[np.int32]
    begun: float = field(default_factory=time.monotonic)
    violations: dict[str, Violation] = field(default_factory=dict)
    walks: int = 0
    steps: int = 0
    deepest: int = 0
    taken: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    registers: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1 << SKETCH_BITS, np.uint8))
    _told: tuple[float, int] = (0.0, 0)

    def run(self, walks: int) -> str:
        """Take ``walks`` walks; the limit that ended them."""
        most = max(1, min(MOST_WALKS, MOST_LINKS // max(1, self.depth)))
        size = min(FIRST_WALKS, most)
        try:
            while self.walks < walks and (self.keep_going or not self.violations):
                self._take(min(size, walks - self.walks))
                size = min(2 * size, most)
        except _Stopped as stopped:
            return str(stopped)
        except KeyboardInterrupt:
            self.tables.interrupted = True
            return INTERRUPTED
        return "walks"

    def _take(self, count: int) -> None:
        """Take the next ``count`` walks, a step of each at a time."""
        keys, reserves = np.empty(count, np.uint64), np.empty(count, np.int64)
        rows = np.empty((count, self.initial.shape[1]), np.int32)
        starts = np.empty(count, np.uint32)
        begin(self.seed, self.walks, keys, reserves, self.initial, self.system.components, rows, starts)
        fps = self.tables.fingerprints(rows)
        links = [(starts, np.zeros(count, np.uint32))]
        self._arrive(rows, fps, links)
        while len(rows) and len(links) <= self.depth and (self.keep_going or not self.violations):
            workers = self.blocks.finish(self.blocks.begin(rows, fps))
            found = self.blocks.violations(workers)
            for name, (row, code) in found.items():
                self._report(name, links, row, [code])
            choosing = partial(self._choose, rows, keys, reserves, len(links))
            batch = self.blocks.chosen(workers, rows, choosing)
            rows, fps = batch.rows, batch.fps
            keys, reserves = keys[batch.parents], reserves[batch.parents]
            links.append((batch.parents, batch.codes))
            self.steps += len(rows)
            self._arrive(rows, fps, links)
            self._check_limits()
        self._note_taken(links)
        if self.keep_going or not self.violations:
            self.walks += count

    def _choose(
        self,
        rows: NDArray[np.int32],
        keys: NDArray[np.uint64],
        reserves: NDArray[np.int64],
        step: int,
        worker: Worker,
    ) -> None:
        places, codes, size = worker.rows, worker.codes, worker.candidates
        choose(self.tables.view(), rows, places, codes, size, keys, reserves, step, self.taken, worker.new)

    def _arrive(self, rows: NDArray[np.int32], fps: NDArray[np.uint64], links: _Links) -> None:
        """Walks have arrived in ``rows``; those that break an invariant end there."""
        if len(rows):
            self.deepest = max(self.deepest, len(links) - 1)
        sketch(orbits(fps)["sum"], self.registers)
        for name, row in sorted(self.blocks.judge(rows).items(), key=lambda each: each[1]):
            self._report(name, links, row, [])

    def _report(self, name: str, links: _Links, row: int, more: list[int]) -> None:
        """Walk ``row`` of the last step violates a property, by the step codes ``more`` after it."""
        known = self.violations.get(check_property(self.system, name))
        if known is not None and known.depth <= len(links) - 1 + len(more):
            return
        codes = more[::-1]
        for parents, step in links[:0:-1]:
            codes.append(int(step[row]))
            row = int(parents[row])
        path = tuple(self.tables.path_step(code) for code in codes[::-1])
        self.deepest = max(self.deepest, len(path))
        self.violations[name] = Violation(name, len(path), path, int(links[0][0][row]))

    def _note_taken(self, links: _Links) -> None:
        """The walks are over: the next ones know what these took."""
        codes = np.concatenate([step for _, step in links[1:]] or [np.zeros(0, np.uint32)])
        numbers = (codes >> 2)[(codes & 3) != LOSE].astype(np.int64)
        taken = np.bincount(numbers, minlength=self.tables.columns.outcomes.count)
        taken[: len(self.taken)] += self.taken
        self.taken = taken

    def _check_limits(self) -> None:
        seconds, memory = time.monotonic() - self.begun, resident_bytes()
        if self.limits.max_seconds is not None and seconds > self.limits.max_seconds:
            raise _Stopped("max_seconds")
        if self.limits.max_memory is not None and memory > self.limits.max_memory:
            raise _Stopped("max_memory")
        since, before = self._told
        if self.tell is not None and seconds - since >= PROGRESS_SECONDS:
            self._told = seconds, self.steps
            rate = (self.steps - before) / (seconds - since)
            self.tell(
                f"{self.walks:,} walks ended, {self.steps:,} steps, {rate:,.0f} steps/s, "
                f"{memory / 2**20:,.0f} MiB, {seconds:,.0f} s"
            )


def estimate(registers: NDArray[np.uint8]) -> int:
    """How many fingerprints that were noted in ``registers`` are distinct, to about 1 % (Flajolet, Fusy,
    Gandouet and Meunier, "HyperLogLog", 2007; without their bias, by Ertl, "New cardinality estimation
    algorithms for HyperLogLog sketches", 2017, section 4).
    """
    size, longest = len(registers), 64 - SKETCH_BITS
    counts = np.bincount(registers, minlength=longest + 2).tolist()
    if counts[0] == size:
        return 0
    total = size * _tau(1 - counts[longest + 1] / size)
    for zeros in range(longest, 0, -1):
        total = (total + counts[zeros]) / 2
    return round(size**2 / (2 * math.log(2) * (total + size * _sigma(counts[0] / size))))


def _sigma(empty: float) -> float:
    """Ertl's correction for the registers in which nothing is noted, as a part of all."""
    found, power, before = empty, 1.0, -1.0
    while found != before:
        empty, before = empty * empty, found
        found, power = found + empty * power, 2 * power
    return found


def _tau(rest: float) -> float:
    """Ertl's correction for those that are full; ``rest`` is the part of all others."""
    if rest in (0.0, 1.0):
        return 0.0
    found, power, before = 1 - rest, 1.0, -1.0
    while found != before:
        rest, before = math.sqrt(rest), found
        power /= 2
        found -= (1 - rest) ** 2 * power
    return found / 3


def simulate(
    system: System,
    seed: int = 0,
    walks: int = 1_000,
    depth: int = 100,
    *,
    threads: int = 1,
    keep_going: bool = False,
    limits: Limits = UNLIMITED,
    progress: Callable[[str], None] | None = None,
    tables: Tables | None = None,
) -> Exploration:
    """Take up to ``walks`` random walks of at most ``depth`` steps.

    The same ``seed`` takes the same walks, for any number of ``threads``. In the result ``distinct`` is an
    estimate of the number of distinct states visited, ``generated`` counts the steps taken, ``depth`` is the
    length of the longest walk, ``deadlocks`` counts walks that ended in a state without steps, ``walks``
    those that ended, and ``limit`` is ``"walks"``, ``"max_seconds"``, ``"max_memory"`` or
    ``"interrupted"``. The first step of the walks that violates a property ends them; with ``keep_going``
    they pass it by, and a shortest violating walk is kept for each property. Of ``limits`` those on seconds
    and memory hold. ``progress`` is called about once a second. ``tables``: those of an exploration of the
    same system.

    Raises ``ValueError`` for a system that contradicts itself (see :func:`initial_states`).
    """
    tables = tables if tables is not None else Tables(system)
    initial = np.stack([tables.encode(state) for state in initial_states(system)])
    blocks = Blocks(tables, Visited(), max(1, threads), filtered=False)
    state = _Walks(
        system,
        np.uint64(content_hash("walks", seed)),
        depth,
        keep_going,
        limits,
        progress,
        tables,
        blocks,
        initial,
    )
    try:
        with without_collector():
            limit = state.run(walks)
    finally:
        blocks.close()
    hit, missing = split_goals(system, blocks.goals)
    return Exploration(
        verdict=Verdict.VIOLATED if state.violations else Verdict.UNDETERMINED,
        distinct=estimate(state.registers),
        generated=state.steps,
        depth=state.deepest,
        levels=(),
        violations=tuple(state.violations.values()),
        reached_goals=hit,
        missing_goals=missing,
        deadlocks=blocks.totals.deadlocks,
        calls=tables.calls,
        seconds=time.monotonic() - state.begun,
        peak_memory=resident_bytes(),
        limit=limit,
        walks=state.walks,
    )
