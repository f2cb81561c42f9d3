"""The entry point: ``step(protocol, controller or broker, event) -> Outcome``.

A step is what the controller, or one broker process, does for one event. It never raises for anything that a
peer, a clock or the store may do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from kraftcheck.reference.brokers import (
    alter_partition,
    broker_heartbeat,
    broker_registration,
    clients,
    failover,
    fencing,
    isr_change,
    isr_proposals,
    leadership,
    liveness,
    metadata,
    metadata_heartbeat,
    pending_isrs,
    registrations,
    sessions,
    shutdown,
    store_isr,
)
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect, Reply, StoreReply
from kraftcheck.reference.brokers.events import (
    BrokerEvent,
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    ControllerEvent,
    ControllerFound,
    Failover,
    HeartbeatDue,
    IsrProposed,
    LeaderMoveDue,
    MetadataDue,
    MetadataReceived,
    RegistrationDue,
    RegistrationRemoved,
    RegistrationWritten,
    RequestReceived,
    RequestTimedOut,
    ResponseReceived,
    SessionExpired,
    ShutdownRequested,
    StoreAnswered,
    StoreIsrReceived,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    Response,
)
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import InSequence, Name


class ControllerOutcome(Frozen):
    """What a step did: the controller afterwards, the effects and the rules that decided, both in order."""

    state: Controller
    effects: InSequence[ControllerEffect]
    rules: InSequence[Name]


class BrokerOutcome(Frozen):
    """What a step did: the process afterwards, the effects and the rules that decided, both in order."""

    state: Broker
    effects: InSequence[BrokerEffect]
    rules: InSequence[Name]


@overload
def step(protocol: BrokerProtocol, state: Controller, event: ControllerEvent) -> ControllerOutcome: ...


@overload
def step(protocol: BrokerProtocol, state: Broker, event: BrokerEvent) -> BrokerOutcome: ...


def step(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> ControllerOutcome | BrokerOutcome:
    """What ``state`` does on ``event``.

    Raises TypeError for an event or message that the controller or broker, in this form, does not know.
    """
    if isinstance(state, Controller):
        controller = ControllerWork(protocol, state)
        handlers = _DRAFT_CONTROLLER if isinstance(state.durable, Store) else _SHIPPED_CONTROLLER
        _handler(handlers, event, "an event of this controller")(controller, event)
        metadata.send_changes(controller, state)
        return ControllerOutcome(controller.controller, tuple(controller.effects), tuple(controller.rules))
    broker = BrokerWork(protocol, state)
    if not state.ended:
        handlers = _DRAFT_BROKER if protocol.is_draft else _SHIPPED_BROKER
        _handler(handlers, event, "an event of a broker")(broker, event)
    return BrokerOutcome(broker.broker, tuple(broker.effects), tuple(broker.rules))


class UnknownEventError(TypeError):
    """The controller or broker has no step for this event: it is one of the other form."""


Handlers = Mapping[type, Callable[[Any, Any], None]]


def _handler(handlers: Mapping[type, Callable[..., Any]], happened: object, what: str) -> Callable[..., Any]:
    if type(happened) not in handlers:
        raise UnknownEventError(f"not {what}: {happened!r}")
    return handlers[type(happened)]


# The controller.


def _answer(work: ControllerWork, event: RequestReceived) -> None:
    draft = isinstance(work.controller.durable, Store)
    requests = _DRAFT_REQUESTS if draft else _SHIPPED_REQUESTS
    handle = _handler(requests, event.request, "a request to this controller")
    work.emit(Reply(event.node, event.source, handle(work, event.node, event.request)))


def _write_isr(work: ControllerWork, event: StoreIsrReceived) -> None:
    work.emit(StoreReply(event.source, store_isr.handle_write(work, event.request)))


_CONTROLLER: Handlers = {
    RequestReceived: _answer,
    Failover: lambda work, event: failover.become_active(work, event.node),
    MetadataDue: lambda work, event: metadata.send(work, event.target),
}
_DRAFT_CONTROLLER: Handlers = {
    **_CONTROLLER,
    Tick: lambda work, event: liveness.tick(work),
    SessionExpired: lambda work, event: liveness.session_expired(work, event.broker),
    RegistrationWritten: lambda work, event: registrations.write(work, event.broker, event.version),
    RegistrationRemoved: lambda work, event: registrations.remove(work, event.broker),
    StoreIsrReceived: _write_isr,
    LeaderMoveDue: lambda work, event: leadership.move(work, event.topic, event.index),
}
_SHIPPED_CONTROLLER: Handlers = {
    **_CONTROLLER,
    Tick: lambda work, event: sessions.tick(work),
    SessionExpired: lambda work, event: sessions.session_expired(work, event.broker),
}

_Request = Callable[[ControllerWork, int, Any], Response]
_REQUESTS: Mapping[type, _Request] = {
    IsrChangeRequest: isr_change.handle_request,
    AlterPartitionRequest: alter_partition.handle_request,
}
_DRAFT_REQUESTS: Mapping[type, _Request] = {
    **_REQUESTS,
    MetadataHeartbeatRequest: metadata_heartbeat.handle_request,
}
_SHIPPED_REQUESTS: Mapping[type, _Request] = {
    **_REQUESTS,
    BrokerHeartbeatRequest: broker_heartbeat.handle_request,
    BrokerRegistrationRequest: broker_registration.handle_request,
}


# A broker process.


def _take_answer(work: BrokerWork, event: ResponseReceived) -> None:
    _handler(_RESPONSES, event.response, "a response")(work, event.node, event.response)


def _give_up(work: BrokerWork, event: RequestTimedOut) -> None:
    """No answer came. Whether a change of an ISR was applied is not known: it stays pending."""
    api = event.api
    under_way = api in work.broker.awaiting
    work.forget(api)
    if api is Api.HEARTBEAT:
        fencing.restart_request(work)
    elif api is Api.ISR and under_way:
        pending_isrs.give_up(work)


def _register(work: BrokerWork, event: RegistrationDue) -> None:
    broker_registration.send(work)


def _find_controller(work: BrokerWork, event: ControllerFound) -> None:
    work.update(controller=event.node)


_RESPONSES: Mapping[type, Callable[[BrokerWork, int, Any], None]] = {
    MetadataHeartbeatResponse: metadata_heartbeat.handle_response,
    BrokerHeartbeatResponse: broker_heartbeat.handle_response,
    BrokerRegistrationResponse: broker_registration.handle_response,
    IsrChangeResponse: isr_change.handle_response,
    AlterPartitionResponse: alter_partition.handle_response,
}
_BROKER: Handlers = {
    ResponseReceived: _take_answer,
    Tick: lambda work, event: fencing.tick(work),
    ContactLost: lambda work, event: fencing.contact_lost(work),
    MetadataReceived: lambda work, event: metadata.receive(work, event.update),
    ControllerFound: _find_controller,
    RequestTimedOut: _give_up,
    IsrProposed: lambda work, event: isr_proposals.ask(work, event.proposals),
    StoreAnswered: lambda work, event: store_isr.handle_answer(work, event.response),
    ShutdownRequested: lambda work, event: shutdown.request(work),
    ClientRequest: lambda work, event: clients.request(work),
    ClientRequestDone: lambda work, event: clients.done(work),
}
_DRAFT_BROKER: Handlers = {
    **_BROKER,
    HeartbeatDue: lambda work, event: metadata_heartbeat.send(work),
    RegistrationDue: lambda work, event: None,
}
_SHIPPED_BROKER: Handlers = {
    **_BROKER,
    HeartbeatDue: lambda work, event: broker_heartbeat.send(work),
    RegistrationDue: _register,
}
