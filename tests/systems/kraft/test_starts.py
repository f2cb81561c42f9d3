"""Crashes within a start, and what happens on the way to where a scenario begins."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import build as build_trace
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.replay import replay
from tests.systems.kraft.small import alone, changed


def _alone(**changes: Any) -> Scenario:
    """One voter that loses power, without appends."""
    data: dict[str, Any] = {
        "replicas": {"voters": [1]},
        "network": {"capacity": 2},
        "budgets": {"crashes": 2},
        "bounds": {"max-epoch": 4},
        "environment": {"write-back": True},
        "expect": {"verdict": "violated", "violates": ["StateMachineSafety"]},
    }
    return alone(**{**data, **changes})


@pytest.mark.parametrize("replicas", [{"voters": [1]}, {"voters": [1], "initial-leader": 1}])
def test_a_start_that_loses_power_is_found_told_and_replayed(replicas: dict[str, Any]) -> None:
    """A process that runs already needs a crash, and another one within the start that follows."""
    scenario = _alone(replicas=replicas)
    result = check(scenario)
    assert result.as_expected, result.differences
    (found,) = result.exploration.violations
    trace = build_trace(build(scenario), scenario, found)
    step = trace.steps[-1]
    assert "loses power after effect" in step.action and "of its start" in step.action
    *_, cut, again = step.runs
    assert cut.start and cut.completed < len(cut.effects)
    assert again.start and again.completed == len(again.effects)
    replay(loads(dumps(trace)))


def test_starts_are_whole_without_boundaries() -> None:
    assert check(
        _alone(environment={"write-back": True, "boundaries": False}, expect={"verdict": "holds"})
    ).as_expected


def test_no_more_crashes_than_the_budget_within_one_start() -> None:
    system = build(_alone())
    (state,) = system.initial_states()
    costs = [outcome.costs for outcome in system.actions(0, state.locals[0])]
    assert {len(cost) for cost in costs} == {0, 1, 2}


def test_a_first_start_whose_crashes_change_nothing_is_over_in_the_beginning() -> None:
    system = build(changed("two-voters-restart"))
    (state,) = system.initial_states()
    assert all(node.replica is not None for node in state.locals)  # type: ignore[attr-defined]


def test_a_goal_on_the_way_to_the_beginning_is_not_reached() -> None:
    replicas = {"voters": [1, 2], "initial-leader": 1}
    scenario = changed(
        "two-voters-restart",
        replicas=replicas,
        budgets={},
        bounds={"max-epoch": 1},
        environment={"timers": []},
        check={"goals": ["Candidate->Leader"]},
    )
    result = check(scenario)
    assert not result.as_expected
    assert "Candidate->Leader" not in result.exploration.reached_goals
