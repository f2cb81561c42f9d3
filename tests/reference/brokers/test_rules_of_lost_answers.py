"""Rules that a step names where an answer is an error or does not come, or a new controller finds nothing."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.effects import ForgetRequest
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    Failover,
    IsrWish,
    IsrWished,
    MetadataReceived,
    RegistrationDue,
    RequestTimedOut,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerRegistrationResponse,
    IsrChangeResponse,
    MetadataUpdate,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import answer, cluster

E = BrokerErrorCode
WISH = IsrWished((IsrWish("t", 0, (1,)),))
BOTH = pytest.mark.parametrize(("protocol", "rule"), [(KIP343, "ISR-10"), (SHIPPED, "AISR-6")])


@BOTH
def test_a_change_whose_request_is_given_up_stays_pending(protocol: BrokerProtocol, rule: str) -> None:
    _, broker, _ = cluster(protocol)
    asked = step(protocol, broker, WISH).state
    given_up = step(protocol, asked, RequestTimedOut(Api.ISR))
    assert given_up.rules == (rule,) and given_up.effects == (ForgetRequest(Api.ISR),)
    assert given_up.state == replace(asked, awaiting=())
    # Of a request that is not under way no answer is missing.
    again = step(protocol, given_up.state, RequestTimedOut(Api.ISR))
    assert again.rules == () and again.state == given_up.state


def test_who_gives_up_what_metadata_has_settled_has_nothing_pending() -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    (known,) = broker.partitions
    newer = replace(known, partition_epoch=known.partition_epoch + 1)
    update = MetadataUpdate(1, broker.controller_epoch, broker.visible, (newer,), broker.offset + 1)
    told = step(SHIPPED, asked, MetadataReceived(update)).state
    assert told.awaiting == (Api.ISR,) and told.pending == ()
    assert step(SHIPPED, told, RequestTimedOut(Api.ISR)).rules == ()
    assert answer(SHIPPED, told, AlterPartitionResponse(E.STALE_BROKER_EPOCH)).rules == ()


@pytest.mark.parametrize(
    ("error", "rules"),
    [
        (E.NOT_CONTROLLER, ("AISR-1", "AISR-6")),
        (E.STALE_BROKER_EPOCH, ("AISR-6",)),
        (E.UNSUPPORTED_VERSION, ("AISR-6",)),
    ],
)
def test_alter_partition_that_is_refused_as_a_whole_stays_pending(
    error: BrokerErrorCode, rules: tuple[str, ...]
) -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    refused = answer(SHIPPED, asked, AlterPartitionResponse(error))
    assert refused.rules == rules and refused.state.pending == asked.pending


@pytest.mark.parametrize(
    ("error", "rules"),
    [
        (E.NOT_CONTROLLER, ("ISR-2", "ISR-10")),
        (E.INVALID_INCARNATION_ID, ("ISR-3", "ISR-10")),
        (E.UNSUPPORTED_VERSION, ("ISR-10",)),
    ],
)
def test_isr_change_that_is_refused_as_a_whole_stays_pending(
    error: BrokerErrorCode, rules: tuple[str, ...]
) -> None:
    _, broker, _ = cluster(KIP343)
    asked = step(KIP343, broker, WISH).state
    refused = answer(KIP343, asked, IsrChangeResponse(error))
    assert refused.rules == rules and refused.state.pending == asked.pending


@pytest.mark.parametrize(
    ("error", "rules"),
    [
        (E.NOT_CONTROLLER, ("REG-1",)),
        (E.INCONSISTENT_CLUSTER_ID, ("REG-1",)),
        (E.DUPLICATE_BROKER_REGISTRATION, ("REG-2",)),
        (E.UNSUPPORTED_VERSION, ("REG-5",)),
        # No rule knows this answer to a registration.
        (E.INVALID_REQUEST, ()),
    ],
)
def test_a_process_that_is_refused_tries_again(error: BrokerErrorCode, rules: tuple[str, ...]) -> None:
    broker = starting(SHIPPED, Process(1, 9), controller=1)
    sent = step(SHIPPED, broker, RegistrationDue()).state
    refused = answer(SHIPPED, sent, BrokerRegistrationResponse(error))
    assert refused.rules == rules and refused.state.epoch == -1 and refused.state.awaiting == ()


def test_a_new_shipped_controller_forgets_sessions_where_nobody_is_unfenced() -> None:
    controller, *_ = cluster(SHIPPED)
    durable = controller.durable
    fenced = tuple(replace(each, fenced=True) for each in durable.registrations)
    everybody_gone = replace(controller, durable=replace(durable, registrations=fenced))
    taken_over = step(SHIPPED, everybody_gone, Failover(2))
    assert taken_over.state.sessions == () and taken_over.rules == ("HBK-11",)


def test_a_new_controller_of_the_draft_rebuilds_what_it_knows_where_nobody_is_registered() -> None:
    assert step(KIP343, first_controller(KIP343, node=1), Failover(2)).rules[0] == "INC-5"
