"""Walking a system step by step: the one way by which traces come about."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from kraftcheck.engine.steps import Step, broken_invariants, initial_states, steps
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.traces.model import TraceError


@dataclass(frozen=True, slots=True)
class Taken:
    """A step taken: its index among all that were possible, the state before it, and what it violates."""

    option: int
    before: GlobalState
    step: Step
    violations: tuple[str, ...]


class Walk:
    """A behaviour under construction: from an initial state by steps that the system offers."""

    def __init__(self, system: ModelSystem, initial: int = 0) -> None:
        states = initial_states(system)
        if not 0 <= initial < len(states):
            raise TraceError(f"there is no initial state {initial}, only {len(states)}")
        self.system = system
        self.initial = initial
        self.state = states[initial]
        self.taken: list[Taken] = []
        self.violated = broken_invariants(system, self.state)
        self._options: list[Step] | None = None

    @property
    def number(self) -> int:
        """The number of the next step, counted from 1."""
        return len(self.taken) + 1

    def options(self) -> list[Step]:
        """Every step that the system offers now, those outside the bounds included."""
        if self._options is None:
            self._options = list(steps(self.system, self.state))
        return self._options

    def branch(self) -> Walk:
        """A walk that has taken the same steps and goes on by itself."""
        other = copy.copy(self)
        other.taken = [*self.taken]
        return other

    def take(self, option: int) -> Taken:
        """Take the step with index ``option``. Raises TraceError where there is none within the bounds."""
        if self.violated:
            raise TraceError(
                f"step {self.number}: {self.violated[0]} is violated already, the behaviour ends"
            )
        options = self.options()
        if not 0 <= option < len(options):
            there = f"there is no option {option}, only 0 to {len(options) - 1}"
            raise TraceError(f"step {self.number}: {there if options else 'nothing more can happen'}")
        step = options[option]
        if step.cut is not None:
            raise TraceError(f"step {self.number}: option {option} leads out of the bounds ({step.cut})")
        violations = step.violations or broken_invariants(self.system, step.target)
        taken = Taken(option, self.state, step, violations)
        self.taken.append(taken)
        self.state, self.violated, self._options = step.target, violations, None
        return taken

    def follow(self, path: PathStep) -> Taken:
        """Take exactly the step ``path``. Raises TraceError where the system does not offer it."""
        for option, step in enumerate(self.options()):
            if step.path == path and step.cut is None:
                return self.take(option)
        raise TraceError(f"step {self.number}: the reference does not offer {path.kind} at {path.component}")

    def find(self, action: str, message: object, choice: int | None, duplicate: bool) -> int:
        """The index of the step called ``action`` on ``message``; ``choice`` decides between several of them.

        Raises TraceError where there is none, and where there are several and ``choice`` is none of them.
        """
        found = [
            option
            for option, step in enumerate(self.options())
            if name_of(step) == action and step.path.message == message and step.path.duplicate == duplicate
        ]
        exact = [option for option in found if self.options()[option].path.choice == choice]
        if not exact and len(found) > 1:
            raise TraceError(f"step {self.number}: '{action}' may be one of {len(found)} steps")
        if not found:
            raise TraceError(f"step {self.number}: the reference does not offer '{action}'")
        return (exact or found)[0]


def name_of(step: Step) -> str:
    """The name of a step in traces."""
    if step.outcome is None:
        return f"loss of {step.path.message}"
    return str(step.outcome.action)
