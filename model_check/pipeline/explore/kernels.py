"""Kernels of the exploration on Spark: which candidates are the first of their kind, and which were visited.

Fingerprints go to the slot that their low 32 bits name (scaled to the size of the table) or the next free
one; their high 16 bits name the part that they belong to. 0 means "empty": the fingerprints 0 and 1 count as
the same, as in :mod:`kraftcheck.engine.visited`.
"""

# Numba infers the types here; annotations would only repeat what the docstrings say.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import compiled, inlined
from kraftcheck.engine.native_map import find
from kraftcheck.engine.visited import partition

BATCH = 64
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MOST_SLOTS = 1 << 32


@inlined
def _slot_of(table, key):
    """The slot of ``table`` that holds ``key``, which is not 0, or the free one where it belongs."""
    capacity = np.uint64(table.shape[0])
    slot = ((key & _LOW) * capacity) >> _HALF
    found = table[slot]
    while found != key and found != 0:
        slot += np.uint64(1)
        if slot == capacity:
            slot = np.uint64(0)
        found = table[slot]
    return slot


@compiled
def enter(fps, keys, places, new):
    """``new[i]`` becomes 1 where no earlier fingerprint is the same, and ``places[slot]`` (int64) the index
    of the fingerprint in this slot of ``keys``.

    ``keys``: uint64, zeroed, longer than ``fps``; ``new``: uint8, zeroed.
    """
    for i in range(fps.shape[0]):
        key = fps[i]
        if key == 0:
            key = np.uint64(1)
        slot = _slot_of(keys, key)
        if keys[slot] == 0:
            keys[slot] = key
            places[slot] = i
            new[i] = 1


@compiled
def strike_out(visited, keys, places, new, heads):
    """``new[i]`` becomes 0 where ``visited`` has the fingerprint that :func:`enter` put in slot i's place.

    The slots of a batch are loaded before any is probed, so that the cache misses overlap. ``heads``:
    scratch, uint64[BATCH].
    """
    capacity = np.uint64(keys.shape[0])
    size = visited.shape[0]
    begin = 0
    while begin < size:
        count = min(BATCH, size - begin)
        for i in range(count):
            heads[i] = keys[((visited[begin + i] & _LOW) * capacity) >> _HALF]
        for i in range(count):
            if heads[i] == 0:
                continue
            key = visited[begin + i]
            if key == 0:
                key = np.uint64(1)
            slot = _slot_of(keys, key)
            if keys[slot] == key:
                new[places[slot]] = 0
        begin += count


@compiled
def are_known(pairs, keys, known):
    """``known[i]`` becomes 1 where a native map has ``keys[i]``."""
    for i in range(keys.shape[0]):
        if find(pairs, keys[i]) >= 0:
            known[i] = 1


def slots_for(count: int) -> int:
    """How long a table for ``count`` fingerprints is. Raises OverflowError for more than it can hold."""
    slots = 2 * count + 1
    if slots > _MOST_SLOTS:
        raise OverflowError(f"{count:,} candidates in one part; explore in more parts")
    return slots


def split(
    fps: NDArray[np.uint64], parts: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int64]]:
    """(fingerprints by the part that owns them, their indices in ``fps``, where each part begins)."""
    sorted_fps, order = np.empty_like(fps), np.empty(len(fps), np.int32)
    starts = np.empty(parts + 1, np.int64)
    tags = (fps >> np.uint64(48)).astype(np.uint16)
    partition(fps, tags, sorted_fps, np.empty_like(tags), order, starts)
    return sorted_fps, order, starts


class Candidates:
    """The candidates of a part, in order: ``new`` says which are the first of their kind and not visited."""

    def __init__(self, fps: NDArray[np.uint64]) -> None:
        slots = slots_for(len(fps))
        self._keys, self._places = np.zeros(slots, np.uint64), np.empty(slots, np.int64)
        self._heads = np.empty(BATCH, np.uint64)
        self.new: NDArray[Any] = np.zeros(len(fps), np.uint8)
        enter(fps, self._keys, self._places, self.new)

    def strike_out(self, visited: NDArray[np.uint64]) -> None:
        """Those of ``visited`` are not new."""
        strike_out(visited, self._keys, self._places, self.new, self._heads)


def unique(fps: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The indices of the first of each fingerprint, ascending."""
    found: NDArray[np.int64] = np.flatnonzero(Candidates(fps).new)
    return found
