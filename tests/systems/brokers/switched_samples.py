"""Scenarios of brokers with other decisions on open points, by which states come to be that else do not."""

from __future__ import annotations

from typing import Any

from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.switches import SWITCHES as VARIANTS
from tests.systems.brokers.broker_samples import shipped

SWITCHED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("brokers-data-crash", {"inactive-leaves-isr": False}),
    ("brokers-data-isr-changes", {"isr-changes": "alterpartition"}),
    ("brokers-restart-in-shutdown", {"new-controller": "takes-as-inactive"}),
    ("brokers-timed-liveness-known", {"contact": "any-answer"}),
    ("brokers-timed-liveness-known", {"contact-time": "request"}),
    ("brokers-two-with-one-id", {"rejection-fences": False}),
    ("brokers-two-with-one-id", {"rejection-restarts-timer": True}),
    ("brokers-shipped-hands-over", {"isr-changes": "isrchange"}),
    ("brokers-shipped-isr-races", {"alter-partition-version": 2}),
)


def switched(name: str, switches: dict[str, Any]) -> BrokerScenario:
    """A shipped scenario with some switches of its protocol changed."""
    scenario = shipped(name)
    chosen = VARIANTS.chosen(scenario, None, switches, "a test")
    return scenario.model_copy(update={"protocol": scenario.protocol.model_copy(update=chosen)})
