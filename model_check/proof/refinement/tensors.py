"""Formulas of the proof evaluated on many finite structures at once.

A structure has one boolean for each fact; of many structures a relation is an array of booleans, a function
one of numbers, whose first axis counts the structures. Quantifiers are reductions over an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import z3
from numpy.typing import NDArray

from kraftcheck.proof.logic import Formula, Symbol, Term
from kraftcheck.proof.refinement.formulas import changes_one, is_majority
from kraftcheck.proof.vocabulary import Epoch, Offset, Quorum, Replica, Role, Voters

Values: TypeAlias = NDArray[Any]
_ORDERS = ("epoch_at_most", "offset_at_most")
_FIRST = ("zero", "origin")


def subsets(replicas: int) -> tuple[frozenset[int], ...]:
    """All sets of replicas but the empty one: the quorums, and the sets of voters."""
    return tuple(
        frozenset(each) for size in range(1, replicas + 1) for each in combinations(range(replicas), size)
    )


class Domain:
    """The elements of each sort, and the relations between them that never change.

    ``voters`` are those of the start.
    """

    def __init__(self, replicas: int, epochs: int, offsets: int, voters: frozenset[int]) -> None:
        self.sets = subsets(replicas)
        self.number_of_set = {each: number for number, each in enumerate(self.sets)}
        self.roles = tuple(Role.constructor(number).name() for number in range(Role.num_constructors()))
        self.sizes = {
            Replica.name(): replicas,
            Epoch.name(): epochs,
            Offset.name(): offsets,
            Quorum.name(): len(self.sets),
            Voters.name(): len(self.sets),
            Role.name(): len(self.roles),
        }
        both = [[is_majority(one, other) for other in self.sets] for one in self.sets]
        self.rigid: dict[str, Values] = {
            "member": np.array([[each in one for one in self.sets] for each in range(replicas)]),
            "majority": np.array([is_majority(one, voters) for one in self.sets]),
            "majority_of": np.array(both),
            "changes_one": np.array([[changes_one(one, other) for other in self.sets] for one in self.sets]),
        }

    def shape(self, symbol: Symbol) -> tuple[int, ...]:
        """The axes of ``symbol`` in one structure."""
        return tuple(self.sizes[sort.name()] for sort in symbol.sorts)


def instances(domain: Domain, term: Term, bound: int = 1) -> int:
    """The number of values of the largest intermediate result for one structure."""
    if z3.is_quantifier(term):
        for number in range(term.num_vars()):
            bound *= domain.sizes[term.var_sort(number).name()]
        return instances(domain, term.body(), bound)
    return max((instances(domain, each, bound) for each in term.children()), default=bound)


class Evaluation:
    """Evaluates formulas in structures: ``values`` has an array for each symbol."""

    def __init__(self, domain: Domain, values: Mapping[str, Values], count: int) -> None:
        self._domain = domain
        self._values = values
        self._count = count

    def holds(self, formula: Formula) -> NDArray[np.bool_]:
        """The structures in which ``formula`` holds."""
        found = self._evaluate(formula, ())
        return np.broadcast_to(found, (self._count,)).astype(bool)

    def _evaluate(self, term: Term, bound: tuple[int, ...]) -> Values:
        """The values of ``term``: axis 0 counts structures, the others are the ``bound`` variables."""
        if z3.is_var(term):
            return self._variable(len(bound) - 1 - z3.get_var_index(term), bound)
        if z3.is_quantifier(term):
            sizes = tuple(
                self._domain.sizes[term.var_sort(number).name()] for number in range(term.num_vars())
            )
            inner = self._evaluate(term.body(), bound + sizes)
            axes = tuple(range(1 + len(bound), 1 + len(bound) + len(sizes)))
            fold = np.all if term.is_forall() else np.any
            return np.asarray(fold(inner, axis=axes))
        kind = term.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._application(term, bound)
        arguments = [self._evaluate(each, bound) for each in term.children()]
        return self._connective(kind, term, arguments)

    def _connective(self, kind: int, term: Term, arguments: Sequence[Values]) -> Values:
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR):
            operation: Callable[..., Values] = np.logical_and if kind == z3.Z3_OP_AND else np.logical_or
            found = arguments[0]
            for each in arguments[1:]:
                found = operation(found, each)
            return found
        if kind == z3.Z3_OP_NOT:
            return np.logical_not(arguments[0])
        if kind == z3.Z3_OP_IMPLIES:
            return np.logical_or(np.logical_not(arguments[0]), arguments[1])
        if kind == z3.Z3_OP_EQ:
            return np.equal(arguments[0], arguments[1])
        if kind == z3.Z3_OP_DISTINCT and len(arguments) == 2:
            return np.not_equal(arguments[0], arguments[1])
        if kind == z3.Z3_OP_DT_CONSTRUCTOR:
            return np.array(self._domain.roles.index(term.decl().name()))
        raise NotImplementedError(f"the refinement check does not know how to evaluate {term}")

    def _variable(self, place: int, bound: tuple[int, ...]) -> Values:
        shape = [1] * (1 + len(bound))
        shape[1 + place] = bound[place]
        return np.arange(bound[place]).reshape(shape)

    def _application(self, term: Term, bound: tuple[int, ...]) -> Values:
        name, children = term.decl().name(), term.children()
        if name in _FIRST:
            return np.array(0)
        if name in _ORDERS:
            one, other = (self._evaluate(each, bound) for each in children)
            return np.less_equal(one, other)
        rigid = self._domain.rigid.get(name)
        table = self._values[name] if rigid is None else rigid[None]
        places = [len(bound) - 1 - z3.get_var_index(each) if z3.is_var(each) else -1 for each in children]
        if -1 not in places and len(set(places)) == len(places):
            return _laid_out(table, places, len(bound))
        indices = [self._evaluate(each, bound) for each in children]
        axes = 1 + len(bound)
        first = np.arange(len(table)).reshape([-1] + [1] * len(bound))
        full = [np.reshape(each, [1] * (axes - each.ndim) + list(each.shape)) for each in indices]
        return np.asarray(table[(first, *full)])


def _laid_out(table: Values, places: Sequence[int], count: int) -> Values:
    """``table`` with its axes at the places of the variables that are its arguments; no copy."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = table.transpose([0, *(1 + each for each in order)])
    shape = [1] * (1 + count)
    shape[0] = table.shape[0]
    for number in order:
        shape[1 + places[number]] = table.shape[1 + number]
    return moved.reshape(shape)


def symbols_in(formula: Formula, names: set[str]) -> set[str]:
    """Which of ``names`` occur in ``formula``."""
    found: set[str] = set()
    pending = [formula]
    while pending:
        term = pending.pop()
        if z3.is_quantifier(term):
            pending.append(term.body())
        elif z3.is_app(term):
            found |= {term.decl().name()} & names
            pending.extend(term.children())
    return found
