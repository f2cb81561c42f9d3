"""Decision tables of brokers leave out nothing that a running cluster comes to: states of explorations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import fitted, occurs
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.short_form import describe
from tests.systems.brokers.broker_samples import shipped
from tests.systems.brokers.switched_samples import SWITCHED, switched

SMALL = (
    "brokers-cut-off-fences", "brokers-forgetful-controller", "brokers-legacy", "brokers-restart-in-shutdown",
    "brokers-two-partitions", "brokers-two-with-one-id", "finding-late-registration",
    "brokers-shipped-hands-over", "brokers-shipped-isr-races", "brokers-shipped-restart",
    "brokers-shipped-shutdown-of-leader", "brokers-shipped-two-with-one-id", "finding-shutdown-failover",
    "finding-unfenced-on-its-way-out",
)  # fmt: skip
ENOUGH = Limits(max_states=2000)


def lives_said(state: Controller | Broker) -> list[int]:
    """For each pending change of an ISR, of how many members it says which life is meant."""
    return [len(each.lives) for each in state.pending] if isinstance(state, Broker) else []


def reached(scenarios: Iterable[BrokerScenario]) -> set[tuple[BrokerProtocol, Controller | Broker]]:
    """All states that explorations ask the reference about, by protocol."""
    seen: set[tuple[BrokerProtocol, Controller | Broker]] = set()

    def hear(protocol: BrokerProtocol, state: Controller | Broker, _event: Any, outcome: Any) -> None:
        seen.update({(protocol, state), (protocol, outcome.state)})

    for scenario in scenarios:
        explore(build(scenario, listener=hear), keep_going=True, limits=ENOUGH)
    return seen


def test_what_scenarios_reach_occurs() -> None:
    seen = reached(map(shipped, SMALL))
    kinds = Counter((protocol.is_draft, type(state)) for protocol, state in seen)
    assert len(kinds) == 4 and min(kinds.values()) > 50
    assert any(state.pending for _, state in seen if isinstance(state, Broker))
    for protocol, state in seen:
        assert occurs(protocol, state), describe(state)
        assert lives_said(fitted(protocol, state)) == lives_said(state)


@pytest.mark.parametrize(("name", "switches"), SWITCHED)
def test_what_scenarios_reach_by_other_decisions_occurs(name: str, switches: dict[str, Any]) -> None:
    for protocol, state in reached([switched(name, switches)]):
        assert occurs(protocol, state), describe(state)


def test_a_scenario_may_begin_with_what_does_not_occur() -> None:
    """A member of an ISR that was never registered: ``step`` takes it, tables leave it out."""
    seen = reached([shipped("mutants-brokers-shipped-absent-member")])
    odd = [(protocol, state) for protocol, state in seen if not occurs(protocol, state)]
    assert 0 < len(odd) < len(seen)
    for protocol, state in odd:
        assert isinstance(state, Controller) and not list(problems(protocol, state))
        (partition,) = state.durable.partitions
        assert partition.isr == (1, 2) and [each.broker for each in state.durable.registrations] == [1]
