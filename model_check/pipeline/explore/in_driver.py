"""Levels that are small enough for the driver: the native engine explores them, a run of levels at a time.

What was visited before lies in the cluster. So the engine first looks ahead: it explores some levels as if
nothing had been visited, which finds all states that these levels can have. One query tells which of them
were visited, and with these in its visited set the engine explores the same levels once more, now for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch, Blocks
from kraftcheck.engine.explorer import Search
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.links import Links
from kraftcheck.engine.system import UNLIMITED
from kraftcheck.engine.tables import orbits
from kraftcheck.engine.visited import Visited
from kraftcheck.pipeline.datasets import table
from kraftcheck.pipeline.explore.cut import CHUNK, Cutter
from kraftcheck.pipeline.explore.kernels import split
from kraftcheck.pipeline.explore.store import LINKS, VISITED, Store
from kraftcheck.pipeline.explore.tasks import MOST_FINGERPRINTS, array_of


class Trail(Links):
    """How states were reached: those of the last levels, from ``since`` on, here; all others in the cluster.

    ``levels``: how many states each level has; the list grows as the search goes on.
    """

    def __init__(self, store: Store, levels: list[int]) -> None:
        super().__init__(fingerprints=True)
        self._store, self._levels = store, levels
        self.since = 0

    def go_on_from(self, level: int) -> None:
        """What follows belongs to ``level``; those before it are in the cluster now."""
        self._close_level()
        for path in self.written():
            path.unlink()
        self.take_up([(0, 0)] * level)
        self.since = level

    def link_of(self, level: int, number: int) -> tuple[int, int]:
        """(number in the level before, step) of state ``number`` of ``level``."""
        if level >= self.since:
            return super().link_of(level, number)
        return self._store.link_of(level, number, self._levels[level])


@dataclass(frozen=True, slots=True)
class Ahead:
    """``depth`` levels after a frontier, explored as if nothing had been visited before: the fingerprints of
    all states that are found there.
    """

    depth: int
    fingerprints: NDArray[np.uint64]


def look_ahead(search: Search, frontier: Frontier, most: int) -> Ahead:
    """Look as many levels ahead as have about ``most`` states together, but one at least.

    It ends where a level breaks an invariant or a step a property, and at the limit of depth: the search will
    not go on from there.
    """
    deepest = search.limits.max_depth
    tables, visited = search.tables, Visited()
    # All orders of steps: what is left out elsewhere depends on which way a state was reached first.
    blocks = Blocks(tables, visited, search.blocks.threads)
    try:
        with Links(fingerprints=True) as links:
            ahead = Search(search.system, tables, visited, blocks, links, UNLIMITED, False, None)
            here = _copied(ahead, frontier)
            while here.alive and not ahead.violations and ahead.distinct - frontier.size <= most:
                if deepest is not None and len(search.levels) + len(ahead.levels) - 2 >= deepest:
                    break
                here = ahead.expand_level(here)
            links.flush()
            levels = range(1, len(ahead.levels))
            found = [np.fromfile(links.fingerprints_of(level), np.uint64) for level in levels]
            return Ahead(max(1, len(levels)), np.concatenate([np.empty(0, np.uint64), *found]))
    finally:
        blocks.close()


def _copied(ahead: Search, frontier: Frontier) -> Frontier:
    """``frontier`` as level 0 of ``ahead``."""
    here = ahead.new_frontier()
    ahead.links.next_level()
    ahead.levels.append(frontier.size)
    ahead.distinct = frontier.size
    for rows, fps in frontier.pieces():
        nothing = np.zeros(len(rows), np.uint32)
        found = orbits(fps)
        ahead.visited.add_all(found)
        ahead.links.append(nothing, nothing, found)
        here.append(rows, fps)
    return here


def visited_before(frontier: Frontier, known: NDArray[np.uint64]) -> Visited:
    """A visited set with the states of ``frontier`` and the fingerprints ``known``."""
    visited = Visited()
    for _, fps in frontier.pieces():
        visited.add_all(orbits(fps))
    visited.add_all(known)
    return visited


def frontier_of(search: Search, level: Any) -> Frontier:
    """The last level, from the rows of its data set; its states are judged."""
    number = len(search.levels) - 1
    frontier, permutations = search.new_frontier(), len(search.tables.symmetry.permutations)
    for at in np.argsort(level["first"].to_numpy(), kind="stable").tolist():
        first = level["first"][at].as_py()
        rows = array_of(level["rows"][at], np.int32).reshape(-1, search.tables.width)
        broken = search.blocks.judge(rows)
        for name, row in sorted(broken.items(), key=lambda item: item[1]):
            search.violate(name, number, first + row, [])
        frontier.append(rows, array_of(level["fingerprints"][at], np.uint64).reshape(-1, permutations))
    return frontier


# -- as data sets ----------------------------------------------------------------------------------


def links_table(links: Trail, end: int) -> Any:
    """How the states of the levels that are here were reached, before level ``end``."""
    rows = []
    for level in range(links.since, end):
        pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
        for begin in range(0, len(pairs), CHUNK):
            rows.append((level, begin, pairs[begin : begin + CHUNK].tobytes()))
    return table(LINKS.columns, rows)


def found_here(links: Trail, end: int) -> NDArray[np.uint64]:
    """The fingerprints of the states of the levels that are here, before level ``end``."""
    levels = range(links.since, end)
    return np.concatenate([np.fromfile(links.fingerprints_of(level), np.uint64) for level in levels])


def fingerprints_table(fps: NDArray[np.uint64], level: int, keys: tuple[int, ...]) -> Any:
    """``fps`` by the parts that own them, as rows of the data set of visited states."""
    by_owner, _, starts = split(fps, len(keys))
    rows = []
    for owner, key in enumerate(keys):
        owned = by_owner[starts[owner] : starts[owner + 1]]
        for begin in range(0, len(owned), MOST_FINGERPRINTS):
            rows.append((key, level, owned[begin : begin + MOST_FINGERPRINTS].tobytes()))
    return table(VISITED.columns, rows)


def level_here(links: Trail, frontier: Frontier, level: int, keys: tuple[int, ...]) -> Any:
    """The states of ``level``, which are ``frontier``, as rows of the data set of levels."""
    pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
    cutter, begin = Cutter(keys, level, frontier.size), 0
    for rows, fps in frontier.pieces():
        parents, codes = pairs[begin : begin + len(rows)].T
        cutter.append(begin, Batch(rows, fps, np.ascontiguousarray(parents), np.ascontiguousarray(codes)), 0)
        begin += len(rows)
    return cutter.table()
