"""Mutants of the proof: a guard or an update of an action left out. A needed one makes some conjunct fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.proof.logic import Action, Step, System
from kraftcheck.proof.obligations import Obligation, invariant, of_action
from kraftcheck.proof.solve import Result, Verdict, prove

#: How long every obligation of a mutant is tried before one is tried for long, in seconds.
A_MOMENT = 3.0


@dataclass(frozen=True)
class Mutant:
    """``action`` without a guard, or without the update of a symbol; ``rules`` are those that are broken."""

    action: Action
    part: str
    rules: tuple[str, ...]
    is_guard: bool

    @property
    def name(self) -> str:
        """How the command line names it."""
        return f"{self.action.name}: {'without' if self.is_guard else 'does not set'} {self.part}"

    def change(self, action: Action, step: Step) -> Step:
        """``step`` of ``action`` as this mutant has it."""
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


def refute(system: System, mutant: Mutant, seconds: float) -> Result | None:
    """What fails for ``mutant``, or else something undetermined; ``None`` if everything is proved.

    All are tried for a moment before any is tried for long: one that fails is enough.
    """
    held = invariant(system, system.state())
    wanted = [
        each for each in of_action(system, mutant.action, held, mutant.change) if isinstance(each, Obligation)
    ]
    undetermined: Result | None = None
    for limit in (min(A_MOMENT, seconds), seconds):
        left = []
        for obligation in wanted:
            result = prove(system, obligation, limit)
            if result.verdict is Verdict.FAILED:
                return result
            if result.verdict is Verdict.UNDETERMINED:
                left.append(obligation)
                undetermined = result
        wanted = left
    return undetermined if wanted else None
