"""Levels, links and fingerprints in pieces: rows of the data sets of a run.

A level is cut into parts of equal size and these into chunks, by the numbers of its states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.links import Links
from kraftcheck.engine.view import FINGERPRINT
from kraftcheck.pipeline.datasets import table
from kraftcheck.pipeline.explore.kernels import split
from kraftcheck.pipeline.explore.store import LEVELS, LINKS, VISITED

#: The most states of a chunk, and the most fingerprints of a row of the data set of those that were visited.
CHUNK, MOST_FINGERPRINTS = 1 << 16, 1 << 20


def part_of(number: int, total: int, parts: int) -> int:
    """The part of a level of ``total`` states that state ``number`` is in."""
    return number * parts // total


def end_of(part: int, total: int, parts: int) -> int:
    """The number behind the last state of ``part``."""
    return -(-(part + 1) * total // parts)


class Cutter:
    """Cuts states that come in the order of their numbers into rows of the data set of levels.

    A row has at most ``CHUNK`` states, all of one part.
    """

    def __init__(self, keys: Sequence[int], level: int, total: int) -> None:
        self._keys, self._level, self._total = keys, level, total
        self._first = self._size = 0
        self._pieces: list[tuple[Batch, NDArray[np.int64]]] = []
        self._done: list[tuple[Any, ...]] = []

    def append(self, first: int, batch: Batch, base: int) -> None:
        """States from number ``first`` on; their parents are numbered from ``base`` on."""
        if first != self._first + self._size:
            self._flush()
            self._first = first
        parents = batch.parents.astype(np.int64) + base
        begin = 0
        while begin < len(batch.rows):
            part = part_of(self._first, self._total, len(self._keys))
            room = min(CHUNK, end_of(part, self._total, len(self._keys)) - self._first) - self._size
            end = min(len(batch.rows), begin + room)
            piece = Batch(
                batch.rows[begin:end], batch.fps[begin:end], batch.parents[begin:end], batch.codes[begin:end]
            )
            self._pieces.append((piece, parents[begin:end]))
            self._size += end - begin
            if end - begin == room:
                self._flush()
            begin = end

    def _flush(self) -> None:
        if self._size:
            part = part_of(self._first, self._total, len(self._keys))
            batches = [batch for batch, _ in self._pieces]
            rows = np.concatenate([batch.rows for batch in batches])
            fps = np.concatenate([batch.fps for batch in batches])
            codes = np.concatenate([batch.codes for batch in batches])
            parents = np.concatenate([parents for _, parents in self._pieces])
            states = Batch(rows, fps, codes, codes).states
            arrays = (fps, parents, codes, rows)
            meta = (self._keys[part], self._level, self._first, self._size, states)
            self._done.append((*meta, *(array.tobytes() for array in arrays)))
        self._first += self._size
        self._size = 0
        self._pieces = []

    def table(self) -> Any:
        """All rows."""
        self._flush()
        return table(LEVELS.columns, self._done)


# The levels that the driver has explored by itself, as it hands them over to Spark.


def links_table(links: Links, end: int) -> Any:
    """How the states of the levels before ``end`` were reached."""
    rows = []
    for level in range(end):
        pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
        for begin in range(0, len(pairs), CHUNK):
            rows.append((level, begin, pairs[begin : begin + CHUNK].tobytes()))
    return table(LINKS.columns, rows)


def found_here(links: Links, end: int) -> NDArray[np.uint64]:
    """The sums of the fingerprints of the states of the levels before ``end``."""
    files = (links.fingerprints_of(level) for level in range(end))
    return np.concatenate([np.fromfile(file, FINGERPRINT)["sum"] for file in files])


def pieces_of(fps: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    """``fps`` in pieces that rows can hold."""
    for begin in range(0, len(fps), MOST_FINGERPRINTS):
        yield fps[begin : begin + MOST_FINGERPRINTS]


def fingerprints_table(fps: NDArray[np.uint64], level: int, keys: tuple[int, ...]) -> Any:
    """``fps`` by the parts that own them, as rows of the data set of visited states."""
    by_owner, _, starts = split(fps, len(keys))
    rows = []
    for owner, key in enumerate(keys):
        owned = by_owner[starts[owner] : starts[owner + 1]]
        rows += [(key, level, piece.tobytes()) for piece in pieces_of(owned)]
    return table(VISITED.columns, rows)


def level_here(links: Links, frontier: Frontier, level: int, keys: tuple[int, ...]) -> Any:
    """The states of ``level``, which are ``frontier``, as rows of the data set of levels."""
    pairs = np.fromfile(links.links_of(level), np.uint32).reshape(-1, 2)
    cutter, begin = Cutter(keys, level, frontier.size), 0
    for rows, fps in frontier.pieces():
        parents, codes = pairs[begin : begin + len(rows)].T
        cutter.append(begin, Batch(rows, fps, np.ascontiguousarray(parents), np.ascontiguousarray(codes)), 0)
        begin += len(rows)
    return cutter.table()
