"""Answers that a process does not get, or that are errors, or that it does not wait for: state and rules."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.broker import Api, Broker, Life, PendingIsr
from kraftcheck.reference.brokers.effects import ForgetRequest
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    BrokerState,
    IsrChangeResponse,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    PartitionResult,
    Process,
    Response,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import After, controller, leader

ALONE = events.IsrProposed((events.ProposedIsr("t", 0, (1,)),))
PENDING = (PendingIsr("t", 0, 0, 0, (1,), (-1,)),)
SEND_PENDING, TIMED_OUT = events.IsrProposed(()), events.RequestTimedOut(Api.ISR)
ALTERED = PartitionResult("t", 0, Error.NONE, leader=1, leader_epoch=0, partition_epoch=1, isr=(1,))


@pytest.mark.parametrize(
    ("protocol", "rules", "second"),
    [
        (KIP343, ("ISR-1", "ISR-9", "ISR-10"), Error.NONE),
        (SHIPPED, ("AISR-6",), Error.INVALID_UPDATE_VERSION),
    ],
)
def test_a_change_whose_answer_is_lost_is_asked_for_again_and_applied_once(
    protocol: BrokerProtocol, rules: tuple[str, ...], second: Error
) -> None:
    """It stays pending; the shipped leader learns from metadata that it was applied."""
    first = leader(protocol).on(ALONE)
    timed_out = first.on(TIMED_OUT)
    assert timed_out.rules == rules[-1:] and timed_out.effects == (ForgetRequest(Api.ISR),)
    assert timed_out.state == replace(first.state, awaiting=())
    unasked = timed_out.on(TIMED_OUT)  # no request is under way
    assert unasked.rules == () and unasked.state == timed_out.state
    again = timed_out.on(SEND_PENDING)
    assert again.effects == first.effects and again.rules == rules and again.state == first.state
    applied = controller(protocol).ask(first.sent)
    twice = applied.ask(first.sent)
    assert twice.state == applied.state
    answered = again.hear(twice.response)
    result = twice.response.results[0] if protocol is KIP343 else twice.response.partitions[0].error
    assert result is second and [each.refused for each in answered.state.pending] == [True] * bool(second)
    known = answered.on(events.MetadataReceived(views.metadata(applied.state))).state
    assert known.pending == () and known.partitions[0].isr == (1,)


def test_metadata_ends_a_pending_change_while_its_answer_is_awaited() -> None:
    asked = leader(SHIPPED).on(ALONE)
    broker = asked.state
    newer = replace(broker.partitions[0], partition_epoch=broker.partitions[0].partition_epoch + 1)
    update = MetadataUpdate(1, broker.controller_epoch, broker.visible, (newer,), broker.offset + 1)
    for partitions in ((newer,), ()):  # without any the partition is gone
        settled = asked.on(events.MetadataReceived(replace(update, partitions=partitions)))
        assert settled.state.awaiting == (Api.ISR,) and settled.state.pending == ()
        assert settled.on(TIMED_OUT).rules == ()
        assert settled.hear(AlterPartitionResponse(Error.STALE_BROKER_EPOCH)).rules == ()
        late = settled.hear(AlterPartitionResponse(partitions=(replace(ALTERED, partition_epoch=2),)))
        assert late.state == replace(settled.state, awaiting=())


@pytest.mark.parametrize(
    ("protocol", "response"),
    [
        (KIP343, IsrChangeResponse(Error.NOT_CONTROLLER)),
        (SHIPPED, AlterPartitionResponse(Error.NOT_CONTROLLER)),
        (SHIPPED, AlterPartitionResponse(partitions=(PartitionResult("t", 0, Error.NOT_CONTROLLER),))),
    ],
)
def test_a_node_that_is_behind_or_is_not_the_controller_is_left(
    protocol: BrokerProtocol, response: Response
) -> None:
    asked = leader(protocol).on(ALONE)
    left = asked.hear(response)
    assert left.state == replace(asked.state, awaiting=(), controller=None)
    assert left.on(SEND_PENDING).effects == ()  # no controller is known
    assert left.on(events.ControllerFound(2), SEND_PENDING).effects == (replace(asked.effects[0], to=2),)


@pytest.mark.parametrize(
    ("protocol", "response", "rules"),
    [
        (SHIPPED, AlterPartitionResponse(Error.NOT_CONTROLLER), ("AISR-1", "AISR-6")),
        (SHIPPED, AlterPartitionResponse(Error.STALE_BROKER_EPOCH), ("AISR-6",)),
        (SHIPPED, AlterPartitionResponse(Error.UNSUPPORTED_VERSION), ("AISR-6",)),
        (KIP343, IsrChangeResponse(Error.NOT_CONTROLLER), ("ISR-2", "ISR-10")),
        (KIP343, IsrChangeResponse(Error.INVALID_INCARNATION_ID), ("ISR-3", "ISR-10")),
        (KIP343, IsrChangeResponse(Error.UNSUPPORTED_VERSION), ("ISR-10",)),
    ],
)
def test_a_change_that_is_refused_as_a_whole_stays_pending(
    protocol: BrokerProtocol, response: Response, rules: tuple[str, ...]
) -> None:
    asked = leader(protocol).on(ALONE)
    refused = asked.hear(response)
    assert refused.rules == rules and refused.state.pending == asked.state.pending


@pytest.mark.parametrize(
    ("error", "rules"),
    [
        (Error.NOT_CONTROLLER, ("REG-1",)),
        (Error.INCONSISTENT_CLUSTER_ID, ("REG-1",)),
        (Error.DUPLICATE_BROKER_REGISTRATION, ("REG-2",)),
        (Error.UNSUPPORTED_VERSION, ("REG-5",)),
        # No rule knows this answer to a registration.
        (Error.INVALID_REQUEST, ()),
    ],
)
def test_a_process_that_is_refused_tries_again(error: Error, rules: tuple[str, ...]) -> None:
    process = After(SHIPPED, starting(SHIPPED, Process(1, 9), controller=1))
    refused = process.on(events.RegistrationDue()).hear(BrokerRegistrationResponse(error))
    assert refused.rules == rules and refused.state.epoch == -1 and refused.state.awaiting == ()


def test_a_new_shipped_controller_forgets_sessions_if_every_broker_is_fenced() -> None:
    before = controller(SHIPPED)
    durable = before.state.durable
    fenced = tuple(replace(each, fenced=True) for each in durable.registrations)
    taken_over = before.but(durable=replace(durable, registrations=fenced)).on(events.Failover(2))
    assert taken_over.state.sessions == () and taken_over.rules == ("HBK-11",)


def test_a_new_controller_of_the_draft_rebuilds_what_it_knows_without_a_registration() -> None:
    assert After(KIP343, first_controller(KIP343, node=1)).on(events.Failover(2)).rules[0] == "INC-5"


@pytest.mark.parametrize(
    ("protocol", "broker", "response"),
    [
        (KIP343, leader(KIP343).state, MetadataHeartbeatResponse(state=BrokerState.INACTIVE)),
        (KIP343, leader(KIP343).but(pending=PENDING).state, IsrChangeResponse(results=(Error.NONE,))),
        (SHIPPED, leader(SHIPPED).but(pending=PENDING).state, AlterPartitionResponse(partitions=(ALTERED,))),
        (SHIPPED, leader(SHIPPED).but(life=Life.STARTING).state, BrokerHeartbeatResponse(caught_up=True)),
        (SHIPPED, starting(SHIPPED, Process(1, 1), controller=1), BrokerRegistrationResponse(epoch=7)),
    ],
    ids=["metadata-heartbeat", "isr-change", "alter-partition", "broker-heartbeat", "broker-registration"],
)
def test_nothing_is_taken_from_an_answer_that_is_not_awaited(
    protocol: BrokerProtocol, broker: Broker, response: Response
) -> None:
    """A host drops such an answer."""
    assert After(protocol, broker).hear(response) == After(protocol, broker)
