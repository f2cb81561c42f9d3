"""BrokerRegistration: who is registered, who has to wait, and the broker epoch (REG)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import BrokerRegistration, FinalizedFeature
from kraftcheck.reference.brokers.effects import BrokerFenced, PartitionChanged, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RegistrationDue, RequestTimedOut, SessionExpired
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.brokers.step import step
from tests.reference.brokers.broker_steps import LED_BY_1, answer, ask, cluster


def register(
    broker: int, incarnation: int, cluster_id: str = "cluster", *features: FeatureRange
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(broker, cluster_id, incarnation, features)


def test_a_broker_epoch_is_the_offset_of_the_registration() -> None:
    controller = first_controller(SHIPPED)
    epochs = []
    for broker, incarnation in ((1, 70), (2, 60), (3, 50)):
        outcome, response = ask(SHIPPED, controller, register(broker, incarnation))
        assert outcome.rules == ("REG-1", "REG-3")
        assert views.registration(outcome.state, broker).epoch == controller.durable.end_offset
        controller = outcome.state
        epochs.append(response.epoch)
    assert epochs == [0, 1, 2]
    assert views.visible_brokers(controller) == ()  # all start fenced
    assert controller.sessions == ()  # a session begins with a heartbeat


@pytest.mark.parametrize(
    ("node", "request_", "error", "rules"),
    [
        (2, register(1, 9, "other"), BrokerErrorCode.NOT_CONTROLLER, ("REG-1",)),
        (1, register(1, 9, "other"), BrokerErrorCode.INCONSISTENT_CLUSTER_ID, ("REG-1",)),
        (1, register(1, 9), BrokerErrorCode.DUPLICATE_BROKER_REGISTRATION, ("REG-1", "REG-2")),
    ],
)
def test_checks_in_order(
    node: int, request_: BrokerRegistrationRequest, error: BrokerErrorCode, rules: tuple[str, ...]
) -> None:
    controller, *_ = cluster(SHIPPED)
    outcome, response = ask(SHIPPED, controller, request_, node)
    assert response == BrokerRegistrationResponse(error) and response.epoch == -1
    assert outcome.rules == rules and outcome.state == controller


@pytest.mark.parametrize(
    ("ranges", "error"),
    [
        ((), BrokerErrorCode.UNSUPPORTED_VERSION),
        ((FeatureRange("metadata.version", 1, 6),), BrokerErrorCode.UNSUPPORTED_VERSION),
        ((FeatureRange("metadata.version", 8, 9),), BrokerErrorCode.UNSUPPORTED_VERSION),
        ((FeatureRange("metadata.version", 7, 7), FeatureRange("other", 1, 1)), BrokerErrorCode.NONE),
    ],
)
def test_features_have_to_cover_what_is_finalized(
    ranges: tuple[FeatureRange, ...], error: BrokerErrorCode
) -> None:
    controller = first_controller(SHIPPED, finalized=(FinalizedFeature("metadata.version", 7),))
    outcome, response = ask(SHIPPED, controller, register(1, 9, "cluster", *ranges))
    assert response.error is error and ("REG-5" in outcome.rules) == (error is not BrokerErrorCode.NONE)
    assert bool(outcome.state.durable.registrations) == (error is BrokerErrorCode.NONE)


def test_a_newcomer_waits_for_the_end_of_the_session_and_then_cleans_up() -> None:
    """REG-2, REG-3: the opposite of INC-3, where the newcomer displaces the old life."""
    controller, *_ = cluster(SHIPPED)
    expired = step(SHIPPED, controller, SessionExpired(1)).state
    outcome, response = ask(SHIPPED, expired, register(1, 9))
    assert response.error is BrokerErrorCode.NONE and response.epoch > 1
    assert views.registration(outcome.state, 1) == BrokerRegistration(1, 9, response.epoch)
    # The old life is not heard any more.
    _, old = ask(SHIPPED, outcome.state, BrokerHeartbeatRequest(1, 1, 99))
    assert old.error is BrokerErrorCode.STALE_BROKER_EPOCH


def test_the_former_life_leaves_the_isr_with_the_registration() -> None:
    """Registered and fenced before, the last member of an ISR leads nothing and stays in it."""
    controller, *_ = cluster(SHIPPED, LED_BY_1)
    forgotten = type(controller)(2, controller.durable, controller.epoch + 1)  # no session is known
    outcome, _ = ask(SHIPPED, forgotten, register(1, 9), node=2)
    assert BrokerFenced(1, True) in outcome.effects
    (changed,) = (each.partition for each in outcome.effects if isinstance(each, PartitionChanged))
    assert (changed.leader, changed.isr) == (2, (2,))


def test_the_same_incarnation_keeps_its_epoch() -> None:
    controller, *_ = cluster(SHIPPED)
    outcome, response = ask(SHIPPED, controller, register(1, 1))
    assert response.epoch == views.registration(controller, 1).epoch
    assert outcome.rules == ("REG-1", "REG-4") and outcome.state == controller


def test_a_process_registers_until_it_is_taken() -> None:
    broker = starting(SHIPPED, Process(1, 9), controller=1)
    sent = step(SHIPPED, broker, RegistrationDue())
    assert sent.effects == (Send(1, register(1, 9)),) and sent.rules == ("REG-1",)
    waits = answer(
        SHIPPED, sent.state, BrokerRegistrationResponse(BrokerErrorCode.DUPLICATE_BROKER_REGISTRATION)
    )
    assert waits.state == broker
    lost = answer(SHIPPED, sent.state, BrokerRegistrationResponse(BrokerErrorCode.NOT_CONTROLLER))
    assert lost.state.controller is None
    assert step(SHIPPED, sent.state, RequestTimedOut(Api.REGISTRATION)).state == broker
    taken = answer(SHIPPED, sent.state, BrokerRegistrationResponse(epoch=4))
    assert taken.state.epoch == 4 and taken.rules == ("REG-3",)
    assert step(SHIPPED, taken.state, RegistrationDue()).effects == ()


def test_the_draft_knows_no_registration_by_request() -> None:
    broker = starting(KIP343, Process(1, 9), controller=1)
    assert step(KIP343, broker, RegistrationDue()).effects == ()
    controller, *_ = cluster(KIP343)
    with pytest.raises(TypeError, match="not a request to this controller: BrokerRegistrationRequest"):
        ask(KIP343, controller, register(1, 9))
