"""The compiled core: expand rows from the tables, build new rows, judge invariants on them.

A *row* is int32[components + 3 + capacity]: one local number per component, the history's number, the
budgets packed in two columns (31 low bits, the rest), message numbers ordered by hash, -1 for empty slots.
A row whose first column is negative is not expanded (it breaks an invariant). It has one fingerprint under
each permutation of the system's symmetry group, the identity first; what the least of them gives is its
orbit's, which alone goes to the visited set (:mod:`model_check.engine.symmetry`). Without symmetry there is
just the one.

Kernels release the GIL and only read the tables. A look-up that fails is written down; the row is then
*pending*: its candidates are taken back and it is expanded again when Python has resolved it.

No kernel allocates (see :mod:`model_check.engine.jit`). Signed and unsigned 64-bit integers must not meet in
an expression: Numba would make it a float.
"""

# Numba infers the types here; annotations would only repeat what the docstrings say.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from model_check.engine.jit import compiled, inlined
from model_check.engine.native_map import MULTIPLIER, find, spread
from model_check.engine.tables import (
    ACT,
    CONSUMES,
    DELIVER,
    DUPLICATE,
    FORGET_LOCAL,
    FORGET_MESSAGE,
    LOSE,
    OUTSIDE,
    RECORD,
)

# Columns of an outcome row.
DELTA, COSTS, LOCAL, FLAGS, SENDS, LABELS, FORGETS, NAMES = range(8)
# What a transition is.
DISABLED, ENABLED, WITHIN, CAPACITY, MISSED = range(5)
# Slots of the counters; POSITION and MISSES are lengths of buffers, the others add up.
GENERATED, CUT_WITHIN, CUT_CAPACITY, DEADLOCKS, POSITION, MISSES, PENDING = range(7)
COUNTERS = 7
ID = (1 << 30) - 1
# What a step adds to a state or takes away, for the sums under other permutations: number << 3 | part | sign.
A_LOCAL, A_MESSAGE, A_HISTORY = 0, 2, 4
ADDED, TAKEN = 0, 1


@inlined
def _miss(key, misses, counters):
    if counters[MISSES] < misses.shape[0]:
        misses[counters[MISSES]] = key
        counters[MISSES] += 1


@inlined
def _look_up(view, kind, a, b, misses, counters):
    key = (kind << 60) | (np.int64(a) << 30) | np.int64(b)
    value = find(view.memo, key)
    if value < 0:
        _miss(key, misses, counters)
    return value


@inlined
def _budget_delta(view, budget, cost):
    """(whether ``budget`` covers ``cost``, difference of the fingerprint)."""
    delta = np.uint64(0)
    for i in range(7):
        price = (cost >> (8 * i)) & 255
        if price:
            have = (budget >> (8 * i)) & 255
            if price > have:
                return False, delta
            delta += view.budget_hash[i, have - price] - view.budget_hash[i, have]
    return True, delta


@inlined
def _change(changes, what):
    """Note a change; ``changes[0]`` is how many there are. Without symmetry nothing is noted."""
    if changes.shape[0] > 1:
        changes[0] += 1
        changes[changes[0]] = what


