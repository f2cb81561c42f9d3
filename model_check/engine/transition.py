"""One transition in the compiled core: whether an outcome is enabled in a row, and its effect on the
fingerprint.

A look-up that fails is written down in ``misses``; Python resolves it and the row is expanded again.
"""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import inlined
from kraftcheck.engine.memo import (
    RECORD,
    SIGNAL_LOCAL,
    SIGNAL_MESSAGE,
    keyed,
    local_after,
    message_after,
    recorded,
)
from kraftcheck.engine.native_map import MULTIPLIER, spread
from kraftcheck.engine.view import (
    ADVANCES,
    CONSUMES,
    DELTA,
    FLAGS,
    ID,
    LABELS,
    LOCAL,
    MAY_EXPIRE,
    OUTSIDE,
    SENDS,
    SIGNALS,
    TAG_DELTA,
    expired,
)

# The kinds of transitions.
ENABLED, WITHIN, CAPACITY, MISSED = range(4)
# Slots of the counters; POSITION and MISSES are lengths of buffers, the others add up.
GENERATED, CUT_WITHIN, CUT_CAPACITY, DEADLOCKS, SKIPPED, POSITION, MISSES, PENDING = range(8)
COUNTERS = 8
# The parts that a step adds to a state or removes, in addition to its outcome's own, for fingerprints under
# other permutations: number << 3 | part | sign.
A_LOCAL, A_MESSAGE, A_HISTORY = 0, 2, 4
ADDED, TAKEN = 0, 1


@inlined
def miss(key, misses, counters):
    """Write down a key that has no value."""
    if counters[MISSES] < misses.shape[0]:
        misses[counters[MISSES]] = key
        counters[MISSES] += 1


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
def find_purse(view, budget, purses):
    """The number of the line of ``purses`` for ``budget``.

    ``purses``: scratch, uint64[2**k, 1 + 2 * prices], at first zeros. A line has a budget plus 1, then of
    each price whether the budget covers it, and the difference of the fingerprint where it is paid.
    """
    slot = spread(np.uint64(budget)) & np.uint64(purses.shape[0] - 1)
    if purses[slot, 0] != np.uint64(budget) + np.uint64(1):
        purses[slot, 0] = np.uint64(budget) + np.uint64(1)
        for price in range(purses.shape[1] >> 1):
            cost = view.prices[price]
            payable = cost >= 0 and covers(budget, cost)
            purses[slot, 1 + 2 * price] = np.uint64(payable)
            if payable:
                purses[slot, 2 + 2 * price] = budget_delta(view, budget, cost)
    return slot


@inlined
def _change(changes, what):
    """Note a change where other permutations need it; ``changes[0]`` is their number."""
    if changes.shape[0] > 1:
        changes[0] += 1
        changes[changes[0]] = what


