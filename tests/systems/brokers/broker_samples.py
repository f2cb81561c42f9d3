"""Small scenarios of brokers for the tests."""

from __future__ import annotations

from typing import Any

from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.system import BrokerSystem
from kraftcheck.systems.scenario import find, from_data


def scenario_of(**tables: Any) -> BrokerScenario:
    """A scenario with these tables; the rest is as short as can be."""
    data = {"name": "small", "about": "A test.", "expect": {"verdict": "holds"}} | tables
    found = from_data(data, "small.toml")
    assert isinstance(found, BrokerScenario)
    return found


def system_of(**tables: Any) -> BrokerSystem:
    """The system of such a scenario."""
    return build(scenario_of(**tables))


def shipped(name: str) -> BrokerScenario:
    """The shipped scenario of brokers with this name."""
    found = find(name)
    assert isinstance(found, BrokerScenario)
    return found
