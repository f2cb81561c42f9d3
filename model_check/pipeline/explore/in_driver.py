"""What the driver hands over to Spark: the levels that it explored by itself with the native engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.links import Links
from kraftcheck.pipeline.datasets import table
from kraftcheck.pipeline.explore.cut import CHUNK, Cutter
from kraftcheck.pipeline.explore.kernels import split
from kraftcheck.pipeline.explore.store import LINKS, VISITED, Store
from kraftcheck.pipeline.explore.tasks import MOST_FINGERPRINTS


class Trail(Links):
    """How states were reached: here, until they are ``handed_over`` to the cluster.

    ``levels``: how many states each level has; the list grows as the search goes on.
    """

    def __init__(self, store: Store, levels: list[int]) -> None:
        super().__init__(fingerprints=True)
        self._store, self._levels = store, levels
        self.handed_over = False

    def link_of(self, level: int, number: int) -> tuple[int, int]:
        """(number in the level before, step) of state ``number`` of ``level``."""
        if not self.handed_over:
            return super().link_of(level, number)
        return self._store.link_of(level, number, self._levels[level])


def links_table(links: Trail, end: int) -> Any:
    """How the states of the levels before ``end`` were reached."""
    rows = []
    for level in range(end):
        pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
        for begin in range(0, len(pairs), CHUNK):
            rows.append((level, begin, pairs[begin : begin + CHUNK].tobytes()))
    return table(LINKS.columns, rows)


def found_here(links: Trail, end: int) -> NDArray[np.uint64]:
    """The fingerprints of the states of the levels before ``end``."""
    return np.concatenate([np.fromfile(links.fingerprints_of(level), np.uint64) for level in range(end)])


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
