"""The visited set: fingerprints of 80 bits (:mod:`kraftcheck.engine.hashing`) in slots of 64 bits.

The top bits of the tag name a shard, its other bits and the top bits of the sum the *home*, one of the lines
of eight slots that a shard consists of. A fingerprint is in its home or, where that is full, in one of the
next lines. Its slot holds the low 59 bits of the sum, and how many lines from home it is. The other 21 bits
follow from the home as soon as there are so many lines that no home has two such fingerprints with the same
low bits; until then a line has six slots, and behind them 15 of these bits of each, as the shard tells the
others. (Quotienting: Cleary, "Compact hash tables using bidirectional linear probing", IEEE Transactions on
Computers, 1984.) Where all lines near its home are full, a fingerprint takes the place of one that is nearer
to its own home (Celis, Larson and Munro, "Robin Hood hashing", FOCS 1985).

A shard is grown when it is nearly full or a fingerprint finds no room near its home. The shards begin with
different sizes, so that they do not all grow at once until they have the size that the search expects them to
need (:meth:`Visited.expect`). A set of 30 million states or more takes about 9 bytes a state, a smaller one
up to 16.
Shards are anonymous memory maps, which give their pages back to the system at once when they are replaced.

Insertion has the home of a fingerprint fetched long before it looks at it, and the line after it where that
is full: the cache misses of several fingerprints overlap, where a look at a time would wait for each.
"""

from __future__ import annotations

import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import compiled, inlined, prefetch
from kraftcheck.engine.view import FINGERPRINT

SHARDS = 64
#: By how many lines they have, how full shards become, and by how much they grow. What is small should be
#: fast, what is large should take little memory.
SMALL, LARGE = 1 << 14, 1 << 16
MAX_LOAD, MAX_LOAD_OF_LARGE = 0.85, 0.945
GROWTH_OF_SMALL, GROWTH, GROWTH_OF_LARGE = 2, 5 / 4, 9 / 8
#: The most that a shard grows by where as many fingerprints are expected, and how many more than those it
#: gets room for: most searches then end without growing all shards once more.
MOST_GROWTH, SPARE = 4 / 3, 1 / 64
#: Lines of the smallest shard at the beginning.
SMALLEST = 64
#: So many lines make the rest of a fingerprint follow from its home.
ENOUGH = (1 << 15) + 32
#: So many fingerprints before it is its turn the line of one is fetched, and twice as many before that its
#: home; so many homes are kept.
AHEAD, PLACES = 16, 64
#: Words of scratch, the last ones unused: what two threads write must not be in one line of a cache.
SCRATCH = 4 * PLACES
_HUGE = 1 << 20
_HALF = np.uint64(32)
# Of a slot: the low bits of a sum, then the distance from home.
_KEPT = np.uint64(59)
_LOW = np.uint64((1 << 59) - 1)
#: No fingerprint is so many lines from home; the last lines of a shard, as many, are no home.
MARGIN = 32
# The place in a shard has 32 bits, of which a slot has the low ones: bits 42 to 58 of the sum.
_PLACE = np.uint64(42)
_SHARED = np.uint64(17)
_TAG_IN_SHARD = np.uint64(0x3FF)


@inlined
def _place(fp: Any, tag: Any) -> Any:
    """What says where in its shard a fingerprint is at home: 32 bits."""
    return ((np.uint64(tag) & _TAG_IN_SHARD) << np.uint64(22)) | (fp >> _PLACE)


@inlined
def _home(table: Any, place: Any) -> Any:
    return (place * np.uint64(table.shape[0] - MARGIN)) >> _HALF


@inlined
def _slots(table: Any) -> Any:
    """The number of slots of a line."""
    return 8 if table.shape[0] >= ENOUGH else 6


@inlined
def _rest(table: Any, line: Any, slot: Any) -> Any:
    """The bits of a fingerprint's place that neither its slot nor its home tells."""
    if table.shape[0] >= ENOUGH:
        return np.uint64(0)
    return (table[line, 6 + (slot >> 2)] >> np.uint64(16 * (slot & 3))) & np.uint64(0xFFFF)


