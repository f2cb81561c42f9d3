"""The compiled core: the successors of rows, from the tables.

A row whose look-ups fail is *pending*: its candidates are taken back and it is expanded again when Python has
resolved the missing entries.

**Fewer interleavings.** Let a row t be reached first from a row s by a step of component A, and let a step d
of component C < A be enabled in s too, so that both orders lead to the same row. Then d is left out in t: s
has taken it, and the step of A follows there, or was left out in turn for one of a component behind A, and so
on, which ends at the last component. All paths have equal lengths, so every row is still found, in its own
level; and the violations and goals of a step by itself were noted where it was not left out. This saves the
second generation. (Sleep sets that keep all states: Godefroid, "Partial-Order Methods for the Verification of
Concurrent Systems", 1996, chapter 5; here without storing sets: only the last step counts.)
"""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment, arg-type"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import compiled, inlined
from kraftcheck.engine.memo import ACT, DELIVER, acted, delivered, keyed
from kraftcheck.engine.native_map import MULTIPLIER
from kraftcheck.engine.transition import (
    CAPACITY,
    COUNTERS,
    CUT_CAPACITY,
    CUT_WITHIN,
    DEADLOCKS,
    ENABLED,
    GENERATED,
    MISSES,
    PENDING,
    POSITION,
    SKIPPED,
    WITHIN,
    budget_delta,
    covers,
    find_purse,
    miss,
    orbit,
    transition,
)
from kraftcheck.engine.view import (
    BEFORE,
    CONSUMES,
    FLAGS,
    LABELS,
    LINK,
    LOSE,
    NAMES,
    OUTSIDE,
    REPEATABLE,
    SENDS,
    SIGNALS,
    TAG,
    TURNS_BACK,
)


@inlined
def _note(names, place, order, code, firsts):
    """Keep the first transition (by row, then order in the row) that violated set ``names``."""
    first = firsts[names]
    if place < first[0] or (place == first[0] and order < first[1]):
        first[0], first[1], first[2] = place, order, code


@inlined
def _emit(fp, tag, place, code, recent, cand_fp, cand_tag, cand_row, cand_code, counters):
    """Append a candidate, unless this thread has recently emitted the same fingerprint."""
    tag &= TAG
    if recent.shape[0] and fp != 0:
        slot = (tag << np.uint64(1)) & np.uint64(recent.shape[0] - 1)
        if recent[slot] == fp and recent[slot + np.uint64(1)] == tag:
            return
        recent[slot] = fp
        recent[slot + np.uint64(1)] = tag
    position = counters[POSITION]
    cand_fp[position] = fp
    cand_tag[position] = tag
    cand_row[position] = place
    cand_code[position] = code
    counters[POSITION] = position + 1


@inlined
def _last_step(view, row, reduced):
    """(component, number) of the outcome that led to ``row`` first; -1, 0 if no order is to be left out."""
    code = np.int64(row[row.shape[0] + LINK]) & 0xFFFFFFFF
    if not reduced or code & 3 == LOSE:
        return -1, np.int64(0)
    outcome = view.outcomes[code >> 2]
    if outcome[SIGNALS] or outcome[FLAGS] & TURNS_BACK:
        return -1, np.int64(0)
    return (outcome[FLAGS] >> 8) & 0xFFFF, code >> 2


@inlined
def _has_sent(view, number, message):
    """Whether outcome ``number`` has sent ``message``."""
    first = view.outcomes[number, SENDS] >> 20
    found = False
    for i in range(view.outcomes[number, SENDS] & 0xFFFFF):
        found = found or view.pool[first + i] == message
    return found


@inlined
def _commutes(view, row, count, last, number, duplicate):
    """Whether outcome ``number`` could also have come before outcome ``last``, which led to ``row``.

    Their components differ, and the event was possible before. The remaining conditions: signals change other
    components, the history sees the order of labels, a clock that is set back does not restore expired
    messages, and the network must have room in both orders.
    """
    outcome = view.outcomes[number]
    if outcome[SIGNALS] or outcome[FLAGS] & (OUTSIDE | TURNS_BACK):
        return False
    if outcome[LABELS] and view.outcomes[last, LABELS]:
        return False
    more = np.int64(outcome[SENDS] & 0xFFFFF)
    if outcome[FLAGS] & CONSUMES and not duplicate:
        more -= 1
    return max(count, np.int64(row[row.shape[0] + BEFORE])) + more <= view.capacity


@inlined
def _copies(view, budget, number, message):
    """How often outcome ``number`` of ``message``, which is paid for, can happen: also with a copy that is
    left in the network, or not.
    """
    if message < 0 or not view.duplicates or not view.outcomes[number, FLAGS] & REPEATABLE:
        return 1
    left = budget - view.prices[view.price[number]]
    return 2 if covers(left, view.duplicate_cost) else 1


