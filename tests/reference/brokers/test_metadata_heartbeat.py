"""MetadataHeartbeat at the controller: order of checks, incarnations, wishes, timers."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Liveness
from kraftcheck.reference.brokers.effects import BrokerDeclared, PartitionChanged, Send, Tell
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    HeartbeatDue,
    LeaderMoveDue,
    RegistrationRemoved,
    RegistrationWritten,
    SessionExpired,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    Process,
    VisibleBroker,
)
from kraftcheck.reference.brokers.protocol import KIP343
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, ask, cluster

INITIAL, INACTIVE, ACTIVE, STOPPING = BrokerState
TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)


def beat(broker: int = 1, incarnation: int = 1, target: BrokerState = ACTIVE) -> MetadataHeartbeatRequest:
    return MetadataHeartbeatRequest(broker, incarnation, target)


def test_a_new_cluster_knows_no_active_broker() -> None:
    """BSTATE-1: all are inactive until they heartbeat; INC-1: the store gives each process its id."""
    controller = first_controller(KIP343, (LED_BY_1,))
    written = step(KIP343, controller, RegistrationWritten(1, 5))
    assert written.rules == ("COMPAT-4", "INC-1", "INC-2", "COMPAT-2")
    assert views.state_of(written.state, 1) is INACTIVE and views.visible_brokers(written.state) == ()
    outcome, response = ask(KIP343, written.state, beat())
    assert response.state is ACTIVE
    assert BrokerDeclared(1, ACTIVE) in outcome.effects
    assert outcome.rules[:5] == ("HEARTBEAT-4", "INC-3", "HEARTBEAT-5", "HEARTBEAT-8", "BSTATE-1")
    assert views.visible_brokers(outcome.state) == (VisibleBroker(1, 1),)


def test_each_registration_gets_a_higher_incarnation_id() -> None:
    controller = first_controller(KIP343)
    ids = []
    for broker in (1, 2, 1):
        outcome = step(KIP343, controller, RegistrationWritten(broker, 5))
        controller = outcome.state
        (registered,) = outcome.effects
        ids.append(registered.process)
    assert ids == [Process(1, 1), Process(2, 2), Process(1, 3)]


def test_another_node_is_not_the_controller() -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(), node=2)
    assert response.error is BrokerErrorCode.NOT_CONTROLLER and response.state is None
    assert outcome.rules == ("HEARTBEAT-10",) and outcome.state == controller


def test_the_form_is_looked_at_before_the_incarnation() -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(broker=-1, incarnation=0, target=INITIAL))
    assert response.error is BrokerErrorCode.INVALID_REQUEST
    assert outcome.rules == ("HEARTBEAT-4", "HEARTBEAT-3") and outcome.state == controller


@pytest.mark.parametrize("target", BrokerState)
def test_a_lower_incarnation_is_refused_whatever_it_wishes(target: BrokerState) -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(2, 1, target))
    assert response.error is BrokerErrorCode.INVALID_INCARNATION_ID
    assert outcome.rules == ("HEARTBEAT-4", "INC-3", "INC-4", "HEARTBEAT-9")
    assert outcome.state == controller


def test_a_higher_incarnation_takes_the_place_of_the_known_one() -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(1, 7))
    assert response.state is ACTIVE
    assert views.remembered(outcome.state, 1).incarnation == 7
    # The new process has no metadata yet: it is told everything.
    assert Process(1, 7) in [effect.to for effect in outcome.effects if isinstance(effect, Tell)]
    _, response = ask(KIP343, outcome.state, beat(1, 1))
    assert response.error is BrokerErrorCode.INVALID_INCARNATION_ID


@pytest.mark.parametrize(
    ("target", "state", "rule"),
    [
        (ACTIVE, ACTIVE, "HEARTBEAT-5"),
        (STOPPING, STOPPING, "HEARTBEAT-5"),
        (INACTIVE, INACTIVE, "HEARTBEAT-6"),
    ],
)
def test_wishes_that_are_granted(target: BrokerState, state: BrokerState, rule: str) -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(target=target))
    assert response.state is state is views.state_of(outcome.state, 1)
    assert rule in outcome.rules and outcome.rules[-2:] != ("HEARTBEAT-3",)
    assert {"HEARTBEAT-2", "BSTATE-2"} <= set(outcome.rules)


def test_nobody_becomes_initial() -> None:
    """HEARTBEAT-6: the wish is refused, after the incarnation was looked at."""
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, beat(1, 7, INITIAL))
    assert response.error is BrokerErrorCode.INVALID_REQUEST
    assert views.remembered(outcome.state, 1) == Liveness(1, 7, ACTIVE)


def test_a_silent_broker_becomes_inactive_when_its_time_is_over() -> None:
    controller, *_ = cluster(TIMED)
    once = step(TIMED, controller, Tick())
    assert once.rules == ("FENCE-7",) and [each.ticks for each in once.state.brokers] == [1, 1]
    heard, _ = ask(TIMED, once.state, beat(2, 2))
    twice = step(TIMED, heard.state, Tick())
    assert {"HEARTBEAT-7", "CONFIG-12", "BSTATE-3", "BSTATE-6"} <= set(twice.rules)
    assert BrokerDeclared(1, INACTIVE) in twice.effects
    assert twice.state.brokers == (Liveness(1, 1, INACTIVE), Liveness(2, 2, ACTIVE, 1))
    assert [each.broker for each in views.visible_brokers(twice.state)] == [2]
    # Its partition goes to the other member of the ISR, in the next leader epoch, and it leaves the ISR.
    (partition,) = twice.state.durable.partitions
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 1, (2,))
    third = step(TIMED, twice.state, Tick())
    assert third.state.brokers[0] == Liveness(1, 1, INACTIVE)  # no timer runs any more


def test_a_refused_heartbeat_is_no_sign_of_life() -> None:
    for protocol, ticks in ((TIMED, 1), (replace(TIMED, rejection_restarts_timer=True), 0)):
        controller, *_ = cluster(protocol)
        later = step(protocol, controller, Tick()).state
        outcome, _ = ask(protocol, later, beat(2, 1))
        assert "HEARTBEAT-9" in outcome.rules
        assert views.remembered(outcome.state, 2).ticks == ticks


def test_untimed_a_timer_may_end_at_any_time_and_ticks_say_nothing() -> None:
    controller, *_ = cluster(KIP343)
    assert step(KIP343, controller, Tick()).state == controller
    outcome = step(KIP343, controller, SessionExpired(1))
    assert "HEARTBEAT-7" in outcome.rules and views.state_of(outcome.state, 1) is INACTIVE
    assert step(KIP343, outcome.state, SessionExpired(1)).effects == ()
    timed, *_ = cluster(TIMED)
    assert step(TIMED, timed, SessionExpired(1)).state == timed


@pytest.mark.parametrize(("leaves", "isr"), [(True, (2,)), (False, (1, 2))])
def test_whether_an_inactive_broker_leaves_the_isr(leaves: bool, isr: tuple[int, ...]) -> None:
    protocol = replace(KIP343, inactive_leaves_isr=leaves)
    controller, *_ = cluster(protocol)
    outcome = step(protocol, controller, SessionExpired(1))
    (partition,) = outcome.state.durable.partitions
    assert (partition.leader, partition.isr) == (2, isr)


def test_the_last_member_stays_in_the_isr_and_leads_again_when_it_is_back() -> None:
    alone = replace(LED_BY_1, isr=(1,))
    controller, *_ = cluster(KIP343, alone)
    gone = step(KIP343, controller, SessionExpired(1))
    (partition,) = gone.state.durable.partitions
    assert (partition.leader, partition.isr, partition.leader_epoch) == (None, (1,), 1)
    back, _ = ask(KIP343, gone.state, beat())
    (partition,) = back.state.durable.partitions
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 2)
    assert "BSTATE-7" in back.rules


def test_leaderships_move_away_from_a_stopping_broker_one_by_one() -> None:
    other = replace(LED_BY_1, index=2, isr=(1,))
    controller, *_ = cluster(KIP343, LED_BY_1, LED_BY_2, other)
    stopping, response = ask(KIP343, controller, beat(target=STOPPING))
    assert response.state is STOPPING
    assert stopping.state.durable.partitions == controller.durable.partitions
    assert step(KIP343, stopping.state, LeaderMoveDue("t", 1)).effects == ()  # 2 is not stopping
    moved = step(KIP343, stopping.state, LeaderMoveDue("t", 0))
    assert "BSTATE-5" in moved.rules
    (changed,) = (each.partition for each in moved.effects if isinstance(each, PartitionChanged))
    assert (changed.leader, changed.leader_epoch, changed.isr) == (2, 1, (1, 2))
    stays = step(KIP343, moved.state, LeaderMoveDue("t", 2))
    assert stays.state == moved.state  # nobody else is in its ISR
    assert step(KIP343, stopping.state, LeaderMoveDue("x", 0)).state == stopping.state  # there is none


def test_a_registration_that_is_gone_takes_the_broker_along() -> None:
    controller, *_ = cluster(KIP343)
    outcome = step(KIP343, controller, RegistrationRemoved(1))
    assert "BSTATE-10" in outcome.rules
    assert views.state_of(outcome.state, 1) is INACTIVE
    assert views.remembered(outcome.state, 1).incarnation == 1
    again = step(KIP343, outcome.state, RegistrationRemoved(1))
    assert again.effects == () and again.rules == ()


def test_what_a_heartbeat_says() -> None:
    broker = starting(KIP343, Process(1, 7), controller=3)
    outcome = step(KIP343, broker, HeartbeatDue())
    assert outcome.effects == (Send(3, beat(1, 7)),)
    assert outcome.rules == ("HEARTBEAT-1", "HEARTBEAT-2")
    assert step(KIP343, outcome.state, HeartbeatDue()).effects == ()  # one at a time
    lost = replace(broker, controller=None)
    assert step(KIP343, lost, HeartbeatDue()).effects == ()
