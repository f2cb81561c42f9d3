"""The page that compares the two forms tells the verdicts that its scenarios have."""

from __future__ import annotations

import re
from pathlib import Path

from model_check.brokers.scenario import BrokerScenario
from model_check.scenario import shipped

PAGE = Path(__file__).parents[2] / "docs" / "brokers-compared.md"


def test_verdicts_are_those_of_the_scenarios() -> None:
    told = re.findall(r"`([a-z0-9-]+)`: (holds|violated)", PAGE.read_text(encoding="utf-8"))
    scenarios = shipped()
    assert told
    assert dict(told) == {name: scenarios[name].expect.verdict for name, _ in told}


def test_every_scenario_of_brokers_is_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = {
        name
        for name, scenario in shipped().items()
        if isinstance(scenario, BrokerScenario) and name.startswith("brokers-") and f"`{name}`" not in text
    }
    assert missing == set()