@inlined
def _fire(
    view, row, place, count, budget, fps, value, message, position, last, misses, recent,
    cand_fp, cand_tag, cand_row, cand_code, firsts, goals, counters, changes, purse,
):  # fmt: skip
    """All transitions of one event; (enabled ones, whether an entry was missing, whether room ran out).

    ``last``: the outcome that led to ``row`` first if the event was possible before it and may commute, or
    -1. ``purse``: see :func:`find_purse`.
    """
    start, size = value >> 20, value & 0xFFFFF
    enabled, missed = 0, False
    for number in range(start, start + size):
        price = np.int64(view.price[number])
        if purse[1 + 2 * price] == 0:
            continue
        for duplicate in range(_copies(view, budget, number, message)):
            enabled += 1
            if last >= 0 and _commutes(view, row, count, last, number, duplicate == 1):
                counters[SKIPPED] += 1
                continue
            status, delta, tag_delta, recorded = transition(
                view, row, count, number, message, duplicate == 1, misses, counters, changes
            )
            if status == ENABLED:
                counters[GENERATED] += 1
                names = view.outcomes[number, NAMES]
                goals[names & 0xFFFF] = 1
                goals[recorded >> 46] = 1
                code = (number << 2) | duplicate
                if (names >> 32) or ((recorded >> 30) & 0xFFFF):
                    order = (np.int64(position) << 40) | (number - start) << 1 | duplicate
                    _note(names >> 32, place, order, code, firsts)
                    _note((recorded >> 30) & 0xFFFF, place, order, code, firsts)
                else:
                    if counters[POSITION] >= cand_fp.shape[0]:
                        return enabled, missed, True
                    delta += purse[2 + 2 * price]
                    if duplicate and view.duplicate_cost:
                        delta += budget_delta(view, budget - view.prices[price], view.duplicate_cost)
                    fp, tag = orbit(view, fps, number, delta, tag_delta, changes)
                    _emit(fp, tag, place, code, recent, cand_fp, cand_tag, cand_row, cand_code, counters)
            elif status == WITHIN:
                counters[CUT_WITHIN] += 1
            elif status == CAPACITY:
                counters[CUT_CAPACITY] += 1
            else:
                missed = True
    return enabled, missed, False


@inlined
def _events(
    view, row, place, count, fps, reduced, misses, recent,
    cand_fp, cand_tag, cand_row, cand_code, firsts, goals, counters, changes, purses,
):  # fmt: skip
    """All deliveries and actions in one row; as :func:`_fire`."""
    n = view.components
    budget = np.int64(row[n + 1]) | (np.int64(row[n + 2]) << 31)
    purse = purses[find_purse(view, budget, purses)]
    actor, number = _last_step(view, row, reduced)
    enabled, missed = 0, False
    for event in range(count + n):
        message = np.int64(-1)
        component = np.int64(event - count)
        if event < count:
            message = np.int64(row[n + 3 + event])
            if event > 0 and message == row[n + 2 + event]:
                continue
            component = np.int64(view.destination[message])
            value = delivered(view.answers, row[component], message)
            if value < 0:
                miss(keyed(DELIVER, row[component], message), misses, counters)
        else:
            value = acted(view.answers, row[component])
            if value < 0:
                miss(keyed(ACT, row[component], 0), misses, counters)
        if value < 0:
            missed = True
            continue
        if value & 0xFFFFF:
            last = np.int64(-1)
            if component < actor and (message < 0 or not _has_sent(view, number, message)):
                last = number
            more, gap, full = _fire(
                view, row, place, count, budget, fps, value, message, event, last, misses, recent,
                cand_fp, cand_tag, cand_row, cand_code, firsts, goals, counters, changes, purse,
            )  # fmt: skip
            enabled += more
            missed = missed or gap
            if full:
                return enabled, missed, True
    return enabled, missed, False


@inlined
def _losses(view, row, place, count, fps, recent, cand_fp, cand_tag, cand_row, cand_code, counters):
    """Every message in flight is lost; (number of losses, whether room ran out)."""
    enabled = 0
    for event in range(count):
        at = view.components + 3 + event
        message = np.int64(row[at])
        if event > 0 and message == row[at - 1]:
            continue
        if counters[POSITION] >= cand_fp.shape[0]:
            return enabled, True
        enabled += 1
        counters[GENERATED] += 1
        permutations = fps.shape[0] >> 1
        least, lost = 0, fps[0] - view.message_hash[message, 0]
        for permutation in range(1, permutations):
            other = fps[permutation] - view.message_hash[message, permutation]
            if other < lost:
                least, lost = permutation, other
        tag = fps[permutations + least] - view.message_hash[message, permutations + least]
        if permutations > 1:
            lost *= MULTIPLIER
        code = (message << 2) | LOSE
        _emit(lost, tag, place, code, recent, cand_fp, cand_tag, cand_row, cand_code, counters)
    return enabled, False


@compiled
def expand(
    view, rows, fps, index, reduced, misses, pending, recent,
    cand_fp, cand_tag, cand_row, cand_code, firsts, goals, counters, saved, changes, purses,
):  # fmt: skip
    """Append the successors of the rows named by ``index`` (int32, ascending) to the candidates.

    Returns how many entries of ``index`` are done: fewer than all when the candidate buffers (uint64,
    uint16, int32, uint32) are full. ``reduced``: whether orders of steps that commute are left out.
    ``pending`` (int32) receives the rows with missing table entries, ``misses`` (int64) the keys. ``firsts``:
    int64[sets, 3] of (row, order, code); ``goals``: uint8[sets];
    ``counters``, and ``saved`` (scratch): int64[COUNTERS]; ``changes``: scratch, int64, of length 1 without
    symmetry; ``purses``: see :func:`find_purse`; ``fps``: uint64[rows, 2 * permutations]; ``recent``:
    uint64[2**k], or empty to switch the filter off.
    """
    n = view.components
    for entry in range(index.shape[0]):
        place = index[entry]
        row = rows[place]
        if row[0] < 0:
            continue
        for i in range(COUNTERS):
            saved[i] = counters[i]
        count = 0
        while count < view.capacity and row[n + 3 + count] >= 0:
            count += 1
        enabled, missed, full = _events(
            view, row, place, count, fps[place], reduced, misses, recent,
            cand_fp, cand_tag, cand_row, cand_code, firsts, goals, counters, changes, purses,
        )  # fmt: skip
        if not full and (view.loss == 2 or (view.loss == 1 and count >= view.capacity)):
            more, full = _losses(
                view, row, place, count, fps[place], recent, cand_fp, cand_tag, cand_row, cand_code, counters
            )
            enabled += more
        if full or missed:
            # Take the row back; the keys that it asked for stay written down.
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
