"""The proof's formulas as Python expressions: the guards, updates and conjuncts that Z3 proves, not copies.

Actions are compiled for one replica (:func:`compile_guard`, :func:`compile_update`): a formula reads its
``ProofReplica``, and asks for single facts of messages and history. A compiled guard receives, for each fact,
the answer that makes it hold, and notes its questions. If it then holds, it holds in every structure that has
the facts that it required (``wanted``) and none of those that it excluded (``unwanted``). Parts that ask for
no fact are evaluated first, so that no question is unnecessary.

Conjuncts are compiled for many structures at once (:func:`compile_conjunct`): a relation is an array of
booleans, a function one of numbers; its first axis counts the structures. Quantifiers reduce an axis.

Writing takes longer than most scenarios take to judge, and is the same over every domain: a formula is
written once, and its code gets the elements of a domain from :meth:`Body.over` or :meth:`Whole.over`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from types import CodeType
from typing import Any, ClassVar, TypeAlias

import numpy as np
import z3
from numpy.typing import NDArray

from kraftcheck.proof.logic import Formula, Symbol, Term
from kraftcheck.proof.vocabulary import Epoch, Offset, Quorum, Replica, Role, Voters

#: A symbol and its arguments: a relation that holds; of a function the last argument is its value. Replicas
#: are numbers of components, epochs their numbers, offsets the reference's plus 1, voter sets sets.
Fact = tuple[Any, ...]
Values: TypeAlias = NDArray[Any]

#: The names of the roles.
ROLES = tuple(Role.constructor(number).name() for number in range(Role.num_constructors()))
#: The symbols that are fields of a replica, and how they are read there.
OWN = {
    "epoch": "replica.epoch",
    "role": "replica.role",
    "voted": "({} in replica.voted)",
    "leader": "({} in replica.leader)",
    "holds": "(({}, {}) in replica.holds)",
    "unflushed": "({} in replica.unflushed)",
    "fetching": "replica.fetching",
}
_ORDERED = {
    "epoch_at_most": "({0} <= {1})",
    "offset_at_most": "({0} <= {1})",
    "zero": "0",
    "origin": "0",
}
_RIGID = _ORDERED | {
    "member": "({0} in {1})",
    "majority": "is_majority({0}, voters)",
    "majority_of": "is_majority({0}, {1})",
    "changes_one": "changes_one({0}, {1})",
}


def is_majority(quorum: frozenset[int], voters: frozenset[int]) -> bool:
    """Whether ``quorum`` are more than half of ``voters``."""
    return quorum <= voters and 2 * len(quorum) > len(voters)


def changes_one(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether the sets are one voter apart."""
    return len(one ^ other) == 1


def subsets(replicas: int) -> tuple[frozenset[int], ...]:
    """All sets of replicas but the empty one: the quorums, and the sets of voters."""
    return tuple(
        frozenset(each) for size in range(1, replicas + 1) for each in combinations(range(replicas), size)
    )