@inlined
def _expire(view, row, count, actor, local, consumed, changes):
    """The messages that expire in state ``local`` of ``actor``: (their part of the sum, and of the tag, the
    number of those that stay).
    """
    total, tag = np.uint64(0), np.uint64(0)
    kept = 0
    left = np.int64(consumed)
    for i in range(count):
        message = np.int64(row[view.components + 3 + i])
        if message == left:
            left = np.int64(-1)
        elif expired(view, row, actor, local, message):
            total += view.message_hash[message, 0]
            tag += view.message_hash[message, view.message_hash.shape[1] >> 1]
            _change(changes, (message << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    return total, tag, kept


@inlined
def _expire_sent(view, row, actor, local, sends, changes):
    """The messages among ``sends`` that expire at once; as :func:`_expire`."""
    total, tag = np.uint64(0), np.uint64(0)
    kept = 0
    first = sends >> 20
    for i in range(sends & 0xFFFFF):
        sent = np.int64(view.pool[first + i])
        if expired(view, row, actor, local, sent):
            total += view.message_hash[sent, 0]
            tag += view.message_hash[sent, view.message_hash.shape[1] >> 1]
            _change(changes, (sent << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    return total, tag, kept


@inlined
def _signal(view, row, count, signals, actor, local, advances, consumed, misses, counters, changes):
    """(status, messages that stay, differences of the sum and of the tag) of applying ``signals``.

    ``advances``: whether the clock of ``actor`` advances, which makes messages expire.
    """
    n = view.components
    tags = view.message_hash.shape[1] >> 1
    delta, tag = np.uint64(0), np.uint64(0)
    missed = False
    for component in range(n):
        if component != actor:
            before = np.int64(row[component])
            after = local_after(view.answers, signals, before)
            if after < 0:
                miss(keyed(SIGNAL_LOCAL, signals, before), misses, counters)
                missed = True
            elif after != before:
                delta += view.local_hash[after, 0] - view.local_hash[before, 0]
                tag += view.local_hash[after, tags] - view.local_hash[before, tags]
                _change(changes, (after << 3) | A_LOCAL | ADDED)
                _change(changes, (before << 3) | A_LOCAL | TAKEN)
                if view.outside[after]:
                    return WITHIN, count, delta, tag
    kept = 0
    for i in range(count):
        message = np.int64(row[n + 3 + i])
        if message == consumed:
            consumed = np.int64(-1)
            continue
        after = message_after(view.answers, signals, message)
        if after < 0:
            miss(keyed(SIGNAL_MESSAGE, signals, message), misses, counters)
            missed = True
            continue
        same = after - 1 == message
        if (same and not advances) or (after > 0 and not expired(view, row, actor, local, after - 1)):
            kept += 1
            if same:
                continue
            delta += view.message_hash[after - 1, 0]
            tag += view.message_hash[after - 1, tags]
            _change(changes, ((after - 1) << 3) | A_MESSAGE | ADDED)
        delta -= view.message_hash[message, 0]
        tag -= view.message_hash[message, tags]
        _change(changes, (message << 3) | A_MESSAGE | TAKEN)
    return MISSED if missed else ENABLED, kept, delta, tag


@inlined
def transition(view, row, count, number, message, duplicate, misses, counters, changes):
    """(status, differences of the sum and of the tag but for budgets, RECORD value or 0) of outcome
    ``number`` in ``row``, whose budget covers its price.

    ``changes`` (scratch, int64, see :func:`_change`) receives the changes in addition to the outcome's own
    difference and the budgets.
    """
    changes[0] = 0
    outcome = view.outcomes[number]
    n = view.components
    tags = view.message_hash.shape[1] >> 1
    delta, tag = np.uint64(outcome[DELTA]), np.uint64(outcome[TAG_DELTA])
    record = np.int64(0)
    if duplicate:
        delta += view.message_hash[message, 0]
        tag += view.message_hash[message, tags]
        _change(changes, (message << 3) | A_MESSAGE | ADDED)
    if outcome[FLAGS] & OUTSIDE:
        return WITHIN, delta, tag, record
    consumed = message if (outcome[FLAGS] & CONSUMES) and not duplicate else np.int64(-1)
    kept = count - 1 if consumed >= 0 else count
    status = ENABLED
    actor = (outcome[FLAGS] >> 8) & 0xFFFF
    local = outcome[LOCAL]
    if outcome[SIGNALS]:
        status, kept, change, tag_change = _signal(
            view,
            row,
            count,
            outcome[SIGNALS],
            actor,
            local,
            outcome[FLAGS] & ADVANCES,
            consumed,
            misses,
            counters,
            changes,
        )
        if status != ENABLED:
            return status, delta, tag, record
        delta += change
        tag += tag_change
    elif outcome[FLAGS] & ADVANCES:
        change, tag_change, kept = _expire(view, row, count, actor, local, consumed, changes)
        delta -= change
        tag -= tag_change
    if outcome[FLAGS] & MAY_EXPIRE:
        change, tag_change, more = _expire_sent(view, row, actor, local, outcome[SENDS], changes)
        delta -= change
        tag -= tag_change
        kept += more
    else:
        kept += outcome[SENDS] & 0xFFFFF
    if kept > view.capacity:
        return CAPACITY, delta, tag, record
    if outcome[LABELS]:
        before = np.int64(row[n])
        record = recorded(view.answers, before, outcome[LABELS])
        if record < 0:
            miss(keyed(RECORD, before, outcome[LABELS]), misses, counters)
            return MISSED, delta, tag, record
        after = record & ID
        delta += view.history_hash[after, 0] - view.history_hash[before, 0]
        tag += view.history_hash[after, tags] - view.history_hash[before, tags]
        _change(changes, (after << 3) | A_HISTORY | ADDED)
        _change(changes, (before << 3) | A_HISTORY | TAKEN)
    return status, delta, tag, record


@inlined
def _changed(view, changes, column):
    """The sum of ``changes`` in a column of the hashes."""
    total = np.uint64(0)
    for i in range(1, changes[0] + 1):
        what = changes[i]
        number = what >> 3
        if what & 6 == A_LOCAL:
            part = view.local_hash[number, column]
        elif what & 6 == A_MESSAGE:
            part = view.message_hash[number, column]
        else:
            part = view.history_hash[number, column]
        if what & 1 == TAKEN:
            total -= part
        else:
            total += part
    return total


@inlined
def orbit(view, fps, number, delta, tag_delta, changes):
    """The fingerprint (sum, tag) of the orbit of the successor by outcome ``number``, whose parent has
    ``fps``.

    ``delta``, ``tag_delta``: its differences under the identity; budgets differ by the same under all
    permutations.
    """
    permutations = fps.shape[0] >> 1
    least, total, tag = 0, fps[0] + delta, fps[permutations] + tag_delta
    if permutations == 1:
        return total, tag
    rest = delta - view.differences[number, 0] - _changed(view, changes, 0)
    for permutation in range(1, permutations):
        other = fps[permutation] + view.differences[number, permutation] + rest
        other += _changed(view, changes, permutation)
        if other < total:
            least, total = permutation, other
    if least:
        column = permutations + least
        tag = fps[column] + view.differences[number, column] + _changed(view, changes, column)
    return total * MULTIPLIER, tag
