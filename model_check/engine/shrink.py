"""A shorter counterexample from a long one, such as a random walk finds.

First steps are left out, large parts first, as long as the rest still violates the property (delta debugging:
Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002). Then all behaviours with
only steps of the remaining kinds are searched, the shortest ones first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from kraftcheck.engine.steps import Cached, Step, back, broken_invariants, initial_states, steps
from kraftcheck.engine.system import GlobalState, PathStep, System, Violation

#: The number of states that the final search explores.
MOST_STATES = 4_000

#: The likeness of a step: kind, component, message, name, whether a copy stays.
Likeness = tuple[str, int, Hashable, str, bool]
#: A step to be taken again: its likeness, and its number among those alike.
Wanted = tuple[Likeness, int]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A violation, and whether no behaviour that only takes steps like its own is shorter."""

    violation: Violation
    shortest: bool


def _like(step: Step) -> Likeness:
    path, action = step.path, None if step.outcome is None else step.outcome.action
    return path.kind, path.component, path.message, str(action), path.duplicate


def _wanted(step: Step) -> Wanted:
    return _like(step), step.path.choice


class _Behaviours:
    def __init__(self, system: System, violation: Violation) -> None:
        self.system = cast(System, Cached(system))
        self.violated = violation.property
        self.initial = violation.initial
        self.begin = initial_states(system)[violation.initial]

    def offered(self, state: GlobalState) -> list[Step]:
        """The steps from ``state`` within the bounds."""
        return [step for step in steps(self.system, state) if step.cut is None]

    def violations(self, step: Step) -> tuple[str, ...]:
        """The properties that a step violates, or its target."""
        return step.violations or broken_invariants(self.system, step.target)

    def as_wanted(self, path: Sequence[PathStep]) -> list[Wanted]:
        """The likenesses that identify the steps of ``path`` in other behaviours."""
        state, found = self.begin, []
        for wanted in path:
            step = next(each for each in self.offered(state) if each.path == wanted)
            found.append(_wanted(step))
            state = step.target
        return found

    def take(self, wanted: Sequence[Wanted]) -> list[Step] | None:
        """The steps that are possible among ``wanted``, in this order, up to the violation; or ``None``."""
        state, taken = self.begin, []
        for each in wanted:
            alike = [step for step in self.offered(state) if _like(step) == each[0]]
            if not alike:
                continue
            step = next((step for step in alike if step.path.choice == each[1]), alike[0])
            taken.append(step)
            violated = self.violations(step)
            if self.violated in violated:
                return taken
            if violated:
                return None
            state = step.target
        return None

    def search(self, allowed: frozenset[Likeness], most: int) -> tuple[list[Step] | None, bool]:
        """The shortest violation with fewer than ``most`` steps, all of them ``allowed``; and whether the
        search of shorter ones was complete.
        """
        came_from: dict[GlobalState, tuple[GlobalState, Step] | None] = {self.begin: None}
        frontier = [self.begin]
        for _ in range(most - 1):
            following = []
            for state in frontier:
                for step in self.offered(state):
                    if _like(step) not in allowed:
                        continue
                    violated = self.violations(step)
                    if self.violated in violated:
                        return [*back(came_from, state)[1], step], True
                    if not violated and step.target not in came_from:
                        came_from[step.target] = state, step
                        following.append(step.target)
                if len(came_from) > MOST_STATES:
                    return None, False
            frontier = following
        return None, True


def shrink(system: System, violation: Violation) -> Shrunk:
    """``violation``, which re-executes on ``system``, or a shorter one of the same property."""
    behaviours = _Behaviours(system, violation)
    best = behaviours.as_wanted(violation.path)
    if not best:
        return Shrunk(violation, True)
    taken = behaviours.take(best)
    assert taken is not None, "a violation re-executes"
    best = [_wanted(step) for step in taken]
    size = len(best) // 2
    while size >= 1:
        begin, shorter = 0, False
        while begin < len(best):
            left = behaviours.take([*best[:begin], *best[begin + size :]])
            if left is None or len(left) >= len(best):
                begin += size
            else:
                taken, best, shorter = left, [_wanted(step) for step in left], True
        if not shorter or size > 1:
            size = min(size // 2, len(best) // 2)
    found, whole = behaviours.search(frozenset(map(_like, taken)), len(best))
    taken = found or taken
    path = tuple(step.path for step in taken)
    return Shrunk(Violation(violation.property, len(path), path, violation.initial), whole)
