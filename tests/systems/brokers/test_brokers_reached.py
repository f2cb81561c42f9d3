"""States and events of explorations: ``kraftcheck step`` refuses none of them, and decision tables leave none
out.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits
from kraftcheck.query.broker_consistency import event_problems, problems
from kraftcheck.query.broker_occurrence import fitted, occurs
from kraftcheck.query.broker_step import parse_event, parse_state
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import IsrProposed, StoreIsrReceived
from kraftcheck.reference.brokers.protocol import BrokerProtocol, IsrChanges
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.short_form import describe
from tests.systems.brokers.broker_samples import scenario_of, shipped
from tests.systems.brokers.switched_samples import SWITCHED, switched

SMALL = (
    "brokers-cut-off-fences", "brokers-data-crash", "brokers-forgetful-controller", "brokers-legacy",
    "brokers-restart-in-shutdown", "brokers-timed-liveness-known", "brokers-timeouts-drift",
    "brokers-two-partitions", "brokers-two-with-one-id", "finding-late-registration",
    "mutants-brokers-isr-names-twice", "mutants-brokers-legacy", "mutants-brokers-timed-gives-up",
    "brokers-shipped-data-crash", "brokers-shipped-hands-over", "brokers-shipped-isr-races",
    "brokers-shipped-restart", "brokers-shipped-shutdown-of-leader", "brokers-shipped-two-with-one-id",
    "finding-shutdown-failover",
    "finding-unfenced-on-its-way-out",
    "mutants-brokers-shipped-absent-member", "mutants-brokers-shipped-failover",
    "parity-brokers-shipped-lost-answer",
)  # fmt: skip
#: Begins with a member of an ISR that was never registered: ``step`` takes it, tables leave it out.
ABSENT = "mutants-brokers-shipped-absent-member"


class Heard:
    """All states, by protocol, and events that an exploration asks the reference about."""

    def __init__(self, scenario: BrokerScenario, max_states: int = 2000) -> None:
        self.states: set[tuple[BrokerProtocol, Controller | Broker]] = set()
        self.events: set[Any] = set()
        explore(build(scenario, listener=self._hear), keep_going=True, limits=Limits(max_states=max_states))

    def _hear(self, protocol: BrokerProtocol, state: Controller | Broker, event: Any, outcome: Any) -> None:
        self.states |= {(protocol, state), (protocol, outcome.state)}
        self.events.add(event)


@cache
def heard_in(name: str) -> Heard:
    return Heard(shipped(name))


def lives_said(state: Controller | Broker) -> list[int]:
    """For each pending change of an ISR the number of members whose incarnation it names."""
    return [len(each.lives) for each in state.pending] if isinstance(state, Broker) else []


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_what_a_scenario_reaches_can_be_asked_about_and_occurs(name: str) -> None:
    heard = heard_in(name)
    assert {Controller, Broker} == {type(state) for _, state in heard.states} and len(heard.events) > 1
    for protocol, state in heard.states:
        assert not list(problems(protocol, state)), describe(state)
        assert parse_state(describe(state, draft=protocol.is_draft)) == state
        assert name == ABSENT or occurs(protocol, state), describe(state)
        assert lives_said(fitted(protocol, state)) == lives_said(state)
    for event in heard.events:
        assert not list(event_problems(event)), describe(event)
        assert parse_event(describe(event)) == event


@pytest.mark.slow
@pytest.mark.parametrize(("name", "switches"), SWITCHED)
def test_what_a_scenario_reaches_by_other_decisions_can_be_asked_about_and_occurs(
    name: str, switches: dict[str, Any]
) -> None:
    heard = Heard(switched(name, switches))
    assert {Controller, Broker} == {type(state) for _, state in heard.states}
    for protocol, state in heard.states:
        assert not list(problems(protocol, state)), describe(state)
        assert occurs(protocol, state), describe(state)


def test_a_scenario_may_begin_with_what_does_not_occur() -> None:
    seen = heard_in(ABSENT).states
    odd = [state for protocol, state in seen if not occurs(protocol, state)]
    assert 0 < len(odd) < len(seen)
    for state in odd:
        assert isinstance(state, Controller)
        (partition,) = state.durable.partitions
        assert partition.isr == (1, 2) and [each.broker for each in state.durable.registrations] == [1]


def test_a_pending_change_may_name_a_member_twice() -> None:
    """A leader asks for what its scenario proposes; the controller refuses it, and not the command."""
    heard = heard_in("mutants-brokers-isr-names-twice")
    assert any(isinstance(event, IsrProposed) and event.proposals for event in heard.events)
    pending = [each.isr for _, state in heard.states if isinstance(state, Broker) for each in state.pending]
    assert (1, 1) in pending


def test_a_legacy_leader_may_write_an_isr_without_itself() -> None:
    scenario = scenario_of(
        brokers={"running": [1, 2], "legacy": [1], "replicas": [1, 2]},
        environment={"proposed-isrs": ["2"]},
        budgets={"isr-changes": 1},
    )
    heard = Heard(scenario)
    assert any(isinstance(event, StoreIsrReceived) for event in heard.events)
    left_out = [
        (protocol, state)
        for protocol, state in heard.states
        if isinstance(state, Controller)
        and any(each.leader not in (None, *each.isr) for each in state.durable.partitions)
    ]
    assert left_out
    for protocol, state in left_out:
        assert not list(problems(protocol, state))


def test_a_shipped_process_is_superseded_where_isrs_change_by_isr_change() -> None:
    scenario = scenario_of(
        protocol={"form": "shipped", "set": {"isr-changes": "isrchange"}},
        brokers={"running": [1, 2], "starting": [1], "replicas": [1, 2]},
        environment={"proposed-isrs": ["1"]},
        network={"capacity": 2},
        budgets={"isr-changes": 1, "timeouts": 1, "contact-losses": 0},
    )
    found = [
        (protocol, state)
        for protocol, state in Heard(scenario, 20_000).states
        if isinstance(state, Broker) and state.superseded
    ]
    assert found
    for protocol, state in found:
        assert not list(problems(protocol, state)), describe(state)
        other = replace(protocol, isr_changes=IsrChanges.ALTER_PARTITION)
        assert any(each.startswith(".superseded") for each in problems(other, state))
