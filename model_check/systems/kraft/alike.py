"""A sampled check that a state and its representative take the same steps. It runs from time to time while a
graph is collected, so that the reduction does not rest on an unchecked assumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kraftcheck.engine.representatives import Represent
from kraftcheck.engine.representatives import UnlikeError as UnlikeError
from kraftcheck.engine.steps import steps
from kraftcheck.engine.system import GlobalState
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem

#: The check covers the first replaced states, this many, and then every so many-th.
FIRST, EVERY = 100, 500


class Watched:
    """``represent`` for the states of ``system``; a sample of the states is compared with their
    representatives.

    Raises UnlikeError where a state and its representative differ in a step.
    """

    def __init__(self, represent: Represent, system: KRaftSystem) -> None:
        self._represent, self._count = represent, 0
        self._system = system.bounded()

    def __call__(self, state: GlobalState) -> GlobalState:
        """The representative of ``state``."""
        found = self._represent(state)
        if found != state and BEYOND not in state.locals:
            self._count += 1
            if self._count <= FIRST or self._count % EVERY == 0:
                self._compare(state, found)
        return found

    def _compare(self, state: GlobalState, found: GlobalState) -> None:
        left, right = self._steps(state), self._steps(found)
        for name, _ in (left - right) | (right - left):
            raise UnlikeError(f"{name[2]} at {self._system.identities[name[1]].id} does not come to the same")

    def _steps(self, state: GlobalState) -> Counter[tuple[tuple[str, int, Hashable], GlobalState]]:
        """The possible actions in ``state`` with their components, and the representative of each
        successor.
        """
        return Counter(
            (
                (step.path.kind, step.path.component, None if step.outcome is None else step.outcome.action),
                self._represent(step.target),
            )
            for step in steps(self._system, state)
            if step.cut is None
        )
