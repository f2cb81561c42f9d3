"""First-order transition systems over uninterpreted sorts, in terms of Z3.

A state is a structure: functions and relations over the sorts. An action has parameters, guards about the
state before it, and updates that define each changed function or relation afterwards, in terms of the state
before. So a formula about the state after an action is one about the state before it, and only quantifiers,
equality and free functions are left for the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import z3

Term: TypeAlias = z3.ExprRef
Formula: TypeAlias = z3.BoolRef
#: A function or relation of a state: takes terms, gives a term.
Meaning: TypeAlias = Callable[..., z3.ExprRef]


@dataclass(frozen=True)
class Symbol:
    """A function or relation that actions change.

    ``says`` is the text of a fact, with the arguments in braces, and for a function the value as ``{value}``.
    ``result`` is the sort of its values, ``None`` for a relation. ``where``: the values have a meaning
    where this relation holds.
    """

    name: str
    sorts: tuple[z3.SortRef, ...]
    says: str
    result: z3.SortRef | None = None
    where: str | None = None

    def declared(self) -> z3.FuncDeclRef:
        """The symbol in the state before an action."""
        return z3.Function(self.name, *self.sorts, self.result if self.result is not None else z3.BoolSort())


class State:
    """The meaning of every symbol, as attributes: ``state.holds(replica, offset, epoch)`` is a term."""

    def __init__(self, meanings: Mapping[str, Meaning]) -> None:
        self._meanings = dict(meanings)

    def __getattr__(self, name: str) -> Meaning:
        try:
            return self._meanings[name]
        except KeyError:
            raise AttributeError(f"no function or relation '{name}'") from None

    def after(self, updates: Iterable[Update]) -> State:
        """The state in which the updated symbols have another meaning."""
        return State({**self._meanings, **{update.symbol: update.meaning for update in updates}})


@dataclass(frozen=True)
class Guard:
    """A condition of an action, and the rules of the catalogue that demand it.

    ``needed``: the proof uses it; of the protocol's other conditions every conjunct is independent.
    """

    name: str
    rules: tuple[str, ...]
    formula: Formula
    needed: bool = True


@dataclass(frozen=True)
class Update:
    """The meaning of ``symbol`` after an action.

    ``rules`` are those of the catalogue that demand it, if a conjunct fails without it.
    """

    symbol: str
    meaning: Meaning
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axiom:
    """An assumption about the symbols that no action changes.

    ``proofs`` are the statements by which it is true of the things that the symbols stand for: numbers and
    finite sets.
    """

    name: str
    proofs: tuple[str, ...]
    formula: Formula


@dataclass(frozen=True)
class Principle(Axiom):
    """An axiom about one state, which defines ``constants`` by their properties if such elements exist."""

    constants: tuple[tuple[str, Term], ...] = ()


@dataclass(frozen=True)
class Lemma:
    """A consequence of the invariant and the guards of an action, as a step in the proof that the action
    preserves the invariant.
    """

    name: str
    says: str
    formula: Formula


@dataclass(frozen=True)
class Step:
    """An action for some values of its parameters: it is possible if all guards hold.

    ``principles`` are assumed of the state before it; ``lemmas`` are proved one after the other, and then
    used.
    """

    guards: tuple[Guard, ...]
    updates: tuple[Update, ...]
    principles: tuple[Principle, ...] = ()
    lemmas: tuple[Lemma, ...] = ()

    @property
    def needed(self) -> tuple[Guard, ...]:
        """The guards that the proof uses."""
        return tuple(guard for guard in self.guards if guard.needed)


@dataclass(frozen=True)
class Action:
    """A possible step of a replica, or of the world around it.

    ``rules`` are those of the catalogue that the action carries out as a whole; ``parameters`` its names and
    sorts, which ``does`` takes after the state; ``says`` is its text, with the parameters in braces.
    """

    name: str
    rules: tuple[str, ...]
    parameters: tuple[tuple[str, z3.SortRef], ...]
    says: str
    does: Callable[..., Step]

    def step(self, state: State) -> tuple[tuple[Term, ...], Step]:
        """Constants for the parameters, and the action for them."""
        terms = tuple(z3.Const(f"{self.name}.{name}", sort) for name, sort in self.parameters)
        return terms, self.does(state, *terms)


@dataclass(frozen=True)
class Conjunct:
    """A part of the invariant. ``implies`` are the properties of the catalogue that it states."""

    name: str
    says: str
    formula: Callable[[State], Formula]
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A property of each step: ``formula`` takes the states before and after it."""

    name: str
    says: str
    formula: Callable[[State, State], Formula]
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A statement about numbers or finite sets, which the solver decides with one formula.

    ``holds``: it is to be proved, and not to be refuted by an example. ``premise`` is its assumption: if that
    were unsatisfiable, the statement would be vacuous.
    """

    name: str
    says: str
    rules: tuple[str, ...]
    premise: Formula
    conclusion: Formula
    holds: bool = True


@dataclass(frozen=True)
class System:
    """A transition system with the invariant that is claimed for it.

    ``initial`` describes the initial states. ``theorems`` follow from the invariant, ``changes`` hold of each
    step from a state in which it holds.
    """

    name: str
    symbols: tuple[Symbol, ...]
    axioms: tuple[Axiom, ...]
    initial: Callable[[State], Formula]
    actions: tuple[Action, ...]
    conjuncts: tuple[Conjunct, ...]
    theorems: tuple[Conjunct, ...] = ()
    changes: tuple[Change, ...] = ()

    def state(self) -> State:
        """The state before an action: every symbol means itself."""
        return State({symbol.name: symbol.declared() for symbol in self.symbols})

    @cached_property
    def invariant(self) -> tuple[Formula, ...]:
        """All conjuncts in the state before an action."""
        state = self.state()
        return tuple(conjunct.formula(state) for conjunct in self.conjuncts)


# Formulas.


def every(sorts: Sequence[z3.SortRef], body: Callable[..., Formula]) -> Formula:
    """``body`` for all values of these sorts."""
    return _quantified(z3.ForAll, sorts, body)


def some(sorts: Sequence[z3.SortRef], body: Callable[..., Formula]) -> Formula:
    """``body`` for some values of these sorts."""
    return _quantified(z3.Exists, sorts, body)


def _quantified(
    quantifier: Callable[..., Formula], sorts: Sequence[z3.SortRef], body: Callable[..., Formula]
) -> Formula:
    # Names by depth: the same formula is the same term whenever it is built, and no name captures another.
    first = sum(_nesting)
    _nesting.append(len(sorts))
    try:
        variables = [
            z3.Const(f"{sort.name()[0].lower()}{first + number}", sort) for number, sort in enumerate(sorts)
        ]
        formula = body(*variables)
    finally:
        _nesting.pop()
    patterns = _triggers(formula, variables) if quantifier is z3.ForAll else []
    return quantifier(variables, formula, patterns=patterns)


_nesting: list[int] = []


def _triggers(formula: Formula, variables: Sequence[Term]) -> list[z3.PatternRef]:
    """A hint for the solver to look at the premises of an implication, where these name all variables. Hints
    do not affect the validity of a proof, only whether the solver finds it.
    """
    if not z3.is_implies(formula):
        return []
    premise = formula.arg(0)
    facts = [fact for fact in (premise.children() if z3.is_and(premise) else [premise]) if _is_fact(fact)]
    missing = {variable.get_id() for variable in variables}
    chosen = []
    for fact in facts:
        named = _constants(fact)
        if named & missing:
            chosen.append(fact)
            missing -= named
    return [z3.MultiPattern(*chosen)] if chosen and not missing else []


def _is_fact(formula: Formula) -> bool:
    """Whether ``formula`` is a relation that some terms are in, an order excepted."""
    plain = z3.is_app(formula) and formula.decl().kind() == z3.Z3_OP_UNINTERPRETED and formula.num_args() > 0
    return plain and not formula.decl().name().endswith("_at_most") and _is_plain(formula)


def _is_plain(term: Term) -> bool:
    return all(each.decl().kind() == z3.Z3_OP_UNINTERPRETED and _is_plain(each) for each in term.children())


def _constants(term: Term) -> set[int]:
    if not term.num_args():
        return {term.get_id()}
    return set().union(*(_constants(each) for each in term.children()))
