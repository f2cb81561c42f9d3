"""For how many ticks a broker serves that was declared inactive: the table of docs/brokers.md."""

from __future__ import annotations

import json

import pytest

from kraftcheck.checking.violations import least_kept
from kraftcheck.cli.main import main
from kraftcheck.systems.brokers.scenario import BrokerScenario
from tests.systems.brokers.broker_samples import scenario_of, shipped

EQUAL = ((1, 2, 1), (2, 2, 0), (2, 3, 1), (2, 4, 2), (3, 4, 1), (3, 5, 2))
DRIFTING = ((1, 2, 3), (2, 3, 4), (2, 4, 5))
TIMES = [
    *((*each, 0) for each in EQUAL),
    *(pytest.param(*each, 1, marks=pytest.mark.slow) for each in DRIFTING),
]


def scenario(controller: int, broker: int, drift: int) -> BrokerScenario:
    """One broker, whose link may be cut once."""
    switches = {"controller-timeout": controller, "broker-timeout": broker, "contact-time": "request"}
    return scenario_of(
        protocol={"set": switches},
        brokers={"running": [1]},
        environment={"drift": drift},
        network={"capacity": 3},
        budgets={"cuts": 1},
        check={"serves-at-most": 0, "only": ["InactiveBrokerServesBriefly"]},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("controller", "broker", "bound", "drift"), TIMES)
def test_the_smallest_bound_is_found(controller: int, broker: int, bound: int, drift: int) -> None:
    found = {"name": "check.serves-at-most", "smallest": bound, "tried": bound, "open": False}
    assert least_kept(scenario(controller, broker, drift)) == found


def test_where_there_is_no_bound_or_none_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = scenario(2, 3, 0)
    endless = endless.model_copy(update={"protocol": shipped("brokers-serves-for-ever").protocol})
    monkeypatch.setattr("kraftcheck.systems.brokers.kind.MOST_TICKS", 4)
    nothing = {"name": "check.serves-at-most", "smallest": None, "tried": 4}
    assert least_kept(endless) == nothing | {"open": False}
    monkeypatch.setattr("kraftcheck.checking.violations.MOST_STATES", 3)
    assert least_kept(endless) == nothing | {"tried": 0, "open": True}
    assert least_kept(shipped("brokers-partitioned")) is None


@pytest.mark.slow
def test_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "brokers-serves-drift-0", "--smallest-bounds"]) == 0
    assert "check.serves-at-most: 1 is the smallest that holds" in capsys.readouterr().out
    assert main(["check", "brokers-serves-drift-0", "--smallest-bounds", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["least_promise"]["smallest"] == 1