@inlined
def _expired(view, row, actor, local, message):
    """Whether ``message`` has expired at its destination, once ``actor`` is in state ``local``."""
    destination = view.destination[message]
    at = local if destination == actor else np.int64(row[destination])
    return view.expiry[message] <= view.clock[at]


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
        elif _expired(view, row, actor, local, message):
            gone += view.message_hash[message, 0]
            _change(changes, (message << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    return gone, kept


@inlined
def _forget(view, row, count, forgets, actor, local, consumed, misses, counters, changes):
    """(status, messages that stay, difference of the fingerprint) of applying ``forgets``."""
    n = view.components
    delta = np.uint64(0)
    missed = False
    for component in range(n):
        if component != actor:
            after = _look_up(view, FORGET_LOCAL, forgets, row[component], misses, counters)
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
        after = _look_up(view, FORGET_MESSAGE, forgets, message, misses, counters)
        if after < 0:
            missed = True
            continue
        if after > 0 and not _expired(view, row, actor, local, after - 1):
            kept += 1
            delta += view.message_hash[after - 1, 0]
            _change(changes, ((after - 1) << 3) | A_MESSAGE | ADDED)
        delta -= view.message_hash[message, 0]
        _change(changes, (np.int64(message) << 3) | A_MESSAGE | TAKEN)
    return MISSED if missed else ENABLED, kept, delta


@inlined
def _transition(view, row, count, budget, number, message, duplicate, misses, counters, changes):
    """(status, difference of the fingerprint, RECORD value or 0) of outcome ``number`` in ``row``.

    ``changes`` (scratch, int64, see :func:`_change`) receives what changes beside the outcome's own
    difference and the budgets.
    """
    changes[0] = 0
    outcome = view.outcomes[number]
    n = view.components
    delta = np.uint64(outcome[DELTA])
    recorded = np.int64(0)
    cost = outcome[COSTS]
    if cost != 0:
        if cost < 0:
            return DISABLED, delta, recorded
        enough, change = _budget_delta(view, budget, cost)
        if not enough:
            return DISABLED, delta, recorded
        delta += change
    if duplicate:
        delta += view.message_hash[message, 0]
        _change(changes, (message << 3) | A_MESSAGE | ADDED)
        if view.duplicate_cost:
            enough, change = _budget_delta(view, budget - cost, view.duplicate_cost)
            if not enough:
                return DISABLED, delta, recorded
            delta += change
    if outcome[FLAGS] & OUTSIDE:
        return WITHIN, delta, recorded
    consumed = message if (outcome[FLAGS] & CONSUMES) and not duplicate else -1
    kept = count - 1 if consumed >= 0 else count
    status = ENABLED
    actor = (outcome[FLAGS] >> 8) & 0xFFFF
    local = outcome[LOCAL]
    if outcome[FORGETS]:
        status, kept, change = _forget(
            view, row, count, outcome[FORGETS], actor, local, consumed, misses, counters, changes
        )
        if status != ENABLED:
            return status, delta, recorded
        delta += change
    elif view.clock[local] > view.clock[row[actor]]:
        change, kept = _expire(view, row, count, actor, local, consumed, changes)
        delta -= change
    first = outcome[SENDS] >> 20
    for i in range(outcome[SENDS] & 0xFFFFF):
        sent = np.int64(view.pool[first + i])
        if _expired(view, row, actor, local, sent):
            delta -= view.message_hash[sent, 0]
            _change(changes, (sent << 3) | A_MESSAGE | TAKEN)
        else:
            kept += 1
    if kept > view.capacity:
        return CAPACITY, delta, recorded
    if outcome[LABELS]:
        recorded = _look_up(view, RECORD, row[n], outcome[LABELS], misses, counters)
        if recorded < 0:
            return MISSED, delta, recorded
        delta += view.history_hash[recorded & ID, 0] - view.history_hash[row[n], 0]
        _change(changes, ((recorded & ID) << 3) | A_HISTORY | ADDED)
        _change(changes, (np.int64(row[n]) << 3) | A_HISTORY | TAKEN)
    return status, delta, recorded


@inlined
def _changed(view, changes, permutation):
    """The sum of ``changes`` under ``permutation``."""
    total = np.uint64(0)
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
        else:
            total += part
    return total


@inlined
def _orbit(view, fps, number, delta, changes):
    """The fingerprint of the orbit of the successor by outcome ``number``, whose parent has ``fps``.

    ``delta``: the difference under the identity; budgets differ by the same under all permutations.
    """
    least = fps[0] + delta
    rest = delta - view.differences[number, 0] - _changed(view, changes, 0)
    for permutation in range(1, fps.shape[0]):
        other = fps[permutation] + view.differences[number, permutation] + rest
        if changes[0]:
            other += _changed(view, changes, permutation)
        if other < least:
            least = other
    return least * MULTIPLIER


@inlined
def _note(names, place, order, code, firsts):
    """Keep the first transition (by row, then order in the row) that violated set ``names``."""
    first = firsts[names]
    if place < first[0] or (place == first[0] and order < first[1]):
        first[0], first[1], first[2] = place, order, code


@inlined
def _emit(fp, place, code, recent, cand_fp, cand_row, cand_code, counters):
    """Append a candidate, unless this thread emitted the same fingerprint a short while ago."""
    if recent.shape[0] > 1 and fp != 0:
        slot = fp & np.uint64(recent.shape[0] - 1)
        if recent[slot] == fp:
            return
        recent[slot] = fp
    position = counters[POSITION]
    cand_fp[position] = fp
    cand_row[position] = place
    cand_code[position] = code
    counters[POSITION] = position + 1


@inlined
def _fire(
    view, row, place, count, budget, fps, value, message, position, misses, recent,
    cand_fp, cand_row, cand_code, firsts, goals, counters, changes,
):  # fmt: skip
    """All transitions of one event; (enabled ones, whether something was missing, whether room ran out)."""
    start, size = value >> 20, value & 0xFFFFF
    enabled, missed = 0, False
    for choice in range(2 * size):
        number, duplicate = start + (choice >> 1), choice & 1
        if duplicate and not (message >= 0 and view.duplicates and view.outcomes[number, FLAGS] & CONSUMES):
            continue
        status, delta, recorded = _transition(
            view, row, count, budget, number, message, duplicate == 1, misses, counters, changes
        )
        if status == DISABLED:
            continue
        enabled += 1
        if status == ENABLED:
            counters[GENERATED] += 1
            names = view.outcomes[number, NAMES]
            goals[names & 0xFFFF] = 1
            goals[recorded >> 46] = 1
            code = (number << 2) | duplicate
            if (names >> 32) or ((recorded >> 30) & 0xFFFF):
                order = (np.int64(position) << 40) | choice
                _note(names >> 32, place, order, code, firsts)
                _note((recorded >> 30) & 0xFFFF, place, order, code, firsts)
            else:
                if counters[POSITION] >= cand_fp.shape[0]:
                    return enabled, missed, True
                fp = fps[0] + delta
                if fps.shape[0] > 1:
                    fp = _orbit(view, fps, number, delta, changes)
                _emit(fp, place, code, recent, cand_fp, cand_row, cand_code, counters)
        elif status == WITHIN:
            counters[CUT_WITHIN] += 1
        elif status == CAPACITY:
            counters[CUT_CAPACITY] += 1
        else:
            missed = True
    return enabled, missed, False


@compiled
def expand(
    view,
    rows,
    fps,
    index,
    misses,
    pending,
    recent,
    cand_fp,
    cand_row,
    cand_code,
    firsts,
    goals,
    counters,
    saved,
    changes,
):
    """Append the successors of the rows named by ``index`` (int32, ascending) to the candidates.

    Returns how many entries of ``index`` are done: fewer than all when the candidate buffers (uint64,
    int32, uint32) are full. ``pending`` (int32) receives the rows with missing table entries, ``misses``
    (int64) the keys. ``firsts``: int64[sets, 3] of (row, order, code); ``goals``: uint8[sets];
    ``counters``, and ``saved`` (scratch): int64[COUNTERS]; ``changes``: scratch, int64, of length 1 without
    symmetry; ``fps``: uint64[rows, permutations]; ``recent``: uint64[2**k], or of length 1 to
    switch the filter off.
    """
    n = view.components
    for entry in range(index.shape[0]):
        place = index[entry]
        row = rows[place]
        if row[0] < 0:
            continue
        for i in range(COUNTERS):
            saved[i] = counters[i]
        budget = np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)
        count = 0
        while count < view.capacity and row[n + 3 + count] >= 0:
            count += 1
        enabled, missed, full = 0, False, False
        for event in range(count + n):
            message = np.int64(-1)
            if event < count:
                message = np.int64(row[n + 3 + event])
                if event > 0 and message == row[n + 2 + event]:
                    continue
                local = row[view.destination[message]]
                value = _look_up(view, DELIVER, local, message, misses, counters)
            else:
                value = _look_up(view, ACT, row[event - count], 0, misses, counters)
            if value < 0:
                missed = True
                continue
            if value & 0xFFFFF:
                more, gap, full = _fire(
                    view, row, place, count, budget, fps[place], value, message, event, misses, recent,
                    cand_fp, cand_row, cand_code, firsts, goals, counters, changes,
                )  # fmt: skip
                enabled += more
                missed = missed or gap
                if full:
                    break
        if not full and (view.loss == 2 or (view.loss == 1 and count >= view.capacity)):
            for event in range(count):
                message = np.int64(row[n + 3 + event])
                if event > 0 and message == row[n + 2 + event]:
                    continue
                if counters[POSITION] >= cand_fp.shape[0]:
                    full = True
                    break
                enabled += 1
                counters[GENERATED] += 1
                lost = fps[place, 0] - view.message_hash[message, 0]
                for permutation in range(1, fps.shape[1]):
                    other = fps[place, permutation] - view.message_hash[message, permutation]
                    if other < lost:
                        lost = other
                if fps.shape[1] > 1:
                    lost *= MULTIPLIER
                code = (message << 2) | LOSE
                _emit(lost, place, code, recent, cand_fp, cand_row, cand_code, counters)
        if full or missed:
            # Take the row back; what it asked for stays written down.
            known = counters[MISSES]
            for i in range(COUNTERS):
                counters[i] = saved[i]
            counters[MISSES] = known
            if full:
                # The filter may hold fingerprints that were just taken back.
                for i in range(recent.shape[0]):
                    recent[i] = 0
                return entry
            pending[counters[PENDING]] = place
            counters[PENDING] += 1
        elif enabled == 0:
            counters[DEADLOCKS] += 1
    return index.shape[0]


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
    forgets = outcome[FORGETS]
    actor = (outcome[FLAGS] >> 8) & 0xFFFF
    message = (outcome[FLAGS] >> 32) - 1
    consumed = message if (outcome[FLAGS] & CONSUMES) and not duplicate else np.int64(-1)
    for component in range(n):
        if component == actor:
            after[component] = outcome[LOCAL]
        elif forgets:
            key = (FORGET_LOCAL << 60) | (forgets << 30) | np.int64(row[component])
            after[component] = find(view.memo, key)
    count = 0
    for i in range(view.capacity):
        kept = np.int64(row[n + 3 + i])
        if kept < 0:
            break
        if kept == consumed:
            consumed = np.int64(-1)
            continue
        if forgets:
            kept = find(view.memo, (FORGET_MESSAGE << 60) | (forgets << 30) | kept) - 1
            if kept < 0:
                continue
        if _expired(view, row, actor, outcome[LOCAL], kept):
            continue
        _put(view, slots, count, kept)
        count += 1
    first = outcome[SENDS] >> 20
    for i in range(outcome[SENDS] & 0xFFFFF):
        sent = np.int64(view.pool[first + i])
        if not _expired(view, row, actor, outcome[LOCAL], sent):
            _put(view, slots, count, sent)
            count += 1
    if outcome[LABELS]:
        key = (RECORD << 60) | (np.int64(row[n]) << 30) | outcome[LABELS]
        after[n] = find(view.memo, key) & ID
    cost = outcome[COSTS] + (view.duplicate_cost if duplicate else 0)
    if cost:
        budget = (np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)) - cost
        after[n + 1] = budget & 0x7FFFFFFF
        after[n + 2] = budget >> 31
    return count


