"""A hash map from positive 64-bit keys to 64-bit values that both Python and the kernels read.

Open addressing with linear probing in one array of (key, value) pairs, so that a hit costs one cache line.
Written by Python between kernel runs, read by kernels; key 0 means "empty".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import compiled, inlined

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inlined
def spread(key: Any) -> Any:
    """A cheap mix of ``key`` whose low bits depend on all of its bits."""
    mixed = key * MULTIPLIER
    return mixed ^ (mixed >> np.uint64(32))


@inlined
def mixed(value: Any) -> Any:
    """A hash of ``value`` (the finalizer of splitmix64: Steele, Lea and Flood, OOPSLA 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@inlined
def find(pairs: NDArray[np.int64], key: Any) -> Any:
    """The value of ``key``, or -1."""
    mask = np.uint64(pairs.shape[0] - 1)
    slot = spread(np.uint64(key)) & mask
    while True:
        found = pairs[slot, 0]
        if found == key:
            return pairs[slot, 1]
        if found == 0:
            return -1
        slot = (slot + np.uint64(1)) & mask


@compiled
def store(pairs: NDArray[np.int64], key: int, value: int) -> None:
    """Set ``key`` to ``value``; the caller leaves room."""
    mask = np.uint64(pairs.shape[0] - 1)
    slot = spread(np.uint64(key)) & mask
    while pairs[slot, 0] != 0 and pairs[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    pairs[slot, 0] = key
    pairs[slot, 1] = value


@compiled
def store_all(pairs: NDArray[np.int64], keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
    """Set all ``keys``, which are not 0, to ``values``; the caller leaves room."""
    for i in range(keys.shape[0]):
        if keys[i] != 0:
            store(pairs, keys[i], values[i])


@compiled
def look_up(pairs: NDArray[np.int64], key: int) -> Any:
    """:func:`find` for Python: a kernel of its own is kept on disk, a part of one is not."""
    return find(pairs, key)


class NativeMap:
    """``pairs``: int64[capacity, 2], capacity a power of two, at most half full."""

    def __init__(self) -> None:
        self.pairs: NDArray[np.int64] = np.zeros((1024, 2), np.int64)
        self.count = 0
        self._later: dict[int, int] = {}

    def __contains__(self, key: int) -> bool:
        return self.get(key) >= 0

    def get(self, key: int) -> int:
        """The value of ``key``, or -1."""
        later = self._later.get(key)
        return int(look_up(self.pairs, key)) if later is None else later

    def put_later(self, key: int, value: int) -> None:
        """Set a key that is not in the map yet; kernels see it after :meth:`settle`."""
        self._later[key] = value

    def settle(self) -> None:
        """Write the pending entries. No kernel may be running."""
        for key, value in self._later.items():
            self.put(key, value)
        self._later.clear()

    def put(self, key: int, value: int) -> None:
        """Set a key that is not in the map yet. ``key`` is positive, ``value`` not negative."""
        self._make_room(1)
        store(self.pairs, key, value)
        self.count += 1

    def put_all(self, keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """The same for many keys."""
        self._make_room(len(keys))
        store_all(self.pairs, keys, values)
        self.count += len(keys)

    def _make_room(self, more: int) -> None:
        slots = len(self.pairs)
        while 2 * (self.count + more) > slots:
            slots *= 2
        if slots > len(self.pairs):
            keys, values = np.ascontiguousarray(self.pairs.T)
            self.pairs = np.zeros((slots, 2), np.int64)
            store_all(self.pairs, keys, values)
