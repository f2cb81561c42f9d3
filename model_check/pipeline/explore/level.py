"""One level of an exploration on Spark: expanded and judged, and the next one written."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kraftcheck.engine import transition
from kraftcheck.engine.block import BLOCK, Blocks
from kraftcheck.engine.explorer import Search
from kraftcheck.engine.visited import Visited
from kraftcheck.pipeline.explore import tasks
from kraftcheck.pipeline.explore.mirror import Appended
from kraftcheck.pipeline.explore.store import LEVELS, Store
from kraftcheck.pipeline.explore.tasks import (
    CANDIDATES_READ,
    DRIVER,
    UNSEEN,
    VISITED_READ,
    Job,
    Note,
    Numbers,
)
from kraftcheck.support.sources import source_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Spent:
    """The work on Spark. ``states``: found there; ``passes``: how often a level was expanded, or a part
    of it; ``handed_over``: the first level on Spark; ``taken_up``: the level where a run goes on.
    """

    states: int = 0
    passes: int = 0
    handed_over: int | None = None
    taken_up: int | None = None


class OnSpark:
    """Levels on Spark, one at a time. ``search`` holds what was found, as for the engine; ``run``: a name of
    this run, for what executors keep.
    """

    def __init__(self, search: Search, store: Store, spent: Spent, run: str) -> None:
        self.search, self.store, self.spent = search, store, spent
        self.tables = search.tables
        self._run, self._reduced = run, search.blocks.reduced
        self._appended = Appended(self.tables)
        self._deltas: list[Any] = []
        self._resolver = Blocks(self.tables, Visited(), 1, filtered=False, reduced=self._reduced)
        self._persisted: list[DataFrame] = []
        self._candidates = 0

    def close(self) -> None:
        """Give back what executors keep for this run."""
        self.release()
        for delta in self._deltas:
            delta.unpersist()

    def _job(self) -> Job:
        """The input of tasks, with the tables as they are now."""
        if self._appended.any:
            self._deltas.append(self.store.spark.sparkContext.broadcast(self._appended.take()))
        sums = 2 * len(self.tables.symmetry.permutations)
        return Job(
            run=self._run,
            deltas=tuple(self._deltas),
            width=self.tables.width,
            sums=sums,
            keys=self.store.parts,
            reduced=self._reduced,
            sources=source_digest(),
        )

    def expand(self, level: int, *, steps: bool) -> DataFrame | None:
        """Judge the states of a level and expand them; their candidates, or nothing where it ends here."""
        pieces: list[DataFrame] = []
        wanted: frozenset[int] | None = None
        found: list[Note] = []
        while True:
            # What is known about verdicts does not change from pass to pass: judge in the first.
            function = partial(
                tasks.expand_chunks, job=self._job(), steps=steps, verdicts=wanted is None, wanted=wanted
            )
            data = self.store.level(level).select("first", "fingerprints", "rows")
            data = self._persist(data.mapInArrow(function, tasks.CANDIDATES))
            self.spent.passes += 1
            told = data.where(f"owner = {DRIVER}").select("fingerprints").collect()
            notes = [pickle.loads(row[0]) for row in told]
            if wanted is None:
                pieces_read = [(note.first, note.states) for note in notes]
                self.store.require_whole(level, pieces_read, self.search.levels[level])
            if wanted is None and self._judge(notes, level):
                self.release()
                return None
            if not steps:
                self.release()
                return None
            waiting = [note.first for note in notes if note.pending]
            complete = [note for note in notes if not note.pending]
            found += complete
            if complete:
                chosen = data.where(f"owner <> {DRIVER}")
                # Should a task run again with newer tables, these would not wait any more.
                pieces.append(chosen.where(~chosen["chunk"].isin(waiting)) if waiting else chosen)
            if not waiting:
                break
            wanted = frozenset(waiting)
            self._resolve(notes)
        self._add_up(found, level)
        candidates = pieces[0]
        for piece in pieces[1:]:
            candidates = candidates.union(piece)
        return candidates

    def _judge(self, notes: Iterable[Note], level: int) -> bool:
        """Take in what is known of invariants in a level; whether one is broken."""
        broken: dict[int, int] = {}
        for note in notes:
            of_note = list(note.broken.items())
            for number, row, invariant in note.unjudged:
                if not self.tables.resolve_verdict(row, invariant):
                    of_note.append((invariant, number))
            for invariant, number in of_note:
                broken[invariant] = min(broken.get(invariant, number), number)
        names = [invariant.name for invariant in self.tables.system.invariants]
        for invariant, number in sorted(broken.items(), key=lambda item: (item[1], item[0])):
            self.search.violate(names[invariant], level, number, [])
        return bool(broken)

    def _resolve(self, notes: Iterable[Note]) -> None:
        """Ask the system for what the tables lack."""
        asked = [note for note in notes if note.pending]
        rows = np.concatenate([note.asked for note in asked])
        fps = np.concatenate([note.asked_fps for note in asked])
        for begin in range(0, len(rows), BLOCK):
            end = begin + BLOCK
            generation = self._resolver.begin(rows[begin:end], fps[begin:end])
            self._resolver.violations(self._resolver.finish(generation))

    def _add_up(self, notes: Iterable[Note], level: int) -> None:
        """Take in what was found by expanding all states of a level."""
        totals, names = self.search.blocks.totals, self.tables.name_sets
        self._candidates = 0
        first: dict[str, tuple[int, int, int]] = {}
        for note in notes:
            counters = note.counters.tolist()
            totals.generated += counters[transition.GENERATED]
            totals.within += counters[transition.CUT_WITHIN]
            totals.capacity += counters[transition.CUT_CAPACITY]
            totals.deadlocks += counters[transition.DEADLOCKS]
            totals.skipped += counters[transition.SKIPPED]
            self._candidates += note.candidates
            for number in note.goals:
                self.search.blocks.goals.update(names[number])
            for number, (row, order, code) in note.violations.items():
                found = (note.first + row, order, code)
                for name in names[number]:
                    first[name] = min(first.get(name, found), found)
        for name, (row, _, code) in sorted(first.items(), key=lambda item: (item[1][0], item[1][2])):
            self.search.violate(name, level, row, [code])

    def advance(self, level: int, candidates: DataFrame) -> int:
        """Write the next level; how many states it has."""
        store, search, size = self.store, self.search, self.search.levels[level]
        keys = store.parts
        new = self._persist(
            candidates.groupBy("owner")
            .cogroup(store.visited(level).groupBy("part"))
            .applyInArrow(partial(_find_new, keys=keys, size=size), tasks.NEW)
        )
        found = new.where(f"new > 0 AND chunk <> {UNSEEN}").groupBy("chunk").sum("new").collect()
        counts = {int(row[0]): int(row[1]) for row in found}
        self._require_all(level, counts.pop(CANDIDATES_READ, 0), counts.pop(VISITED_READ, 0))
        total = sum(counts.values())
        if not total:
            self.release()
            return 0
        chunks = np.array(sorted(counts), np.int64)
        sizes = np.array([counts[chunk] for chunk in chunks.tolist()], np.int64)
        numbers = Numbers(chunks, np.cumsum(sizes) - sizes, total)
        states = store.level(level).select("part", "first", "fingerprints", "rows")
        following = (
            states.groupBy("part")
            .cogroup(new.where("chunk >= 0 AND new > 0").groupBy("part"))
            .applyInArrow(partial(_build_next, job=self._job(), level=level + 1, numbers=numbers), LEVELS.ddl)
        )
        store.write_level(following, level + 1)
        # Last: it makes Spark forget what it keeps of `new`, as that was computed from the files there.
        store.append_visited(
            new.where(f"chunk = {UNSEEN}").selectExpr(
                "owner AS part", f"{level + 1} AS level", "fingerprints"
            )
        )
        self.release()
        search.levels.append(total)
        search.distinct += total
        self.spent.states += total
        search.blocks.totals.states += self._with_renamed(level + 1, total)
        return total

    def _require_all(self, level: int, candidates: int, visited: int) -> None:
        """Raise InputError unless owners have read all visited fingerprints (of levels that were begun twice
        there may be more), and RuntimeError unless they have read all candidates.
        """
        if visited < sum(self.search.levels):
            raise self.store.damaged("visited", "has not all states")
        if candidates != self._candidates:
            raise RuntimeError(f"level {level} led to {self._candidates} candidates, {candidates} were read")

    def _with_renamed(self, level: int, total: int) -> int:
        """For how many states those of a level stand."""
        if self.tables.symmetry.trivial:
            return total
        return int(self.store.level(level).selectExpr("sum(with_renamed)").collect()[0][0])

    def _persist(self, data: DataFrame) -> DataFrame:
        """Keep ``data`` for as long as the level takes."""
        data = data.persist()
        self._persisted.append(data)
        return data

    def release(self) -> None:
        for data in self._persisted:
            data.unpersist()
        self._persisted = []


def _find_new(candidates: Any, visited: Any, keys: tuple[int, ...], size: int) -> Any:
    return tasks.find_new(candidates, visited, keys, size)


def _build_next(states: Any, new: Any, job: Job, level: int, numbers: Numbers) -> Any:
    return tasks.build_next(states, new, job, level, numbers)
