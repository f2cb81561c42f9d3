"""The reference explorer: the same search in plain Python, with which the compiled one must agree.

Breadth-first search over full :class:`~kraftcheck.engine.system.GlobalState` values: nothing is cached,
interned or hashed to a fingerprint, so that a reader can see that it is correct. The compiled explorer must
find the same states and the same counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from kraftcheck.engine.steps import back, broken_invariants, initial_states, steps
from kraftcheck.engine.system import (
    UNLIMITED,
    Exploration,
    GlobalState,
    Limits,
    PathStep,
    System,
    Violation,
    check_property,
    split_goals,
    verdict_of,
)


@dataclass(slots=True)
class _Counting:
    """A system that counts the calls it passes on."""

    inner: System
    calls: int = 0

    def __getattr__(self, name: str) -> object:
        value = getattr(self.inner, name)
        if name in ("deliver", "actions"):
            self.calls += 1
        return value


@dataclass(slots=True)
class _Search:
    system: System
    keep_going: bool
    parents: dict[GlobalState, tuple[GlobalState, PathStep] | None] = field(default_factory=dict)
    violations: dict[str, Violation] = field(default_factory=dict)
    goals: set[str] = field(default_factory=set)
    constrained: dict[str, int] = field(default_factory=lambda: {"capacity": 0, "within": 0})
    generated: int = 0
    deadlocks: int = 0

    def violate(self, name: str, state: GlobalState, step: PathStep | None, depth: int) -> None:
        if check_property(self.system, name) in self.violations:
            return
        begin, path = back(self.parents, state)
        initial = initial_states(self.system).index(begin)
        self.violations[name] = Violation(name, depth, (*path, *([] if step is None else [step])), initial)

    def admit(self, state: GlobalState, origin: tuple[GlobalState, PathStep] | None, depth: int) -> bool:
        """Record a new state; whether it is to be expanded."""
        self.parents[state] = origin
        broken = broken_invariants(self.system, state)
        for name in broken:
            self.violate(name, state, None, depth)
        return not broken

    def expand(self, state: GlobalState, depth: int) -> tuple[int, list[GlobalState]]:
        """(number of new states, those to be expanded) among the successors of ``state``."""
        new, alive, enabled = 0, [], False
        for step in steps(self.system, state):
            enabled = True
            if step.cut is not None:
                self.constrained[step.cut] += 1
                continue
            self.generated += 1
            self.goals.update(step.goals)
            for name in step.violations:
                self.violate(name, state, step.path, depth)
            if step.violations or step.target in self.parents:
                continue
            new += 1
            if self.admit(step.target, (state, step.path), depth):
                alive.append(step.target)
        self.deadlocks += not enabled
        return new, alive


def explore_naively(
    system: System,
    limits: Limits = UNLIMITED,
    *,
    keep_going: bool = False,
) -> tuple[Exploration, set[GlobalState]]:
    """Explore ``system`` breadth first; the result and the set of states found.

    The search stops after the level in which the first violation appears (``keep_going``: never), or after
    the state with which it passes a limit of ``limits``. ``max_memory`` is ignored.
    """
    begin = time.monotonic()
    counting = _Counting(system)
    search = _Search(counting, keep_going)  # type: ignore[arg-type]
    frontier = []
    for state in initial_states(system):
        if state not in search.parents and search.admit(state, None, 0):
            frontier.append(state)
    levels, limit = [len(search.parents)], None
    while frontier and limit is None and (keep_going or not search.violations):
        if limits.max_depth is not None and len(levels) > limits.max_depth:
            limit = "max_depth"
            break
        new, following = 0, []
        for state in frontier:
            count, alive = search.expand(state, len(levels))
            new += count
            following += alive
            if limits.max_states is not None and len(search.parents) > limits.max_states:
                limit = "max_states"
            elif limits.max_seconds is not None and time.monotonic() - begin > limits.max_seconds:
                limit = "max_seconds"
            if limit is not None:
                break
        if new:
            levels.append(new)
        frontier = following
    hit, missing = split_goals(system, search.goals)
    result = Exploration(
        verdict=verdict_of(bool(search.violations), limit, missing),
        distinct=len(search.parents),
        generated=search.generated,
        depth=len(levels) - 1,
        levels=tuple(levels),
        violations=tuple(search.violations.values()),
        reached_goals=hit,
        missing_goals=missing,
        constrained=dict(search.constrained),
        deadlocks=search.deadlocks,
        calls=counting.calls,
        seconds=time.monotonic() - begin,
        limit=limit,
    )
    return result, set(search.parents)
