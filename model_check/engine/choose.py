"""The compiled core: random walks take one of their candidates each.

Walks differ in character, so that together they reach what walks of one kind would hardly ever reach
("swarm testing": Groce et al., ISSTA 2012): a walk draws how readily each component moves and receives, each
budget is spent, and messages are lost or copied; how much of each budget it would rather leave unspent; and
how strongly it prefers steps that were rarely taken: of one, two or four that it draws it takes the rarest.

Random numbers are hashes of the seed, the walk, its step and the draw: a walk is the same whichever thread
takes it, and however many there are.
"""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import compiled, inlined
from kraftcheck.engine.native_map import mixed
from kraftcheck.engine.view import DUPLICATE, FLAGS, LOSE

#: The number of candidates that are drawn for a step; if the walk is ready for none, it takes the last one.
DRAWS = 16
#: Registers of the estimate of how many states are distinct: 2**SKETCH_BITS.
SKETCH_BITS = 14
#: The random numbers of a walk: what it draws once, then one for each step.
RIVALS, NETWORK, RESERVES, INITIAL = range(4)
BUDGETS, AMOUNTS, COMPONENTS, STEPS = 8, 16, 24, 1 << 16


@inlined
def drawn(key, number):
    """The random number ``number`` of what has ``key``."""
    return mixed(key + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15))


@inlined
def _below(random, bound):
    """``random`` as a number from 0 on, below ``bound``."""
    return np.int64(((random >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@inlined
def _readiness(walk, place):
    """How readily the walk does something: how often of 256 times that it is drawn, mostly always."""
    kind = drawn(walk, place) & np.uint64(7)
    if kind == 0:
        return np.int64(16)
    return np.int64(64) if kind == 1 else np.int64(256)


@compiled
def begin(seed, first, walks, reserves, initial, components, rows, starts):
    """Write to ``walks`` (uint64) the keys of the random numbers of the walks from number ``first`` on, to
    ``reserves`` (int64), a byte for each, how much of the budgets they leave unspent, to ``rows`` the row of
    ``initial`` in which each begins, and to ``starts`` (uint32) its number. Half of the walks leave nothing.
    """
    for i in range(walks.shape[0]):
        walks[i] = drawn(seed, first + i)
        start = _below(drawn(walks[i], INITIAL), initial.shape[0])
        starts[i] = start
        for j in range(rows.shape[1]):
            rows[i, j] = initial[start, j]
        reserves[i] = 0
        if drawn(walks[i], RESERVES) & np.uint64(1) == 1:
            budgets = np.int64(rows[i, components + 1]) | (np.int64(rows[i, components + 2]) << 31)
            for budget in range(7):
                amount = (budgets >> (8 * budget)) & 255
                reserves[i] |= _below(drawn(walks[i], AMOUNTS + budget), amount + 1) << (8 * budget)


@inlined
def _ready(view, row, code, walk, reserve):
    """How readily a walk of this character takes a step in ``row``, of 256 times that it draws it; -1: only
    if it draws no other, since the step spends what the walk would leave unspent.
    """
    if code & 3 == LOSE:
        return _readiness(walk, NETWORK)
    outcome = view.outcomes[code >> 2]
    ready = _readiness(walk, COMPONENTS + ((outcome[FLAGS] >> 8) & 0xFFFF))
    cost = view.prices[view.price[code >> 2]]
    if code & 3 == DUPLICATE:
        ready = min(ready, _readiness(walk, NETWORK))
        cost += view.duplicate_cost
    if cost == 0:
        return ready
    left = (np.int64(row[view.components + 1]) | (np.int64(row[view.components + 2]) << 31)) - cost
    for budget in range(7):
        if (cost >> (8 * budget)) & 255:
            if (left >> (8 * budget)) & 255 < (reserve >> (8 * budget)) & 255:
                return np.int64(-1)
            ready = min(ready, _readiness(walk, BUDGETS + budget))
    return ready


@compiled
def choose(view, rows, cand_row, cand_code, size, walks, reserves, step, taken, new):
    """Mark one of the first ``size`` candidates of each of ``rows`` in ``new`` (uint8).

    ``walks``, ``reserves``: by row, as :func:`begin` writes them; ``taken``: int64, how often each outcome
    has been taken, perhaps of fewer outcomes than there are.
    """
    first = 0
    while first < size:
        end = first + 1
        while end < size and cand_row[end] == cand_row[first]:
            end += 1
        place = cand_row[first]
        row, walk, reserve = rows[place], walks[place], reserves[place]
        here = drawn(walk, STEPS + step)
        rivals = max(np.int64(1), np.int64(drawn(walk, RIVALS) & np.uint64(3)) * 2 - 2)
        best, least, other = np.int64(-1), np.int64(0), np.int64(-1)
        for draw in range(DRAWS):
            random = drawn(here, draw)
            each = first + _below(random, end - first)
            ready = _ready(view, row, cand_code[each], walk, reserve)
            if ready >= 0 or other < 0:
                other = each
            if np.int64(random & np.uint64(255)) >= ready:
                continue
            number = np.int64(cand_code[each]) >> 2
            count = np.int64(0)
            if cand_code[each] & 3 == LOSE:
                count = np.int64(1) << 62
            elif number < taken.shape[0]:
                count = taken[number]
            if best < 0 or count < least:
                best, least = each, count
            rivals -= 1
            if rivals == 0:
                break
        new[best if best >= 0 else other] = 1
        first = end


@compiled
def sketch(fps, registers):
    """Note ``fps`` (uint64) in ``registers`` (uint8[2**SKETCH_BITS]) of an estimate of how many are distinct:
    in the one that the top bits name, the longest run of zeros behind them.
    """
    for fp in fps:
        # A fingerprint is a sum of hashes: its own top bits are as random as these.
        where = fp >> np.uint64(64 - SKETCH_BITS)
        rest = (fp << np.uint64(SKETCH_BITS)) | np.uint64(1 << (SKETCH_BITS - 1))
        zeros = 1
        while rest < np.uint64(1) << np.uint64(63):
            rest <<= np.uint64(1)
            zeros += 1
        if zeros > registers[where]:
            registers[where] = zeros
