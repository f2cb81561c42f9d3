"""Levels, cut into parts of equal size and these into chunks, by the numbers of their states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.pipeline.datasets import table
from kraftcheck.pipeline.explore.store import LEVELS

#: The most states of a chunk.
CHUNK = 1 << 16


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
