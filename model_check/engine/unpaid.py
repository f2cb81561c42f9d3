"""Steps that only a spent budget prevents."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import NamedTuple

from kraftcheck.engine.steps import apply_outcome
from kraftcheck.engine.system import GlobalState, Message, Outcome, PathStep, System


class UnpaidStep(NamedTuple):
    """A step and its action; ``missing``: the spent budgets (indices) among its costs."""

    step: PathStep
    action: Hashable
    missing: tuple[int, ...]


class Unpaid:
    """The unpaid steps of the states of ``system``, whose answers are computed once for each local state and
    event.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._known: dict[tuple[int, Hashable, Message | None], tuple[tuple[int, Outcome], ...]] = {}

    def steps(self, state: GlobalState) -> Iterator[UnpaidStep]:
        """The steps that ``state`` would offer with larger budgets. Steps that would only change budgets are
        left out: they are stuttering.
        """
        for message in dict.fromkeys(state.messages):
            component = self._system.destination(message)
            yield from self._of(state, component, message)
        for component in range(self._system.components):
            yield from self._of(state, component, None)

    def _of(self, state: GlobalState, component: int, message: Message | None) -> Iterator[UnpaidStep]:
        kind = "act" if message is None else "deliver"
        for choice, outcome in self._costly(component, state.locals[component], message):
            left = list(state.budgets)
            for index in outcome.costs:
                left[index] -= 1
            missing = tuple(index for index, units in enumerate(left) if units < 0)
            path = PathStep(kind, component, message, choice)
            if missing and self._changes(state, path, outcome):
                yield UnpaidStep(path, outcome.action, missing)

    def _costly(
        self, component: int, local: Hashable, message: Message | None
    ) -> tuple[tuple[int, Outcome], ...]:
        key = component, local, message
        if key not in self._known:
            system = self._system
            found = (
                system.actions(component, local)
                if message is None
                else system.deliver(component, local, message)
            )
            self._known[key] = tuple(each for each in enumerate(found) if each[1].costs)
        return self._known[key]

    def _changes(self, state: GlobalState, path: PathStep, outcome: Outcome) -> bool:
        step = apply_outcome(self._system, state, path, outcome, ())
        return step is None or replace(step.target, budgets=state.budgets) != state
