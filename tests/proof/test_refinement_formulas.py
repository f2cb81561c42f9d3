"""The refinement check evaluates the formulas that Z3 proves: compared with Z3 on random structures."""

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import z3

from kraftcheck.proof.logic import Action, Symbol, System
from kraftcheck.proof.refinement.abstraction import SYMBOLS, ProofReplica
from kraftcheck.proof.refinement.formulas import (
    ROLES,
    Domain,
    compile_conjunct,
    compile_guard,
    compile_update,
)
from kraftcheck.proof.refinement.initial_state import first_facts
from kraftcheck.proof.structures import VOTER_SETS, Search
from kraftcheck.proof.system import CHANGING_VOTERS, SYSTEMS
from kraftcheck.proof.vocabulary import (
    Quorum,
    Replica,
    Role,
    Voters,
    adjacent,
    majority,
    majority_of,
    member,
)

REPLICAS, EPOCHS, OFFSETS = 2, 2, 2
VOTERS = frozenset(range(REPLICAS))
#: By symbol and arguments whether the relation holds, or the number of the value.
Structure = dict[tuple[Any, ...], Any]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)


class Structures:
    """Structures of two replicas, for Z3 and for the refinement check. There are two sets of voters."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.state = system.state()
        self.domain = Domain(REPLICAS, EPOCHS, OFFSETS, VOTERS)
        self.quorums = self.domain.sets
        self.voters = (self.quorums[0], self.quorums[-1])
        chosen = [0, len(self.quorums) - 1]
        self.domain.sizes[Voters.name()] = VOTER_SETS
        self.domain.rigid["majority_of"] = self.domain.rigid["majority_of"][:, chosen]
        self.domain.rigid["changes_one"] = self.domain.rigid["changes_one"][np.ix_(chosen, chosen)]
        self.search = Search(system, (REPLICAS, len(self.quorums), EPOCHS, OFFSETS), ())
        self._add_rigid()

    def _add_rigid(self) -> None:
        term, search = self.term, self.search
        one, other = term(Voters, 0), term(Voters, 1)
        search.add(adjacent(one, other))
        for number, quorum in enumerate(self.quorums):
            element = term(Quorum, number)
            search.add(majority(element) == bool(self.domain.rigid["majority"][number]))
            for replica in range(REPLICAS):
                search.add(member(term(Replica, replica), element) == (replica in quorum))
            for voters in range(VOTER_SETS):
                holds = bool(self.domain.rigid["majority_of"][number, voters])
                search.add(majority_of(element, term(Voters, voters)) == holds)

    def term(self, sort: z3.SortRef, number: int) -> z3.ExprRef:
        return self.search.elements(sort)[number]

    def places(self, symbol: Symbol) -> list[tuple[int, ...]]:
        return list(product(*(range(self.domain.sizes[sort.name()]) for sort in symbol.sorts)))

    def some(self, chosen: random.Random) -> Structure:
        """A structure in which some of all possible facts hold."""
        share, found = chosen.choice((0.1, 0.5, 0.9)), Structure()
        for symbol in self.system.symbols:
            for place in self.places(symbol):
                size = 0 if symbol.result is None else self.domain.sizes[symbol.result.name()]
                found[symbol.name, *place] = chosen.randrange(size) if size else chosen.random() < share
        return found

    def model(self, structure: Structure) -> z3.ModelRef:
        """The model of Z3 that is ``structure``."""
        literals = []
        for symbol in self.system.symbols:
            for place in self.places(symbol):
                terms = [self.term(sort, each) for sort, each in zip(symbol.sorts, place, strict=True)]
                meaning, value = getattr(self.state, symbol.name)(*terms), structure[symbol.name, *place]
                if symbol.result is not None:
                    literals.append(meaning == self.term(symbol.result, value))
                else:
                    literals.append(meaning if value else z3.Not(meaning))
        found = self.search.model_of(literals)
        assert found is not None
        return found

    def by_z3(self, model: z3.ModelRef, term: z3.ExprRef) -> Any:
        """The value of ``term``: a truth value or the number of an element."""
        if z3.is_bool(term):
            return z3.is_true(model.eval(self.search.grounded(term), model_completion=True))
        value = model.eval(term, model_completion=True)
        elements = [model.eval(each, model_completion=True) for each in self.search.elements(term.sort())]
        return next(number for number, each in enumerate(elements) if each.eq(value))

    def value(self, sort: z3.SortRef, number: int) -> Any:
        """An element as the refinement check has it."""
        if sort == Role:
            return ROLES[number]
        return self.quorums[number] if sort == Quorum else self.voters[number] if sort == Voters else number

    def own(self, structure: Structure, replica: int) -> ProofReplica:
        """One replica of ``structure``."""

        def true_of(name: str) -> frozenset[Any]:
            symbol = next(each for each in self.system.symbols if each.name == name)
            places = [place[1:] for place in self.places(symbol) if place[0] == replica]
            held = [place for place in places if structure[name, replica, *place]]
            return frozenset(place if len(place) > 1 else place[0] for place in held)

        return ProofReplica(
            structure["epoch", replica],
            ROLES[structure["role", replica]],
            true_of("voted"),
            true_of("leader"),
            true_of("holds"),
            true_of("unflushed"),
            structure["fetching", replica],
        )

    def answers(self, structure: Structure) -> tuple[Callable[..., bool], Callable[..., Any]]:
        """Whether facts hold, and the values of functions."""
        results = {symbol.name: symbol.result for symbol in self.system.symbols}
        return (
            lambda *fact: bool(structure[fact]),
            lambda *place: self.value(results[place[0]], structure[place]),
        )


@pytest.mark.slow
@each_system
def test_conjuncts(system: System) -> None:
    structures, chosen = Structures(system), random.Random(1)
    some = [structures.some(chosen) for _ in range(6)]
    models = [structures.model(each) for each in some]
    values = {
        symbol.name: np.array(
            [[each[symbol.name, *place] for place in structures.places(symbol)] for each in some]
        ).reshape(len(some), *structures.domain.shape(symbol))
        for symbol in system.symbols
    }
    verdicts = set()
    for conjunct in system.conjuncts:
        formula = conjunct.formula(system.state())
        found = compile_conjunct(formula).over(structures.domain)(len(some), values).tolist()
        assert found == [structures.by_z3(model, formula) for model in models], conjunct.name
        verdicts |= set(found)
    assert verdicts == {True, False}


@pytest.mark.slow
@each_system
def test_guards_and_updates(system: System) -> None:
    structures, chosen = Structures(system), random.Random(2)
    domain = Domain(REPLICAS, EPOCHS, OFFSETS, VOTERS)
    verdicts = set()
    for _ in range(4):
        structure = structures.some(chosen)
        model = structures.model(structure)
        for action in system.actions:
            verdicts |= compare(structures, domain, structure, model, action, chosen)
    assert verdicts == {True, False}


def compare(
    structures: Structures,
    domain: Domain,
    structure: Structure,
    model: z3.ModelRef,
    action: Action,
    chosen: random.Random,
) -> set[bool]:
    """The values that guards have, by the refinement check and by Z3."""
    system = structures.system
    symbols = {symbol.name: symbol for symbol in system.symbols}
    terms, step = action.step(system.state())
    numbers = [chosen.randrange(structures.domain.sizes[term.sort().name()]) for term in terms]
    sorts = [term.sort() for term in terms]
    parameters = [structures.value(sort, number) for sort, number in zip(sorts, numbers, strict=True)]
    elements = [structures.term(sort, number) for sort, number in zip(sorts, numbers, strict=True)]
    given = list(zip(terms, elements, strict=True))
    own = structures.own(structure, numbers[0])
    fact, value = structures.answers(structure)
    verdicts = set()
    for guard in step.needed:
        found = compile_guard(symbols, terms, guard.formula).over(domain)(own, fact, fact, value, *parameters)
        assert found == structures.by_z3(model, z3.substitute(guard.formula, *given)), guard.name
        verdicts.add(bool(found))
    for update in step.updates:
        symbol = symbols[update.symbol]
        body = compile_update(symbols, terms, symbol, update.meaning).over(domain)
        for place in structures.places(symbol):
            if symbol.name in SYMBOLS and place[0] != numbers[0]:
                continue
            arguments = [structures.term(sort, each) for sort, each in zip(symbol.sorts, place, strict=True)]
            expected = structures.by_z3(model, z3.substitute(update.meaning(*arguments), *given))
            found = body(own, fact, value, *place, *parameters)
            if symbol.result is not None:
                expected = structures.value(symbol.result, expected)
            assert found == expected, (action.name, symbol.name, place)
    return verdicts


@each_system
def test_runs_begin_where_the_proof_begins(system: System) -> None:
    """An empty disk without process, and the facts that hold initially, are an initial state of the proof."""
    domain = Domain(REPLICAS, EPOCHS, OFFSETS, VOTERS)
    facts = first_facts(VOTERS, changing=system is CHANGING_VOTERS)
    values = {}
    for symbol in system.symbols:
        kind = bool if symbol.result is None else np.int64
        values[symbol.name] = np.zeros((1, *domain.shape(symbol)), kind)
        for fact in facts:
            if fact[0] == symbol.name and symbol.result is None:
                values[symbol.name][(0, *fact[1:])] = True
    own = ProofReplica()
    assert (own.epoch, own.voted | own.leader | own.unflushed, own.fetching) == (0, frozenset(), False)
    values["role"][:] = ROLES.index(own.role)
    for replica in range(REPLICAS):
        for record in own.holds:
            values["holds"][(0, replica, *record)] = True
    state = system.state()
    for formula in (system.initial(state), *(each.formula(state) for each in system.conjuncts)):
        assert compile_conjunct(formula).over(domain)(1, values).all()


@each_system
def test_an_action_changes_nothing_of_other_replicas(system: System) -> None:
    """That is why the refinement check need not look at them: proved here by Z3."""
    state = system.state()
    for action in system.actions:
        terms, step = action.step(state)
        for update in step.updates:
            if update.symbol not in (*SYMBOLS, "known"):
                continue
            symbol = next(each for each in system.symbols if each.name == update.symbol)
            arguments = [z3.Const(f"argument.{number}", sort) for number, sort in enumerate(symbol.sorts)]
            solver = z3.Solver()
            solver.add(arguments[0] != terms[0])
            solver.add(update.meaning(*arguments) != getattr(state, symbol.name)(*arguments))
            assert solver.check() == z3.unsat, (action.name, symbol.name)


@each_system
def test_history_only_grows(system: System) -> None:
    """Facts that no replica keeps stay true: otherwise the facts of a past could not be added up."""
    state = system.state()
    for action in system.actions:
        _, step = action.step(state)
        for update in step.updates:
            symbol = next(each for each in system.symbols if each.name == update.symbol)
            if symbol.name in (*SYMBOLS, "known") or symbol.result is not None:
                continue
            arguments = [z3.Const(f"argument.{number}", sort) for number, sort in enumerate(symbol.sorts)]
            solver = z3.Solver()
            solver.add(getattr(state, symbol.name)(*arguments), z3.Not(update.meaning(*arguments)))
            assert solver.check() == z3.unsat, (action.name, symbol.name)
