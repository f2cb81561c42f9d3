"""The tables of ``spec/broker_transitions.toml`` say what states of brokers change, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.reference.brokers.events import (
    Failover,
    RegistrationRemoved,
    RegistrationWritten,
    RequestReceived,
    SessionExpired,
)
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerState,
    MetadataHeartbeatRequest,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, NewController
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.brokers.transitions import BrokerChange, held_by_controller, state_of_process, taken
from kraftcheck.reference.frozen import replace
from kraftcheck.spec import BrokerTransition
from tests.reference.brokers.broker_steps import controller
from tests.reference.brokers.test_broker_rules import worlds

FORGETFUL = replace(KIP343, rebuilds_incarnations=False)
AS_INACTIVE = replace(KIP343, new_controller=NewController.TAKES_AS_INACTIVE)


def rows_of(change: BrokerChange, rules: Sequence[str]) -> list[BrokerTransition]:
    """The rows that say that a step may change this by these rules."""
    return [
        row
        for row in spec.load().broker_transitions
        if row.goal == change.goal and set(row.rules) <= set(rules)
    ]


def request(content: Any) -> RequestReceived:
    return RequestReceived(1, Process(content.broker, 0), content)


#: The rows that no walk takes, each with what happens to a running cluster; the last step takes the row.
SELDOM: list[tuple[str, BrokerProtocol, list[Any]]] = [
    ("draft-controller/Unknown/Inactive/INC-5", AS_INACTIVE, [Failover(None), Failover(2)]),
    (
        "draft-controller/Active/Inactive/HEARTBEAT-6",
        KIP343,
        [request(MetadataHeartbeatRequest(1, 1, BrokerState.INACTIVE))],
    ),
    ("draft-controller/Active/Unknown/BSTATE-10", FORGETFUL, [Failover(2), RegistrationRemoved(1)]),
    (
        "shipped-controller/Unregistered/Fenced/REG-3",
        SHIPPED,
        [request(BrokerRegistrationRequest(3, "cluster", 3))],
    ),
    (
        "shipped-controller/Fenced/ControlledShutdown/HBK-2",
        SHIPPED,
        [
            request(BrokerHeartbeatRequest(1, 1, 9, want_shutdown=True)),
            SessionExpired(1),
            request(BrokerHeartbeatRequest(1, 1, 9)),
        ],
    ),
    (
        "draft-controller/Stopping/Legacy/COMPAT-3",
        KIP343,
        [request(MetadataHeartbeatRequest(1, 1, BrokerState.STOPPING)), RegistrationWritten(1, 4)],
    ),
]


def direct(protocol: BrokerProtocol, events: list[Any]) -> tuple[tuple[BrokerChange, ...], tuple[str, ...]]:
    """What the last of ``events`` changes, and the rules that decide in it."""
    before = controller(protocol).on(*events[:-1])
    last = before.on(events[-1])
    return taken(protocol, before.state, events[-1], last.state), last.rules


@pytest.mark.parametrize(("row", "protocol", "events"), SELDOM, ids=[row for row, _, _ in SELDOM])
def test_what_seldom_happens(row: str, protocol: BrokerProtocol, events: list[Any]) -> None:
    changes, rules = direct(protocol, events)
    assert row in {each.id for change in changes for each in rows_of(change, rules)}


@pytest.mark.slow
def test_what_happens_is_in_a_table() -> None:
    happened = {each for world in worlds() for each in world.changes}
    for _, protocol, events in SELDOM:
        changes, rules = direct(protocol, events)
        happened |= {(change, rules) for change in changes}
    assert [each for each in happened if not rows_of(*each)] == []


@pytest.mark.slow
def test_what_is_in_a_table_happens() -> None:
    happened = {each for world in worlds() for each in world.changes}
    found = {row.id for each in happened for row in rows_of(*each)} | {row for row, _, _ in SELDOM}
    assert [row.id for row in spec.load().broker_transitions if row.id not in found] == []


def test_a_process_begins_as_the_tables_say() -> None:
    process = Process(1, 1)
    assert state_of_process(KIP343, starting(KIP343, process)) == "Fenced"
    assert state_of_process(KIP343, starting(KIP343, process, legacy=True)) == "Legacy"
    assert state_of_process(SHIPPED, starting(SHIPPED, process)) == "Starting"


@pytest.mark.parametrize(("protocol", "state"), [(KIP343, "Unknown"), (SHIPPED, "Unregistered")])
def test_a_broker_without_a_heartbeat_or_a_registration(protocol: BrokerProtocol, state: str) -> None:
    assert held_by_controller(controller(protocol).state, 9) == state


def test_between_two_controllers_the_draft_knows_no_state_of_a_broker() -> None:
    before = controller(KIP343)
    gone = before.on(Failover(None))
    assert held_by_controller(gone.state, 1) == "Unknown"
    assert taken(KIP343, before.state, Failover(None), gone.state) == ()
    assert held_by_controller(controller(SHIPPED).on(Failover(None)).state, 1) == "Unfenced"
