"""How rows and outcomes lie in arrays, for all kernels.

A *row* is int32[components + 3 + capacity + 2]: one local number per component, the history's number, the
budgets packed in two columns (31 low bits, the rest), message numbers ordered by hash, -1 for empty slots;
then the step that led here first (the bits of its code) and how many messages were in flight before it.
A row whose first column is negative is not expanded (it breaks an invariant). It has one fingerprint under
each permutation of the system's symmetry group, the identity first; what the least of them gives is its
orbit's, which alone goes to the visited set (:mod:`kraftcheck.engine.symmetry`). Without symmetry there is
just the one.

Kernels release the GIL and only read the tables. None allocates (see :mod:`kraftcheck.engine.jit`). Signed
and unsigned 64-bit integers must not meet in an expression: Numba would make it a float.
"""

# Numba infers the types here; annotations would only repeat what the docstrings say.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import inlined

# Columns of an outcome row.
DELTA, COSTS, LOCAL, FLAGS, SENDS, LABELS, SIGNALS, NAMES = range(8)
ID = (1 << 30) - 1


@inlined
def expired(view, row, actor, local, message):
    """Whether ``message`` has expired at its destination, once ``actor`` is in state ``local``."""
    destination = view.destination[message]
    at = local if destination == actor else np.int64(row[destination])
    return view.expiry[message] <= view.clock[at]
