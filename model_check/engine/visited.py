"""The visited set: 64-bit fingerprints in open addressing, in shards that grow one at a time.

The top bits of a fingerprint name its shard, its low 32 bits the slot (scaled to the capacity, so that a
shard may have any size and grow by any factor). A shard is grown when it is four fifths full: to twice its
size as long as it is small, as its memory matters less than the time, later by a quarter. The shards begin
with different sizes, so that they grow one after the other: at any time some are nearly full and some have
just grown, and a large set takes 11.2 bytes a state on average, plus
one shard's worth while it grows. Shards are anonymous memory maps, which give their pages back to the system
at once when they are replaced.

Insertion loads the slots of a batch of fingerprints before it probes any of them: the cache misses of a
batch overlap, where a probe at a time would wait for each.
"""

from __future__ import annotations

import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import compiled, inlined

SHARDS = 64
MAX_LOAD = 0.8
GROWTH = 1.25
#: Slots of a shard that is small.
SMALL = 1 << 17
SMALLEST = 512
BATCH = 64
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_HUGE = 4 << 20


@inlined
def probe(table: Any, key: Any) -> Any:
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


@inlined
def _insert(table: Any, fps: Any, order: Any, begin: Any, end: Any, room: Any, new: Any, heads: Any) -> Any:
    """Insert ``fps[begin:end]`` until ``room`` is used; ``new[order[i]]`` becomes 1 where ``fps[i]`` was new.

    ``heads``: scratch, of length ``BATCH``. Returns (index of the next fingerprint, number inserted).
    """
    capacity = np.uint64(table.shape[0])
    inserted = 0
    while begin < end:
        size = min(BATCH, end - begin)
        for i in range(size):
            key = fps[begin + i]
            heads[i] = table[((key & _LOW) * capacity) >> _HALF]
        for i in range(size):
            key = fps[begin + i]
            if key == 0:
                key = np.uint64(1)  # 0 is "empty"
            if heads[i] == key:
                continue
            slot = probe(table, key)
            if table[slot] == key:
                continue
            if inserted == room:
                return begin + i, inserted
            table[slot] = key
            new[order[begin + i]] = 1
            inserted += 1
        begin += size
    return begin, inserted


@compiled
def insert(
    tables: tuple[NDArray[np.uint64], ...],
    counts: NDArray[np.int64],
    shard: int,
    step: int,
    begin: int,
    fps: NDArray[np.uint64],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    new: NDArray[np.uint8],
    heads: NDArray[np.uint64],
) -> tuple[int, int]:
    """Insert the fingerprints of ``shard``, from ``begin`` on, and of every ``step``-th shard after it.

    ``fps``, ``order`` and ``starts`` are as :func:`partition` leaves them. Returns the place where a shard
    has no more room, as (shard, index of the fingerprint), or (``SHARDS``, 0).
    """
    while shard < SHARDS:
        table = tables[shard]
        room = np.int64(MAX_LOAD * table.shape[0]) - counts[shard]
        end = starts[shard + 1]
        stop, inserted = _insert(table, fps, order, max(begin, starts[shard]), end, room, new, heads)
        counts[shard] += inserted
        if stop < end:
            return shard, stop
        shard, begin = shard + step, 0
    return SHARDS, 0


@compiled
def _rehash(old: NDArray[np.uint64], table: NDArray[np.uint64]) -> None:
    for key in old:
        if key != 0:
            table[probe(table, key)] = key


@compiled
def partition(
    fps: NDArray[np.uint64],
    sorted_fps: NDArray[np.uint64],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> None:
    """Sort ``fps`` by shard, stably: shard s is ``sorted_fps[starts[s]:starts[s + 1]]``, and so ``order``
    has their indices in ``fps``. There is one shard less than ``starts`` has places; the top bits of a
    fingerprint name its shard.
    """
    shards = starts.shape[0] - 1
    starts[:] = 0
    for fp in fps:
        starts[np.int64(((fp >> _HALF) * np.uint64(shards)) >> _HALF) + 1] += 1
    for shard in range(shards):
        starts[shard + 1] += starts[shard]
    for i in range(fps.shape[0]):
        home = np.int64(((fps[i] >> _HALF) * np.uint64(shards)) >> _HALF)
        order[starts[home]] = i
        sorted_fps[starts[home]] = fps[i]
        starts[home] += 1
    # Every start has moved to the next one's place.
    for shard in range(shards, 0, -1):
        starts[shard] = starts[shard - 1]
    starts[0] = 0


def _anonymous(slots: int) -> NDArray[np.uint64]:
    """A zeroed uint64 array on pages of its own. Raises MemoryError."""
    try:
        pages = mmap.mmap(-1, 8 * slots)
    except OSError as error:
        raise MemoryError(f"no memory for {8 * slots:,} bytes of the visited set") from error
    if 8 * slots >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64)


class Visited:
    """A set of 64-bit fingerprints (0 and 1 count as the same)."""

    def __init__(self) -> None:
        self._shards = tuple(_anonymous(int(SMALLEST * GROWTH ** (i / SHARDS))) for i in range(SHARDS))
        self._counts = np.zeros(SHARDS, np.int64)
        self._growing = threading.Lock()

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def bytes(self) -> int:
        """Bytes held by the shards."""
        return sum(shard.nbytes for shard in self._shards)

    def add(
        self,
        first: int,
        step: int,
        fps: NDArray[np.uint64],
        order: NDArray[np.int32],
        starts: NDArray[np.int64],
        new: NDArray[np.uint8],
    ) -> None:
        """Add the fingerprints of shard ``first`` and of every ``step``-th after it.

        ``fps``, ``order`` and ``starts`` are as :func:`partition` leaves them; ``new[order[i]]`` becomes 1
        where ``fps[i]`` was new. Different shards may be added to by different threads at the same time.
        """
        shard, begin = first, 0
        heads = np.empty(BATCH, np.uint64)
        while True:
            shard, begin = insert(
                self._shards, self._counts, shard, step, begin, fps, order, starts, new, heads
            )
            if shard == SHARDS:
                return
            self._grow(shard)

    def _grow(self, shard: int) -> None:
        table = self._shards[shard]
        larger = _anonymous(int((2 if len(table) < SMALL else GROWTH) * len(table)))
        _rehash(table, larger)
        with self._growing:
            self._shards = (*self._shards[:shard], larger, *self._shards[shard + 1 :])

    def add_all(self, fps: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Add ``fps`` in order, on this thread; a mask of the new ones."""
        new = np.zeros(len(fps), np.uint8)
        order, starts = np.empty(len(fps), np.int32), np.empty(SHARDS + 1, np.int64)
        by_shard = np.empty(len(fps), np.uint64)
        partition(np.ascontiguousarray(fps), by_shard, order, starts)
        self.add(0, 1, by_shard, order, starts, new)
        return new.astype(bool)
