"""Two processes with one broker id: what is known of the past is known of each by itself."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.checking.violations import least_kept
from kraftcheck.systems.brokers.history import (
    Declared,
    Ended,
    HeartbeatAccepted,
    HeartbeatAnswered,
    History,
    Label,
    Served,
    Started,
    TickEnded,
    beginning,
    record,
)
from kraftcheck.systems.brokers.scenario import BrokerScenario
from tests.systems.brokers.broker_samples import scenario_of

BOTH = frozenset({"InactiveBeforeSelfFenced", "InactiveBrokerServesBriefly"})


def scenario(budgets: dict[str, int], judged: dict[str, Any], switches: dict[str, Any]) -> BrokerScenario:
    """A broker, and a second process that is given its id by mistake."""
    return scenario_of(
        protocol={"set": {"controller-timeout": 2, "broker-timeout": 3, **switches}},
        brokers={"running": [1], "starting": [1]},
        network={"capacity": 2},
        budgets=budgets,
        check=judged,
    )


def after(*labels: Label, begin: History | None = None) -> tuple[History, list[str]]:
    """The history of process 1, which may serve one tick, after ``labels``, and what they violate."""
    history = beginning((1,), (1,), 1, BOTH) if begin is None else begin
    broken: list[str] = []
    for label in labels:
        found = record(history, label, 1, BOTH)
        history = found.history  # type: ignore[assignment]
        broken += found.violations
    return history, broken


def test_a_process_that_was_declared_inactive_may_fence_itself_while_another_one_is_active() -> None:
    only = {"only": ["InactiveBeforeSelfFenced"], "goals": ["GoalBrokerInactive", "GoalBrokerFencedItself"]}
    found = check(scenario({"cuts": 1}, only, {}))
    assert not found.exploration.violations and not found.exploration.missing_goals


def test_the_order_of_time_outs_still_matters_with_two_processes() -> None:
    swapped = {"controller-timeout": 3, "broker-timeout": 2}
    found = check(scenario({"cuts": 1}, {"only": ["InactiveBeforeSelfFenced"]}, swapped))
    assert [each.property for each in found.exploration.violations] == ["InactiveBeforeSelfFenced"]


@pytest.mark.slow
@pytest.mark.parametrize("budgets", [{}, {"cuts": 1}])
def test_a_process_that_was_displaced_serves_for_its_whole_time_out(budgets: dict[str, int]) -> None:
    """It is told so by the answer to a heartbeat only, which it need not send or get."""
    judged = {"serves-at-most": 0, "only": ["InactiveBrokerServesBriefly"]}
    found = least_kept(scenario(budgets, judged, {"contact-time": "request"}))
    assert found is not None and found["smallest"] == 3


def test_the_end_of_one_process_says_nothing_of_another() -> None:
    history, broken = after(Declared(1, True), Started(2), Declared(2, False), TickEnded(), Ended(2))
    assert history.serving == (1,) and history.running == (1,) and not broken
    assert after(TickEnded(), begin=history)[1] == ["InactiveBrokerServesBriefly"]


def test_an_answer_to_one_process_says_nothing_of_another() -> None:
    waits, _ = after(HeartbeatAccepted(1, 1, 1), Started(2), HeartbeatAccepted(1, 2, 2), HeartbeatAnswered(2))
    assert waits.unanswered == (1,)
    assert after(Served(1, False, without_controller=True), begin=waits)[1] == []
    told, _ = after(HeartbeatAnswered(1), begin=waits)
    assert after(Served(1, False, without_controller=True), begin=told)[1] == ["InactiveBeforeSelfFenced"]


def test_of_a_process_that_is_gone_nothing_is_kept() -> None:
    """But for what the controller holds it to be, until it learns of its end."""
    gone, broken = after(
        HeartbeatAccepted(1, 1, 1),
        Ended(1),
        HeartbeatAccepted(1, 1, 1),
        TickEnded(),
        Declared(1, True),
        TickEnded(),
    )
    assert not broken
    assert gone == History(newest=gone.newest)