@inlined
def _sums(view, row, fps):
    """Write the fingerprints of ``row`` under all permutations to ``fps``."""
    n = view.components
    budgets = np.uint64(0)
    packed = np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)
    for i in range(7):
        budgets += view.budget_hash[i, (packed >> (8 * i)) & 255]
    for permutation in range(fps.shape[0]):
        total = budgets + view.history_hash[row[n], permutation]
        for component in range(n):
            total += view.local_hash[row[component], permutation]
        for slot in range(n + 3, row.shape[0]):
            if row[slot] < 0:
                break
            total += view.message_hash[row[slot], permutation]
        fps[permutation] = total


@compiled
def build(view, rows, cand_fp, cand_row, cand_code, new, next_rows, next_fps, parents, codes, base, slots):
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
        for j in range(view.capacity):
            after[n + 3 + j] = slots[j] if j < count else -1
        next_fps[written, 0] = cand_fp[i]
        if next_fps.shape[1] > 1:
            _sums(view, after, next_fps[written])
        parents[written] = base + cand_row[i]
        codes[written] = cand_code[i]
        written += 1
    return written


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
        # A row with a missing verdict is judged again, even when it is known to be bad already.
        status[place] = UNKNOWN if gap else verdict
        if verdict == GOOD and not gap:
            good[slot] = joint
    return written
