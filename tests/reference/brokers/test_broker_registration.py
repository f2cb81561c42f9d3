"""BrokerRegistration: who is registered, who has to wait, and the broker epoch (REG)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import messages, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import BrokerRegistration, FinalizedFeature
from kraftcheck.reference.brokers.effects import BrokerFenced, PartitionChanged, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.events import RegistrationDue, RequestTimedOut, SessionExpired
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import first_controller, starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, After, controller


def register(
    broker: int, incarnation: int, cluster_id: str = "cluster", *features: messages.FeatureRange
) -> messages.BrokerRegistrationRequest:
    return messages.BrokerRegistrationRequest(broker, cluster_id, incarnation, features)


def process(protocol: BrokerProtocol) -> After:
    return After(protocol, starting(protocol, messages.Process(1, 9), controller=1))


def test_a_broker_epoch_is_the_offset_of_the_registration() -> None:
    after = After(SHIPPED, first_controller(SHIPPED))
    for epoch, (broker, incarnation) in enumerate(((1, 70), (2, 60), (3, 50))):
        end = after.state.durable.end_offset
        after = after.ask(register(broker, incarnation))
        assert after.rules == ("REG-1", "REG-3")
        assert views.registration(after.state, broker).epoch == end == after.response.epoch == epoch
    assert views.visible_brokers(after.state) == ()  # all start fenced
    assert after.state.sessions == ()  # a session begins with a heartbeat


@pytest.mark.parametrize(
    ("node", "request_", "error", "rules"),
    [
        (2, register(1, 9, "other"), Error.NOT_CONTROLLER, ("REG-1",)),
        (1, register(1, 9, "other"), Error.INCONSISTENT_CLUSTER_ID, ("REG-1",)),
        (1, register(1, 9), Error.DUPLICATE_BROKER_REGISTRATION, ("REG-1", "REG-2")),
    ],
)
def test_checks_in_order(
    node: int, request_: messages.BrokerRegistrationRequest, error: Error, rules: tuple[str, ...]
) -> None:
    before = controller(SHIPPED)
    after = before.ask(request_, node)
    assert after.response == messages.BrokerRegistrationResponse(error) and after.response.epoch == -1
    assert after.rules == rules and after.state == before.state


@pytest.mark.parametrize(
    ("ranges", "error"),
    [
        ((), Error.UNSUPPORTED_VERSION),
        ((messages.FeatureRange("metadata.version", 1, 6),), Error.UNSUPPORTED_VERSION),
        ((messages.FeatureRange("metadata.version", 8, 9),), Error.UNSUPPORTED_VERSION),
        ((messages.FeatureRange("metadata.version", 7, 7), messages.FeatureRange("other", 1, 1)), Error.NONE),
    ],
)
def test_features_have_to_cover_what_is_finalized(
    ranges: tuple[messages.FeatureRange, ...], error: Error
) -> None:
    before = first_controller(SHIPPED, finalized=(FinalizedFeature("metadata.version", 7),))
    after = After(SHIPPED, before).ask(register(1, 9, "cluster", *ranges))
    taken = error is Error.NONE
    assert after.response.error is error and ("REG-5" in after.rules) != taken
    assert bool(after.state.durable.registrations) == taken


def test_a_newcomer_waits_for_the_end_of_the_session_and_then_cleans_up() -> None:
    """REG-2, REG-3: the opposite of INC-3, where the newcomer displaces the previous process."""
    after = controller(SHIPPED).on(SessionExpired(1)).ask(register(1, 9))
    epoch = after.response.epoch
    assert after.response.error is Error.NONE and epoch > 1
    assert views.registration(after.state, 1) == BrokerRegistration(1, 9, epoch)
    # Heartbeats of the previous process are refused from now on.
    assert after.ask(messages.BrokerHeartbeatRequest(1, 1, 99)).response.error is Error.STALE_BROKER_EPOCH


@pytest.mark.parametrize("begins", [False, True])
def test_a_late_registration_is_refused_if_a_registration_begins_a_session(begins: bool) -> None:
    fixed = replace(SHIPPED, registration_begins_session=begins)
    registered = After(fixed, first_controller(fixed)).ask(register(1, 70))
    late = registered.ask(register(1, 60))
    assert late.response.error is (Error.DUPLICATE_BROKER_REGISTRATION if begins else Error.NONE)
    assert registered.on(SessionExpired(1)).ask(register(1, 60)).response.error is Error.NONE


def test_the_previous_process_leaves_the_isr_with_the_registration() -> None:
    """Registered and fenced before, the last member of an ISR leads nothing and stays in it."""
    known = controller(SHIPPED, LED_BY_1).state
    forgotten = After(SHIPPED, type(known)(2, known.durable, known.epoch + 1))  # no session is known
    after = forgotten.ask(register(1, 9), node=2)
    assert BrokerFenced(1, True) in after.effects
    (changed,) = after.of(PartitionChanged)
    assert (changed.partition.leader, changed.partition.isr) == (2, (2,))


def test_the_same_incarnation_keeps_its_epoch() -> None:
    before = controller(SHIPPED)
    after = before.ask(register(1, 1))
    assert after.response.epoch == views.registration(before.state, 1).epoch
    assert after.rules == ("REG-1", "REG-4") and after.state == before.state


def test_a_process_registers_until_it_is_taken() -> None:
    sent = process(SHIPPED).on(RegistrationDue())
    assert sent.effects == (Send(1, register(1, 9)),) and sent.rules == ("REG-1",)
    before = process(SHIPPED).state
    waits = sent.hear(messages.BrokerRegistrationResponse(Error.DUPLICATE_BROKER_REGISTRATION))
    assert waits.state == sent.on(RequestTimedOut(Api.REGISTRATION)).state == before
    assert sent.hear(messages.BrokerRegistrationResponse(Error.NOT_CONTROLLER)).state.controller is None
    taken = sent.hear(messages.BrokerRegistrationResponse(epoch=4))
    assert taken.state.epoch == 4 and taken.rules == ("REG-3",)
    assert taken.on(RegistrationDue()).effects == ()


def test_the_draft_has_no_registration_by_request() -> None:
    assert process(KIP343).on(RegistrationDue()).effects == ()
    with pytest.raises(TypeError, match="not a request to this controller: BrokerRegistrationRequest"):
        controller(KIP343).ask(register(1, 9))
