"""MetadataHeartbeat at the controller: order of checks, incarnations, requested states, timers."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.controller import Liveness
from kraftcheck.reference.brokers.effects import BrokerDeclared, PartitionChanged, Send, SendMetadata
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    Process,
    VisibleBroker,
)
from kraftcheck.reference.brokers.protocol import KIP343
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, controller

INITIAL, INACTIVE, ACTIVE, STOPPING = BrokerState
TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)


def beat(broker: int = 1, incarnation: int = 1, target: BrokerState = ACTIVE) -> MetadataHeartbeatRequest:
    return MetadataHeartbeatRequest(broker, incarnation, target)


def test_a_new_cluster_knows_no_active_broker() -> None:
    """BSTATE-1: all are inactive until they heartbeat; INC-1: the store gives each process its id."""
    written = After(KIP343, first_controller(KIP343, (LED_BY_1,))).on(events.RegistrationWritten(1, 5))
    assert written.rules == ("COMPAT-4", "INC-1", "INC-2", "COMPAT-2")
    assert views.state_of(written.state, 1) is INACTIVE and views.visible_brokers(written.state) == ()
    after = written.ask(beat())
    assert after.response.state is ACTIVE and BrokerDeclared(1, ACTIVE) in after.effects
    assert after.rules[:5] == ("HEARTBEAT-4", "INC-3", "HEARTBEAT-5", "HEARTBEAT-8", "BSTATE-1")
    assert views.visible_brokers(after.state) == (VisibleBroker(1, 1),)


def test_each_registration_gets_a_higher_incarnation_id() -> None:
    after = After(KIP343, first_controller(KIP343))
    for incarnation, broker in enumerate((1, 2, 1), start=1):
        after = after.on(events.RegistrationWritten(broker, 5))
        (registered,) = after.effects
        assert registered.process == Process(broker, incarnation)


@pytest.mark.parametrize(
    ("request_", "node", "error", "rules"),
    [
        (beat(), 2, Error.NOT_CONTROLLER, ("HEARTBEAT-10",)),
        # The form is looked at before the incarnation.
        (beat(-1, 0, INITIAL), 1, Error.INVALID_REQUEST, ("HEARTBEAT-4", "HEARTBEAT-3")),
        *(
            (beat(2, 1, target), 1, Error.INVALID_INCARNATION_ID,
             ("HEARTBEAT-4", "INC-3", "INC-4", "HEARTBEAT-9"))
            for target in BrokerState
        ),
    ],
)  # fmt: skip
def test_refused_requests_change_nothing(
    request_: MetadataHeartbeatRequest, node: int, error: Error, rules: tuple[str, ...]
) -> None:
    before = controller(KIP343)
    after = before.ask(request_, node)
    assert after.response.error is error and after.response.state is None
    assert after.rules == rules and after.state == before.state


def test_a_higher_incarnation_takes_the_place_of_the_known_one() -> None:
    after = controller(KIP343).ask(beat(1, 7))
    assert after.response.state is ACTIVE
    assert views.remembered(after.state, 1).incarnation == 7
    # The new process has no metadata yet: it receives everything.
    assert Process(1, 7) in [effect.to for effect in after.of(SendMetadata)]
    assert after.ask(beat(1, 1)).response.error is Error.INVALID_INCARNATION_ID


@pytest.mark.parametrize(
    ("target", "rule"), [(ACTIVE, "HEARTBEAT-5"), (STOPPING, "HEARTBEAT-5"), (INACTIVE, "HEARTBEAT-6")]
)
def test_requested_states_that_are_granted(target: BrokerState, rule: str) -> None:
    after = controller(KIP343).ask(beat(target=target))
    assert after.response.state is target is views.state_of(after.state, 1)
    assert {rule, "HEARTBEAT-2", "BSTATE-2"} <= set(after.rules) and "HEARTBEAT-3" not in after.rules


def test_no_broker_becomes_initial() -> None:
    """HEARTBEAT-6: the request is refused, after the incarnation was looked at."""
    after = controller(KIP343).ask(beat(1, 7, INITIAL))
    assert after.response.error is Error.INVALID_REQUEST
    assert views.remembered(after.state, 1) == Liveness(1, 7, ACTIVE)


def test_a_silent_broker_becomes_inactive_when_its_time_is_over() -> None:
    once = controller(TIMED).on(events.Tick())
    assert once.rules == ("FENCE-7",) and [each.ticks for each in once.state.brokers] == [1, 1]
    twice = once.ask(beat(2, 2)).on(events.Tick())
    assert {"HEARTBEAT-7", "CONFIG-12", "BSTATE-3", "BSTATE-6"} <= set(twice.rules)
    assert BrokerDeclared(1, INACTIVE) in twice.effects
    assert twice.state.brokers == (Liveness(1, 1, INACTIVE), Liveness(2, 2, ACTIVE, 1))
    assert [each.broker for each in views.visible_brokers(twice.state)] == [2]
    # Its partition goes to the other member of the ISR, in the next leader epoch, and it leaves the ISR.
    (partition,) = twice.partitions
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 1, (2,))
    assert twice.on(events.Tick()).state.brokers[0] == Liveness(1, 1, INACTIVE)  # no timer runs any more


@pytest.mark.parametrize(("restarts", "ticks"), [(False, 1), (True, 0)])
def test_a_refused_heartbeat_is_no_sign_of_life(restarts: bool, ticks: int) -> None:
    after = controller(replace(TIMED, rejection_restarts_timer=restarts)).on(events.Tick()).ask(beat(2, 1))
    assert "HEARTBEAT-9" in after.rules
    assert views.remembered(after.state, 2).ticks == ticks


def test_untimed_a_timer_may_end_at_any_time_and_ticks_say_nothing() -> None:
    before = controller(KIP343)
    assert before.on(events.Tick()).state == before.state
    after = before.on(events.SessionExpired(1))
    assert "HEARTBEAT-7" in after.rules and views.state_of(after.state, 1) is INACTIVE
    assert after.on(events.SessionExpired(1)).effects == ()
    timed = controller(TIMED)
    assert timed.on(events.SessionExpired(1)).state == timed.state


@pytest.mark.parametrize(("leaves", "isr"), [(True, (2,)), (False, (1, 2))])
def test_whether_an_inactive_broker_leaves_the_isr(leaves: bool, isr: tuple[int, ...]) -> None:
    (partition,) = (
        controller(replace(KIP343, inactive_leaves_isr=leaves)).on(events.SessionExpired(1)).partitions
    )
    assert (partition.leader, partition.isr) == (2, isr)


def test_the_last_member_stays_in_the_isr_and_leads_again_when_it_is_back() -> None:
    def state(after: After) -> tuple[Any, ...]:
        (partition,) = after.partitions
        return partition.leader, partition.isr, partition.leader_epoch

    gone = controller(KIP343, replace(LED_BY_1, isr=(1,))).on(events.SessionExpired(1))
    assert state(gone) == (None, (1,), 1)
    back = gone.ask(beat())
    assert state(back) == (1, (1,), 2) and "BSTATE-7" in back.rules


def test_leaderships_move_away_from_a_stopping_broker_one_by_one() -> None:
    before = controller(KIP343, LED_BY_1, LED_BY_2, replace(LED_BY_1, index=2, isr=(1,)))
    stopping = before.ask(beat(target=STOPPING))
    assert stopping.response.state is STOPPING and stopping.partitions == before.partitions
    assert stopping.on(events.LeaderMoveDue("t", 1)).effects == ()  # 2 is not stopping
    moved = stopping.on(events.LeaderMoveDue("t", 0))
    assert "BSTATE-5" in moved.rules
    (changed,) = (each.partition for each in moved.of(PartitionChanged))
    assert (changed.leader, changed.leader_epoch, changed.isr) == (2, 1, (1, 2))
    assert moved.on(events.LeaderMoveDue("t", 2)).state == moved.state  # its ISR has no other member
    assert stopping.on(events.LeaderMoveDue("x", 0)).state == stopping.state  # there is none


def test_a_registration_that_is_gone_makes_the_broker_inactive() -> None:
    after = controller(KIP343).on(events.RegistrationRemoved(1))
    assert "BSTATE-10" in after.rules and views.state_of(after.state, 1) is INACTIVE
    assert views.remembered(after.state, 1).incarnation == 1
    again = after.on(events.RegistrationRemoved(1))
    assert again.effects == () and again.rules == ()


def test_what_a_heartbeat_says() -> None:
    broker = After(KIP343, starting(KIP343, Process(1, 7), controller=3))
    after = broker.on(events.HeartbeatDue())
    assert after.effects == (Send(3, beat(1, 7)),)
    assert after.rules == ("HEARTBEAT-1", "HEARTBEAT-2")
    assert after.on(events.HeartbeatDue()).effects == ()  # one at a time
    assert broker.but(controller=None).on(events.HeartbeatDue()).effects == ()
