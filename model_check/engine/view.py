"""The kernels' view: the layout of rows and outcomes in arrays, and the numbering of keys and steps.

A *row* is int32[components + 3 + capacity + 2]: one local number per component, the history's number, the
budgets packed in two columns (31 low bits, the rest), message numbers ordered by hash, -1 for empty slots;
then the step that led here first (the bits of its code) and the number of messages in flight before it. A row
whose first column is negative is not expanded (it breaks an invariant). It has one fingerprint under each
permutation of the system's symmetry group, the identity first: all sums, then all tags
(:mod:`kraftcheck.engine.hashing`). The least of them gives its orbit's fingerprint, which alone goes to the
visited set (:mod:`kraftcheck.engine.symmetry`). Without symmetry it has one fingerprint.

Kernels release the GIL and only read the tables. None allocates (see :mod:`kraftcheck.engine.jit`). Signed
and unsigned 64-bit integers must not meet in an expression: Numba would make it a float.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import inlined
from kraftcheck.engine.memo import Answers

# Columns of a row behind the messages, from its end: the code of the step that led there first, and the
# number of messages in flight before that step.
LINK, BEFORE = -2, -1
EXTRA = 2
# Flags of an outcome row.
CONSUMES, OUTSIDE, TURNS_BACK, REPEATABLE, ADVANCES, MAY_EXPIRE = 1, 2, 4, 8, 16, 32
# Step codes: number << 2 | kind; the number is an outcome's, or a lost message's.
PLAIN, DUPLICATE, LOSE = 0, 1, 2
NEVER = 1 << 62

# Columns of an outcome row.
DELTA, TAG_DELTA, LOCAL, FLAGS, SENDS, LABELS, SIGNALS, NAMES = range(8)
ID = (1 << 30) - 1
#: Fingerprints as they go to the visited set and to files.
FINGERPRINT = np.dtype([("sum", "<u8"), ("tag", "<u2")])
#: The bits of a tag.
TAG = np.uint64(0xFFFF)


class View(NamedTuple):
    """The kernels' view of the tables (arrays may be longer than their used part).

    verdicts: pairs of a :class:`~kraftcheck.engine.native_map.NativeMap`. outcomes: int64[n, 8], one
    cache line each: differences of the sum and of the tag, local, flags | component << 8
    | (delivered message + 1) << 32, sends as start << 20 | count, label sequence, signal sequence, violation
    set << 32 | goal set. price: uint16, of outcomes, a number of ``prices``: int64, one byte for each budget,
    -1: never paid. pool: messages of all sends.
    local_hash, message_hash, history_hash, and differences, of outcomes: uint64[n, 2 * permutations], what is
    added to sums, then to tags. destination: int32. outside: uint8, the local state is
    outside the state constraint. clock, expiry: int64, of local states and messages (``NEVER``: no expiry).
    budget_hash: uint64[7, 256]. projection_hash, history_projection_hash: uint64[n, invariants + 1], the last
    column mixes the others. The rest describes the network.
    """

    answers: Answers
    verdicts: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    price: NDArray[np.uint16]
    prices: NDArray[np.int64]
    pool: NDArray[np.int32]
    local_hash: NDArray[np.uint64]
    message_hash: NDArray[np.uint64]
    history_hash: NDArray[np.uint64]
    differences: NDArray[np.uint64]
    destination: NDArray[np.int32]
    outside: NDArray[np.uint8]
    clock: NDArray[np.int64]
    expiry: NDArray[np.int64]
    budget_hash: NDArray[np.uint64]
    projection_hash: NDArray[np.uint64]
    history_projection_hash: NDArray[np.uint64]
    components: int
    capacity: int
    loss: int
    duplicates: int
    duplicate_cost: int


class Room(NamedTuple):
    """How many sets of names and prices there are, and the most changes of a step that a kernel notes."""

    sets: int
    prices: int
    changes: int


@inlined
def expired(view: Any, row: Any, actor: Any, local: Any, message: Any) -> Any:
    """Whether ``message`` has expired at its destination, once ``actor`` is in state ``local``."""
    destination = view.destination[message]
    at = local if destination == actor else np.int64(row[destination])
    return view.expiry[message] <= view.clock[at]
