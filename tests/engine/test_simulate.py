"""Random walks on the compiled kernels, held against the oracle."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine import block
from kraftcheck.engine import simulate as module
from kraftcheck.engine.choose import SKETCH_BITS, begin, sketch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.memo import ACT
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.simulate import estimate, simulate
from kraftcheck.engine.system import (
    Exploration,
    GlobalState,
    Limits,
    Outcome,
    Plain,
    System,
    Verdict,
)
from kraftcheck.engine.tables import Tables
from tests.engine.handmade import BadMutex, LossyPing
from tests.engine.random_systems import RandomSystem, random_system, systems
from tests.engine.replayed import confirms, facts
from tests.examples import examples


@pytest.mark.slow
def test_the_same_seed_takes_the_same_walks() -> None:
    first, again = (simulate(BadMutex(), seed=7, walks=200, depth=30) for _ in range(2))
    assert first.verdict is Verdict.VIOLATED
    assert facts(first) == facts(again)
    assert confirms(BadMutex(), first.violations[0])


def test_without_a_violation_nothing_is_known() -> None:
    calm = simulate(LossyPing(), seed=1, walks=50, depth=20)
    assert (calm.verdict, calm.limit, calm.reached_goals) == (Verdict.UNDETERMINED, "walks", ("answered",))
    assert calm.walks == 50 and calm.deadlocks > 0


def test_walks_of_no_step_end_where_they_begin() -> None:
    found = simulate(LossyPing(), walks=10, depth=0)
    assert (found.walks, found.generated, found.depth, found.distinct) == (10, 0, 0, 1)


def test_other_seeds_take_other_walks() -> None:
    assert len({simulate(LossyPing(), seed, 20, 20).generated for seed in range(8)}) > 1


@pytest.mark.slow
@examples(40)
@given(systems(), st.integers(0, 3), st.booleans())
def test_walks_find_what_is_there(system: RandomSystem, seed: int, keep_going: bool) -> None:
    found = simulate(system, seed, 100, 30, keep_going=keep_going)
    for violation in found.violations:
        assert len(violation.path) == violation.depth <= 31
        assert confirms(system, violation)
    whole, _ = explore_naively(system, Limits(max_states=5_000), keep_going=True)
    if whole.limit is None:
        shortest = {each.property: each.depth for each in whole.violations}
        assert all(each.depth >= shortest[each.property] for each in found.violations)
        assert set(found.reached_goals) <= set(whole.reached_goals)


@pytest.mark.slow
@examples(40)
@given(systems(), st.integers(0, 3), st.booleans())
def test_walks_do_not_depend_on_threads_or_buffers(system: RandomSystem, seed: int, keep_going: bool) -> None:
    one = simulate(system, seed, 200, 30, keep_going=keep_going)
    with mock.patch.object(block, "SMALL", 1):
        two = simulate(system, seed, 200, 30, threads=2, keep_going=keep_going)
    with mock.patch.object(block, "SMALL", 1), mock.patch.object(block, "MISSES", 1):
        three = simulate(system, seed, 200, 30, threads=3, keep_going=keep_going)
    assert facts(one) == facts(two) == facts(three)


@pytest.mark.slow
def test_many_walks_find_all_there_is_in_small_systems() -> None:
    known, missed = 0, 0
    for seed in range(30):
        system = random_system(seed)
        whole = explore(system, limits=Limits(max_states=2_000), keep_going=True)
        if whole.limit is None:
            found = simulate(system, 1, 5_000, 60, keep_going=True)
            there = {each.property for each in whole.violations} | set(whole.reached_goals)
            known += len(there)
            missed += len(there - {each.property for each in found.violations} - set(found.reached_goals))
    assert known > 20
    assert missed == 0


def test_walks_that_go_on_pass_violations_by() -> None:
    ended = simulate(BadMutex(), seed=7, walks=500, depth=30)
    passed = simulate(BadMutex(), seed=7, walks=500, depth=30, keep_going=True)
    assert ended.walks < 500 == passed.walks
    assert passed.generated > ended.generated
    assert {each.property for each in passed.violations} >= {each.property for each in ended.violations}


@pytest.mark.parametrize(
    ("limits", "limit"), [(Limits(max_seconds=0), "max_seconds"), (Limits(max_memory=1), "max_memory")]
)
def test_limits_end_the_walks(limits: Limits, limit: str) -> None:
    found = simulate(LossyPing(), walks=100_000, limits=limits)
    assert (found.limit, found.walks) == (limit, 0)


def test_what_walks_take_is_told_meanwhile() -> None:
    told: list[str] = []
    with mock.patch("kraftcheck.engine.simulate.PROGRESS_SECONDS", 0.0):
        simulate(LossyPing(), walks=10, depth=3, progress=told.append)
    assert told and "steps/s" in told[0]


@pytest.mark.parametrize("distinct", [0, 1, 100, 20_000, 300_000])
def test_the_estimate_of_distinct_states_is_close(distinct: int) -> None:
    fps = np.random.default_rng(distinct).integers(0, 1 << 64, distinct, np.uint64)
    registers = np.zeros(1 << SKETCH_BITS, np.uint8)
    for _ in range(2):
        sketch(fps, registers)
        assert abs(estimate(registers) - distinct) <= 0.03 * distinct


def test_the_estimate_of_distinct_states_has_no_bias() -> None:
    errors, distinct = [], 41_500
    for seed in range(20):
        registers = np.zeros(1 << SKETCH_BITS, np.uint8)
        sketch(np.random.default_rng(seed).integers(0, 1 << 64, distinct, np.uint64), registers)
        errors.append(estimate(registers) / distinct - 1)
    assert abs(np.mean(errors)) < 0.006


class Spender(Plain):
    """Spends its two units, then goes on without: three states."""

    budgets, budget_names = (2,), ("units",)

    def actions(self, component: int, local: Any) -> list[Outcome]:
        return [Outcome("spend", local + 1, costs=(0,)) if local < 2 else Outcome("stay", local)]


def test_all_walks_have_the_budgets_of_the_system() -> None:
    found = simulate(Spender(), walks=200, depth=5)
    assert (found.distinct, found.deadlocks, found.generated) == (3, 0, 1000)


def visited(system: System, walks: int, depth: int) -> tuple[set[GlobalState], Exploration]:
    """The states in which walks arrive."""
    tables, rows = Tables(system), []

    def noted(self: Any, arrived: Any, fps: Any, links: Any) -> None:
        rows.extend(arrived.copy())
        usual(self, arrived, fps, links)

    usual = module._Walks._arrive
    with mock.patch.object(module._Walks, "_arrive", noted):
        found = simulate(system, 1, walks, depth, keep_going=True, tables=tables)
    return {tables.decode(row) for row in rows}, found


@pytest.mark.slow
@examples(40)
@given(systems())
def test_walks_arrive_in_reachable_states_only(system: RandomSystem) -> None:
    whole, states = explore_naively(system, Limits(max_states=3_000), keep_going=True)
    if whole.limit is None:
        arrived, found = visited(system, 300, 30)
        assert arrived <= states
        assert abs(found.distinct - len(arrived)) <= 1 + 0.03 * len(arrived)
        assert whole.deadlocks or not found.deadlocks


@pytest.mark.slow
def test_enough_walks_arrive_in_all_states_of_a_small_system() -> None:
    complete = 0
    for seed in range(40):
        whole, states = explore_naively(random_system(seed), Limits(max_states=60), keep_going=True)
        if whole.limit is None and whole.distinct > 20:
            assert visited(random_system(seed), 10_000, 60)[0] == states
            complete += 1
    assert complete >= 5


def test_walks_leave_some_of_their_budgets_unspent() -> None:
    system = Plain()
    amounts = system.budgets = (0, 255, 1, 0, 7, 255, 255)
    initial = np.stack([Tables(system).encode(state) for state in system.initial_states()])
    walks, rows = np.empty(4_000, np.uint64), np.empty((4_000, initial.shape[1]), np.int32)
    reserves = np.empty(4_000, np.int64)
    begin(np.uint64(1), 0, walks, reserves, initial, 1, rows, np.empty(4_000, np.uint32))
    assert (rows == initial[0]).all()
    assert 0.45 < np.mean(reserves == 0) < 0.55
    for budget, amount in enumerate(amounts):
        drawn = reserves >> 8 * budget & 255
        assert {0, amount} <= set(drawn.tolist()) <= set(range(amount + 1))


class TwoAtOnce(Plain):
    """Two components, each of which violates a property with its first step."""

    components = 2
    properties = ("zero", "one")

    def actions(self, component: int, local: Any) -> list[Outcome]:
        return [Outcome("violate", 1, violations=(self.properties[component],))]


@pytest.mark.parametrize("search", [simulate, explore])
def test_the_first_violation_does_not_depend_on_what_tables_hold(search: Any) -> None:
    tables = Tables(TwoAtOnce())
    tables.resolve(ACT << 60 | tables.intern_local(1, 0) << 30)
    tables.settle()
    for found in (search(TwoAtOnce()), search(TwoAtOnce(), tables=tables)):
        assert [each.property for each in found.violations] == ["zero", "one"]


@pytest.mark.parametrize(("most", "groups"), [(1 << 25, [64, 36]), (200, [20] * 5), (1, [1] * 100)])
def test_long_walks_are_taken_fewer_at_a_time(most: int, groups: list[int]) -> None:
    taken = []
    usual = module._Walks._take

    def noted(self: Any, count: int) -> None:
        taken.append(count)
        usual(self, count)

    with mock.patch.object(module, "MOST_LINKS", most), mock.patch.object(module._Walks, "_take", noted):
        assert simulate(LossyPing(), walks=100, depth=10).walks == 100
    assert taken == groups
