"""Brokers below the inter-broker protocol of KIP-343, and the double roll (COMPAT, CONFIG-15)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import HEARTBEAT_VERSION, LEGACY_VERSION
from kraftcheck.reference.brokers.effects import Completed, Refused, Stop, StoreReply, WriteStore
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    Failover,
    HeartbeatDue,
    IsrWish,
    IsrWished,
    RegistrationRemoved,
    RegistrationWritten,
    SessionExpired,
    ShutdownWished,
    StoreAnswered,
    StoreIsrReceived,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    Process,
    StoreIsrRequest,
    StoreIsrResponse,
)
from kraftcheck.reference.brokers.protocol import KIP343, NewController
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, ask, cluster

TIMED = replace(KIP343, controller_timeout=1, broker_timeout=2)
WRITE = StoreIsrRequest(1, "t", 0, 0, 0, (1,))


def test_a_legacy_broker_sends_no_heartbeats_and_does_not_fence_itself() -> None:
    broker = starting(TIMED, Process(1, 1), controller=1, legacy=True)
    assert not broker.fenced
    for event in (HeartbeatDue(), Tick(), ContactLost()):
        outcome = step(TIMED, broker, event)
        assert outcome.state == broker and outcome.effects == ()
        assert outcome.rules == ("COMPAT-1", "CONFIG-15")
    assert step(TIMED, broker, ClientRequest()).state.accepted == 1
    assert step(TIMED, broker, ShutdownWished()).effects == (Stop(),)


def test_a_legacy_broker_that_shuts_down_completes_what_it_has_accepted() -> None:
    broker = starting(KIP343, Process(1, 1), controller=1, legacy=True)
    busy = step(KIP343, broker, ClientRequest()).state
    wished = step(KIP343, busy, ShutdownWished())
    assert wished.rules == ("CONFIG-15", "COMPAT-5") and wished.effects == ()
    refused = step(KIP343, wished.state, ClientRequest())
    assert refused.effects == (Refused(),) and refused.state == wished.state
    assert refused.rules == ("COMPAT-5",)
    ended = step(KIP343, wished.state, ClientRequestDone())
    assert ended.effects == (Completed(), Stop()) and ended.state.ended and ended.rules == ("COMPAT-5",)


def test_a_legacy_registration_is_active_always() -> None:
    controller, *_ = cluster(TIMED, legacy=(1,))
    assert step(TIMED, controller, Tick()).state.brokers[0].broker == 2
    assert views.state_of(step(TIMED, controller, Tick()).state, 1) is BrokerState.ACTIVE
    untimed = step(KIP343, controller, SessionExpired(1))
    assert untimed.rules == ("COMPAT-3",) and untimed.state == controller
    beaten, response = ask(TIMED, controller, MetadataHeartbeatRequest(1, 1, BrokerState.INACTIVE))
    assert response.state is BrokerState.ACTIVE and "COMPAT-3" in beaten.rules
    for new_controller in NewController:
        protocol = replace(KIP343, new_controller=new_controller)
        taken_over = step(protocol, controller, Failover(2)).state
        assert views.state_of(taken_over, 1) is BrokerState.ACTIVE


@pytest.mark.parametrize("new_controller", NewController)
def test_what_a_new_controller_takes_registered_brokers_for_is_not_asked_of_legacy_ones(
    new_controller: NewController,
) -> None:
    """HEARTBEAT-11 decides nothing where COMPAT-3 does."""
    protocol = replace(KIP343, new_controller=new_controller)
    controller, *_ = cluster(protocol, legacy=(1, 2))
    taken_over = step(protocol, controller, Failover(2))
    assert taken_over.rules == ("INC-5", "COMPAT-3", "BSTATE-7", "BSTATE-8")
    assert taken_over.state == step(KIP343, controller, Failover(2)).state


def test_a_legacy_leader_writes_the_store_itself() -> None:
    _, broker, _ = cluster(KIP343, legacy=(1,))
    asked = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),)))
    assert asked.effects == (WriteStore(WRITE),) and asked.rules == ("COMPAT-1", "CONFIG-15")
    assert asked.state.awaiting == (Api.ISR,)
    written = step(KIP343, asked.state, StoreAnswered(StoreIsrResponse("t", 0, True, 1))).state
    (known,) = written.partitions
    assert (known.isr, known.partition_epoch, written.awaiting, written.pending) == ((1,), 1, (), ())
    refused = step(KIP343, asked.state, StoreAnswered(StoreIsrResponse("t", 0, False))).state
    assert refused == broker
    assert step(KIP343, refused, StoreAnswered(StoreIsrResponse("t", 0, True, 1))).state == broker


def test_a_legacy_leader_writes_nothing_else_while_it_waits_for_an_answer() -> None:
    _, broker, _ = cluster(KIP343, LED_BY_1, replace(LED_BY_1, index=2), legacy=(1,))
    asked = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),)))
    other = step(KIP343, asked.state, IsrWished((IsrWish("t", 2, (1,)),)))
    assert other.state == asked.state and other.effects == ()


def test_two_changes_are_two_writes() -> None:
    other = replace(LED_BY_1, index=2)
    _, broker, _ = cluster(KIP343, LED_BY_1, other, legacy=(1,))
    asked = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)), IsrWish("t", 2, (1,)))))
    assert len(asked.effects) == 2
    half = step(KIP343, asked.state, StoreAnswered(StoreIsrResponse("t", 2, True, 1))).state
    assert [each.index for each in half.pending] == [0] and half.awaiting == (Api.ISR,)


def test_the_store_is_written_only_as_it_was_read_and_without_a_controller_too() -> None:
    controller, *_ = cluster(KIP343, legacy=(1,))
    nobody = step(KIP343, controller, Failover(None)).state
    event = StoreIsrReceived(Process(1, 1), WRITE)
    written = step(KIP343, nobody, event)
    assert written.effects[-1] == StoreReply(Process(1, 1), StoreIsrResponse("t", 0, True, 1))
    assert written.state.durable.partitions[0].isr == (1,)
    again = step(KIP343, written.state, event)
    assert again.effects == (StoreReply(Process(1, 1), StoreIsrResponse("t", 0, False)),)
    assert again.rules == ("COMPAT-1",)


def test_the_store_asks_nobody_who_he_is() -> None:
    """Why the draft has IsrChange: an old life that knows the version writes what it likes."""
    controller, *_ = cluster(KIP343, legacy=(1,))
    newcomer = step(KIP343, controller, RegistrationWritten(1, LEGACY_VERSION)).state
    outcome = step(KIP343, newcomer, StoreIsrReceived(Process(1, 1), WRITE))
    assert outcome.state.durable.partitions[0].isr == (1,)


def test_the_second_roll_brings_a_legacy_broker_under_the_timer() -> None:
    """Taken down and restarted: absent, then inactive until its first heartbeat, then timed."""
    controller, *_ = cluster(TIMED, LED_BY_1, LED_BY_2, legacy=(1, 2))
    down = step(TIMED, controller, RegistrationRemoved(1))
    assert "BSTATE-10" in down.rules and down.state.durable.partitions[0].leader == 2
    up = step(TIMED, down.state, RegistrationWritten(1, HEARTBEAT_VERSION))
    assert "COMPAT-2" in up.rules and views.state_of(up.state, 1) is BrokerState.INACTIVE
    incarnation = up.state.durable.last_transaction
    active, _ = ask(TIMED, up.state, MetadataHeartbeatRequest(1, incarnation, BrokerState.ACTIVE))
    assert views.state_of(active.state, 1) is BrokerState.ACTIVE
    silent = step(TIMED, active.state, Tick()).state
    assert views.state_of(silent, 1) is BrokerState.INACTIVE
    assert views.state_of(silent, 2) is BrokerState.ACTIVE


def test_a_legacy_registration_over_a_new_one_needs_no_heartbeat() -> None:
    """A roll back: the broker is active at once, and the state that its former life had is forgotten."""
    controller, *_ = cluster(TIMED)
    silent = step(TIMED, controller, Tick()).state
    back = step(TIMED, silent, RegistrationWritten(1, LEGACY_VERSION))
    assert {"COMPAT-3", "BSTATE-7"} <= set(back.rules)
    assert views.state_of(back.state, 1) is BrokerState.ACTIVE