@inlined
def _put(table: Any, line: Any, slot: Any, held: Any, rest: Any) -> None:
    """Write a slot, and what is behind the slots for it."""
    table[line, slot] = held
    if table.shape[0] < ENOUGH:
        shift = np.uint64(16 * (slot & 3))
        others = table[line, 6 + (slot >> 2)] & ~(np.uint64(0xFFFF) << shift)
        table[line, 6 + (slot >> 2)] = others | (rest << shift)


# Lines are looked at without branches: one for each slot would often be predicted wrongly.


@inlined
def _has(table: Any, line: Any, wanted: Any, rest: Any) -> Any:
    """Whether one of the slots of a line holds ``wanted``."""
    found = False
    for slot in range(8):
        found |= table[line, slot] == wanted
    if not found or table.shape[0] >= ENOUGH:
        return found
    for slot in range(6):  # noqa: SIM110 - Kernels have no generators.
        if table[line, slot] == wanted and rest == _rest(table, line, slot):
            return True
    return False


@inlined
def _free(table: Any, line: Any) -> Any:
    """The first free slot of a line that is not full, by bisection."""
    used = np.uint64(table[line, 3] != 0) << np.uint64(2)
    used += np.uint64(table[line, used + np.uint64(1)] != 0) << np.uint64(1)
    return np.int64(used + np.uint64(table[line, used] != 0))


@inlined
def _is_full(table: Any, line: Any) -> Any:
    return table[line, _slots(table) - 1] != 0


@inlined
def _nearest(table: Any, line: Any) -> Any:
    """(the first slot of a full line that is the least far from home, how far it is)."""
    least = np.uint64(1 << 62)
    for slot in range(_slots(table)):
        least = min(least, (table[line, slot] >> _KEPT) << np.uint64(3) | np.uint64(slot))
    return least & np.uint64(7), least >> np.uint64(3)


@inlined
def _first_place(home: Any, lines: Any) -> Any:
    """The first place that is at home in this line."""
    return ((home << _HALF) + lines - np.uint64(1)) // lines


@inlined
def _place_from(first: Any, low: Any) -> Any:
    """The place of a fingerprint, from the first one of its home: the next one that has its low bits."""
    return first + (((low >> _PLACE) - first) & ((np.uint64(1) << _SHARED) - np.uint64(1)))


@inlined
def _place_with(rest: Any, low: Any) -> Any:
    """The place of a fingerprint, from its other bits."""
    return (rest << _SHARED) | ((low >> _PLACE) & ((np.uint64(1) << _SHARED) - np.uint64(1)))


@inlined
def used(table: Any, line: Any, firsts: Any) -> Any:
    """How many slots of a line are used. Notes in ``firsts``, uint64[MARGIN], what :func:`held` needs of
    this line and of those before it.
    """
    firsts[line % np.uint64(MARGIN)] = _first_place(line, np.uint64(table.shape[0] - MARGIN))
    return _slots(table) if _is_full(table, line) else _free(table, line)


@inlined
def held(table: Any, line: Any, slot: Any, firsts: Any) -> Any:
    """(low bits, place) of the fingerprint in a used slot."""
    low = table[line, slot] & _LOW
    if table.shape[0] < ENOUGH:
        return low, _place_with(_rest(table, line, slot), low)
    home = line - (table[line, slot] >> _KEPT)
    return low, _place_from(firsts[home % np.uint64(MARGIN)], low)


@inlined
def parts_of(fp: Any, tag: Any) -> Any:
    """(low bits, place) of a fingerprint."""
    return max(fp & _LOW, np.uint64(1)), _place(fp, tag)


@inlined
def whole(low: Any, place: Any) -> Any:
    """(sum, tag without the bits of the shard) of a fingerprint."""
    return low | (place << _PLACE), place >> np.uint64(22)


