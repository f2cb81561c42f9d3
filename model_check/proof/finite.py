"""Formulas over sorts of a few elements, as circuits: states are tables, and a term may have many values.

An element is its number. A value is an element, or the elements that it may be with a literal for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias, cast

import z3

from kraftcheck.proof.circuit import FALSE, TRUE, Circuit, Literal
from kraftcheck.proof.logic import Term
from kraftcheck.proof.vocabulary import ORIGIN, ZERO, Role

Value: TypeAlias = int | dict[int, Literal]
#: What a symbol means: the literal or value for each tuple of elements; without entry false, or element 0.
Table: TypeAlias = dict[tuple[int, ...], Any]
#: A symbol that no action changes: takes elements.
Fixed: TypeAlias = Callable[..., Literal]


class Scope:
    """What the names in a formula mean: ``constants`` by name, symbols by their ``tables``."""

    def __init__(self, constants: Mapping[str, Value], tables: Mapping[str, Table]) -> None:
        self.constants = dict(constants)
        self.tables = tables


#: Takes the scope and the elements that the bound variables stand for, the innermost last.
Evaluator: TypeAlias = Callable[[Scope, tuple[int, ...]], Literal]
ValueOf: TypeAlias = Callable[[Scope, tuple[int, ...]], Value]


def cases(value: Value) -> Iterator[tuple[int, Literal]]:
    """The elements that a value may be, each with the literal that says so."""
    return iter(((value, TRUE),) if isinstance(value, int) else value.items())


class Compiler:
    """Turns formulas into functions that build circuits; ``sizes`` says how many elements each sort has."""

    def __init__(self, circuit: Circuit, sizes: Mapping[z3.SortRef, int], fixed: Mapping[str, Fixed]) -> None:
        self._circuit = circuit
        self._sizes = dict(sizes)
        self._fixed = fixed
        self._known: dict[int, tuple[Term, Evaluator | ValueOf]] = {}

    def elements(self, sorts: Sequence[z3.SortRef]) -> Iterator[tuple[int, ...]]:
        """All tuples of elements of these sorts."""
        return product(*(range(self._sizes[sort]) for sort in sorts))

    def formula(self, formula: Term) -> Evaluator:
        """``formula`` as a function that gives a literal."""
        return cast(Evaluator, self._compiled(formula))

    def term(self, term: Term) -> ValueOf:
        """``term`` as a function that gives a value."""
        return self._compiled(term)

    def _compiled(self, term: Term) -> Evaluator | ValueOf:
        key = term.get_id()
        if key not in self._known:
            made = self._quantified(term) if z3.is_quantifier(term) else self._applied(term)
            self._known[key] = (term, made)
        return self._known[key][1]

    def _quantified(self, formula: Term) -> Evaluator:
        body = self.formula(formula.body())
        sorts = [formula.var_sort(number) for number in range(formula.num_vars())]
        values = list(self.elements(sorts))
        combined = self._circuit.every if formula.is_forall() else self._circuit.some
        return lambda scope, bound: combined(body(scope, bound + each) for each in values)

    def _applied(self, term: Term) -> Evaluator | ValueOf:
        if z3.is_var(term):
            place = -1 - z3.get_var_index(term)
            return lambda scope, bound: bound[place]
        kind = term.decl().kind()
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR):
            parts = [self.formula(each) for each in term.children()]
            combined = self._circuit.every if kind == z3.Z3_OP_AND else self._circuit.some
            return lambda scope, bound: combined(part(scope, bound) for part in parts)
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._symbol(term)
        return self._connective(kind, term)

    def _connective(self, kind: int, term: Term) -> Evaluator | ValueOf:
        circuit = self._circuit
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            literal = TRUE if kind == z3.Z3_OP_TRUE else FALSE
            return lambda scope, bound: literal
        if kind == z3.Z3_OP_DT_CONSTRUCTOR:
            number = [Role.constructor(each).name() for each in range(Role.num_constructors())].index(
                term.decl().name()
            )
            return lambda scope, bound: number
        if kind == z3.Z3_OP_EQ:
            return self._equal(*term.children())
        if kind == z3.Z3_OP_DISTINCT and term.num_args() == 2:
            same = self._equal(*term.children())
            return lambda scope, bound: -same(scope, bound)
        if kind == z3.Z3_OP_ITE:
            return self._choice(*term.children())
        one = self.formula(term.arg(0))
        if kind == z3.Z3_OP_NOT:
            return lambda scope, bound: -one(scope, bound)
        if kind == z3.Z3_OP_IMPLIES:
            other = self.formula(term.arg(1))

            def implied(scope: Scope, bound: tuple[int, ...]) -> Literal:
                premise = one(scope, bound)
                return TRUE if premise == FALSE else circuit.either(-premise, other(scope, bound))

            return implied
        raise ValueError(f"no circuit for {term.decl().name()}")

    def _equal(self, left: Term, right: Term) -> Evaluator:
        circuit = self._circuit
        if z3.is_bool(left):
            one, other = self.formula(left), self.formula(right)
            return lambda scope, bound: circuit.choose(
                one(scope, bound), other(scope, bound), -other(scope, bound)
            )
        first, second = self.term(left), self.term(right)
        return lambda scope, bound: self.equal(first(scope, bound), second(scope, bound))

    def equal(self, one: Value, other: Value) -> Literal:
        """The two values are the same element."""
        if isinstance(one, int) and isinstance(other, int):
            return TRUE if one == other else FALSE
        if isinstance(one, int):
            one, other = other, one
        if isinstance(other, int):
            return one.get(other, FALSE) if isinstance(one, dict) else FALSE
        assert isinstance(one, dict)
        return self._circuit.some(
            self._circuit.both(literal, other[element])
            for element, literal in one.items()
            if element in other
        )

    def _choice(self, condition: Term, one: Term, other: Term) -> Evaluator | ValueOf:
        when = self.formula(condition)
        if z3.is_bool(one):
            yes, no = self.formula(one), self.formula(other)
            return lambda scope, bound: self._circuit.choose(
                when(scope, bound), yes(scope, bound), no(scope, bound)
            )
        first, second = self.term(one), self.term(other)

        def chosen(scope: Scope, bound: tuple[int, ...]) -> Value:
            which = when(scope, bound)
            if which in (TRUE, FALSE):
                return first(scope, bound) if which == TRUE else second(scope, bound)
            return self.choose(which, first(scope, bound), second(scope, bound))

        return chosen

    def choose(self, condition: Literal, one: Value, other: Value) -> Value:
        """``one`` if the condition is true, otherwise ``other``."""
        if one == other:
            return one
        found: dict[int, Literal] = {}
        for value, when in ((one, condition), (other, -condition)):
            for element, literal in cases(value):
                new = self._circuit.both(when, literal)
                found[element] = self._circuit.either(found.get(element, FALSE), new)
        return {element: literal for element, literal in found.items() if literal != FALSE}

    def _symbol(self, term: Term) -> Evaluator | ValueOf:
        name = term.decl().name()
        arguments = [self.term(each) for each in term.children()]
        if not arguments:
            if term.eq(ZERO) or term.eq(ORIGIN):
                return lambda scope, bound: 0
            return lambda scope, bound: scope.constants[name]
        if name in self._fixed:
            meaning = self._fixed[name]
            return lambda scope, bound: self._looked_up(
                [each(scope, bound) for each in arguments], lambda at: meaning(*at)
            )
        if z3.is_bool(term):
            return lambda scope, bound: self._looked_up(
                [each(scope, bound) for each in arguments],
                lambda at: cast(Literal, scope.tables[name].get(at, FALSE)),
            )
        return lambda scope, bound: self._value(
            [each(scope, bound) for each in arguments], scope.tables[name]
        )

    def _looked_up(
        self, arguments: Sequence[Value], literal: Callable[[tuple[int, ...]], Literal]
    ) -> Literal:
        if all(isinstance(each, int) for each in arguments):
            return literal(cast(tuple[int, ...], tuple(arguments)))
        return self._circuit.some(
            self._circuit.both(condition, literal(at)) for at, condition in self._places(arguments)
        )

    def _value(self, arguments: Sequence[Value], table: Table) -> Value:
        if all(isinstance(each, int) for each in arguments):
            return cast(Value, table.get(cast(tuple[int, ...], tuple(arguments)), 0))
        found: dict[int, Literal] = {}
        for at, condition in self._places(arguments):
            for element, literal in cases(table.get(at, 0)):
                new = self._circuit.both(condition, literal)
                found[element] = self._circuit.either(found.get(element, FALSE), new)
        return {element: literal for element, literal in found.items() if literal != FALSE}

    def _places(self, arguments: Sequence[Value]) -> Iterator[tuple[tuple[int, ...], Literal]]:
        for choice in product(*(list(cases(each)) for each in arguments)):
            condition = self._circuit.every(literal for _, literal in choice)
            if condition != FALSE:
                yield tuple(element for element, _ in choice), condition
