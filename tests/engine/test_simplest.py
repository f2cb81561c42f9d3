"""The simplest of the shortest counterexamples, against a search through all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.layers import Layers, collect_layers
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.simplest import simplest
from kraftcheck.engine.steps import Step, broken_invariants, initial_states, replay, steps
from kraftcheck.engine.system import Exploration, GlobalState, Limits, Violation
from tests.engine.random_systems import random_system
from tests.engine.replayed import confirms
from tests.examples import examples

FAULTS = frozenset({"a"})
MOST = 400
MANY = examples(25)


def all_ways(system: Any, state: GlobalState, violated: str, depth: int) -> Iterator[list[Step]]:
    """Every way of ``depth`` steps from ``state`` that ends in a violation and violates nothing before."""
    for step in steps(system, state):
        if step.cut is not None:
            continue
        names = step.violations or broken_invariants(system, step.target)
        if depth == 1 and violated in names:
            yield [step]
        elif depth > 1 and not names:
            yield from ([step, *rest] for rest in all_ways(system, step.target, violated, depth - 1))


def ways_to(system: Any, violation: Violation) -> list[list[Step]]:
    """Every shortest way to a violation, from any initial state."""
    begins = set(initial_states(system))
    return [way for state in begins for way in all_ways(system, state, violation.property, violation.depth)]


def violating(seed: int) -> tuple[Any, Exploration]:
    """A small random system in which a property is violated, and what exploring it naively finds."""
    system = random_system(seed)
    naive, _ = explore_naively(system, Limits(max_states=MOST))
    assume(naive.limit is None and naive.violations)
    return system, naive


def layers_of(system: Any, depth: int) -> Layers:
    layers = collect_layers(system, depth, Limits(max_states=10 * MOST))
    assert layers is not None
    return layers


def cost(path: list[Step]) -> tuple[int, int, int]:
    """The quantities to minimise, counted one by one."""
    faults = sum(
        (step.path.kind == "lose")
        + step.path.duplicate
        + (0 if step.outcome is None else step.outcome.costs.count(0))
        for step in path
    )
    actors = [step.path.component for step in path if step.path.kind != "lose"]
    switches = sum(one != other for one, other in pairwise(actors))
    return faults, len(set(actors)), switches


@pytest.mark.slow
@MANY
@given(st.integers(0, 10_000))
def test_nothing_is_simpler(seed: int) -> None:
    system, naive = violating(seed)
    layers = layers_of(system, naive.depth + 1)
    for violation in naive.violations:
        found = simplest(layers, violation.property, FAULTS)
        assert found is not None and found.exact
        assert found.violation.depth == violation.depth
        assert confirms(system, found.violation)
        taken = replay(system, found.violation.path, found.violation.initial)
        assert found.cost == cost([Step(*step) for step in taken])
        if 0 < violation.depth <= 6:
            assert found.cost == min(map(cost, ways_to(system, violation)))


@pytest.mark.slow
@MANY
@given(st.integers(0, 10_000))
def test_threads_make_no_difference(seed: int) -> None:
    system = random_system(seed)
    result = explore(system, limits=Limits(max_states=MOST))
    assume(result.violations)
    limits = Limits(max_states=10 * MOST)
    one, two = (collect_layers(system, result.depth, limits, threads=threads) for threads in (1, 2))
    assert one is not None and two is not None
    for violation in result.violations:
        assert simplest(one, violation.property, FAULTS) == simplest(two, violation.property, FAULTS)


def test_too_large_is_said() -> None:
    system = next(s for s in map(random_system, range(100)) if explore_naively(s)[0].distinct > 20)
    assert collect_layers(system, 100, Limits(max_states=10)) is None


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
def test_where_too_many_ways_are_compared_one_is_found_still(most: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("kraftcheck.engine.simplest.MOST_PARTIAL", most)
    for seed in range(120):
        system = random_system(seed)
        naive, _ = explore_naively(system, Limits(max_states=MOST))
        if naive.limit is None and naive.violations:
            layers = layers_of(system, naive.depth + 1)
            for violation in naive.violations:
                found = simplest(layers, violation.property, FAULTS)
                assert found is not None and confirms(system, found.violation)
