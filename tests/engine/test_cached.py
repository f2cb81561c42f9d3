"""A system that is asked each question once gives the steps of the system itself.

Oracles of larger systems ask through it, and so do random walks, liveness and shorter counterexamples.
"""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given

from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.steps import (
    Cached,
    ReplayError,
    broken_invariants,
    initial_states,
    step_along,
    steps,
)
from kraftcheck.engine.system import Limits, System
from tests.engine.random_systems import RandomSystem, systems
from tests.examples import examples


@pytest.mark.slow
@examples(20)
@given(systems())
def test_its_steps_are_those_of_the_system(system: RandomSystem) -> None:
    cached = cast(System, Cached(system))
    assert initial_states(cached) == initial_states(system)
    _, states = explore_naively(system, Limits(max_states=200), keep_going=True)
    # Twice: the second time each question has been asked.
    for state in [*states] * 2:
        assert list(steps(cached, state)) == list(steps(system, state))
        assert broken_invariants(cached, state) == broken_invariants(system, state)


@pytest.mark.slow
@examples(20)
@given(systems())
def test_a_step_is_found_again_by_its_path_alone(system: RandomSystem) -> None:
    _, states = explore_naively(system, Limits(max_states=50), keep_going=True)
    for state in states:
        for step in steps(system, state):
            if step.cut is None:
                assert step_along(system, state, step.path) == step
            else:
                with pytest.raises(ReplayError):
                    step_along(system, state, step.path)
