"""Mutants of the proof: a guard or an update of an action left out. A needed one makes some conjunct fail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.proof.logic import Action, Step, System
from kraftcheck.proof.obligations import Obligation, of_action
from kraftcheck.proof.solve import MINIMISING, Result, Verdict, counterexample, prove
from kraftcheck.proof.structures import SIZES


@dataclass(frozen=True)
class Mutant:
    """``action`` without a guard, or without the update of a symbol; ``rules`` are those that are broken."""

    action: Action
    part: str
    rules: tuple[str, ...]
    is_guard: bool

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.action.name}: {'without' if self.is_guard else 'does not set'} {self.part}"

    def change(self, action: Action, step: Step) -> Step:
        """``step`` of ``action`` with the change of this mutant."""
        if action is not self.action:
            return step
        if self.is_guard:
            return Step(tuple(guard for guard in step.guards if guard.name != self.part), step.updates)
        return Step(step.guards, tuple(update for update in step.updates if update.symbol != self.part))


def mutants(system: System) -> Iterator[Mutant]:
    """One mutant for each guard that is needed, and for each update that a rule demands."""
    state = system.state()
    for action in system.actions:
        _, step = action.step(state)
        for guard in step.needed:
            yield Mutant(action, guard.name, guard.rules, True)
        for update in step.updates:
            if update.rules:
                yield Mutant(action, update.symbol, update.rules, False)


def refute(system: System, mutant: Mutant, seconds: float, minimising: float = MINIMISING) -> Result | None:
    """The obligation that fails for ``mutant``, or else an undetermined one; ``None`` if everything is
    proved.

    One question for each size looks for a state after which any conjunct fails; the search reduces its facts
    for ``minimising`` seconds. Only if there is none, the obligations are tried one by one.
    """
    started = time.monotonic()
    ours = of_action(system, mutant.action, system.invariant, mutant.change)
    wanted = [each for each in ours if isinstance(each, Obligation)]
    for sizes in SIZES if wanted else ():
        left = seconds - (time.monotonic() - started)
        found = None if left <= 0 else counterexample(system, wanted, sizes, left, minimising)
        if found is not None:
            broken, induction = found
            took = time.monotonic() - started
            return Result(broken.action, broken.conjunct, broken.says, Verdict.FAILED, took, induction)
    results = [prove(system, each, seconds) for each in wanted]
    unproved = [each for each in results if each.verdict is not Verdict.PROVED]
    return min(unproved, key=lambda each: each.verdict is not Verdict.FAILED, default=None)
