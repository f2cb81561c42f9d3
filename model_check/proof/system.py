"""The transition systems that are proved, whole."""

from __future__ import annotations

import z3

from kraftcheck.proof.changes import changes
from kraftcheck.proof.elections import ELECTIONS
from kraftcheck.proof.invariant import CONJUNCTS
from kraftcheck.proof.logic import Formula, State, System, every
from kraftcheck.proof.replication import REPLICATION
from kraftcheck.proof.symbols import HISTORY, MESSAGES, SYMBOLS
from kraftcheck.proof.theorems import THEOREMS
from kraftcheck.proof.vocabulary import (
    ADJACENT_MAJORITIES,
    MAJORITIES,
    ORDERS,
    ORIGIN,
    UNATTACHED,
    ZERO,
    Epoch,
    Offset,
)
from kraftcheck.proof.voter_changes import CHANGE_ACTIONS, CHANGE_SYMBOLS, SET_HISTORY
from kraftcheck.proof.voter_invariant import CHANGE_CONJUNCTS, CHANGE_THEOREMS


def _initial(s: State) -> Formula:
    """Every replica starts on an empty disk, and nothing has happened."""
    filled = ("epoch", "role", "holds", "record")
    empty = [
        every(symbol.sorts, lambda *terms, name=symbol.name: z3.Not(getattr(s, name)(*terms)))
        for symbol in SYMBOLS
        if symbol.name not in filled
    ]
    by_name = {symbol.name: symbol.sorts for symbol in SYMBOLS}
    return z3.And(
        *empty,
        every(by_name["epoch"], lambda r: z3.And(s.epoch(r) == ZERO, s.role(r) == UNATTACHED)),
        every(by_name["holds"], lambda r, o, e: s.holds(r, o, e) == z3.And(o == ORIGIN, e == ZERO)),
        every(
            by_name["record"],
            lambda f, o, e: s.record(f, o, e) == z3.And(f == ZERO, o == ORIGIN, e == ZERO),
        ),
    )


FIXED_VOTERS = System(
    "fixed-voters",
    SYMBOLS,
    ORDERS + MAJORITIES,
    _initial,
    ELECTIONS + REPLICATION,
    CONJUNCTS,
    THEOREMS,
    changes(MESSAGES + HISTORY),
)


def _initial_with_changes(s: State) -> Formula:
    """As before; in addition all logs begin with one voter set."""
    only = every((Offset, Epoch), lambda o, e: s.config(o, e) == z3.And(o == ORIGIN, e == ZERO))
    return z3.And(_initial(s), only)


CHANGING_VOTERS = System(
    "changing-voters",
    CHANGE_SYMBOLS,
    ORDERS + ADJACENT_MAJORITIES,
    _initial_with_changes,
    CHANGE_ACTIONS,
    CHANGE_CONJUNCTS,
    CHANGE_THEOREMS,
    changes(MESSAGES + HISTORY + SET_HISTORY),
)
SYSTEMS = (FIXED_VOTERS, CHANGING_VOTERS)
