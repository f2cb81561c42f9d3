"""Causes of violations against all shortest ways, and shrinking of walks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kraftcheck.engine.causes import Cause, by_cause
from kraftcheck.engine.layers import collect_layers
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.shrink import shrink
from kraftcheck.engine.simplest import simplest
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.steps import Step
from kraftcheck.engine.system import Limits
from kraftcheck.engine.witness import faults_of
from tests.engine.random_systems import random_system
from tests.engine.replayed import confirms
from tests.engine.test_simplest import FAULTS, MANY, MOST, cost, layers_of, violating, ways_to


def name(step: Any, action: Any) -> str:
    return "loss" if step.kind == "lose" else str(action)


def kinds(way: list[Step]) -> frozenset[str]:
    """The kinds of faults on a way, seen one by one."""
    found = set()
    for step in way:
        found |= set(faults_of(step.path, None, (), FAULTS))
        if step.outcome is not None and 0 in step.outcome.costs:
            found.add("a")
    return frozenset(found)


def naive_causes(ways: list[list[Step]]) -> dict[Cause, tuple[int, int, int]]:
    grouped: dict[tuple[str, frozenset[str]], list[tuple[int, int, int]]] = {}
    for way in ways:
        called = name(way[-1].path, None if way[-1].outcome is None else way[-1].outcome.action)
        grouped.setdefault((called, kinds(way)), []).append(cost(way))
    return {
        Cause(called, tuple(sorted(faults))): min(costs)
        for (called, faults), costs in grouped.items()
        if not any(called == other and less < faults for other, less in grouped)
    }


@pytest.mark.slow
@MANY
@given(st.integers(0, 10_000))
def test_causes_are_those_of_all_shortest_ways(seed: int) -> None:
    system, naive = violating(seed)
    assume(any(0 < each.depth <= 6 for each in naive.violations))
    layers = layers_of(system, naive.depth + 1)
    for violation in naive.violations:
        if not 0 < violation.depth <= 6:
            continue
        found = by_cause(layers, violation.property, FAULTS, name)
        assert {cause: each.cost for cause, each in found} == naive_causes(ways_to(system, violation))
        assert all(confirms(system, each.violation) for _, each in found)
        best = simplest(layers, violation.property, FAULTS)
        assert best is not None and found[0][1].cost == best.cost


@pytest.mark.slow
@MANY
@given(st.integers(0, 10_000))
def test_other_causes_of_longer_counterexamples(seed: int) -> None:
    system, naive = violating(seed)
    layers = collect_layers(system, naive.depth + 3, Limits(max_states=10 * MOST))
    assume(layers is not None)  # two levels beyond the last may hold more states than wanted
    assert layers is not None
    for violation in naive.violations:
        near = by_cause(layers, violation.property, FAULTS, name)
        far = by_cause(layers, violation.property, FAULTS, name, deeper=2)
        assert far[: len(near)] == near
        depths = [each.violation.depth for _, each in far]
        assert depths == sorted(depths) and depths[-1] <= violation.depth + 2
        assert all(confirms(system, each.violation) for _, each in far)
        for number, (cause, _) in enumerate(far):
            assert not any(
                other.step == cause.step and set(other.faults) <= set(cause.faults)
                for other, _ in far[:number]
            )


@pytest.mark.slow
@MANY
@given(st.integers(0, 10_000), st.sampled_from([1, 20]))
def test_a_shrunk_walk_violates_the_same_and_is_no_longer(seed: int, walks: int) -> None:
    system = random_system(seed)
    found = simulate(system, seed, walks, 60)
    assume(found.violations)
    naive, _ = explore_naively(system, Limits(max_states=2000))
    for violation in found.violations:
        shrunk = shrink(system, violation)
        assert shrunk.violation.property == violation.property
        assert shrunk.violation.depth == len(shrunk.violation.path) <= violation.depth
        assert confirms(system, shrunk.violation)
        known = {each.property: each.depth for each in naive.violations}
        if naive.limit is None and violation.property in known:
            assert shrunk.violation.depth >= known[violation.property]
        assert shrink(system, shrunk.violation).violation.depth == shrunk.violation.depth


@pytest.mark.slow
def test_a_long_walk_becomes_short() -> None:
    """Where a walk takes detours, most of it goes."""
    lengths = []
    for seed in range(80):
        system = random_system(seed)
        for violation in simulate(system, 1, 1, 60).violations:
            lengths.append((violation.depth, shrink(system, violation).violation.depth))
    assert sum(after for _, after in lengths) < sum(before for before, _ in lengths)