@inlined
def contains(table: Any, low: Any, place: Any) -> Any:
    """Whether a fingerprint is in its shard."""
    line, rest = _home(table, place), place >> _SHARED
    for away in range(np.uint64(MARGIN)):
        if _has(table, line, low | (away << _KEPT), rest):
            return True
        if not _is_full(table, line):
            return False
        line += np.uint64(1)
    return False


@inlined
def _push(table: Any, line: Any, low: Any, rest: Any, homeless: Any) -> Any:
    """Enter a fingerprint whose home is ``line``, and which is not there.

    In a full line it takes the place of one that is nearer to its home than it would be, which goes on. The
    last one that finds no room near its home is put into ``homeless`` as (low bits, place); whether there is
    none.
    """
    away = np.uint64(0)
    while away < np.uint64(MARGIN):
        if not _is_full(table, line):
            _put(table, line, _free(table, line), low | (away << _KEPT), rest)
            return True
        slot, least = _nearest(table, line)
        if least < away:
            nearer, more = table[line, slot] & _LOW, _rest(table, line, slot)
            _put(table, line, slot, low | (away << _KEPT), rest)
            low, rest, away = nearer, more, least
        away += np.uint64(1)
        line += np.uint64(1)
    homeless[0] = low
    if table.shape[0] < ENOUGH:
        homeless[1] = _place_with(rest, low)
    else:
        homeless[1] = _place_from(_first_place(line - away, np.uint64(table.shape[0] - MARGIN)), low)
    return False


@inlined
def _enter(table: Any, home: Any, low: Any, rest: Any, homeless: Any) -> Any:
    """Enter a fingerprint: 0 if it was there, 1 if it is new, 2 if it is new and one is ``homeless`` now."""
    line = home
    for away in range(np.uint64(MARGIN)):
        wanted = low | (away << _KEPT)
        if _has(table, line, wanted, rest):
            return 0
        if not _is_full(table, line):
            _put(table, line, _free(table, line), wanted, rest)
            return 1
        line += np.uint64(1)
    return 1 if _push(table, home, low, rest, homeless) else 2


@inlined
def _fetch(table: Any, fps: Any, tags: Any, i: Any, scratch: Any) -> None:
    """Have the home of fingerprint ``i`` fetched."""
    home = _home(table, _place(fps[i], tags[i]))
    scratch[i % PLACES] = home
    prefetch(table, home)


@inlined
def _fetch_more(table: Any, i: Any, scratch: Any) -> None:
    """Have the line after the home of fingerprint ``i`` fetched, if the home is full."""
    home = scratch[i % PLACES]
    prefetch(table, home + np.uint64(_is_full(table, home)))


@inlined
def _insert(
    table: Any, fps: Any, tags: Any, order: Any, begin: Any, end: Any, room: Any, new: Any, scratch: Any
) -> Any:
    """Insert ``fps[begin:end]`` until ``room`` is used; ``new[order[i]]`` becomes 1 where ``fps[i]`` was new.

    Returns (index of the next fingerprint, number inserted); see :func:`_enter` for ``scratch[PLACES:]``.
    """
    for i in range(begin, min(begin + 2 * AHEAD, end)):
        _fetch(table, fps, tags, i, scratch)
    for i in range(begin, min(begin + AHEAD, end)):
        _fetch_more(table, i, scratch)
    inserted = 0
    for i in range(begin, end):
        if i + AHEAD < end:
            _fetch_more(table, i + AHEAD, scratch)
        home = scratch[i % PLACES]
        if i + 2 * AHEAD < end:
            _fetch(table, fps, tags, i + 2 * AHEAD, scratch)
        if inserted == room:
            return i, inserted
        low = max(fps[i] & _LOW, np.uint64(1))
        entered = _enter(table, home, low, _place(fps[i], tags[i]) >> _SHARED, scratch[PLACES:])
        if entered:
            new[order[i]] = 1
            inserted += 1
        if entered == 2:
            return i + 1, inserted
    return end, inserted


