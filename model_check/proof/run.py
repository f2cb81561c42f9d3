"""All obligations, in the order of the report, and the meaning of a name on the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import z3

from kraftcheck.proof.arithmetic import STATEMENTS
from kraftcheck.proof.ground import check
from kraftcheck.proof.logic import Statement, System
from kraftcheck.proof.mutants import Mutant, mutants
from kraftcheck.proof.obligations import (
    ALWAYS,
    INITIALLY,
    Obligation,
    Possibility,
    Unchanged,
    obligations,
    possibilities,
)
from kraftcheck.proof.solve import Result, Verdict, is_possible, prove
from kraftcheck.support.errors import InputError

#: In place of the name of a conjunct: the action can be taken.
POSSIBLE = "possible"
#: In place of the name of a system: statements about numbers and finite sets.
ARITHMETIC = "arithmetic"


@dataclass(frozen=True)
class Work:
    """An obligation; ``system`` is ``None`` for one outside the systems."""

    system: System | None
    what: Obligation | Possibility | Statement

    @property
    def place(self) -> str:
        """The system, or the place of an obligation outside the systems."""
        return ARITHMETIC if self.system is None else self.system.name

    @property
    def name(self) -> str:
        """Its name in the report and on the command line within its place."""
        if isinstance(self.what, Obligation):
            return self.what.name
        return f"{self.what.action}:{POSSIBLE}" if isinstance(self.what, Possibility) else self.what.name


@dataclass(frozen=True)
class Selection:
    """The obligations to prove, and the number of conjuncts that no action can affect."""

    works: tuple[Work, ...]
    unchanged: int


def select(systems: Sequence[System], names: Sequence[str]) -> Selection:
    """The obligations that ``names`` select: systems, actions, conjuncts, or these joined by colons; none:
    everything.

    Raises InputError for an unknown name.
    """
    asked = set(names)
    for name in asked - {word for place in _places(systems) for word in words_of(*place)}:
        raise InputError(
            f"there is nothing to prove called '{name}'; 'kraftcheck prove --list' says what there is."
        )
    works: list[Work] = []
    unchanged = 0
    for system in systems:

        def wanted(action: str, name: str, place: str = system.name) -> bool:
            return not asked or bool(asked & words_of(place, action, name))

        for each in obligations(system, wanted):
            if isinstance(each, Unchanged):
                unchanged += 1
            else:
                works.append(Work(system, each))
        works += [Work(system, each) for each in possibilities(system) if wanted(each.action, POSSIBLE)]
    alone = [Work(None, statement) for statement in STATEMENTS]
    works += [work for work in alone if not asked or asked & words_of(work.place, work.name)]
    return Selection(tuple(works), unchanged)


def words_of(place: str, *parts: str) -> frozenset[str]:
    """All names that select an obligation, alone or with others: any of its parts, in their order."""
    names = (place, *parts)
    chosen = chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))
    return frozenset(":".join(each) for each in chosen)


def _places(systems: Sequence[System]) -> Iterator[tuple[str, ...]]:
    """The places that have obligations, or may have them."""
    for system in systems:
        state = system.state()
        yield system.name, INITIALLY, POSSIBLE
        for conjunct in system.conjuncts:
            yield system.name, INITIALLY, conjunct.name
        for theorem in system.theorems:
            yield system.name, ALWAYS, theorem.name
        for action in system.actions:
            yield system.name, action.name, POSSIBLE
            for conjunct in system.conjuncts:
                yield system.name, action.name, conjunct.name
            for change in system.changes:
                yield system.name, action.name, change.name
            for lemma in action.step(state)[1].lemmas:
                yield system.name, action.name, lemma.name
    for statement in STATEMENTS:
        yield ARITHMETIC, statement.name


def carry_out(work: Work, seconds: float) -> Result:
    """The verdict on ``work``, in about ``seconds``."""
    if isinstance(work.what, Statement):
        return _decide(work.what, seconds)
    assert work.system is not None
    if isinstance(work.what, Obligation):
        return prove(work.system, work.what, seconds)
    return is_possible(work.system, work.what, seconds)


def _decide(statement: Statement, seconds: float) -> Result:
    """A statement that is to hold is proved if its negation has no model; the other kind if it has one."""
    started = time.monotonic()
    solver = z3.Solver()
    solver.add(statement.premise, z3.Not(statement.conclusion))
    answer = check(solver, seconds)
    verdict = Verdict.UNDETERMINED
    if answer != z3.unknown:
        verdict = Verdict.PROVED if (answer == z3.unsat) == statement.holds else Verdict.FAILED
    took = time.monotonic() - started
    return Result(ARITHMETIC, statement.name, statement.says, verdict, took)


def select_mutants(systems: Sequence[System], names: Sequence[str]) -> tuple[tuple[System, Mutant], ...]:
    """The mutants of the systems or actions in ``names``; without any, all.

    Raises InputError for another name.
    """
    actions = {action.name for system in systems for action in system.actions}
    known = actions | {system.name for system in systems}
    for name in names:
        if name not in known:
            raise InputError(f"no system or action is called '{name}'; there are {', '.join(sorted(known))}.")
    return tuple(
        (system, mutant)
        for system in systems
        for mutant in mutants(system)
        if not names or {system.name, mutant.action.name} & set(names)
    )
