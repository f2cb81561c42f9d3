"""The transition systems that are proved: ``fixed-voters`` of ``state.toml``, ``actions.toml`` and
``invariant.toml``, and ``changing-voters`` with the additions of ``changing_voters.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeVar

import msgspec
import z3

from kraftcheck.proof.logic import (
    Action,
    Change,
    Conjunct,
    Formula,
    Guard,
    Lemma,
    Principle,
    State,
    Step,
    Symbol,
    System,
    Term,
    Update,
    every,
)
from kraftcheck.proof.notation import Language, Node, parse
from kraftcheck.proof.tables import Row, Table, read
from kraftcheck.proof.vocabulary import (
    ADJACENT_MAJORITIES,
    CONSTANTS,
    FUNCTIONS,
    MAJORITIES,
    ORDERS,
    SORTS,
    first_in_epoch,
    first_pair,
)

#: The principles that there is a first pair, by the statement about numbers that proves them.
_FIRST = {"least-pair": first_pair, "least-in-epoch": first_in_epoch}
#: The statements by which a set of epochs or offsets has a first element, if it has any.
_LEAST_NUMBER = ("least-number-begins", "least-number-goes-on", "least-number-ends")


# The files.


class _Symbol(Row, frozen=True):
    name: str
    sorts: str
    says: str
    where: str | None = None


class _Guard(Row, frozen=True):
    name: str
    rules: str
    formula: str


class _Update(Row, frozen=True):
    formula: str
    rules: str = ""

    @property
    def name(self) -> str:
        """The symbol."""
        return self.formula.partition("(")[0]


class _Lemma(Row, frozen=True):
    name: str
    says: str
    formula: str


class _Principle(Table, frozen=True):
    name: str
    proof: str
    pairs: str
    of: str
    otherwise: str
    first: str


class _Action(Table, frozen=True):
    name: str
    extends: str = ""
    rules: str = ""
    parameters: str = ""
    says: str = ""
    without: tuple[str, ...] = ()
    guards: tuple[_Guard, ...] = ()
    unused: tuple[_Guard, ...] = ()
    enters: str = ""
    updates: tuple[_Update, ...] = ()
    principle: _Principle | None = None
    lemmas: tuple[_Lemma, ...] = ()


class _Conjunct(Table, frozen=True):
    name: str
    says: str
    holds: str | tuple[str, ...]
    properties: str = ""


class _State(Table, frozen=True):
    replicas: tuple[_Symbol, ...]
    messages: tuple[_Symbol, ...]
    counted: tuple[_Symbol, ...]
    history: tuple[_Symbol, ...]
    initial: tuple[str, ...]
    definitions: dict[str, str]
    change: tuple[_Conjunct, ...]


class _Enters(Table, frozen=True):
    updates: tuple[_Update, ...]


class _Actions(Table, frozen=True):
    enters: _Enters
    action: tuple[_Action, ...]


class _Invariant(Table, frozen=True):
    conjunct: tuple[_Conjunct, ...]
    theorem: tuple[_Conjunct, ...]


class _Additions(Table, frozen=True):
    history: tuple[_Symbol, ...]
    initial: tuple[str, ...]
    without: tuple[str, ...]
    definitions: dict[str, str]
    action: tuple[_Action, ...]
    conjunct: tuple[_Conjunct, ...]
    theorem: tuple[_Conjunct, ...]


_STATE, _ACTIONS = read("state.toml", _State), read("actions.toml", _Actions)
_INVARIANT, _ADDITIONS = read("invariant.toml", _Invariant), read("changing_voters.toml", _Additions)


# Symbols and names.


def _typed(text: str) -> tuple[tuple[str, z3.SortRef], ...]:
    """Names with their sorts: ``r: Replica, epoch: Epoch``."""
    pairs = (each.split(":") for each in text.split(","))
    return tuple((name.strip(), SORTS[sort.strip()]) for name, sort in pairs)


def _symbols(rows: Iterable[_Symbol]) -> tuple[Symbol, ...]:
    found = []
    for row in rows:
        sorts, _, result = row.sorts.partition("->")
        given = tuple(SORTS[each.strip()] for each in sorts.split(","))
        found.append(Symbol(row.name, given, row.says, SORTS[result.strip()] if result else None, row.where))
    return tuple(found)


_MESSAGES, _HISTORY = _symbols(_STATE.messages), _symbols(_STATE.history)
_SYMBOLS = (*_symbols(_STATE.replicas), *_MESSAGES, *_symbols(_STATE.counted), *_HISTORY)
_SET_HISTORY = _symbols(_ADDITIONS.history)


def _definitions(texts: Mapping[str, str]) -> dict[str, tuple[tuple[str, ...], Node]]:
    heads = {parse(head): parse(body) for head, body in texts.items()}
    return {head.word: (tuple(each.word for each in head.parts), body) for head, body in heads.items()}


_LANGUAGE = Language(
    {symbol.name: symbol.sorts for symbol in _SYMBOLS + _SET_HISTORY}
    | {name: sorts for name, (_, sorts) in FUNCTIONS.items()},
    {name: function for name, (function, _) in FUNCTIONS.items()},
    CONSTANTS,
    _definitions(_STATE.definitions | _ADDITIONS.definitions),
)


# Parts of systems.


def _conjunct(row: _Conjunct) -> Conjunct:
    return Conjunct(row.name, row.says, partial(_all_hold, row.holds), tuple(row.properties.split()))


def _all_hold(holds: str | tuple[str, ...], state: State, after: State | None = None) -> Formula:
    """The formula of a conjunct, or of a property of steps, in ``state``."""
    if isinstance(holds, str):
        return _LANGUAGE.formula(holds, state, after=after)
    return z3.And(*(_LANGUAGE.formula(each, state, after=after) for each in holds))


def _stays(symbols: tuple[Symbol, ...], before: State, after: State) -> Formula:
    """All facts of ``symbols`` continue to hold; of functions, the values where they have a meaning."""
    by_name, found = {symbol.name: symbol for symbol in symbols}, []
    for symbol in symbols:
        names = [f"v{number}" for number in range(len(by_name[symbol.where or symbol.name].sorts))]
        place = f"{symbol.where or symbol.name}({', '.join(names)})"
        if symbol.where is None:
            stays = f"{symbol.name}'({', '.join(names)})"
        else:
            own = ", ".join(names[: len(symbol.sorts)])
            stays = f"{symbol.name}'({own}) == {symbol.name}({own})"
        text = f"every {', '.join(names)}: {place} => {stays}"
        found.append(_LANGUAGE.formula(text, before, after=after))
    return z3.And(*found)


def _changes(symbols: tuple[Symbol, ...]) -> tuple[Change, ...]:
    """The properties of each step of a system whose messages and history are ``symbols``."""
    says = "a sent message stays sent, and a past event stays true"
    rows = (
        Change(each.name, each.says, partial(_all_hold, each.holds), tuple(each.properties.split()))
        for each in _STATE.change
    )
    return (Change("HistoryStays", says, partial(_stays, symbols)), *rows)


def _action(row: _Action) -> Action:
    return Action(row.name, tuple(row.rules.split()), _typed(row.parameters), row.says, partial(_step, row))


def _step(row: _Action, state: State, *terms: Term) -> Step:
    values = {name: term for (name, _), term in zip(_typed(row.parameters), terms, strict=True)}
    principles: tuple[Principle, ...] = ()
    if row.principle is not None:
        principles, more = _principle(row.principle, state, values)
        values |= more

    def guard(each: _Guard, needed: bool) -> Guard:
        formula = _LANGUAGE.formula(each.formula, state, values)
        return Guard(each.name, tuple(each.rules.split()), formula, needed)

    updates = []
    for each in row.updates:
        symbol, meaning = _LANGUAGE.update(each.formula, values, state)
        updates.append(Update(symbol, meaning, tuple(each.rules.split())))
    return Step(
        (*(guard(each, True) for each in row.guards), *(guard(each, False) for each in row.unused)),
        tuple(updates),
        principles,
        tuple(
            Lemma(each.name, each.says, _LANGUAGE.formula(each.formula, state, values)) for each in row.lemmas
        ),
    )


def _principle(
    row: _Principle, state: State, values: Mapping[str, Term]
) -> tuple[tuple[Principle, ...], dict[str, Term]]:
    """The principle, and the values of the names that it gives: the first pair, and that it is one."""
    names = [name for name, _ in _typed(row.pairs)]

    def pairs(*pair: Term) -> Formula:
        return _LANGUAGE.formula(row.of, state, {**values, **dict(zip(names, pair, strict=True))})

    constants = tuple((name, z3.Const(name, sort)) for name, sort in _typed(row.first))
    first = _FIRST[row.proof](pairs, *(term for _, term in constants))
    formula = z3.Or(_LANGUAGE.formula(row.otherwise, state, values), first)
    principle = Principle(row.name, (*_LEAST_NUMBER, row.proof), formula, constants)
    return (principle,), {"first": first, **dict(constants)}


def _entering(row: _Action) -> _Action:
    """``row`` with the updates of a replica that enters a role in an epoch."""
    if not row.enters:
        return row
    own = {each.name for each in row.updates}
    entering = (*_ACTIONS.enters.updates, _Update(f"role(r) := {row.enters}"))
    kept = tuple(each for each in entering if each.name not in own)
    return msgspec.structs.replace(row, updates=kept + row.updates)


Part = TypeVar("Part", _Guard, _Update)


def _extended(base: _Action, row: _Action) -> _Action:
    """``base`` without some guards and updates, and with those of ``row``."""

    def kept(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(each for each in parts if each.name not in row.without)

    return msgspec.structs.replace(
        row,
        rules=row.rules or base.rules,
        parameters=row.parameters or base.parameters,
        says=row.says or base.says,
        guards=kept(base.guards) + row.guards,
        unused=kept(base.unused) + row.unused,
        updates=kept(base.updates) + row.updates,
        lemmas=row.lemmas + base.lemmas,
    )


# The systems.


def _initial(state: State) -> Formula:
    """The formulas of the file; the relations that these do not name are empty."""
    named = " ".join(_STATE.initial)
    empty = [
        every(symbol.sorts, lambda *terms, name=symbol.name: z3.Not(getattr(state, name)(*terms)))
        for symbol in _SYMBOLS
        if f"{symbol.name}(" not in named
    ]
    return z3.And(*empty, *(_LANGUAGE.formula(text, state) for text in _STATE.initial))


def _initial_with_changes(state: State) -> Formula:
    more = (_LANGUAGE.formula(text, state) for text in _ADDITIONS.initial)
    return z3.And(_initial(state), *more)


_ROWS = {row.name: _entering(row) for row in _ACTIONS.action}
_ROWS_WITH_CHANGES = _ROWS | {
    row.name: _extended(_ROWS[row.extends or row.name], row) for row in _ADDITIONS.action
}
_REPLACED = {*_ADDITIONS.without, *(row.name for row in _ADDITIONS.conjunct)}

FIXED_VOTERS = System(
    "fixed-voters",
    _SYMBOLS,
    ORDERS + MAJORITIES,
    _initial,
    tuple(map(_action, _ROWS.values())),
    tuple(map(_conjunct, _INVARIANT.conjunct)),
    tuple(map(_conjunct, _INVARIANT.theorem)),
    _changes(_MESSAGES + _HISTORY),
)
CHANGING_VOTERS = System(
    "changing-voters",
    _SYMBOLS + _SET_HISTORY,
    ORDERS + ADJACENT_MAJORITIES,
    _initial_with_changes,
    tuple(map(_action, _ROWS_WITH_CHANGES.values())),
    tuple(
        _conjunct(row)
        for row in (
            *(row for row in _INVARIANT.conjunct if row.name not in _REPLACED),
            *_ADDITIONS.conjunct,
        )
    ),
    tuple(map(_conjunct, _INVARIANT.theorem + _ADDITIONS.theorem)),
    _changes(_MESSAGES + _HISTORY + _SET_HISTORY),
)
SYSTEMS = (FIXED_VOTERS, CHANGING_VOTERS)
