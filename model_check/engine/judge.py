"""The compiled core: invariants, judged on rows."""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import compiled
from kraftcheck.engine.native_map import find, spread

# Status of a row.
UNKNOWN, GOOD, BAD = range(3)


@compiled
def judge(view, rows, index, good, status, first_bad, missing):
    """Judge the invariants on the rows named by ``index``; returns the number of ``missing`` entries.

    ``good``: uint64[2**k], a lossy cache of joint projections known to be good. ``status``: uint8 per row.
    ``first_bad``: int64 per invariant, the smallest row that breaks it. ``missing``: int32[m, 2] of (row,
    invariant) without a verdict yet; rows beyond its length stay unknown without an entry.
    """
    n = view.components
    invariants = view.projection_hash.shape[1] - 1
    written = 0
    for entry in range(index.shape[0]):
        place = index[entry]
        row = rows[place]
        joint = view.history_projection_hash[row[n], invariants]
        for component in range(n):
            joint += view.projection_hash[row[component], invariants]
        slot = spread(joint) & np.uint64(good.shape[0] - 1)
        if good[slot] == joint and joint != 0:
            status[place] = GOOD
            continue
        verdict, gap = GOOD, False
        for invariant in range(invariants):
            total = view.history_projection_hash[row[n], invariant]
            for component in range(n):
                total += view.projection_hash[row[component], invariant]
            key = np.int64(total & np.uint64(0x7FFFFFFFFFFFFFFF))
            if key == 0:
                key = np.int64(1)
            holds = find(view.verdicts, key)
            if holds == 0:
                verdict = BAD
                first_bad[invariant] = min(first_bad[invariant], place)
            elif holds < 0:
                gap = True
                if written < missing.shape[0]:
                    missing[written, 0], missing[written, 1] = place, invariant
                    written += 1
        # A row with a missing verdict is judged again, even if it is already known to be bad.
        status[place] = UNKNOWN if gap else verdict
        if verdict == GOOD and not gap:
            good[slot] = joint
    return written