@compiled
def insert(
    tables: tuple[NDArray[np.uint64], ...],
    counts: NDArray[np.int64],
    shard: int,
    step: int,
    begin: int,
    fps: NDArray[np.uint64],
    tags: NDArray[np.uint16],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    new: NDArray[np.uint8],
    scratch: NDArray[np.uint64],
) -> tuple[int, int]:
    """Insert the fingerprints of ``shard``, from ``begin`` on, and of every ``step``-th shard after it.

    ``fps``, ``tags``, ``order`` and ``starts`` are as :func:`partition` leaves them. Returns the place where
    a shard must grow, as (shard, index of the next fingerprint), or (``SHARDS``, 0). What is then in
    ``scratch[PLACES:]``, the low bits and the place of a fingerprint, is not in the shard, unless it is 0.
    """
    scratch[PLACES] = 0
    while shard < SHARDS:
        table = tables[shard]
        load = MAX_LOAD_OF_LARGE if table.shape[0] >= LARGE else MAX_LOAD
        room = np.int64(load * _slots(table) * (table.shape[0] - MARGIN)) - counts[shard]
        begin, end = max(begin, starts[shard]), starts[shard + 1]
        stop, inserted = _insert(table, fps, tags, order, begin, end, max(room, 0), new, scratch)
        counts[shard] += inserted
        if stop < end or scratch[PLACES]:
            return shard, stop
        shard, begin = shard + step, 0
    return SHARDS, 0


@inlined
def _move(table: Any, filled: Any, low: Any, place: Any) -> Any:
    """Enter a fingerprint that is not there; whether there was room near its home."""
    line = _home(table, place)
    for away in range(np.uint64(MARGIN)):
        if filled[line] < _slots(table):
            _put(table, line, np.int64(filled[line]), low | (away << _KEPT), place >> _SHARED)
            filled[line] += 1
            return True
        line += np.uint64(1)
    return False


@compiled
def _rehash(
    old: NDArray[np.uint64],
    table: NDArray[np.uint64],
    homeless: NDArray[np.uint64],
    firsts: NDArray[np.uint64],
    filled: NDArray[np.uint8],
) -> bool:
    """Enter all that is in ``old``, and what is ``homeless``, into ``table``; whether there was room for it.

    ``firsts``: scratch, uint64[MARGIN]; ``filled``: zeros, how many slots of each line of ``table`` are used.
    """
    if homeless[0] and not _move(table, filled, homeless[0], homeless[1]):
        return False
    for line in range(np.uint64(old.shape[0])):
        for slot in range(used(old, line, firsts)):
            low, place = held(old, line, slot, firsts)
            if not _move(table, filled, low, place):
                return False
    return True


@compiled
def partition(
    fps: NDArray[np.uint64],
    tags: NDArray[np.uint16],
    sorted_fps: NDArray[np.uint64],
    sorted_tags: NDArray[np.uint16],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
) -> None:
    """Sort ``fps`` and ``tags`` by shard, stably: shard s is ``sorted_fps[starts[s]:starts[s + 1]]``, and so
    ``order`` has their indices in ``fps``. There is one shard less than ``starts`` has places; the top bits
    of a tag name its shard.
    """
    shards = np.uint64(starts.shape[0] - 1)
    starts[:] = 0
    for tag in tags:
        starts[np.int64((np.uint64(tag) * shards) >> np.uint64(16)) + 1] += 1
    for shard in range(shards):
        starts[shard + 1] += starts[shard]
    for i in range(fps.shape[0]):
        home = np.int64((np.uint64(tags[i]) * shards) >> np.uint64(16))
        order[starts[home]] = i
        sorted_fps[starts[home]] = fps[i]
        sorted_tags[starts[home]] = tags[i]
        starts[home] += 1
    # Every start has moved to the next one's place.
    for shard in range(starts.shape[0] - 1, 0, -1):
        starts[shard] = starts[shard - 1]
    starts[0] = 0


def _anonymous(lines: int) -> NDArray[np.uint64]:
    """Zeroed lines on pages of their own. Raises MemoryError."""
    size = 64 * lines
    try:
        # Large pages are for private ones only, where the system is set up as usual.
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {size:,} bytes of the visited set") from error
    if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64).reshape(lines, 8)


