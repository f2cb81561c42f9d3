"""A hash map from positive 64-bit keys to 64-bit values that both Python and the kernels read.

Open addressing with linear probing in one array of keys, each with its value behind it, so that a hit costs
one cache line. Written by Python between kernel runs, read by kernels; key 0 means "empty".
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
    mask = np.uint64(pairs.shape[0] - 2)
    slot = spread(np.uint64(key)) & mask
    while True:
        found = pairs[slot]
        if found == key:
            return pairs[slot + np.uint64(1)]
        if found == 0:
            return -1
        slot = (slot + np.uint64(2)) & mask


@compiled
def store(pairs: NDArray[np.int64], key: int, value: int) -> None:
    """Set ``key`` to ``value``; the caller leaves room."""
    mask = np.uint64(pairs.shape[0] - 2)
    slot = spread(np.uint64(key)) & mask
    while pairs[slot] != 0 and pairs[slot] != key:
        slot = (slot + np.uint64(2)) & mask
    pairs[slot] = key
    pairs[slot + np.uint64(1)] = value


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
    """``pairs``: int64[2**k], at most half full; every second one is a key."""

    def __init__(self) -> None:
        self.pairs: NDArray[np.int64] = np.zeros(2048, np.int64)
        self.count = 0

    def get(self, key: int) -> int:
        """The value of ``key``, or -1."""
        return int(look_up(self.pairs, key))

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
        size = len(self.pairs)
        while 4 * (self.count + more) > size:
            size *= 2
        if size > len(self.pairs):
            keys, values = self.pairs[::2].copy(), self.pairs[1::2].copy()
            self.pairs = np.zeros(size, np.int64)
            store_all(self.pairs, keys, values)
