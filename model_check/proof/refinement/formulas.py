"""The proof's formulas as Python functions: the guards and updates that Z3 proves, not a copy of them.

A formula reads everything of the acting replica (an ``Own``). Of messages and history it asks for single
facts: whether a relation holds of some elements. A compiled guard receives, for each fact, the answer that
makes it hold; it notes its questions. If it then holds, it holds in every structure that has the facts that
it required (``wanted``) and none of those that it excluded (``unwanted``). Parts that ask for no fact are
evaluated first, so that no question is unnecessary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from kraftcheck.proof.logic import Formula, Symbol, Term
from kraftcheck.proof.vocabulary import Epoch, Offset, Replica, Role

#: A symbol and its arguments: a relation that holds; of a function the last argument is its value. Replicas
#: are numbers of components, epochs their numbers, offsets the reference's plus 1, voter sets sets.
Fact = tuple[Any, ...]
#: Answers whether a fact holds, or the value of a function.
Answer = Callable[..., Any]

_OWN = {
    "epoch": "own.epoch",
    "role": "own.role",
    "fetching": "own.fetching",
    "voted": "({} in own.voted)",
    "leader": "({} in own.leader)",
    "unflushed": "({} in own.unflushed)",
    "holds": "(({}, {}) in own.holds)",
}
_RIGID = {
    "member": "({0} in {1})",
    "majority": "is_majority({0}, voters)",
    "majority_of": "is_majority({0}, {1})",
    "changes_one": "changes_one({0}, {1})",
    "epoch_at_most": "({0} <= {1})",
    "offset_at_most": "({0} <= {1})",
    "zero": "0",
    "origin": "0",
}
_DOMAINS = {Replica.name(): "replicas", Epoch.name(): "epochs", Offset.name(): "offsets"}


def is_majority(quorum: frozenset[int], voters: frozenset[int]) -> bool:
    """Whether ``quorum`` are more than half of ``voters``."""
    return quorum <= voters and 2 * len(quorum) > len(voters)


def changes_one(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether the sets are one voter apart."""
    return len(one ^ other) == 1


@dataclass(frozen=True)
class Universe:
    """The elements of a scenario: the numbers of replicas, epochs and offsets, and the first voters."""

    replicas: int
    epochs: int
    offsets: int
    voters: frozenset[int]

    def names(self) -> dict[str, Any]:
        """The names that compiled formulas refer to."""
        return {
            "replicas": range(self.replicas),
            "epochs": range(self.epochs),
            "offsets": range(self.offsets),
            "voters": self.voters,
            "is_majority": is_majority,
            "changes_one": changes_one,
        }

    def elements(self, sort: z3.SortRef) -> range:
        """The elements of a sort with numbers."""
        sizes = {Replica.name(): self.replicas, Epoch.name(): self.epochs, Offset.name(): self.offsets}
        return range(sizes[sort.name()])


