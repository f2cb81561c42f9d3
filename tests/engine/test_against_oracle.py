"""The compiled explorer against the oracle, on random systems."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from kraftcheck.engine import block, frontier
from kraftcheck.engine.block import Batch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import Exploration, GlobalState, Limits, Outcome, System, Verdict
from kraftcheck.engine.tables import Tables
from tests.engine.random_systems import RandomSystem, random_system, systems
from tests.engine.replayed import confirms, facts
from tests.examples import examples

MANY = examples(40)


def reachable(
    system: System, threads: int, keep_going: bool, partial_order: bool = False
) -> tuple[Exploration, list[GlobalState]]:
    """The result of the engine and the states it found, in its order."""
    tables = Tables(system)
    states: list[GlobalState] = []

    def collect(batch: Batch) -> None:
        states.extend(tables.decode(row) for row in batch.rows)

    result = explore(
        system,
        threads=threads,
        keep_going=keep_going,
        partial_order=partial_order,
        on_states=collect,
        tables=tables,
    )
    return result, states


def counts(result: Exploration) -> dict[str, object]:
    """Everything that engine and oracle must agree on."""
    names = (
        "verdict", "distinct", "generated", "depth", "levels", "reached_goals", "missing_goals",
        "constrained", "deadlocks", "limit",
    )  # fmt: skip
    values: dict[str, object] = {name: getattr(result, name) for name in names}
    values["violations"] = {v.property: v.depth for v in result.violations}
    return values


@pytest.mark.slow
@MANY
@given(systems(), st.booleans())
def test_engine_and_oracle_agree(system: RandomSystem, keep_going: bool) -> None:
    expected, expected_states = explore_naively(system, keep_going=keep_going)
    result, states = reachable(system, 1, keep_going)
    assert counts(result) == counts(expected)
    assert len(states) == len(set(states))
    assert set(states) == expected_states
    assert len({(v.property) for v in result.violations}) == len(result.violations)
    for violation in (*result.violations, *expected.violations):
        assert len(violation.path) == violation.depth
        assert confirms(system, violation)


def assert_reduced_as_oracle(system: RandomSystem) -> int:
    """Partial-order reduction finds all the oracle does, in as many steps; returns what it left out."""
    expected, expected_states = explore_naively(system)
    result, states = reachable(system, 1, keep_going=False, partial_order=True)
    assert counts(result) | {"generated": result.generated + result.skipped} == counts(expected)
    assert len(states) == len(set(states))
    assert set(states) == expected_states
    for violation in result.violations:
        assert confirms(system, violation)
    return result.skipped


@pytest.mark.slow
@MANY
@given(systems())
def test_partial_order_reduction_finds_what_the_oracle_finds(system: RandomSystem) -> None:
    assert_reduced_as_oracle(system)


@pytest.mark.slow
def test_partial_order_reduction_leaves_steps_out() -> None:
    assert sum(assert_reduced_as_oracle(random_system(seed)) > 0 for seed in range(40)) >= 10


def test_no_step_is_left_out_where_all_are_asked_for() -> None:
    system = random_system(0)
    assert explore(system, keep_going=True).skipped == 0
    assert explore(system, on_candidates=lambda base, workers: None).skipped == 0
    assert explore(system, partial_order=False).skipped == 0


@pytest.mark.slow
@MANY
@given(systems(), st.booleans(), st.booleans())
def test_results_do_not_depend_on_threads_or_buffers(
    system: RandomSystem, keep_going: bool, partial_order: bool
) -> None:
    one, states = reachable(system, 1, keep_going, partial_order)
    with mock.patch.object(block, "SMALL", 1):
        two, others = reachable(system, 2, keep_going, partial_order)
    with mock.patch.object(block, "SMALL", 1), mock.patch.object(block, "MISSES", 1):
        three, again = reachable(system, 3, keep_going, partial_order)
    with mock.patch.object(block, "BLOCK", 4), mock.patch.object(frontier, "BLOCK", 4):
        tiny, pieces = reachable(system, 1, keep_going, partial_order)
    assert facts(one) == facts(two) == facts(three)
    assert states == others == again == pieces
    assert counts(one) == counts(tiny)


@pytest.mark.slow
@MANY
@given(systems(), st.integers(0, 30), st.integers(0, 4))
def test_limits_are_undetermined(system: RandomSystem, states: int, depth: int) -> None:
    full, _ = explore_naively(system)
    for limits in (Limits(max_states=states), Limits(max_depth=depth)):
        result = explore(system, limits=limits, partial_order=False)
        if result.limit is not None and not result.violations:
            assert result.verdict is Verdict.UNDETERMINED
        if result.limit is None:
            assert counts(result) == counts(full)
        if limits.max_depth is not None:
            expected, _ = explore_naively(system, limits)
            assert counts(result) == counts(expected)
        elif result.limit == "max_states":
            assert result.distinct > states
        else:
            assert result.distinct <= states


@pytest.mark.nightly
@settings(max_examples=5000, suppress_health_check=list(HealthCheck))
@given(systems(), st.booleans())
def test_engine_and_oracle_agree_at_length(system: RandomSystem, keep_going: bool) -> None:
    expected, expected_states = explore_naively(system, keep_going=keep_going)
    result, states = reachable(system, 2, keep_going)
    assert counts(result) == counts(expected)
    assert set(states) == expected_states
    if not keep_going:
        assert_reduced_as_oracle(system)


def with_large_budgets(seed: int) -> RandomSystem:
    """A random system with seven budgets of up to 255, a price for duplicates, and steps that cost many units
    of several budgets.
    """
    rng, system = Random(seed), random_system(seed)
    budgets = tuple(rng.choice([0, 1, 127, 128, 254, 255]) for _ in range(7))

    def dear(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        return tuple(structs.replace(each, costs=costs()) for each in outcomes)

    def costs() -> tuple[int, ...]:
        several = rng.sample(range(7), rng.choice([0, 1, 1, 3]))
        return tuple(each for each in several for _ in range(rng.choice([86, 128, max(1, budgets[each])])))

    return replace(
        system,
        budgets=budgets,
        budget_names=tuple("abcdefg"),
        delivers={key: dear(outcomes) for key, outcomes in system.delivers.items()},
        acts={key: dear(outcomes) for key, outcomes in system.acts.items()},
        initial=tuple(replace(state, budgets=budgets) for state in system.initial),
        network=replace(system.network, duplicates=True, duplicate_budget=rng.randrange(7)),
    )


@pytest.mark.slow
@MANY
@given(st.integers(0, 2**32 - 1).map(with_large_budgets))
def test_engine_and_oracle_agree_on_large_budgets(system: RandomSystem) -> None:
    limits = Limits(max_states=2_000)
    expected, expected_states = explore_naively(system, limits, keep_going=True)
    assume(expected.limit is None)
    result, states = reachable(system, 1, keep_going=True)
    assert counts(result) == counts(expected)
    assert set(states) == expected_states
