"""Counterexamples, taken again on the system itself."""

from __future__ import annotations

from kraftcheck.engine.steps import broken_invariants, initial_states, replay, steps
from kraftcheck.engine.system import System, Violation


def confirms(system: System, violation: Violation) -> bool:
    """Whether re-executing ``violation.path`` really ends in a violation of ``violation.property``."""
    trace = replay(system, violation.path, violation.initial)
    if not trace:
        return violation.property in broken_invariants(system, initial_states(system)[violation.initial])
    before = trace[-2][2] if len(trace) > 1 else initial_states(system)[violation.initial]
    last = next(s for s in steps(system, before) if s.path == trace[-1][0])
    # The target of a violating transition is not a state of the model, so no invariant is judged on it.
    return violation.property in (last.violations or broken_invariants(system, last.target))
