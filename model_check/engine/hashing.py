"""Hashes of values, and what becomes of them in fingerprints; the same in every process.

A fingerprint has 80 bits: the *sum* of the 64-bit hashes of a state's parts, and its *tag*, the sum of hashes
of these hashes modulo 2**16. Budgets count in the sum alone: states that differ in more than budgets have
independent tags, and those that differ in budgets alone have different sums.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.native_map import MULTIPLIER
from kraftcheck.engine.view import FINGERPRINT

MASK64 = (1 << 64) - 1
MAX_BUDGETS = 7
TAG = 0xFFFF
SUM_BITS, FINGERPRINT_BITS = 64, 80


def content_hash(salt: Hashable, value: Hashable) -> int:
    """A 64-bit hash of ``value``, the same in every process; ``salt`` identifies its kind and place."""
    return text_hash(salt, repr(value))


def text_hash(salt: Hashable, text: str) -> int:
    """The same of a value's text."""
    return int.from_bytes(blake2b(f"{salt!r}|{text}".encode(), digest_size=8).digest(), "little")


@cache
def budget_hash() -> NDArray[np.uint64]:
    """The hashes of the amounts of each budget, the same for all systems."""
    hashes = [[content_hash(("budget", i), amount) for amount in range(256)] for i in range(MAX_BUDGETS)]
    return np.array(hashes, np.uint64)


def signed(value: int) -> int:
    """``value`` modulo 2**64 as the int64 with the same bits."""
    value &= MASK64
    return value - (1 << 64) if value >> 63 else value


def tag(value: int) -> int:
    """What a part with this hash adds to tags: a hash of it, the finalizer of splitmix64 (Steele, Lea and
    Flood, OOPSLA 2014).
    """
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK64
    return (value ^ (value >> 31)) & TAG


def with_tags(hashes: list[int]) -> list[int]:
    """The hashes of a value under each permutation, then what they add to tags."""
    return [*hashes, *map(tag, hashes)]


def orbits(fps: NDArray[np.uint64]) -> NDArray[np.void]:
    """The fingerprints of orbits, from those of states under all permutations: the sums, then the tags.

    The sum is the least of all. As it is small where they are many, a factor spreads its bits again.
    """
    permutations = fps.shape[1] // 2
    found = np.empty(len(fps), FINGERPRINT)
    if permutations == 1:
        found["sum"], found["tag"] = fps[:, 0], fps[:, 1]
    else:
        rows, least = np.arange(len(fps)), fps[:, :permutations].argmin(axis=1)
        found["sum"] = fps[rows, least] * MULTIPLIER
        found["tag"] = fps[rows, permutations + least]
    return found
