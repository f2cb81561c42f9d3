"""Proving an obligation, or finding a counterexample to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import z3

from kraftcheck.proof.ground import check
from kraftcheck.proof.logic import Formula, System
from kraftcheck.proof.obligations import Obligation, Possibility
from kraftcheck.proof.structures import SIZES, Search, Structure

#: The time of the attempt with a solver that knows the hypotheses already, in seconds; most proofs take a
#: hundredth of it.
QUICK_ATTEMPT = 0.5
#: The time of the first attempt with a new solver.
FIRST_ATTEMPT = 5.0
#: The time of the same with candidate models before the search for counterexamples, and between searches.
BRIEF_ATTEMPT = 1.0
SECOND_ATTEMPT = 10.0
#: The time for making a counterexample smaller, in seconds.
MINIMISING = 5.0


class Verdict(Enum):
    """The outcome of an obligation. A limit that was reached first is never a proof."""

    PROVED = "proved"
    FAILED = "failed"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class Induction:
    """A counterexample to induction: a state in which the invariant holds, and the one after the action in
    which it does not. ``after`` is ``None`` where no action is taken.
    """

    before: Structure
    after: Structure | None


@dataclass(frozen=True)
class Result:
    """The verdict on one obligation, the time it took in seconds, and the counterexample, if any."""

    action: str
    conjunct: str
    says: str
    verdict: Verdict
    seconds: float
    found: Induction | None = None


def prove(system: System, obligation: Obligation, seconds: float) -> Result:
    """Prove ``obligation``, or find a small counterexample, in about ``seconds``.

    The solver gets the negated goal, first to look for a contradiction among the facts at hand (after other
    goals with the same hypotheses, then anew: what it has learned may help or hinder), then with candidate
    models to refute. In between and after that, small structures are searched exhaustively.
    """
    started = time.monotonic()

    def left() -> float:
        return seconds - (time.monotonic() - started)

    def result(verdict: Verdict, found: Induction | None = None) -> Result:
        took = time.monotonic() - started
        return Result(obligation.action, obligation.conjunct, obligation.says, verdict, took, found)

    if _refuted_quickly(system, obligation, min(QUICK_ATTEMPT, seconds)):
        return result(Verdict.PROVED)
    if left() > 0 and _refuted(system, obligation, min(FIRST_ATTEMPT, left()), with_models=False):
        return result(Verdict.PROVED)
    if left() > 0 and _refuted(system, obligation, min(BRIEF_ATTEMPT, left()), with_models=True):
        return result(Verdict.PROVED)
    for number, sizes in enumerate(SIZES):
        if left() <= 0:
            break
        found = counterexample(system, (obligation,), sizes, left())
        if found is not None:
            return result(Verdict.FAILED, found[1])
        if number == 2 and _refuted(system, obligation, min(SECOND_ATTEMPT, left()), with_models=True):
            return result(Verdict.PROVED)
    if left() > 0 and _refuted(system, obligation, left(), with_models=True):
        return result(Verdict.PROVED)
    return result(Verdict.UNDETERMINED)


def _refuted(system: System, obligation: Obligation, seconds: float, *, with_models: bool) -> bool:
    """Whether a new solver finds that the goal cannot fail."""
    solver = _solver(_assumed(system, obligation), with_models=with_models)
    solver.add(z3.Not(obligation.goal))
    return bool(check(solver, seconds) == z3.unsat)


def _refuted_quickly(system: System, obligation: Obligation, seconds: float) -> bool:
    """The same by the solver of the goals with the same hypotheses, as those of one action have."""
    solver = _shared_solver(_assumed(system, obligation))
    solver.push()
    solver.add(z3.Not(obligation.goal))
    answer = check(solver, seconds)
    solver.pop()
    return bool(answer == z3.unsat)


def _assumed(system: System, obligation: Obligation) -> tuple[Formula, ...]:
    return (*(axiom.formula for axiom in system.axioms), *obligation.hypotheses)


def _solver(hypotheses: tuple[Formula, ...], *, with_models: bool = False) -> z3.Solver:
    solver = z3.Solver()
    if not with_models:
        solver.set("auto_config", False)
        solver.set("smt.mbqi", False)
    solver.add(*hypotheses)
    return solver


_shared_solver = lru_cache(maxsize=1)(_solver)


def counterexample(
    system: System,
    obligations: Sequence[Obligation],
    sizes: tuple[int, int, int, int],
    seconds: float,
    minimising: float = MINIMISING,
) -> tuple[Obligation, Induction] | None:
    """The first of ``obligations`` that fails in a small structure, and that structure; ``None`` if none was
    found. The obligations are those of one action, with the same hypotheses.
    """
    first = obligations[0]
    goals = [each.goal for each in obligations]
    search = Search(system, sizes, first.terms)
    _demand(search, (*first.hypotheses, z3.Not(z3.And(goals))))
    if not search.find(seconds):
        return None
    model = search.minimise(min(minimising, seconds))
    broken = next(each for each in obligations if not search.holds(model, each.goal))
    before = search.structure(model, broken.before)
    after = None if broken.after is None else search.structure(model, broken.after)
    return broken, Induction(before, after)


def is_possible(system: System, possibility: Possibility, seconds: float) -> Result:
    """Whether there is a small state in which the action can be taken: proved, or undetermined."""
    started = time.monotonic()
    verdict = Verdict.UNDETERMINED
    for sizes in SIZES:
        search = Search(system, sizes, possibility.terms)
        _demand(search, possibility.hypotheses)
        if search.find(seconds - (time.monotonic() - started)):
            verdict = Verdict.PROVED
            break
    took = time.monotonic() - started
    return Result(possibility.action, "possible", "some state allows it", verdict, took)


def _demand(search: Search, formulas: tuple[Formula, ...]) -> None:
    for formula in formulas:
        search.add(formula)
