"""One transition in the compiled core: whether an outcome is enabled in a row, and its effect on the
fingerprint.

A look-up that fails is written down in ``misses``; Python resolves it and the row is expanded again.
"""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import inlined
from kraftcheck.engine.native_map import MULTIPLIER, find, mixed
from kraftcheck.engine.view import (
    ADVANCES,
    CONSUMES,
    COSTS,
    DELTA,
    FLAGS,
    ID,
    LABELS,
    LOCAL,
    MAY_EXPIRE,
    NAMES,
    OUTSIDE,
    RECORD,
    SENDS,
    SIGNAL_LOCAL,
    SIGNAL_MESSAGE,
    SIGNALS,
    expired,
    keyed,
)

# The kinds of transitions.
DISABLED, ENABLED, WITHIN, CAPACITY, MISSED = range(5)
# Slots of the counters; POSITION and MISSES are lengths of buffers, the others add up.
GENERATED, CUT_WITHIN, CUT_CAPACITY, DEADLOCKS, SKIPPED, POSITION, MISSES, PENDING = range(8)
COUNTERS = 8
# The parts that a step adds to a state or removes, in addition to its outcome's own, for the tag and for the
# sums under other permutations: number << 3 | part | sign.
A_LOCAL, A_MESSAGE, A_HISTORY = 0, 2, 4
ADDED, TAKEN = 0, 1


@inlined
def _miss(key, misses, counters):
    if counters[MISSES] < misses.shape[0]:
        misses[counters[MISSES]] = key
        counters[MISSES] += 1


@inlined
def look_up(view, key, misses, counters):
    """The value of ``key`` in the tables, or -1."""
    value = find(view.memo, key)
    if value < 0:
        _miss(key, misses, counters)
    return value


@inlined
def covers(budget, cost):
    """Whether each byte of ``budget`` is at least that of ``cost``; both are not negative."""
    # Bytes become the low halves of 16 bits each: a borrow takes the bit above them away.
    low, over = np.int64(0x00FF00FF00FF00FF), np.int64(0x0100010001000100)
    even = ((budget & low) | over) - (cost & low)
    odd = (((budget >> 8) & low) | over) - ((cost >> 8) & low)
    return even & odd & over == over


@inlined
def budget_delta(view, budget, cost):
    """The difference of the fingerprint when ``cost`` is paid from ``budget``, which covers it."""
    delta = np.uint64(0)
    i = 0
    while cost:
        price = cost & 255
        if price:
            have = (budget >> (8 * i)) & 255
            delta += view.budget_hash[i, have - price] - view.budget_hash[i, have]
        cost >>= 8
        i += 1
    return delta


@inlined
def _change(changes, what):
    """Note a change; ``changes[0]`` is their number."""
    changes[0] += 1
    changes[changes[0]] = what


