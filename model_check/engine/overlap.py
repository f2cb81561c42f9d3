"""Kernels that find the fingerprints that two visited sets share (:mod:`kraftcheck.engine.visited`).

The place of a fingerprint in a shard rises with its bits in sets of all sizes. So both sets have them in the
same order, but for a few lines: one pass through each finds what they share, and nothing needs to be sorted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import compiled
from kraftcheck.engine.view import FINGERPRINT
from kraftcheck.engine.visited import MARGIN, SHARDS, Visited, contains, held, parts_of, used, whole

#: Bits for each fingerprint that show of most others that a set does not have them.
MARKS = 16


@compiled
def _mark(
    table: NDArray[np.uint64], marks: NDArray[np.uint64], shift: np.uint64, firsts: NDArray[np.uint64]
) -> None:
    """Set the bit of each fingerprint of a shard in ``marks``: by its place, without the last ``shift`` bits.

    ``firsts``: scratch, uint64[MARGIN].
    """
    for line in range(np.uint64(table.shape[0])):
        for slot in range(used(table, line, firsts)):
            mark = held(table, line, slot, firsts)[1] >> shift
            marks[mark >> np.uint64(6)] |= np.uint64(1) << (mark & np.uint64(63))


@compiled
def _common(
    table: NDArray[np.uint64],
    other: NDArray[np.uint64],
    marks: NDArray[np.uint64],
    shift: np.uint64,
    fps: NDArray[np.uint64],
    tags: NDArray[np.uint16],
    firsts: NDArray[np.uint64],
) -> int:
    """Write the fingerprints that two sets have in a shard to ``fps`` and ``tags``, these without the bits of
    the shard; how many they are. ``marks``, ``shift``: see :func:`_mark`, of ``table``.
    """
    found = 0
    for line in range(np.uint64(other.shape[0])):
        for slot in range(used(other, line, firsts)):
            low, place = held(other, line, slot, firsts)
            mark = place >> shift
            marked = (marks[mark >> np.uint64(6)] >> (mark & np.uint64(63))) & np.uint64(1)
            if marked and contains(table, low, place):
                fps[found], tags[found] = whole(low, place)
                found += 1
    return found


@compiled
def _contained(
    tables: tuple[NDArray[np.uint64], ...],
    fps: NDArray[np.uint64],
    tags: NDArray[np.uint16],
    found: NDArray[np.bool_],
) -> None:
    """``found[i]``: whether the set has a fingerprint."""
    for i in range(fps.shape[0]):
        low, place = parts_of(fps[i], tags[i])
        shard = (np.int64(tags[i]) * SHARDS) >> 16
        found[i] = contains(tables[shard], low, place)


def common(visited: Visited, shard: int, others: Iterable[NDArray[np.uint64]]) -> NDArray[np.void]:
    """The fingerprints (``FINGERPRINT``) that ``visited`` and any of other sets have in ``shard``.

    ``others``: the lines of that shard in the other sets.
    """
    table, count, firsts = visited.shards[shard], visited.count(shard), np.empty(MARGIN, np.uint64)
    bits = max(6, (MARKS * count).bit_length())
    marks, shift = np.zeros(1 << bits - 6, np.uint64), np.uint64(32 - bits)
    _mark(table, marks, shift, firsts)
    fps, tags = np.empty(count, np.uint64), np.empty(count, np.uint16)
    found = [np.empty(0, FINGERPRINT)]
    for lines in others:
        size = _common(table, lines, marks, shift, fps, tags, firsts)
        found.append(np.empty(size, FINGERPRINT))
        found[-1]["sum"], found[-1]["tag"] = fps[:size], tags[:size] | np.uint16(shard * (1 << 16) // SHARDS)
    return np.concatenate(found)


def contained(visited: Visited, found: NDArray[np.void]) -> NDArray[np.bool_]:
    """A mask of the fingerprints (``FINGERPRINT``) that are in ``visited``."""
    mask = np.empty(len(found), np.bool_)
    _contained(visited.shards, np.ascontiguousarray(found["sum"]), np.ascontiguousarray(found["tag"]), mask)
    return mask