class Visited:
    """A set of fingerprints. Sums whose low 59 bits are 0 and 1 count as the same."""

    def __init__(self) -> None:
        self._shards = tuple(_anonymous(int(SMALLEST * 2 ** (i / SHARDS)) + MARGIN) for i in range(SHARDS))
        self._counts = np.zeros(SHARDS, np.int64)
        self._growing = threading.Lock()
        self._expected = 0

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def shards(self) -> tuple[NDArray[np.uint64], ...]:
        """The lines of each shard."""
        return self._shards

    def count(self, shard: int) -> int:
        """The number of fingerprints in a shard."""
        return int(self._counts[shard])

    @property
    def bytes(self) -> int:
        """Bytes held by the shards."""
        return sum(shard.nbytes for shard in self._shards)

    def add(
        self,
        first: int,
        step: int,
        fps: NDArray[np.uint64],
        tags: NDArray[np.uint16],
        order: NDArray[np.int32],
        starts: NDArray[np.int64],
        new: NDArray[np.uint8],
    ) -> None:
        """Add the fingerprints of shard ``first`` and of every ``step``-th after it.

        ``fps``, ``tags``, ``order`` and ``starts`` are as :func:`partition` leaves them; ``new[order[i]]``
        becomes 1 where ``fps[i]`` was new. Different shards may be added to by different threads at the same
        time.
        """
        shard, begin = first, 0
        scratch = np.empty(SCRATCH, np.uint64)
        while True:
            shard, begin = insert(
                self._shards, self._counts, shard, step, begin, fps, tags, order, starts, new, scratch
            )
            if shard == SHARDS:
                return
            self._grow(shard, scratch[PLACES:])

    def expect(self, count: int) -> None:
        """The set will have about ``count`` fingerprints. No thread may be adding any."""
        self._expected = count

    @property
    def expected_bytes(self) -> int:
        """Bytes that the shards will hold then, if they are large."""
        return 64 * SHARDS * self._wanted

    @property
    def _wanted(self) -> int:
        """The number of lines of a large shard for what is expected."""
        return int(self._expected * (1 + SPARE) / (SHARDS * 8 * MAX_LOAD_OF_LARGE))

    def _larger(self, lines: int) -> int:
        """The number of lines that a full shard gets."""
        growth = GROWTH_OF_SMALL if lines < SMALL else GROWTH if lines < LARGE else GROWTH_OF_LARGE
        wanted = self._wanted if self._wanted >= LARGE else 0
        return max(int(growth * lines), min(wanted, int(MOST_GROWTH * lines)))

    def _grow(self, shard: int, homeless: NDArray[np.uint64]) -> None:
        """Make a shard larger, and enter what is ``homeless``."""
        lines = len(self._shards[shard]) - MARGIN
        while True:
            lines = self._larger(lines)
            larger = _anonymous(lines + MARGIN)
            firsts, filled = np.empty(MARGIN, np.uint64), np.zeros(len(larger), np.uint8)
            if _rehash(self._shards[shard], larger, homeless, firsts, filled):
                break
        with self._growing:
            self._shards = (*self._shards[:shard], larger, *self._shards[shard + 1 :])

    def add_all(self, found: NDArray[np.void]) -> NDArray[np.bool_]:
        """Add fingerprints (``FINGERPRINT``) in order, on this thread; a mask of the new ones."""
        assert found.dtype == FINGERPRINT
        fps, tags = np.ascontiguousarray(found["sum"]), np.ascontiguousarray(found["tag"])
        new = np.zeros(len(fps), np.uint8)
        order, starts = np.empty(len(fps), np.int32), np.empty(SHARDS + 1, np.int64)
        by_shard, tags_by_shard = np.empty_like(fps), np.empty_like(tags)
        partition(fps, tags, by_shard, tags_by_shard, order, starts)
        self.add(0, 1, by_shard, tags_by_shard, order, starts, new)
        return new.astype(bool)
