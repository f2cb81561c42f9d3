"""A system that notes which of its steps are taken: by goals, which the engine collects anyway.

Each outcome gets one more goal, which names all its coverage targets; the goals that an exploration has
reached then give the covered ones. The engine does no extra work, and without this system it costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from kraftcheck.engine.system import Exploration, Outcome
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.coverage import Item
from kraftcheck.systems.guards import Guard, Seen, Watch
from kraftcheck.systems.kind import ModelSystem, Step
from kraftcheck.systems.kinds import kind_of

_GOAL = "covers "
#: The engine distinguishes at most 65,536 sets of goals.
MOST_MARKS = 30_000


@dataclass(frozen=True, slots=True)
class Covered:
    """The coverage targets of the taken steps. ``guards`` is ``None`` where they were not watched;
    ``complete``: there was room to note everything.
    """

    items: frozenset[Item] = frozenset()
    guards: frozenset[Seen] | None = None
    complete: bool = True

    def __or__(self, other: Covered) -> Covered:
        watched = [each.guards for each in (self, other) if each.guards is not None]
        guards = frozenset[Seen]().union(*watched) if watched else None
        return Covered(self.items | other.items, guards, self.complete and other.complete)


def guards_of(systems: Iterable[ModelSystem]) -> Mapping[str, Guard]:
    """The guards of the reference that are watched in these systems, by place.

    None where components are interchangeable: the effect of a step is the same for all, its executed lines
    may differ.
    """
    found: dict[str, Guard] = {}
    for system in systems:
        if len(system.permutations) < 2:
            found |= kind_of(system).guards()
    return found


class Covering:
    """``system``, whose outcomes have goals for their coverage targets.

    guards: whether guards are watched too, where that is meaningful (:func:`guards_of`).
    """

    def __init__(self, system: ModelSystem, *, guards: bool = False) -> None:
        self.inner = system
        self._marks: set[str] = set()
        self._seen: dict[frozenset[Seen], int] = {}
        watched = guards_of([system]) if guards else {}
        self._watch = Watch(watched, kind_of(system).asking) if watched else None
        self._complete = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        """As in the system, with one goal more."""
        with self._watching() as seen:
            steps = self.inner.deliver_steps(component, local, message)
        return [self._marked(component, step, seen) for step in steps]

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        """As in the system, with one goal more."""
        with self._watching() as seen:
            steps = self.inner.action_steps(component, local)
        return [self._marked(component, step, seen) for step in steps]

    def _watching(self) -> Any:
        return nullcontext(set()) if self._watch is None else self._watch.watching()

    def _marked(self, component: int, step: Step, seen: Iterable[Seen]) -> Outcome:
        outcome = self.inner.judge(component, step.outcome)
        guards = self._seen.setdefault(frozenset(seen), len(self._seen))
        items = sorted(set(kind_of(self.inner).covered(step)))
        mark = _GOAL + json.dumps([items, guards])
        if mark not in self._marks and len(self._marks) >= MOST_MARKS:
            self._complete = False
            return outcome
        self._marks.add(mark)
        return replace(outcome, goals=(*outcome.goals, mark))

    def split(self, found: Exploration) -> tuple[Exploration, Covered]:
        """``found``, an exploration of this system, without these goals; and their coverage targets."""
        marks = [goal for goal in found.reached_goals if goal.startswith(_GOAL)]
        goals = tuple(goal for goal in found.reached_goals if not goal.startswith(_GOAL))
        taken = [json.loads(mark.removeprefix(_GOAL)) for mark in marks]
        items = frozenset((kind, name) for of_items, _ in taken for kind, name in of_items)
        guards = None
        if self._watch is not None:
            seen = list(self._seen)
            guards = frozenset(each for _, number in taken for each in seen[number])
        return replace(found, reached_goals=goals), Covered(items, guards, self._complete)
