"""Bounded runs: circuits mean what formulas mean, and questions are answered with runs that can be read."""

import json
import random
from itertools import combinations, product
from typing import Any

import pytest
import z3

from kraftcheck.cli.main import main
from kraftcheck.proof import bounded
from kraftcheck.proof.bounded import QUESTIONS, ask
from kraftcheck.proof.circuit import FALSE, TRUE, Circuit
from kraftcheck.proof.finite import Compiler, Scope
from kraftcheck.proof.ground import Grounding, domain
from kraftcheck.proof.logic import System
from kraftcheck.proof.run import Work, carry_out
from kraftcheck.proof.runs import Bounds, Runs
from kraftcheck.proof.solve import Verdict
from kraftcheck.proof.system import CHANGING_VOTERS, FIXED_VOTERS
from kraftcheck.proof.vocabulary import ORIGIN, ZERO, Epoch, Offset, Quorum, Replica, Role, Voters, at_most
from kraftcheck.reference.voters import majority

QUESTION = {question.name: question for question in QUESTIONS}
SIZES = {Replica: 2, Quorum: 1, Epoch: 2, Offset: 2, Voters: 1}


def test_a_circuit_counts() -> None:
    for size in range(5):
        for values in product((TRUE, FALSE), repeat=size):
            counts = Circuit().at_least(values)
            assert counts == [TRUE if values.count(TRUE) >= number else FALSE for number in range(size + 1)]


def test_a_circuit_is_solved() -> None:
    circuit = Circuit()
    one, other = circuit.input(), circuit.input()
    circuit.demand(circuit.either(one, other))
    circuit.demand(-one)
    found = circuit.solve(10)
    assert isinstance(found, frozenset) and other in found and one not in found
    assert circuit.solve(10, (-other,)) is False


def _values(system: System, drawn: random.Random) -> dict[str, dict[tuple[int, ...], int]]:
    """A state, as tables."""
    roles = Role.num_constructors()
    tables: dict[str, dict[tuple[int, ...], int]] = {}
    for symbol in system.symbols:
        size = roles if symbol.result == Role else SIZES.get(symbol.result, 0)
        tables[symbol.name] = {
            at: drawn.choice((TRUE, FALSE)) if symbol.result is None else drawn.randrange(size)
            for at in product(*(range(SIZES[sort]) for sort in symbol.sorts))
        }
    return tables


def _as_formula(system: System, tables: dict[str, Any], elements: dict[Any, Any]) -> list[z3.BoolRef]:
    state, found = system.state(), []
    for symbol in system.symbols:
        for at, value in tables[symbol.name].items():
            terms = [elements[sort][number] for sort, number in zip(symbol.sorts, at, strict=True)]
            meaning = getattr(state, symbol.name)(*terms)
            wanted = z3.BoolVal(value == TRUE) if symbol.result is None else elements[symbol.result][value]
            found.append(meaning == wanted)
    return found


def test_conjuncts_mean_the_same_as_circuits_and_as_formulas() -> None:
    """In states that are drawn at random; formulas are those of :class:`Grounding`."""
    drawn, system = random.Random(1), FIXED_VOTERS
    elements: dict[Any, Any] = {
        **domain(SIZES),
        Role: tuple(Role.constructor(number)() for number in range(Role.num_constructors())),
    }
    ground, state = Grounding(elements), system.state()
    fixed = {
        "member": lambda replica, quorum: TRUE,
        "majority": lambda quorum: TRUE,
        "epoch_at_most": lambda one, other: TRUE if one <= other else FALSE,
        "offset_at_most": lambda one, other: TRUE if one <= other else FALSE,
    }
    compiler = Compiler(Circuit(), SIZES, fixed)
    background = [elements[Epoch][0] == ZERO, elements[Offset][0] == ORIGIN]
    background += [z3.Distinct(*elements[sort]) for sort in (Replica, Epoch, Offset)]
    for sort in (Epoch, Offset):
        for (low, one), (high, other) in product(enumerate(elements[sort]), repeat=2):
            background.append(at_most(one, other) == (low <= high))
    true = false = 0
    for _ in range(5):
        tables = _values(system, drawn)
        solver = z3.Solver()
        solver.add(*background, *_as_formula(system, tables, elements))
        for quorum in elements[Quorum]:
            solver.add(z3.Function("majority", Quorum, z3.BoolSort())(quorum))
            for replica in elements[Replica]:
                solver.add(z3.Function("member", Replica, Quorum, z3.BoolSort())(replica, quorum))
        assert solver.check() == z3.sat
        model = solver.model()
        for conjunct in system.conjuncts + system.theorems:
            formula = conjunct.formula(state)
            circuit = compiler.formula(formula)(Scope({}, tables), ())
            expected = z3.is_true(model.eval(ground(formula), model_completion=True))
            assert circuit == (TRUE if expected else FALSE), conjunct.name
            true, false = true + expected, false + (not expected)
    assert true and false


def test_majorities_and_changes_are_those_of_sets() -> None:
    runs = Runs(CHANGING_VOTERS, Bounds(3, 2, 2), frozenset(), z3.BoolVal(True))
    quorum, first, second = runs.new_set(Quorum), runs.new_set(Voters), runs.new_set(Voters)
    is_majority = runs.compiler._fixed["majority_of"](quorum, first)
    is_larger = runs.compiler._fixed["changes_one"](first, second)
    sets = [set(each) for size in range(4) for each in combinations(range(3), size)]
    for part, whole in product(sets, repeat=2):
        given = [
            literal if replica in chosen else -literal
            for sort, number, chosen in (
                (Quorum, quorum, part),
                (Voters, first, whole),
                (Voters, second, part),
            )
            for replica, literal in enumerate(runs.members(sort, number))
        ]
        enough = part <= whole and len(part) >= majority(len(whole))
        assert (runs.circuit.solve(10, (*given, is_majority)) is not False) == enough
        one_more = whole <= part and len(part - whole) == 1
        assert (runs.circuit.solve(10, (*given, is_larger)) is not False) == one_more


@pytest.mark.parametrize("name", ["two-elections-3", "three-elections-2"])
def test_few_replicas_keep_what_is_asked(name: str) -> None:
    assert carry_out(Work(None, QUESTION[name]), 300).verdict is Verdict.WITHIN_BOUNDS


@pytest.mark.slow
def test_without_the_guard_on_own_commits_a_run_loses_a_record() -> None:
    answer = ask(QUESTION["without-VSET-9"], 300)
    assert answer.found
    assert answer.lines[0].startswith("the voters are {1,")
    assert answer.lines[-1] == "breaks CommittedRecordIsInLaterLogs"
    assert sum(" is elected by " in line for line in answer.lines) == 2
    assert any(" appends {" in line for line in answer.lines)
    assert any(" commits to " in line for line in answer.lines)


def test_what_is_not_known_in_time_is_undetermined() -> None:
    assert carry_out(Work(None, QUESTION["two-elections-3"]), 0.01).verdict is Verdict.UNDETERMINED


def test_a_run_that_should_not_be_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bounded, "ask", lambda question, seconds: bounded.Answer(True, ("a run",)))
    monkeypatch.setattr("kraftcheck.proof.run.ask", bounded.ask)
    assert main(["prove", "two-elections-3", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["run"]) == ("failed", ["a run"])
