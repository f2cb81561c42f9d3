"""States of brokers in scenarios change as the tables say, and each change can be asked for as a goal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.checking.run import check
from kraftcheck.engine.explorer import explore
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.coverage import is_transition
from tests.systems.brokers.broker_samples import scenario_of, shipped

PAGE = Path(__file__).parents[3] / "docs" / "brokers.md"
SMALL = (
    "brokers-cut-off-fences", "brokers-delayed-heartbeat", "brokers-forgetful-controller",
    "brokers-liveness-known", "brokers-restart-in-shutdown", "brokers-two-with-one-id", "brokers-legacy",
    "brokers-shipped-hands-over", "brokers-shipped-liveness-known", "brokers-shipped-shutdown",
    "finding-late-registration", "finding-shutdown-failover",
    "finding-unfenced-on-its-way-out",
    "parity-brokers-session-ends",
    "parity-brokers-shipped-start", "parity-brokers-shutdown", "mutants-brokers-legacy-crash",
    "mutants-brokers-leads-again", "mutants-brokers-shutdown",
)  # fmt: skip
STATES = {state for table in spec.load().broker_tables.values() for state in table.states}
#: What none of them does; tests/reference/brokers/test_broker_transitions.py takes these steps.
NOT_EXPLORED = {
    "draft-controller Unknown->Stopping",
    "draft-controller Inactive->Unknown",
    "draft-controller Inactive->Legacy",
    "draft-controller Active->Legacy",
    "draft-controller Stopping->Legacy",
    "draft-controller Legacy->Inactive",
    "draft-process Superseded->Ended",
    "draft-process SupersededFenced->Superseded",
    "draft-process SupersededFenced->Ended",
    "draft-process Legacy->Ended",
}


@pytest.fixture(scope="module")
def reached() -> set[str]:
    """The transitions that explorations of small scenarios take."""
    found = (explore(build(shipped(name)), keep_going=True).reached_goals for name in SMALL)
    return {goal for goals in found for goal in goals if is_transition(goal)}


@pytest.mark.slow
def test_what_scenarios_do_is_what_the_tables_say(reached: set[str]) -> None:
    assert reached == {row.goal for row in spec.load().broker_transitions} - NOT_EXPLORED


def small(*goals: str) -> dict[str, Any]:
    return {"brokers": {"running": [1]}, "budgets": {"timeouts": 1}, "check": {"goals": list(goals)}}


def test_a_transition_is_a_goal() -> None:
    found = explore(build(scenario_of(**small("draft-controller Active->Inactive"))))
    assert "draft-controller Active->Inactive" in found.reached_goals


@pytest.mark.parametrize(("change", "missing"), [("Active->Inactive", False), ("Active->Stopping", True)])
def test_a_transition_is_covered(change: str, missing: bool) -> None:
    covers = [f"transition draft-controller {change}"]
    result = check(scenario_of(**small() | {"expect": {"verdict": "holds", "covers": covers}}))
    assert result.as_expected is not missing
    assert any(change in each for each in result.differences) is missing


@pytest.mark.parametrize(
    "goal", ["draft-controller Active->Unregistered", "shipped-process Starting->Recovery"]
)
def test_a_transition_that_is_not_there_is_no_goal(goal: str) -> None:
    with pytest.raises(InputError, match="is no goal"):
        build(scenario_of(**small(goal)))


def lines() -> Iterator[str]:
    """The tables of the page as the specification has them."""
    for row in spec.load().broker_transitions:
        rules = ", ".join(row.rules) or "none"
        yield f"| {row.from_state} | {row.to_state} | {row.cause} | {rules} |"


def test_the_page_shows_the_tables() -> None:
    text = PAGE.read_text(encoding="utf-8").splitlines()
    shown = [
        line for line in text if line.count("|") == 5 and line.split(" | ")[0].removeprefix("| ") in STATES
    ]
    assert shown == list(lines())
