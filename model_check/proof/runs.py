"""Runs of a transition system from its initial states, as circuits: which of its actions are taken, and with
which parameters, is left open.

Replicas, epochs and offsets are a few. Sets of voters, and majorities of them, are any of their sets;
how many are a majority says ``reference.voters.majority``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import z3

from kraftcheck.proof.circuit import FALSE, TRUE, Circuit, Literal
from kraftcheck.proof.finite import Compiler, Evaluator, Scope, Table, Value, ValueOf
from kraftcheck.proof.logic import Action, Formula, Guard, Step, System, Term
from kraftcheck.proof.vocabulary import Epoch, Offset, Quorum, Replica, Voters
from kraftcheck.reference.voters import majority


@dataclass(frozen=True)
class Bounds:
    """How many replicas, epochs with the one before the first, and offsets with the start there are."""

    replicas: int
    epochs: int
    offsets: int


@dataclass(frozen=True)
class Taken:
    """An action that may be taken: ``literal`` says whether it is; its parameters with their values."""

    action: Action
    literal: Literal
    parameters: tuple[tuple[str, z3.SortRef, Value], ...]


@dataclass(frozen=True)
class _Compiled:
    guards: tuple[tuple[Guard, Evaluator], ...]
    updates: tuple[tuple[str, Evaluator | ValueOf], ...]


class Runs:
    """Runs that take some of the actions offered to them, in the order of the offers.

    ``question`` is what is asked about the last state, so that nothing is computed that it and the guards do
    not depend on. ``guards`` are those that an action has to keep to.
    """

    def __init__(
        self,
        system: System,
        bounds: Bounds,
        actions: frozenset[str],
        question: Formula,
        guards: Callable[[Action, Step], tuple[Guard, ...]] = lambda action, step: step.needed,
    ) -> None:
        self.circuit = Circuit()
        self.taken: list[Taken] = []
        self._system, self._bounds, self._question, self._guards = system, bounds, question, guards
        self._members: dict[z3.SortRef, list[tuple[Literal, ...]]] = {Quorum: [], Voters: []}
        sizes = {Replica: bounds.replicas, Epoch: bounds.epochs, Offset: bounds.offsets}
        fixed = {
            "member": lambda replica, quorum: self._members[Quorum][quorum][replica],
            "majority_of": self._is_majority,
            "changes_one": self._is_one_more,
            "epoch_at_most": _in_order,
            "offset_at_most": _in_order,
        }
        self.compiler = Compiler(self.circuit, sizes, fixed)
        self._actions = {action.name: action for action in system.actions if action.name in actions}
        self._steps = {name: self._step(action) for name, action in self._actions.items()}
        self._compiled = {name: self._compile(name) for name in self._actions}
        self.first_voters = self.new_set(Voters)
        self.tables = self._first_state()

    # Sets of replicas.

    def new_set(self, sort: z3.SortRef) -> int:
        """A set of replicas, which may be any."""
        sets = self._members[sort]
        sets.append(tuple(self.circuit.input() for _ in range(self._bounds.replicas)))
        return len(sets) - 1

    def sets(self, sort: z3.SortRef) -> int:
        """How many sets there are."""
        return len(self._members[sort])

    def members(self, sort: z3.SortRef, number: int) -> tuple[Literal, ...]:
        """Which replicas are in a set."""
        return self._members[sort][number]

    def _is_majority(self, quorum: int, voters: int) -> Literal:
        circuit = self.circuit
        part, whole = self._members[Quorum][quorum], self._members[Voters][voters]
        within = circuit.every(circuit.either(-one, other) for one, other in zip(part, whole, strict=True))
        reached, sizes = circuit.at_least(part), [*circuit.at_least(whole), FALSE]
        enough = [
            circuit.every((at_least, -more, reached[majority(size)]))
            if majority(size) < len(reached)
            else FALSE
            for size, (at_least, more) in enumerate(pairwise(sizes))
        ]
        return circuit.both(within, circuit.some(enough))

    def _is_one_more(self, voters: int, others: int) -> Literal:
        circuit = self.circuit
        before, after = self._members[Voters][voters], self._members[Voters][others]
        kept = circuit.every(circuit.either(-one, other) for one, other in zip(before, after, strict=True))
        added = circuit.at_least(
            [circuit.both(-one, other) for one, other in zip(before, after, strict=True)]
        )
        return circuit.every((kept, added[1], -added[2] if len(added) > 2 else TRUE))

    # The system.

    def _step(self, action: Action) -> tuple[tuple[Guard, ...], tuple[tuple[str, Formula], ...]]:
        _, step = action.step(self._system.state())
        guards = self._guards(action, step)
        sorts = {symbol.name: symbol.sorts for symbol in self._system.symbols}
        updates = tuple((each.symbol, each.meaning(*_places(sorts[each.symbol]))) for each in step.updates)
        return guards, updates

    def _compile(self, name: str) -> _Compiled:
        guards, updates = self._steps[name]
        wanted = self._depended_on()
        return _Compiled(
            tuple((guard, self.compiler.formula(guard.formula)) for guard in guards),
            tuple((symbol, self.compiler.term(formula)) for symbol, formula in updates if symbol in wanted),
        )

    def _depended_on(self) -> set[str]:
        """The symbols that guards and the question speak of, and those on which these depend."""
        wanted = _names(self._question)
        for guards, _ in self._steps.values():
            wanted = wanted.union(*(_names(guard.formula) for guard in guards))
        while True:
            more = {
                name
                for _, updates in self._steps.values()
                for symbol, formula in updates
                if symbol in wanted
                for name in _names(formula)
            }
            if more <= wanted:
                return wanted
            wanted |= more

    def _first_state(self) -> dict[str, Table]:
        """The initial state, all others being like it as far as anything depends on them."""
        tables: dict[str, Table] = {symbol.name: {} for symbol in self._system.symbols}
        tables["holds"] = {(replica, 0, 0): TRUE for replica in range(self._bounds.replicas)}
        tables["record"] = {(0, 0, 0): TRUE}
        if "config" in tables:
            tables["config"] = {(0, 0): TRUE}
        formula = self.compiler.formula(self._system.initial(self._system.state()))
        assert formula(Scope({}, tables), ()) == TRUE
        return tables

    # Runs.

    def any_of(self, sort: z3.SortRef) -> Value:
        """Any element: replicas, epochs, offsets; or any set of replicas."""
        if sort in self._members:
            return self.new_set(sort)
        size = {Replica: self._bounds.replicas, Epoch: self._bounds.epochs, Offset: self._bounds.offsets}[
            sort
        ]
        return dict(enumerate(self.circuit.one_of(size)))

    def offer(self, name: str, given: Mapping[str, Value] | None = None) -> Taken:
        """Let the run take an action; parameters that are not given may be anything."""
        action, known = self._actions[name], dict(given or {})
        parameters = tuple(
            (parameter, sort, known[parameter] if parameter in known else self.any_of(sort))
            for parameter, sort in action.parameters
        )
        constants = {f"{name}.{parameter}": value for parameter, _, value in parameters}
        scope = Scope(constants, self.tables)
        taken = self.circuit.input()
        for _, guard in self._compiled[name].guards:
            self.circuit.demand(-taken, guard(scope, ()))
        self.tables = self.tables | {
            symbol: self._after(scope, symbol, update, taken)
            for symbol, update in self._compiled[name].updates
        }
        self.taken.append(Taken(action, taken, parameters))
        return self.taken[-1]

    def _after(self, scope: Scope, name: str, update: Evaluator | ValueOf, taken: Literal) -> Table:
        symbol = next(each for each in self._system.symbols if each.name == name)
        before = scope.tables[name]
        after: Table = {}
        names = [place.decl().name() for place in _places(symbol.sorts)]
        for at in self.compiler.elements(symbol.sorts):
            scope.constants.update(zip(names, at, strict=True))
            new = update(scope, ())
            if symbol.result is None:
                literal = self.circuit.choose(taken, cast(Literal, new), before.get(at, FALSE))
                if literal != FALSE:
                    after[at] = literal
            else:
                after[at] = self.compiler.choose(taken, new, before.get(at, 0))
        return after


def _in_order(one: int, other: int) -> Literal:
    return TRUE if one <= other else FALSE


def _places(sorts: tuple[z3.SortRef, ...]) -> list[Term]:
    """Constants for the arguments of a symbol."""
    return [z3.Const(f"place.{number}", sort) for number, sort in enumerate(sorts)]


def _names(formula: Term) -> set[str]:
    """The names of all symbols in ``formula``."""
    found: set[str] = set()
    seen: set[int] = set()
    open_terms = [formula]
    while open_terms:
        term = open_terms.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_quantifier(term):
            open_terms.append(term.body())
        elif z3.is_app(term):
            found.add(term.decl().name())
            open_terms += term.children()
    return found
