"""Hashes of values, and what becomes of them in fingerprints; the same in every process."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.native_map import MULTIPLIER

MASK64 = (1 << 64) - 1
MAX_BUDGETS = 7


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


def orbits(fps: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The fingerprints of orbits, from those of states under all permutations (rows, permutations).

    The least under all of them is small where they are many; the factor spreads its bits over the shards of
    the visited set again.
    """
    return fps.min(axis=1) * MULTIPLIER if fps.shape[1] > 1 else fps[:, 0]