@inlined
def _expire(view, row, count, actor, local, consumed, changes):
    """(fingerprint part of the messages that expire in state ``local`` of ``actor``, messages that stay)."""
    gone = np.uint64(0)
    kept = 0
    left = np.int64(consumed)
    for i in range(count):
        message = np.int64(row[view.components + 3 + i])
        if message == left:
            left = np.int64(-1)
        elif expired(view, row, actor, local, message):
            gone += view.message_hash[message, 0]
            _change(changes, (message << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    return gone, kept


@inlined
def _expire_sent(view, row, actor, local, sends, changes):
    """(fingerprint part of the messages among ``sends`` that expire at once, messages that stay)."""
    gone = np.uint64(0)
    kept = 0
    first = sends >> 20
    for i in range(sends & 0xFFFFF):
        sent = np.int64(view.pool[first + i])
        if expired(view, row, actor, local, sent):
            gone += view.message_hash[sent, 0]
            _change(changes, (sent << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    return gone, kept


@inlined
def _signal(view, row, count, signals, actor, local, consumed, misses, counters, changes):
    """(status, messages that stay, difference of the fingerprint) of applying ``signals``."""
    n = view.components
    delta = np.uint64(0)
    missed = False
    for component in range(n):
        if component != actor:
            after = look_up(view, keyed(SIGNAL_LOCAL, signals, row[component]), misses, counters)
            if after < 0:
                missed = True
            elif after != row[component]:
                delta += view.local_hash[after, 0] - view.local_hash[row[component], 0]
                _change(changes, (after << 3) | A_LOCAL | ADDED)
                _change(changes, (np.int64(row[component]) << 3) | A_LOCAL | TAKEN)
                if view.outside[after]:
                    return WITHIN, count, delta
    kept = 0
    for i in range(count):
        message = row[n + 3 + i]
        if message == consumed:
            consumed = -1
            continue
        after = look_up(view, keyed(SIGNAL_MESSAGE, signals, message), misses, counters)
        if after < 0:
            missed = True
            continue
        if after > 0 and not expired(view, row, actor, local, after - 1):
            kept += 1
            delta += view.message_hash[after - 1, 0]
            _change(changes, ((after - 1) << 3) | A_MESSAGE | ADDED)
        delta -= view.message_hash[message, 0]
        _change(changes, (np.int64(message) << 3) | A_MESSAGE | TAKEN)
    return MISSED if missed else ENABLED, kept, delta


@inlined
def transition(view, row, count, budget, number, message, duplicate, misses, counters, changes):
    """(status, difference of the fingerprint, RECORD value or 0) of outcome ``number`` in ``row``.

    ``changes`` (scratch, int64, see :func:`_change`) receives the changes in addition to the outcome's own
    difference and the budgets.
    """
    changes[0] = 0
    outcome = view.outcomes[number]
    n = view.components
    delta = np.uint64(outcome[DELTA])
    recorded = np.int64(0)
    cost = outcome[COSTS]
    if cost != 0:
        if cost < 0 or not covers(budget, cost):
            return DISABLED, delta, recorded
        delta += budget_delta(view, budget, cost)
    if duplicate:
        delta += view.message_hash[message, 0]
        _change(changes, (message << 3) | A_MESSAGE | ADDED)
        if view.duplicate_cost:
            if not covers(budget - cost, view.duplicate_cost):
                return DISABLED, delta, recorded
            delta += budget_delta(view, budget - cost, view.duplicate_cost)
    if outcome[FLAGS] & OUTSIDE:
        return WITHIN, delta, recorded
    consumed = message if (outcome[FLAGS] & CONSUMES) and not duplicate else -1
    kept = count - 1 if consumed >= 0 else count
    status = ENABLED
    actor = (outcome[FLAGS] >> 8) & 0xFFFF
    local = outcome[LOCAL]
    if outcome[SIGNALS]:
        status, kept, change = _signal(
            view, row, count, outcome[SIGNALS], actor, local, consumed, misses, counters, changes
        )
        if status != ENABLED:
            return status, delta, recorded
        delta += change
    elif outcome[FLAGS] & ADVANCES:
        change, kept = _expire(view, row, count, actor, local, consumed, changes)
        delta -= change
    if outcome[FLAGS] & MAY_EXPIRE:
        gone, more = _expire_sent(view, row, actor, local, outcome[SENDS], changes)
        delta -= gone
        kept += more
    else:
        kept += outcome[SENDS] & 0xFFFFF
    if kept > view.capacity:
        return CAPACITY, delta, recorded
    if outcome[LABELS]:
        recorded = look_up(view, keyed(RECORD, row[n], outcome[LABELS]), misses, counters)
        if recorded < 0:
            return MISSED, delta, recorded
        delta += view.history_hash[recorded & ID, 0] - view.history_hash[row[n], 0]
        _change(changes, ((recorded & ID) << 3) | A_HISTORY | ADDED)
        _change(changes, (np.int64(row[n]) << 3) | A_HISTORY | TAKEN)
    return status, delta, recorded


@inlined
def _changed(view, changes, permutation):
    """The sums of ``changes`` under ``permutation``: of hashes, and of tags."""
    total, tags = np.uint64(0), np.uint64(0)
    for i in range(1, changes[0] + 1):
        what = changes[i]
        number = what >> 3
        if what & 6 == A_LOCAL:
            part = view.local_hash[number, permutation]
        elif what & 6 == A_MESSAGE:
            part = view.message_hash[number, permutation]
        else:
            part = view.history_hash[number, permutation]
        if what & 1 == TAKEN:
            total -= part
            tags -= mixed(part)
        else:
            total += part
            tags += mixed(part)
    return total, tags


@inlined
def orbit(view, fps, number, delta, changes):
    """The fingerprint (sum, tag) of the orbit of the successor by outcome ``number``, whose parent has
    ``fps``.

    ``delta``: the difference of the sum under the identity; budgets differ by the same under all
    permutations.
    """
    permutations = fps.shape[0] >> 1
    total, tag = fps[0] + delta, fps[permutations]
    if permutations == 1:
        tag += np.uint64(view.outcomes[number, NAMES] >> 16)
        if changes[0]:
            tag += _changed(view, changes, 0)[1]
        return total, tag
    here, tags = _changed(view, changes, 0)
    tag += view.differences[number, permutations] + tags
    rest = delta - view.differences[number, 0] - here
    for permutation in range(1, permutations):
        other = fps[permutation] + view.differences[number, permutation] + rest
        here, tags = np.uint64(0), np.uint64(0)
        if changes[0]:
            here, tags = _changed(view, changes, permutation)
        if other + here < total:
            total = other + here
            tag = (
                fps[permutations + permutation] + view.differences[number, permutations + permutation] + tags
            )
    return total * MULTIPLIER, tag
