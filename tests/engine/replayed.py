"""Counterexamples and graphs, from the steps of the system itself."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import cast

from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.steps import Cached, broken_invariants, initial_states, replay, steps
from kraftcheck.engine.system import Exploration, GlobalState, PathStep, System, Violation


def asked_once(system: System) -> System:
    """``system``, which the oracle then asks each question once: the same search in a fourth of the time.

    That answers depend on the question alone is shown where the oracle asks ``system`` itself.
    """
    return cast(System, Cached(system))


def facts(found: Exploration) -> Exploration:
    """``found`` without the quantities that differ from run to run."""
    return replace(found, seconds=0.0, peak_memory=0, visited_bytes=0, spilled_bytes=0)


def confirms(system: System, violation: Violation) -> bool:
    """Whether re-executing ``violation.path`` really ends in a violation of ``violation.property``."""
    trace = replay(system, violation.path, violation.initial)
    if not trace:
        return violation.property in broken_invariants(system, initial_states(system)[violation.initial])
    before = trace[-2][2] if len(trace) > 1 else initial_states(system)[violation.initial]
    last = next(s for s in steps(system, before) if s.path == trace[-1][0])
    # The target of a violating transition is not a state of the model, so no invariant is judged on it.
    return violation.property in (last.violations or broken_invariants(system, last.target))


#: Source, target, step and the name of its action.
Edge = tuple[GlobalState, GlobalState, PathStep, Hashable]


def naive_graph(system: System) -> tuple[set[GlobalState], list[Edge]]:
    """All states and the steps between them; none leaves a state that breaks an invariant."""
    system = asked_once(system)
    _, states = explore_naively(system, keep_going=True)
    return states, [
        (state, step.target, step.path, "lose" if step.outcome is None else step.outcome.action)
        for state in states
        if not broken_invariants(system, state)
        for step in steps(system, state)
        if step.cut is None and not step.violations
    ]
