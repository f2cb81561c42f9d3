"""Random walks: for spaces too large to exhaust, and to see typical behaviour.

A walk starts in a random initial state and takes, at each state, one of its steps within the constraints
with equal probability, until it violates a property, has no step, or is ``depth`` steps long. Walks show
that something can happen, never that it cannot: the verdict is *undetermined* unless a property is violated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import cast

from kraftcheck.engine.steps import Cached, Step, broken_invariants, initial_states, steps
from kraftcheck.engine.system import (
    Exploration,
    GlobalState,
    PathStep,
    System,
    Verdict,
    Violation,
    check_property,
    split_goals,
)
from kraftcheck.engine.watch import resident_bytes


class _Walks:
    def __init__(self, system: System, seed: int) -> None:
        self.cached = Cached(system)
        self.system = cast(System, self.cached)
        self.initial = initial_states(system)
        self.random = Random(seed)
        self.seen: set[GlobalState] = set()
        self.violations: dict[str, Violation] = {}
        self.goals: set[str] = set()
        self.steps = self.deepest = self.deadlocks = self.walks = 0

    def report(self, names: Sequence[str], path: Sequence[PathStep], initial: int) -> None:
        for name in names:
            known = self.violations.get(check_property(self.system, name))
            if known is None or len(path) < known.depth:
                self.violations[name] = Violation(name, len(path), tuple(path), initial)

    def walk(self, depth: int) -> None:
        self.walks += 1
        start = self.random.randrange(len(self.initial))
        state = self.initial[start]
        path: list[PathStep] = []
        broken = broken_invariants(self.system, state)
        self.seen.add(state)
        while not broken and len(path) < depth:
            offered: list[Step] = list(steps(self.system, state))
            self.deadlocks += not offered
            offered = [step for step in offered if step.cut is None]
            if not offered:
                return
            step = self.random.choice(offered)
            path.append(step.path)
            self.steps += 1
            self.deepest = max(self.deepest, len(path))
            self.goals.update(step.goals)
            if step.violations:
                self.report(step.violations, path, start)
                return
            state = step.target
            self.seen.add(state)
            broken = broken_invariants(self.system, state)
        self.report(broken, path, start)


def simulate(
    system: System,
    seed: int = 0,
    walks: int = 100,
    depth: int = 100,
    *,
    keep_going: bool = False,
    max_seconds: float | None = None,
) -> Exploration:
    """Take up to ``walks`` random walks of at most ``depth`` steps; the same ``seed`` takes the same walks.

    In the result ``distinct`` counts the distinct states visited, ``generated`` the steps taken, ``depth``
    is the length of the longest walk, ``deadlocks`` counts walks that ended in a state without steps, and
    ``limit`` is ``"walks"``, ``"max_seconds"`` or ``"interrupted"``. The first violating walk ends the
    simulation; with ``keep_going`` the shortest violating walk is kept for each property.
    """
    begin = time.monotonic()
    state = _Walks(system, seed)
    limit = "walks"
    try:
        for _ in range(walks):
            state.walk(depth)
            if state.violations and not keep_going:
                break
            if max_seconds is not None and time.monotonic() - begin > max_seconds:
                limit = "max_seconds"
                break
    except KeyboardInterrupt:
        limit = "interrupted"
    hit, missing = split_goals(system, state.goals)
    result = Exploration(
        verdict=Verdict.VIOLATED if state.violations else Verdict.UNDETERMINED,
        distinct=len(state.seen),
        generated=state.steps,
        depth=state.deepest,
        levels=(),
        violations=tuple(state.violations.values()),
        reached_goals=hit,
        missing_goals=missing,
        deadlocks=state.deadlocks,
        calls=state.cached.calls,
        limit=limit,
        walks=state.walks,
    )
    return replace(result, seconds=time.monotonic() - begin, peak_memory=resident_bytes())
