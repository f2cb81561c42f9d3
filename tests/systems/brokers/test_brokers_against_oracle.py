"""The engine and the oracle find the same states of brokers, with and without clocks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import UNLIMITED, Limits, System
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from tests.engine.replayed import asked_once, confirms
from tests.examples import examples
from tests.systems.brokers.broker_samples import scenario_of, shipped

SMALL = (
    "brokers-cut-off-fences", "brokers-liveness-known", "brokers-serves-delay-1", "brokers-timeouts-in-order",
    "brokers-timeouts-swapped", "brokers-timeouts-drift", "brokers-data-without-leader-epoch",
)  # fmt: skip


def agree(
    scenario: BrokerScenario, system: System, limits: Limits = UNLIMITED, *, keep_going: bool = False
) -> None:
    """Assert that the engine, with and without all orders of steps, agrees with the oracle on ``system``."""
    expected, _ = explore_naively(system, limits, keep_going=keep_going)
    for partial_order in (False, True):
        found = explore(build(scenario), limits=limits, keep_going=keep_going, partial_order=partial_order)
        for name in ("verdict", "depth", "levels", "reached_goals"):
            assert getattr(found, name) == getattr(expected, name), name
        assert {each.property: each.depth for each in found.violations} == {
            each.property: each.depth for each in expected.violations
        }
        assert all(confirms(build(scenario), each) for each in found.violations)
        if not partial_order:
            assert found.generated == expected.generated and found.constrained == expected.constrained


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_shipped_scenarios(name: str) -> None:
    agree(shipped(name), asked_once(build(shipped(name))))


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """The tables of a small scenario, of either form, with or without clocks."""
    form, timed = draw(st.sampled_from(["draft", "shipped"])), draw(st.booleans())
    partitions = draw(st.integers(0, 2))
    switches: dict[str, Any] = {}
    if timed:
        switches = {"controller-timeout": draw(st.integers(1, 2)), "broker-timeout": draw(st.integers(1, 3))}
    budgets: dict[str, int] = dict.fromkeys(draw(st.sets(st.sampled_from(_BUDGETS), max_size=2)), 1)
    environment: dict[str, Any] = {
        "metadata": draw(st.sampled_from(["all", "newest"])),
        "restarts": draw(st.booleans()),
    }
    if timed:
        environment["drift"] = draw(st.integers(0, 1))
    else:
        budgets |= {"timeouts": draw(st.integers(0, 1)), "contact-losses": draw(st.integers(0, 1))}
        environment["timeouts"] = draw(st.sampled_from(["any", "silent"]))
        environment["protects-last-isr-member"] = draw(st.booleans())
    if partitions:
        environment |= {
            "proposed-isrs": ["1", "1,2", "none"],
            "data": partitions == 1 and draw(st.booleans()),
        }
    legacy = draw(st.sampled_from([[], [1]])) if form == "draft" else []
    if legacy and environment.get("data"):
        budgets = {name: value for name, value in budgets.items() if name not in ("request-timeouts", "cuts")}
    return {
        "protocol": {"form": form, "set": switches},
        "brokers": {
            "running": [1],
            "starting": draw(st.sampled_from([[], [1], [2]])),
            "replicas": [1, 2] if partitions else [],
            "partitions": max(partitions, 1),
            "controllers": draw(st.integers(1, 2)),
            "legacy": legacy,
        },
        "network": {"capacity": 2, "loss": draw(st.sampled_from(["never", "always"]))},
        "environment": environment,
        "budgets": budgets,
    }


_BUDGETS = (
    "request-timeouts", "failovers", "crashes", "cuts", "isr-changes", "shutdowns", "requests", "appends",
    "duplicates",
)  # fmt: skip


@pytest.mark.slow
@examples(8)
@given(tables())
def test_random_scenarios(data: dict[str, Any]) -> None:
    scenario = scenario_of(**data)
    agree(scenario, build(scenario), Limits(max_depth=5), keep_going=True)
