"""Another controller: what was in memory is lost, and what the new one takes brokers for."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Liveness, Session
from kraftcheck.reference.brokers.effects import Registered, SendMetadata
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.events import (
    Failover,
    RegistrationRemoved,
    RegistrationWritten,
    SessionExpired,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerState,
    MetadataHeartbeatRequest,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, NewController
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, controller

ACTIVE = BrokerState.ACTIVE
TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)


def beat(incarnation: int) -> MetadataHeartbeatRequest:
    return MetadataHeartbeatRequest(1, incarnation, ACTIVE)


def test_a_new_controller_gives_every_broker_a_whole_timeout() -> None:
    before = controller(TIMED)
    after = before.on(Tick(), Failover(2))
    assert after.rules == ("INC-5", "HEARTBEAT-11", "BSTATE-7", "BSTATE-8")
    assert after.state.active == 2 and after.state.epoch == before.state.epoch + 1
    assert after.state.brokers == (Liveness(1, 1, ACTIVE), Liveness(2, 2, ACTIVE))
    assert after.state.durable == before.state.durable
    assert [each.to for each in after.of(SendMetadata)] == [Process(1, 1), Process(2, 2)]


def test_a_new_controller_that_waits_for_heartbeats_takes_every_leader_away() -> None:
    protocol = replace(KIP343, new_controller=NewController.TAKES_AS_INACTIVE)
    after = controller(protocol).on(Failover(2))
    assert after.rules == ("INC-5", "BSTATE-6", "BSTATE-8")
    assert views.visible_brokers(after.state) == () and after.partitions[0].leader is None


def test_an_inactive_broker_is_active_again_for_a_timeout() -> None:
    """The other side of HEARTBEAT-11: whether a registered broker was inactive is in memory only."""
    after = controller(KIP343).on(SessionExpired(1), Failover(2))
    assert views.state_of(after.state, 1) is ACTIVE


@pytest.mark.parametrize("rebuilds", [True, False])
def test_incarnation_ids_are_in_memory(rebuilds: bool) -> None:
    """INC-5: without the registrations a previous process whose heartbeat comes first is accepted."""
    protocol = replace(KIP343, rebuilds_incarnations=rebuilds)
    after = controller(protocol).on(RegistrationWritten(1, 5)).ask(beat(3)).on(Failover(2))
    assert views.remembered(after.state, 1).incarnation == (3 if rebuilds else None)
    refused = after.ask(beat(1), node=2).response.error is Error.INVALID_INCARNATION_ID
    assert refused is rebuilds


def test_a_registration_that_is_gone_says_nothing_to_a_new_controller() -> None:
    """What INC-5 does not cover: the successor's registration is gone when the controller fails over."""
    gone = controller(KIP343).on(RegistrationWritten(1, 5)).ask(beat(3)).on(RegistrationRemoved(1))
    assert gone.ask(beat(1)).response.error is Error.INVALID_INCARNATION_ID
    assert gone.on(Failover(2)).ask(beat(1), node=2).response.state is ACTIVE


@pytest.mark.parametrize("protocol", [TIMED, replace(SHIPPED, controller_timeout=1)])
def test_between_two_controllers_no_node_answers_and_no_time_passes(protocol: Any) -> None:
    after = controller(protocol).on(Failover(None))
    assert after.effects == () and after.state.brokers == () == after.state.sessions
    assert after.on(Tick()).state == after.state
    if protocol is TIMED:
        assert after.ask(beat(1)).response.error is Error.NOT_CONTROLLER


def test_the_store_goes_on_without_a_controller() -> None:
    events = Failover(None), RegistrationWritten(1, 5), RegistrationRemoved(2), Failover(1)
    after = controller(KIP343).on(*events)
    assert after.state.brokers == (Liveness(1, 3, ACTIVE),) and after.partitions[0].isr == (1,)


def test_a_legacy_broker_that_comes_and_goes_between_two_controllers_is_not_declared() -> None:
    gone = controller(KIP343, legacy=(2,)).on(Failover(None), RegistrationRemoved(2))
    assert gone.effects == () and gone.rules == ()
    back = gone.on(RegistrationWritten(2, LEGACY_VERSION))
    assert back.effects == (Registered(Process(2, 3), LEGACY_VERSION),)


def test_the_time_of_an_inactive_broker_does_not_end_again() -> None:
    silent = controller(replace(TIMED, controller_timeout=1)).on(Tick())
    assert "HEARTBEAT-7" in silent.rules
    assert silent.on(Tick()).rules == ("FENCE-7",)


def test_a_new_shipped_controller_gives_whole_sessions_to_those_that_are_not_fenced() -> None:
    fenced = controller(SHIPPED, brokers=(1, 2, 3)).on(SessionExpired(1))
    after = fenced.on(Failover(2))
    assert after.rules == ("HBK-11",) and after.state.sessions == (Session(2), Session(3))
    assert after.state.durable == fenced.state.durable


@pytest.mark.parametrize("waits", [False, True])
def test_a_new_controller_waits_for_readers_with_the_fix(waits: bool) -> None:
    fixed = replace(SHIPPED, new_controller_waits_for_readers=waits)
    leaves = BrokerHeartbeatRequest(1, 1, 99, want_shutdown=True)
    after = controller(fixed, LED_BY_1).ask(leaves).on(Failover(2))
    assert after.ask(leaves, node=2).response.should_shut_down is not waits
    end = after.state.durable.end_offset - 1
    read = after.ask(BrokerHeartbeatRequest(2, 2, end), node=2)
    assert read.ask(leaves, node=2).response.should_shut_down
