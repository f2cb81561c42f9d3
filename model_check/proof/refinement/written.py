"""The actions and conjuncts of systems as Python code, each written once in a process.

Nothing here depends on the reference: processes that judge mutants of it share what is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kraftcheck.proof.logic import Action, Conjunct, Symbol, System
from kraftcheck.proof.refinement.formulas import (
    OWN,
    Body,
    Whole,
    compile_conjunct,
    compile_guard,
    compile_places,
    compile_update,
)
from kraftcheck.proof.system import SYSTEMS


@dataclass(frozen=True)
class Written:
    """An action: its guards by name, its updates of the replica, and those of messages and history, each with
    the places where it may add facts.
    """

    guards: tuple[tuple[str, Body], ...]
    replica: tuple[tuple[str, Body], ...]
    history: tuple[tuple[Symbol, Body, Body], ...]


@cache
def actions_of(system: System) -> Mapping[str, Written]:
    """The actions of ``system`` by name."""
    symbols = {symbol.name: symbol for symbol in system.symbols}
    return {action.name: _action(action, system, symbols) for action in system.actions}


def _action(action: Action, system: System, symbols: Mapping[str, Symbol]) -> Written:
    terms, step = action.step(system.state())
    guards = tuple((guard.name, compile_guard(symbols, terms, guard.formula)) for guard in step.needed)
    replica, history = [], []
    for update in step.updates:
        symbol = symbols[update.symbol]
        body = compile_update(symbols, terms, symbol, update.meaning)
        if symbol.name in OWN:
            replica.append((symbol.name, body))
        else:
            history.append((symbol, body, compile_places(symbols, terms, symbol, update.meaning)))
    return Written(guards, tuple(replica), tuple(history))


@cache
def conjunct_of(system: System, conjunct: Conjunct) -> Whole:
    """``conjunct``, of the invariant of ``system``."""
    return compile_conjunct(conjunct.formula(system.state()))


def write_all() -> None:
    """Write what the refinement check of any scenario needs."""
    for system in SYSTEMS:
        actions_of(system)
        for conjunct in system.conjuncts:
            conjunct_of(system, conjunct)