class _Writer:
    """Writes a formula as a Python expression.

    ``places``: constants and their names; ``actor``: the terms that stand for the acting replica.
    """

    def __init__(self, symbols: Mapping[str, Symbol], places: Mapping[str, str], actor: set[str]) -> None:
        self._symbols = symbols
        self._places = places
        self._actor = actor
        self._depth = 0

    def write(self, term: Term, positive: bool | None, bound: tuple[str, ...] = ()) -> str:
        """``term``; ``positive``: whether it helps a guard if it holds (``None``: the facts decide)."""
        if z3.is_var(term):
            return bound[-1 - int(z3.get_var_index(term))]
        if z3.is_quantifier(term):
            return self._quantifier(term, positive, bound)
        kind = term.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._application(term, positive, bound)
        return self._connective(kind, term, positive, bound)

    def _quantifier(self, term: z3.QuantifierRef, positive: bool | None, bound: tuple[str, ...]) -> str:
        names = tuple(f"v{self._depth + number}" for number in range(term.num_vars()))
        self._depth += len(names)
        body = self.write(term.body(), positive, bound + names)
        self._depth -= len(names)
        loops = " ".join(
            f"for {name} in {_DOMAINS[term.var_sort(number).name()]}" for number, name in enumerate(names)
        )
        return f"{'all' if term.is_forall() else 'any'}({body} {loops})"

    def _connective(self, kind: int, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str:
        flipped = None if positive is None else not positive
        arguments = term.children()
        if kind == z3.Z3_OP_TRUE or kind == z3.Z3_OP_FALSE:
            return str(kind == z3.Z3_OP_TRUE)
        if kind == z3.Z3_OP_NOT:
            return f"(not {self.write(arguments[0], flipped, bound)})"
        if kind == z3.Z3_OP_IMPLIES:
            premise, conclusion = arguments
            parts = [(premise, flipped, "(not {})"), (conclusion, positive, "{}")]
            parts.sort(key=lambda part: self._asks(part[0]))
            return f"({' or '.join(form.format(self.write(t, p, bound)) for t, p, form in parts)})"
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR):
            arguments = sorted(arguments, key=self._asks)
            word = " and " if kind == z3.Z3_OP_AND else " or "
            return (
                f"({word.join(self.write(each, positive, bound) for each in arguments) or word == ' and '})"
            )
        if kind == z3.Z3_OP_EQ and arguments[0].sort() != z3.BoolSort():
            return "({} == {})".format(*(self.write(each, None, bound) for each in arguments))
        if kind == z3.Z3_OP_DISTINCT and len(arguments) == 2 and arguments[0].sort() != z3.BoolSort():
            return "({} != {})".format(*(self.write(each, None, bound) for each in arguments))
        if kind == z3.Z3_OP_ITE:
            # The question decides nothing: the condition of an update is about its arguments.
            condition, then, otherwise = (self.write(each, None, bound) for each in arguments)
            return f"({then} if {condition} else {otherwise})"
        if kind == z3.Z3_OP_DT_CONSTRUCTOR and term.sort() == Role:
            return repr(term.decl().name())
        raise NotImplementedError(f"the refinement check does not know how to evaluate {term}")

    def _application(self, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str:
        name = term.decl().name()
        if name in self._places:
            return self._places[name]
        written = [self.write(each, None, bound) for each in term.children()]
        if name in _RIGID:
            return _RIGID[name].format(*written)
        if name in _OWN:
            if written[0] not in self._actor:
                raise NotImplementedError(
                    f"the refinement check evaluates {name} of the replica that acts alone: {term}"
                )
            return _OWN[name].format(*written[1:])
        arguments = ", ".join([repr(name), *written])
        if self._symbols[name].result is not None:
            return f"value({arguments})"
        word = {None: "fact", True: "wanted", False: "unwanted"}[positive]
        return f"{word}({arguments})"

    def _asks(self, term: Term) -> bool:
        """Whether ``term`` asks for a fact."""
        if z3.is_var(term):
            return False
        if z3.is_quantifier(term):
            return self._asks(term.body())
        name = term.decl().name()
        plain = term.decl().kind() != z3.Z3_OP_UNINTERPRETED or name in _OWN or name in _RIGID
        return not (plain or name in self._places) or any(self._asks(each) for each in term.children())


def _function(universe: Universe, parameters: Sequence[str], body: str) -> Callable[..., Any]:
    scope = universe.names()
    exec(f"def function({', '.join(parameters)}):\n    return {body}\n", scope)
    found: Callable[..., Any] = scope["function"]
    return found


def _places(terms: Sequence[Term]) -> dict[str, str]:
    return {term.decl().name(): f"p{number}" for number, term in enumerate(terms)}


def compile_guard(
    universe: Universe, symbols: Mapping[str, Symbol], terms: Sequence[Term], formula: Formula
) -> Callable[..., bool]:
    """``formula`` as a function of Own, the answers ``wanted``, ``unwanted`` and ``value``, and parameters.

    ``terms`` are the parameters of the action, the acting replica first.
    """
    body = _Writer(symbols, _places(terms), {"p0"}).write(formula, True)
    names = [f"p{number}" for number in range(len(terms))]
    return _function(universe, ["own", "wanted", "unwanted", "value", *names], body)


def compile_update(
    universe: Universe,
    symbols: Mapping[str, Symbol],
    terms: Sequence[Term],
    symbol: Symbol,
    meaning: Callable[..., Term],
) -> Callable[..., Any]:
    """The meaning of ``symbol`` afterwards, as a function of Own, the answers ``fact`` and ``value``, the
    arguments of the symbol and the parameters.
    """
    arguments = [z3.Const(f"argument.{number}", sort) for number, sort in enumerate(symbol.sorts)]
    places = _places(terms) | {each.decl().name(): f"a{number}" for number, each in enumerate(arguments)}
    body = _Writer(symbols, places, {"p0", "a0"}).write(meaning(*arguments), None)
    names = [f"a{number}" for number in range(len(arguments))] + [
        f"p{number}" for number in range(len(terms))
    ]
    return _function(universe, ["own", "fact", "value", *names], body)
