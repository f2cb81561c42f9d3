"""The compiled core: the rows of new states, and their fingerprints under all permutations."""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import compiled, inlined
from kraftcheck.engine.memo import local_after, message_after, recorded
from kraftcheck.engine.view import (
    ADVANCES,
    BEFORE,
    CONSUMES,
    DUPLICATE,
    FLAGS,
    ID,
    LABELS,
    LINK,
    LOCAL,
    LOSE,
    MAY_EXPIRE,
    SENDS,
    SIGNALS,
    TAG,
    expired,
)


@inlined
def _put(view, slots, count, message):
    """Insert ``message`` into ``slots[:count]``, which are ordered by hash."""
    key = view.message_hash[message, 0]
    i = count
    while i > 0 and view.message_hash[slots[i - 1], 0] > key:
        slots[i] = slots[i - 1]
        i -= 1
    slots[i] = message


@inlined
def _apply(view, row, number, duplicate, after, slots):
    """Write the successor by outcome ``number`` to ``after``; returns the number of messages."""
    n = view.components
    outcome = view.outcomes[number]
    signals = outcome[SIGNALS]
    actor = (outcome[FLAGS] >> 8) & 0xFFFF
    message = (outcome[FLAGS] >> 32) - 1
    consumed = message if (outcome[FLAGS] & CONSUMES) and not duplicate else np.int64(-1)
    for component in range(n):
        if component == actor:
            after[component] = outcome[LOCAL]
        elif signals:
            after[component] = local_after(view.answers, signals, row[component])
    count = 0
    # Without signals messages stay in order, and expire only if the actor's clock advances.
    ages = signals or outcome[FLAGS] & ADVANCES
    for i in range(view.capacity):
        kept = np.int64(row[n + 3 + i])
        if kept < 0:
            break
        if kept == consumed:
            consumed = np.int64(-1)
            continue
        if signals:
            kept = message_after(view.answers, signals, kept) - 1
            if kept < 0:
                continue
        if ages and expired(view, row, actor, outcome[LOCAL], kept):
            continue
        if signals:
            _put(view, slots, count, kept)
        else:
            slots[count] = kept
        count += 1
    first = outcome[SENDS] >> 20
    for i in range(outcome[SENDS] & 0xFFFFF):
        sent = np.int64(view.pool[first + i])
        if not (outcome[FLAGS] & MAY_EXPIRE and expired(view, row, actor, outcome[LOCAL], sent)):
            _put(view, slots, count, sent)
            count += 1
    if outcome[LABELS]:
        after[n] = recorded(view.answers, row[n], outcome[LABELS]) & ID
    cost = view.prices[view.price[number]] + (view.duplicate_cost if duplicate else 0)
    if cost:
        budget = (np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)) - cost
        after[n + 1] = budget & 0x7FFFFFFF
        after[n + 2] = budget >> 31
    return count


@inlined
def _sums(view, row, fps):
    """Write the fingerprints of ``row`` to ``fps``: the sums under all permutations, then the tags."""
    n = view.components
    budgets = np.uint64(0)
    packed = np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)
    for i in range(7):
        budgets += view.budget_hash[i, (packed >> (8 * i)) & 255]
    permutations = fps.shape[0] >> 1
    for column in range(2 * permutations):
        total = view.history_hash[row[n], column]
        for component in range(n):
            total += view.local_hash[row[component], column]
        for slot in range(n + 3, n + 3 + view.capacity):
            if row[slot] < 0:
                break
            total += view.message_hash[row[slot], column]
        fps[column] = total + budgets if column < permutations else total & TAG


@compiled
def build(
    view, rows, cand_fp, cand_tag, cand_row, cand_code, new, next_rows, next_fps, parents, codes, base, slots
):
    """Write the successors marked in ``new`` (uint8), in order, to ``next_rows`` and ``next_fps``.

    ``parents``, ``codes``: uint32, the predecessor links (``base`` is the number of the block's first row
    in its level). ``slots``: scratch, int32[capacity].
    Returns the number of rows written.
    """
    n = view.components
    written = 0
    for i in range(cand_fp.shape[0]):
        if not new[i]:
            continue
        row, after = rows[cand_row[i]], next_rows[written]
        code = np.int64(cand_code[i])
        for j in range(n + 3):
            after[j] = row[j]
        if code & 3 == LOSE:
            count = 0
            lost = code >> 2
            for j in range(view.capacity):
                message = row[n + 3 + j]
                if message < 0:
                    break
                if message == lost:
                    lost = np.int64(-1)
                else:
                    slots[count] = message
                    count += 1
        else:
            count = _apply(view, row, code >> 2, code & 3 == DUPLICATE, after, slots)
        before = 0
        for j in range(view.capacity):
            if row[n + 3 + j] >= 0:
                before += 1
            after[n + 3 + j] = slots[j] if j < count else -1
        after[after.shape[0] + LINK] = np.int32(code)
        after[after.shape[0] + BEFORE] = before
        next_fps[written, 0], next_fps[written, 1] = cand_fp[i], cand_tag[i]
        if next_fps.shape[1] > 2:
            _sums(view, after, next_fps[written])
        parents[written] = base + cand_row[i]
        codes[written] = cand_code[i]
        written += 1
    return written
