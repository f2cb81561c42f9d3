"""The axioms are listed, proved, and true of the things that the symbols stand for."""

from itertools import chain, combinations
from pathlib import Path

import pytest
import z3

from kraftcheck.proof.arithmetic import STATEMENTS
from kraftcheck.proof.ground import Grounding, domain
from kraftcheck.proof.logic import Axiom, Principle, System
from kraftcheck.proof.system import SYSTEMS
from kraftcheck.proof.vocabulary import (
    ADJACENT_MAJORITIES,
    MAJORITIES,
    Quorum,
    Replica,
    Voters,
    changes_one,
    majority,
    majority_of,
    member,
)
from kraftcheck.reference.voters import majority as reference_majority

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"


def supposed(system: System) -> list[Axiom]:
    """All that is supposed and not proved of ``system`` itself."""
    state = system.state()
    steps = [action.step(state)[1] for action in system.actions]
    return [*system.axioms, *chain.from_iterable(step.principles for step in steps)]


AXIOMS = {axiom.name: axiom for system in SYSTEMS for axiom in supposed(system)}


@pytest.mark.parametrize("axiom", AXIOMS.values(), ids=AXIOMS)
def test_an_axiom_is_listed_with_its_proofs(axiom: Axiom) -> None:
    proved = {statement.name for statement in STATEMENTS if statement.holds}
    assert axiom.proofs and set(axiom.proofs) <= proved
    section = PAGE.read_text().split("## Axioms")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if line.startswith(f"| {axiom.name} |"))
    assert all(f"`{name}`" in row for name in axiom.proofs)


def test_the_page_lists_no_axiom_that_is_none() -> None:
    section = PAGE.read_text().split("## Axioms")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    assert set(rows[1:]) == set(AXIOMS)


def test_what_is_supposed_of_a_state_is_that_there_is_a_first_one() -> None:
    principles = [axiom for axiom in AXIOMS.values() if isinstance(axiom, Principle)]
    assert {axiom.proofs[-1] for axiom in principles} == {"least-pair", "least-in-epoch"}


@pytest.mark.parametrize("axiom", MAJORITIES + ADJACENT_MAJORITIES, ids=lambda axiom: axiom.name)
def test_an_axiom_on_majorities_is_true_of_all_sets_of_four_replicas(axiom: Axiom) -> None:
    """Sets of replicas are real sets here, and majorities what the reference calls so."""
    replicas = range(4)
    subsets = [frozenset(each) for size in range(5) for each in combinations(replicas, size)]
    elements = domain({Replica: 4, Quorum: len(subsets), Voters: len(subsets)})
    everybody = subsets[-1]

    def is_majority(part: frozenset[int], whole: frozenset[int]) -> bool:
        return part <= whole and len(part) >= reference_majority(len(whole))

    known: list[tuple[z3.ExprRef, z3.ExprRef]] = []

    def means(term: z3.ExprRef, value: bool) -> None:
        known.append((term, z3.BoolVal(value)))

    for one, quorum in zip(subsets, elements[Quorum], strict=True):
        means(majority(quorum), is_majority(one, everybody))
        for at, replica in zip(replicas, elements[Replica], strict=True):
            means(member(replica, quorum), at in one)
        for other, voters in zip(subsets, elements[Voters], strict=True):
            means(majority_of(quorum, voters), is_majority(one, other))
    for one, first in zip(subsets, elements[Voters], strict=True):
        for other, second in zip(subsets, elements[Voters], strict=True):
            means(changes_one(first, second), one < other and len(other - one) == 1)
            known.append((first == second, z3.BoolVal(one == other)))
    # Few of the instances are about sets that both are majorities; the others need no look.
    formula = axiom.formula
    solver = z3.Solver()
    for term, value in known:
        solver.add(term == value)
    sorts = [formula.var_sort(number) for number in range(formula.num_vars())]
    named = [z3.Const(f"any{number}", sort) for number, sort in enumerate(sorts)]
    for term in named:
        solver.add(z3.Or(*(term == each for each in elements[term.sort()])))
    instance = z3.substitute_vars(formula.body(), *reversed(named))
    solver.add(z3.Not(Grounding(elements)(instance)))
    assert solver.check() == z3.unsat
