"""Another controller: what was in memory is lost, and what the new one takes brokers for."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Liveness, Session
from kraftcheck.reference.brokers.effects import Registered, Tell
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    Failover,
    RegistrationRemoved,
    RegistrationWritten,
    SessionExpired,
    Tick,
)
from kraftcheck.reference.brokers.messages import BrokerState, MetadataHeartbeatRequest, Process
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, NewController
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import ask, cluster

ACTIVE = BrokerState.ACTIVE
TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)


def test_a_new_controller_gives_every_broker_a_whole_timeout() -> None:
    controller, *_ = cluster(TIMED)
    later = step(TIMED, controller, Tick()).state
    outcome = step(TIMED, later, Failover(2))
    assert outcome.rules == ("INC-5", "HEARTBEAT-11", "BSTATE-7", "BSTATE-8")
    assert outcome.state.active == 2 and outcome.state.epoch == controller.epoch + 1
    assert outcome.state.brokers == (Liveness(1, 1, ACTIVE), Liveness(2, 2, ACTIVE))
    assert outcome.state.durable == controller.durable
    assert [each.to for each in outcome.effects if isinstance(each, Tell)] == [Process(1, 1), Process(2, 2)]


def test_a_new_controller_that_waits_for_heartbeats_takes_every_leader_away() -> None:
    protocol = replace(KIP343, new_controller=NewController.TAKES_AS_INACTIVE)
    controller, *_ = cluster(protocol)
    outcome = step(protocol, controller, Failover(2))
    assert outcome.rules == ("INC-5", "BSTATE-6", "BSTATE-8")
    assert views.visible_brokers(outcome.state) == ()
    assert outcome.state.durable.partitions[0].leader is None


def test_a_dead_broker_is_active_again_for_a_timeout() -> None:
    """The other side of HEARTBEAT-11: whether a registered broker was inactive is in memory only."""
    controller, *_ = cluster(KIP343)
    silent = step(KIP343, controller, SessionExpired(1)).state
    assert views.state_of(step(KIP343, silent, Failover(2)).state, 1) is ACTIVE


@pytest.mark.parametrize("rebuilds", [True, False])
def test_incarnation_ids_are_in_memory(rebuilds: bool) -> None:
    """INC-5: without the registrations an old life that comes first is accepted."""
    protocol = replace(KIP343, rebuilds_incarnations=rebuilds)
    controller, *_ = cluster(protocol)
    newcomer = step(protocol, controller, RegistrationWritten(1, 5)).state
    third, _ = ask(protocol, newcomer, MetadataHeartbeatRequest(1, 3, ACTIVE))
    taken_over = step(protocol, third.state, Failover(2)).state
    assert views.remembered(taken_over, 1).incarnation == (3 if rebuilds else None)
    _, response = ask(protocol, taken_over, MetadataHeartbeatRequest(1, 1, ACTIVE), node=2)
    refused = response.error is BrokerErrorCode.INVALID_INCARNATION_ID
    assert refused is rebuilds


def test_a_registration_that_is_gone_tells_a_new_controller_nothing() -> None:
    """What INC-5 does not cover: the successor's registration is gone when the controller fails over."""
    controller, *_ = cluster(KIP343)
    newcomer = step(KIP343, controller, RegistrationWritten(1, 5)).state
    accepted, _ = ask(KIP343, newcomer, MetadataHeartbeatRequest(1, 3, ACTIVE))
    gone = step(KIP343, accepted.state, RegistrationRemoved(1)).state
    _, still_known = ask(KIP343, gone, MetadataHeartbeatRequest(1, 1, ACTIVE))
    assert still_known.error is BrokerErrorCode.INVALID_INCARNATION_ID
    taken_over = step(KIP343, gone, Failover(2)).state
    _, forgotten = ask(KIP343, taken_over, MetadataHeartbeatRequest(1, 1, ACTIVE), node=2)
    assert forgotten.state is ACTIVE


def test_between_two_controllers_nobody_answers_and_no_time_passes() -> None:
    for protocol in (TIMED, replace(SHIPPED, controller_timeout=1)):
        controller, *_ = cluster(protocol)
        outcome = step(protocol, controller, Failover(None))
        assert outcome.effects == () and outcome.state.brokers == () == outcome.state.sessions
        assert step(protocol, outcome.state, Tick()).state == outcome.state
    _, response = ask(
        TIMED, step(TIMED, cluster(TIMED)[0], Failover(None)).state, MetadataHeartbeatRequest(1, 1, ACTIVE)
    )
    assert response.error is BrokerErrorCode.NOT_CONTROLLER


def test_the_store_goes_on_without_a_controller() -> None:
    controller, *_ = cluster(KIP343)
    nobody = step(KIP343, controller, Failover(None)).state
    written = step(KIP343, nobody, RegistrationWritten(1, 5)).state
    removed = step(KIP343, written, RegistrationRemoved(2)).state
    taken_over = step(KIP343, removed, Failover(1)).state
    assert taken_over.brokers == (Liveness(1, 3, ACTIVE),)
    assert taken_over.durable.partitions[0].isr == (1,)


def test_nobody_declares_a_legacy_broker_that_comes_and_goes_between_two_controllers() -> None:
    controller, *_ = cluster(KIP343, legacy=(2,))
    nobody = step(KIP343, controller, Failover(None)).state
    gone = step(KIP343, nobody, RegistrationRemoved(2))
    assert gone.effects == () and gone.rules == ()
    back = step(KIP343, gone.state, RegistrationWritten(2, LEGACY_VERSION))
    assert back.effects == (Registered(Process(2, 3), LEGACY_VERSION),)


def test_the_time_of_an_inactive_broker_does_not_end_again() -> None:
    protocol = replace(TIMED, controller_timeout=1)
    silent = step(protocol, cluster(protocol)[0], Tick())
    assert "HEARTBEAT-7" in silent.rules
    assert step(protocol, silent.state, Tick()).rules == ("FENCE-7",)


def test_a_new_shipped_controller_gives_whole_sessions_to_those_that_are_not_fenced() -> None:
    controller, *_ = cluster(SHIPPED, brokers=(1, 2, 3))
    fenced = step(SHIPPED, controller, SessionExpired(1)).state
    outcome = step(SHIPPED, fenced, Failover(2))
    assert outcome.rules == ("HBK-11",)
    assert outcome.state.sessions == (Session(2), Session(3))
    assert outcome.state.durable == fenced.durable
