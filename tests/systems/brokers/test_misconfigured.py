"""Of a scenario whose time-outs are wrong the checker says so, and explores it."""

from __future__ import annotations

import json

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.reference.config import Problem
from tests.systems.brokers.broker_samples import scenario_of


@pytest.mark.parametrize(
    ("controller", "broker", "wrong"),
    [(2, 3, False), (2, 2, True), (3, 2, True)],
    ids=["in-order", "equal", "swapped"],
)
def test_time_outs_in_the_wrong_order_are_told(controller: int, broker: int, wrong: bool) -> None:
    timeouts = {"controller-timeout": controller, "broker-timeout": broker}
    result = check(
        scenario_of(
            protocol={"set": timeouts},
            brokers={"running": [1]},
            network={"capacity": 3},
            expect={"verdict": "holds"},
        )
    )
    reason = f"{broker} ticks do not exceed the {controller} of controller.heartbeat.timeout.ms"
    said = Problem("broker.heartbeat.timeout.ms", reason, "FENCE-4")
    assert result.misconfigured == ((said,) if wrong else ())
    assert result.exploration.distinct > 1


def test_the_report_and_its_data_tell_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "brokers-timeouts-swapped"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "broker.heartbeat.timeout.ms is wrong: 2 ticks do not exceed the 3 of" in shown
    assert main(["check", "brokers-timeouts-swapped", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["misconfigured"]
    assert (told["key"], told["rule"]) == ("broker.heartbeat.timeout.ms", "FENCE-4")


@pytest.mark.slow
def test_replicas_and_brokers_without_time_outs_are_not_misconfigured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("flip-flop", "brokers-empty-isr"):
        assert main(["check", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["misconfigured"] == []