@dataclass(frozen=True)
class Domain:
    """The elements of each sort: the numbers of replicas, epochs and offsets, and the first voters."""

    replicas: int
    epochs: int
    offsets: int
    voters: frozenset[int]

    @cached_property
    def sets(self) -> tuple[frozenset[int], ...]:
        """The quorums, and the sets of voters."""
        return subsets(self.replicas)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of elements by the name of the sort."""
        return {
            Replica.name(): self.replicas,
            Epoch.name(): self.epochs,
            Offset.name(): self.offsets,
            Quorum.name(): len(self.sets),
            Voters.name(): len(self.sets),
            Role.name(): len(ROLES),
        }

    @cached_property
    def rigid(self) -> dict[str, Values]:
        """The relations that never change, as arrays."""
        sets = self.sets
        return {
            "member": np.array([[each in one for one in sets] for each in range(self.replicas)]),
            "majority": np.array([is_majority(one, self.voters) for one in sets]),
            "majority_of": np.array([[is_majority(one, other) for other in sets] for one in sets]),
            "changes_one": np.array([[changes_one(one, other) for other in sets] for one in sets]),
        }

    def elements(self, sort: z3.SortRef) -> range:
        """The elements of a sort with numbers."""
        return range(self.sizes[sort.name()])

    def shape(self, symbol: Symbol) -> tuple[int, ...]:
        """The axes of ``symbol`` in one structure."""
        return tuple(self.sizes[sort.name()] for sort in symbol.sorts)


class _Writer(ABC):
    """Writes a formula as a Python expression."""

    negation: ClassVar[str]
    conjunction: ClassVar[str]
    disjunction: ClassVar[str]

    def write(self, term: Term, positive: bool | None, bound: tuple[str, ...] = ()) -> str:
        """``term``; ``positive``: whether it helps a guard if it holds (``None``: the facts decide)."""
        if z3.is_var(term):
            return bound[-1 - int(z3.get_var_index(term))]
        if z3.is_quantifier(term):
            return self.quantifier(term, positive, bound)
        kind = term.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self.application(term, positive, bound)
        return self._connective(kind, term, positive, bound)

    @abstractmethod
    def quantifier(self, term: z3.QuantifierRef, positive: bool | None, bound: tuple[str, ...]) -> str: ...

    @abstractmethod
    def application(self, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str: ...

    @abstractmethod
    def role(self, name: str) -> str: ...

    def asks(self, term: Term) -> bool:
        """Whether ``term`` asks for a fact; other parts are evaluated first."""
        return False

    def _connective(self, kind: int, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str:
        flipped = None if positive is None else not positive
        arguments = term.children()
        if kind == z3.Z3_OP_NOT:
            return self.negation.format(self.write(arguments[0], flipped, bound))
        if kind == z3.Z3_OP_IMPLIES:
            premise, conclusion = arguments
            parts = [(premise, flipped, self.negation), (conclusion, positive, "{}")]
            parts.sort(key=lambda part: self.asks(part[0]))
            return f"({self.disjunction.join(form.format(self.write(t, p, bound)) for t, p, form in parts)})"
        if kind in (z3.Z3_OP_AND, z3.Z3_OP_OR):
            word = self.conjunction if kind == z3.Z3_OP_AND else self.disjunction
            ordered = sorted(arguments, key=self.asks)
            return f"({word.join(self.write(each, positive, bound) for each in ordered)})"
        if kind == z3.Z3_OP_DT_CONSTRUCTOR and term.sort() == Role:
            return self.role(term.decl().name())
        plain = positive is None or not z3.is_bool(arguments[0])
        written = [self.write(each, None, bound) for each in arguments]
        if kind == z3.Z3_OP_EQ and plain:
            return "({} == {})".format(*written)
        if kind == z3.Z3_OP_DISTINCT and len(arguments) == 2 and plain:
            return "({} != {})".format(*written)
        if kind == z3.Z3_OP_ITE:
            # The question decides nothing: the condition of an update is about its arguments.
            return "({1} if {0} else {2})".format(*written)
        raise NotImplementedError(f"the refinement check does not know how to evaluate {term}")


class _ForReplica(_Writer):
    """Writes for one replica, with questions for facts.

    ``places``: constants and their names; ``actor``: the terms that stand for the acting replica.
    """

    negation, conjunction, disjunction = "(not {})", " and ", " or "
    _RANGES: ClassVar = {Replica.name(): "replicas", Epoch.name(): "epochs", Offset.name(): "offsets"}

    def __init__(self, symbols: Mapping[str, Symbol], places: Mapping[str, str], actor: set[str]) -> None:
        self._symbols = symbols
        self._places = places
        self._actor = actor

    def role(self, name: str) -> str:
        return repr(name)

    def quantifier(self, term: z3.QuantifierRef, positive: bool | None, bound: tuple[str, ...]) -> str:
        names = tuple(f"v{len(bound) + number}" for number in range(term.num_vars()))
        body = self.write(term.body(), positive, bound + names)
        loops = " ".join(
            f"for {name} in {self._RANGES[term.var_sort(number).name()]}" for number, name in enumerate(names)
        )
        return f"{'all' if term.is_forall() else 'any'}({body} {loops})"

    def application(self, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str:
        name = term.decl().name()
        if name in self._places:
            return self._places[name]
        written = [self.write(each, None, bound) for each in term.children()]
        if name in _RIGID:
            return _RIGID[name].format(*written)
        if name in OWN:
            if written[0] not in self._actor:
                raise NotImplementedError(
                    f"the refinement check evaluates {name} of the replica that acts alone: {term}"
                )
            return OWN[name].format(*written[1:])
        arguments = ", ".join([repr(name), *written])
        if self._symbols[name].result is not None:
            return f"value({arguments})"
        word = {None: "fact", True: "wanted", False: "unwanted"}[positive]
        return f"{word}({arguments})"

    def asks(self, term: Term) -> bool:
        if z3.is_var(term):
            return False
        if z3.is_quantifier(term):
            return self.asks(term.body())
        name = term.decl().name()
        plain = term.decl().kind() != z3.Z3_OP_UNINTERPRETED or name in OWN or name in _RIGID
        return not (plain or name in self._places) or any(self.asks(each) for each in term.children())


@dataclass(frozen=True)
class Body:
    """A formula about one replica, as the ``code`` that defines a function."""

    code: CodeType

    def over(self, domain: Domain) -> Callable[..., Any]:
        """The function, for the elements of ``domain``."""
        scope: dict[str, Any] = {
            "replicas": range(domain.replicas),
            "epochs": range(domain.epochs),
            "offsets": range(domain.offsets),
            "voters": domain.voters,
            "is_majority": is_majority,
            "changes_one": changes_one,
        }
        exec(self.code, scope)
        found: Callable[..., Any] = scope["function"]
        return found


def _body(parameters: Sequence[str], text: str) -> Body:
    return Body(compile(f"def function({', '.join(parameters)}):\n    return {text}\n", "<formula>", "exec"))


def _places(terms: Sequence[Term], letter: str) -> dict[str, str]:
    return {term.decl().name(): f"{letter}{number}" for number, term in enumerate(terms)}


def compile_guard(symbols: Mapping[str, Symbol], terms: Sequence[Term], formula: Formula) -> Body:
    """``formula`` as a function of the replica, the answers ``wanted``, ``unwanted`` and ``value``, and the
    parameters. ``terms`` are the parameters of the action, the acting replica first.
    """
    places = _places(terms, "p")
    text = _ForReplica(symbols, places, {"p0"}).write(formula, True)
    return _body(["replica", "wanted", "unwanted", "value", *places.values()], text)


def compile_update(
    symbols: Mapping[str, Symbol], terms: Sequence[Term], symbol: Symbol, meaning: Callable[..., Term]
) -> Body:
    """The meaning of ``symbol`` afterwards, as a function of the replica, the answers ``fact`` and ``value``,
    the arguments of the symbol and the parameters.
    """
    arguments = [z3.Const(f"argument.{number}", sort) for number, sort in enumerate(symbol.sorts)]
    own, given = _places(arguments, "a"), _places(terms, "p")
    text = _ForReplica(symbols, given | own, {"p0", "a0"}).write(meaning(*arguments), None)
    return _body(["replica", "fact", "value", *own.values(), *given.values()], text)


def compile_places(
    symbols: Mapping[str, Symbol], terms: Sequence[Term], symbol: Symbol, meaning: Callable[..., Term]
) -> Body:
    """Where an update may add a fact of ``symbol``, as a function of the replica and the parameters: of each
    argument the only value for which it may, or ``None``.
    """
    arguments = [z3.Const(f"argument.{number}", sort) for number, sort in enumerate(symbol.sorts)]
    given, writer = _places(terms, "p"), _ForReplica(symbols, _places(terms, "p"), {"p0"})
    only = dict.fromkeys((each.decl().name() for each in arguments), "None")
    for one, other in _equations(meaning(*arguments), symbol):
        name, others = one.decl().name(), _symbols_in(other)
        if name in only and not others & only.keys() and not writer.asks(other):
            only[name] = writer.write(other, None)
    return _body(["replica", *given.values()], f"({', '.join(only.values())},)")


def _equations(term: Term, symbol: Symbol) -> list[tuple[Term, Term]]:
    """The equations that hold wherever an update adds a fact: it was true, or else they are. Of functions:
    they are, or else the value is as before.
    """
    if z3.is_or(term) and term.num_args() == 2 and term.arg(0).decl().name() == symbol.name:
        where = term.arg(1)
    elif z3.is_app_of(term, z3.Z3_OP_ITE) and term.arg(2).decl().name() == symbol.name:
        where = term.arg(0)
    else:
        return []
    parts = where.children() if z3.is_and(where) else [where]
    return [(each.arg(0), each.arg(1)) for each in parts if z3.is_eq(each) and z3.is_app(each.arg(0))]


class _ForStructures(_Writer):
    """Writes for arrays, all of which have an axis for structures and one for each of ``depth`` variables.

    ``variables``: by name the axis and the sort of each variable. ``nested``: the sorts of the variables that
    are bound together at some place.
    """

    negation, conjunction, disjunction = "(~{})", " & ", " | "

    def __init__(self, depth: int) -> None:
        self.axes = 1 + depth
        self.variables: dict[str, tuple[int, str]] = {}
        self.nested: set[tuple[str, ...]] = {()}

    def role(self, name: str) -> str:
        return str(ROLES.index(name))

    def quantifier(self, term: z3.QuantifierRef, positive: bool | None, bound: tuple[str, ...]) -> str:
        names = list(bound)
        for number in range(term.num_vars()):
            sort, axis = term.var_sort(number).name(), 1 + len(names)
            names.append(f"{sort}_{axis}")
            self.variables[names[-1]] = axis, sort
        self.nested.add(tuple(self.variables[name][1] for name in names))
        body = self.write(term.body(), positive, tuple(names))
        reduced = "all" if term.is_forall() else "any"
        return f"{body}.{reduced}(axis={tuple(range(1 + len(bound), 1 + len(names)))}, keepdims=True)"

    def application(self, term: Term, positive: bool | None, bound: tuple[str, ...]) -> str:
        name, children = term.decl().name(), term.children()
        written = [self.write(each, None, bound) for each in children]
        if name in _ORDERED:
            return _ORDERED[name].format(*written)
        if name in _RIGID:
            return f"{name}[{', '.join(written)}]"
        if all(map(z3.is_var, children)):
            axes = [len(bound) - z3.get_var_index(each) for each in children]
            if len(set(axes)) == len(axes):
                return f"laid_out({name}, {axes})"
        return f"{name}[{', '.join(['structures', *written])}]"


def _depth(term: Term) -> int:
    """The largest number of variables that are bound at a place in ``term``."""
    if z3.is_quantifier(term):
        return int(term.num_vars()) + _depth(term.body())
    return max(map(_depth, term.children()), default=0)


@dataclass(frozen=True)
class Whole:
    """A formula about whole structures, as ``code`` for arrays with as many ``axes``.

    ``reads`` are the symbols in it; ``variables`` have an axis and a sort each; ``nested`` are the sorts of
    the variables that are bound together at some place.
    """

    code: CodeType
    axes: int
    reads: frozenset[str]
    variables: Mapping[str, tuple[int, str]]
    nested: frozenset[tuple[str, ...]]

    def instances(self, domain: Domain) -> int:
        """The number of values of the largest intermediate result for one structure."""
        return max(prod(domain.sizes[sort] for sort in sorts) for sorts in self.nested)

    def over(self, domain: Domain) -> Callable[[int, Mapping[str, Values]], NDArray[np.bool_]]:
        """A function of a number of structures over ``domain``, and of the arrays of symbols in these."""
        scope: dict[str, Any] = {"laid_out": self._laid_out, **domain.rigid}
        for name, (axis, sort) in self.variables.items():
            scope[name] = self._along(axis, domain.sizes[sort])

        def holds(count: int, values: Mapping[str, Values]) -> NDArray[np.bool_]:
            found = eval(self.code, {**scope, **values, "structures": self._along(0, count)})
            return np.broadcast_to(np.reshape(found, -1), (count,)).astype(bool)

        return holds

    def _along(self, axis: int, size: int) -> Values:
        """The numbers up to ``size`` along ``axis``."""
        shape = [1] * self.axes
        shape[axis] = size
        return np.arange(size).reshape(shape)

    def _laid_out(self, table: Values, axes: Sequence[int]) -> Values:
        """``table`` with its axes at those of the variables that are its arguments; no copy."""
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [1] * self.axes
        shape[0] = len(table)
        for number in order:
            shape[axes[number]] = table.shape[1 + number]
        return table.transpose([0, *(1 + each for each in order)]).reshape(shape)


def compile_conjunct(formula: Formula) -> Whole:
    """``formula`` for many structures at once."""
    writer = _ForStructures(_depth(formula))
    code = compile(writer.write(formula, None), "<formula>", "eval")
    return Whole(code, writer.axes, _symbols_in(formula), writer.variables, frozenset(writer.nested))


def _symbols_in(formula: Formula) -> frozenset[str]:
    found: set[str] = set()
    pending = [formula]
    while pending:
        term = pending.pop()
        if z3.is_quantifier(term):
            pending.append(term.body())
        elif z3.is_app(term):
            found.add(term.decl().name())
            pending.extend(term.children())
    return frozenset(found)
