"""Whether a state and the one that stands for it take the same steps: asked now and then while a graph is
collected, so that nobody's word is taken for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kraftcheck.engine.representatives import Represent
from kraftcheck.engine.representatives import UnlikeError as UnlikeError
from kraftcheck.engine.steps import steps
from kraftcheck.engine.system import GlobalState
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem

#: Of the states that are replaced, these first ones are looked at, and then every so many-th.
FIRST, EVERY = 100, 500


class Watched:
    """``represent`` for the states of ``system``, of which some are held against what stands for them.

    Raises UnlikeError where a step of the one is no step of the other.
    """

    def __init__(self, represent: Represent, system: KRaftSystem) -> None:
        self._represent, self._count = represent, 0
        self._system = system.bounded()

    def __call__(self, state: GlobalState) -> GlobalState:
        """What stands for ``state``."""
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
        """What may be done in ``state`` and by whom, with what stands for the state that it leads to."""
        return Counter(
            (
                (step.path.kind, step.path.component, None if step.outcome is None else step.outcome.action),
                self._represent(step.target),
            )
            for step in steps(self._system, state)
            if step.cut is None
        )
