"""The transition systems are about the catalogue's protocol, and their invariants say something."""

import pytest
import z3

from kraftcheck import spec
from kraftcheck.proof.arithmetic import STATEMENTS
from kraftcheck.proof.logic import Statement, System
from kraftcheck.proof.obligations import Obligation, obligations
from kraftcheck.proof.structures import Search
from kraftcheck.proof.system import CHANGING_VOTERS, FIXED_VOTERS, SYSTEMS
from kraftcheck.proof.vocabulary import ORIGIN, ZERO, Epoch, Offset, before

each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)


@each_system
def test_every_rule_that_is_named_exists(system: System) -> None:
    state = system.state()
    named = {rule for statement in STATEMENTS for rule in statement.rules}
    for action in system.actions:
        _, step = action.step(state)
        named |= set(action.rules)
        named |= {rule for part in (*step.guards, *step.updates) for rule in part.rules}
    assert named <= set(spec.load().rules)


@pytest.mark.parametrize(
    ("system", "demanded"),
    [
        (FIXED_VOTERS, {"S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-8", "S-10", "S-12", "S-17", "S-21"}),
        (
            CHANGING_VOTERS,
            {"S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-8", "S-10", "S-12", "S-17", "S-21", "S-25"},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, System) else "",
)
def test_properties_are_proved_under_their_names(system: System, demanded: set[str]) -> None:
    properties = spec.load().properties
    found = {
        conjunct.name: number
        for conjunct in (*system.conjuncts, *system.theorems, *system.changes)
        for number in conjunct.properties
    }
    assert all(properties[number].name == name for name, number in found.items())
    assert demanded <= set(found.values())


@each_system
def test_names_are_unique(system: System) -> None:
    state = system.state()
    names = [each.name for each in system.conjuncts + system.theorems]
    names += [action.name for action in system.actions]
    steps = [action.step(state)[1] for action in system.actions]
    names += [change.name for change in system.changes]
    names += sorted({lemma.name for step in steps for lemma in step.lemmas})
    assert len(set(names)) == len(names)
    assert all(len({lemma.name for lemma in step.lemmas}) == len(step.lemmas) for step in steps)
    assert all(len({guard.name for guard in step.guards}) == len(step.guards) for step in steps)


@each_system
def test_a_formula_is_the_same_term_whenever_it_is_built(system: System) -> None:
    state = system.state()
    again = [conjunct.formula(state) for conjunct in system.conjuncts]
    assert all(one.eq(other) for one, other in zip(system.invariant, again, strict=True))


@pytest.mark.slow
@each_system
def test_the_invariant_allows_a_committed_record_among_three_replicas(system: System) -> None:
    state = system.state()
    epoch, offset = z3.Const("e", Epoch), z3.Const("o", Offset)
    search = Search(system, (3, 2, 3, 2), (("epoch", epoch), ("offset", offset)))
    for formula in (*system.invariant, state.committed(epoch, offset)):
        search.add(formula)
    search.add(z3.And(before(ZERO, epoch), before(ORIGIN, offset)))
    assert search.find(60)


@pytest.mark.slow
@each_system
def test_every_action_has_something_to_prove(system: System) -> None:
    found = {each.action for each in obligations(system) if isinstance(each, Obligation)}
    assert found >= {action.name for action in system.actions} - {"grant-pre-vote", "hear-from-leader"}


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.name)
def test_an_arithmetic_statement_is_not_vacuous(statement: Statement) -> None:
    """The premises can be met."""
    solver = z3.Solver()
    solver.add(statement.premise)
    assert solver.check() == z3.sat
