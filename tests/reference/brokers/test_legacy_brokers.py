"""Brokers below the inter-broker protocol of KIP-343, and the double roll (COMPAT, CONFIG-15)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import events, messages, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import HEARTBEAT_VERSION, LEGACY_VERSION
from kraftcheck.reference.brokers.effects import Completed, Refused, Stop, StoreReply, WriteStore
from kraftcheck.reference.brokers.protocol import KIP343, BrokerProtocol, NewController
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, controller, leader

ACTIVE, INACTIVE = messages.BrokerState.ACTIVE, messages.BrokerState.INACTIVE
TIMED = replace(KIP343, controller_timeout=1, broker_timeout=2)
WRITE = events.StoreIsrReceived(messages.Process(1, 1), messages.StoreIsrRequest(1, "t", 0, 0, 0, (1,)))
ALONE = events.IsrProposed((events.ProposedIsr("t", 0, (1,)),))
TWO = (LED_BY_1, replace(LED_BY_1, index=2))


def legacy(protocol: BrokerProtocol) -> After:
    return After(protocol, starting(protocol, messages.Process(1, 1), controller=1, legacy=True))


def written(index: int, *version: int) -> events.StoreAnswered:
    return events.StoreAnswered(messages.StoreIsrResponse("t", index, bool(version), *version))


def test_a_legacy_broker_sends_no_heartbeats_and_does_not_fence_itself() -> None:
    broker = legacy(TIMED)
    assert not broker.state.fenced
    for event in (events.HeartbeatDue(), events.Tick(), events.ContactLost()):
        after = broker.on(event)
        assert after.state == broker.state and after.effects == ()
        assert after.rules == ("COMPAT-1", "CONFIG-15")
    assert broker.on(events.ClientRequest()).state.accepted == 1
    assert broker.on(events.ShutdownRequested()).effects == (Stop(),)


def test_a_legacy_broker_that_shuts_down_completes_what_it_has_accepted() -> None:
    after = legacy(KIP343).on(events.ClientRequest(), events.ShutdownRequested())
    assert after.rules == ("CONFIG-15", "COMPAT-5") and after.effects == ()
    refused = after.on(events.ClientRequest())
    assert refused.effects == (Refused(),) and refused.state == after.state
    assert refused.rules == ("COMPAT-5",)
    ended = after.on(events.ClientRequestDone())
    assert ended.effects == (Completed(), Stop()) and ended.state.ended and ended.rules == ("COMPAT-5",)


def test_a_legacy_registration_is_active_always() -> None:
    before = controller(TIMED, legacy=(1,))
    silent = before.on(events.Tick()).state
    assert silent.brokers[0].broker == 2 and views.state_of(silent, 1) is ACTIVE
    untimed = After(KIP343, before.state).on(events.SessionExpired(1))
    assert untimed.rules == ("COMPAT-3",) and untimed.state == before.state
    beaten = before.ask(messages.MetadataHeartbeatRequest(1, 1, INACTIVE))
    assert beaten.response.state is ACTIVE and "COMPAT-3" in beaten.rules


@pytest.mark.parametrize("new_controller", NewController)
def test_a_new_controller_takes_legacy_brokers_for_active(new_controller: NewController) -> None:
    """HEARTBEAT-11 decides nothing where COMPAT-3 does."""
    protocol = replace(KIP343, new_controller=new_controller)
    mixed = controller(protocol, legacy=(1,)).on(events.Failover(2))
    assert views.state_of(mixed.state, 1) is ACTIVE
    before = controller(protocol, legacy=(1, 2))
    taken_over = before.on(events.Failover(2))
    assert taken_over.rules == ("INC-5", "COMPAT-3", "BSTATE-7", "BSTATE-8")
    assert taken_over.state == After(KIP343, before.state).on(events.Failover(2)).state


def test_a_legacy_leader_writes_the_store_itself() -> None:
    before = leader(KIP343, legacy=(1,))
    asked = before.on(ALONE)
    assert asked.effects == (WriteStore(WRITE.request),) and asked.rules == ("COMPAT-1", "CONFIG-15")
    assert asked.state.awaiting == (Api.ISR,)
    after = asked.on(written(0, 1)).state
    (known,) = after.partitions
    assert (known.isr, known.partition_epoch, after.awaiting, after.pending) == ((1,), 1, (), ())
    refused = asked.on(written(0))
    assert refused.state == refused.on(written(0, 1)).state == before.state


def test_a_legacy_leader_waits_for_the_answer_to_each_write() -> None:
    before = leader(KIP343, *TWO, legacy=(1,))
    asked = before.on(ALONE)
    other = asked.on(events.IsrProposed((events.ProposedIsr("t", 2, (1,)),)))
    assert other.state == asked.state and other.effects == ()
    both = before.on(events.IsrProposed((events.ProposedIsr("t", 0, (1,)), events.ProposedIsr("t", 2, (1,)))))
    assert len(both.effects) == 2
    half = both.on(written(2, 1)).state
    assert [each.index for each in half.pending] == [0] and half.awaiting == (Api.ISR,)


def test_the_store_is_written_only_as_it_was_read_and_without_a_controller_too() -> None:
    after = controller(KIP343, legacy=(1,)).on(events.Failover(None), WRITE)
    assert after.effects[-1] == StoreReply(messages.Process(1, 1), messages.StoreIsrResponse("t", 0, True, 1))
    assert after.partitions[0].isr == (1,)
    again = after.on(WRITE)
    assert again.effects == (StoreReply(messages.Process(1, 1), messages.StoreIsrResponse("t", 0, False)),)
    assert again.rules == ("COMPAT-1",)


def test_the_store_does_not_check_which_process_writes() -> None:
    """Why the draft has IsrChange: a previous process that knows the version writes any ISR."""
    after = controller(KIP343, legacy=(1,)).on(events.RegistrationWritten(1, LEGACY_VERSION), WRITE)
    assert after.partitions[0].isr == (1,)


def test_the_second_roll_brings_a_legacy_broker_under_the_timer() -> None:
    """Taken down and restarted: absent, then inactive until its first heartbeat, then timed."""
    down = controller(TIMED, LED_BY_1, LED_BY_2, legacy=(1, 2)).on(events.RegistrationRemoved(1))
    assert "BSTATE-10" in down.rules and down.partitions[0].leader == 2
    up = down.on(events.RegistrationWritten(1, HEARTBEAT_VERSION))
    assert "COMPAT-2" in up.rules and views.state_of(up.state, 1) is INACTIVE
    active = up.ask(messages.MetadataHeartbeatRequest(1, up.state.durable.last_transaction, ACTIVE))
    assert views.state_of(active.state, 1) is ACTIVE
    silent = active.on(events.Tick()).state
    assert views.state_of(silent, 1) is INACTIVE and views.state_of(silent, 2) is ACTIVE


def test_a_legacy_registration_over_a_new_one_needs_no_heartbeat() -> None:
    """A roll back: the broker is active at once, and the state of its previous process is forgotten."""
    back = controller(TIMED).on(events.Tick(), events.RegistrationWritten(1, LEGACY_VERSION))
    assert {"COMPAT-3", "BSTATE-7"} <= set(back.rules)
    assert views.state_of(back.state, 1) is ACTIVE
