"""The entry point: ``step(protocol, controller or broker, event) -> Outcome``.

A step is what the controller, or one broker process, does for one event. It never raises for anything that a
peer, a clock or the store may do.
"""

from __future__ import annotations

from typing import overload

from kraftcheck.reference.brokers import (
    alter_partition,
    broker_heartbeat,
    broker_registration,
    clients,
    failover,
    fencing,
    isr_change,
    isr_wishes,
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
    IsrWished,
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
    ShutdownWished,
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
        _on_controller(controller, event)
        metadata.tell_changes(controller, state)
        return ControllerOutcome(controller.controller, tuple(controller.effects), tuple(controller.rules))
    broker = BrokerWork(protocol, state)
    _on_broker(broker, event)
    return BrokerOutcome(broker.broker, tuple(broker.effects), tuple(broker.rules))


def _on_controller(work: ControllerWork, event: ControllerEvent | BrokerEvent) -> None:
    draft = isinstance(work.controller.durable, Store)
    if isinstance(event, RequestReceived):
        work.emit(Reply(event.node, event.source, _answer(work, event)))
    elif isinstance(event, Tick):
        (liveness if draft else sessions).tick(work)
    elif isinstance(event, SessionExpired):
        (liveness if draft else sessions).session_expired(work, event.broker)
    elif isinstance(event, Failover):
        failover.become_active(work, event.node)
    elif isinstance(event, MetadataDue):
        metadata.tell(work, event.target)
    elif draft and isinstance(event, RegistrationWritten):
        registrations.write(work, event.broker, event.version)
    elif draft and isinstance(event, RegistrationRemoved):
        registrations.remove(work, event.broker)
    elif draft and isinstance(event, StoreIsrReceived):
        work.emit(StoreReply(event.source, store_isr.handle_write(work, event.request)))
    elif draft and isinstance(event, LeaderMoveDue):
        leadership.move(work, event.topic, event.index)
    else:
        raise TypeError(f"not an event of this controller: {event!r}")


def _answer(work: ControllerWork, event: RequestReceived) -> Response:
    request = event.request
    draft = isinstance(work.controller.durable, Store)
    if isinstance(request, IsrChangeRequest):
        return isr_change.handle_request(work, event.node, request)
    if isinstance(request, AlterPartitionRequest):
        return alter_partition.handle_request(work, event.node, request)
    if draft and isinstance(request, MetadataHeartbeatRequest):
        return metadata_heartbeat.handle_request(work, event.node, request)
    if not draft and isinstance(request, BrokerHeartbeatRequest):
        return broker_heartbeat.handle_request(work, event.node, request)
    if not draft and isinstance(request, BrokerRegistrationRequest):
        return broker_registration.handle_request(work, event.node, request)
    raise TypeError(f"not a request to this controller: {request!r}")


def _on_broker(work: BrokerWork, event: ControllerEvent | BrokerEvent) -> None:
    if work.broker.ended:
        return
    if isinstance(event, ResponseReceived):
        _take_answer(work, event)
    elif isinstance(event, HeartbeatDue):
        draft = work.protocol.is_draft
        (metadata_heartbeat if draft else broker_heartbeat).send(work)
    elif isinstance(event, Tick):
        fencing.tick(work)
    elif isinstance(event, ContactLost):
        fencing.contact_lost(work)
    elif isinstance(event, MetadataReceived):
        metadata.receive(work, event.update)
    elif isinstance(event, ControllerFound):
        work.update(controller=event.node)
    elif isinstance(event, RequestTimedOut):
        _give_up(work, event.api)
    elif isinstance(event, IsrWished):
        isr_wishes.ask(work, event.wishes)
    elif isinstance(event, StoreAnswered):
        store_isr.handle_answer(work, event.response)
    elif isinstance(event, RegistrationDue):
        if not work.protocol.is_draft:
            broker_registration.send(work)
    elif isinstance(event, ShutdownWished):
        shutdown.wish(work)
    elif isinstance(event, ClientRequest):
        clients.request(work)
    elif isinstance(event, ClientRequestDone):
        clients.done(work)
    else:
        raise TypeError(f"not an event of a broker: {event!r}")


def _give_up(work: BrokerWork, api: Api) -> None:
    """No answer came. Whether a change of an ISR was applied is not known: it stays pending."""
    under_way = api in work.broker.awaiting
    work.forget(api)
    if api is Api.HEARTBEAT:
        fencing.restart_request(work)
    elif api is Api.ISR and under_way:
        pending_isrs.give_up(work)


def _take_answer(work: BrokerWork, event: ResponseReceived) -> None:
    response = event.response
    if isinstance(response, MetadataHeartbeatResponse):
        metadata_heartbeat.handle_response(work, event.node, response)
    elif isinstance(response, BrokerHeartbeatResponse):
        broker_heartbeat.handle_response(work, event.node, response)
    elif isinstance(response, BrokerRegistrationResponse):
        broker_registration.handle_response(work, event.node, response)
    elif isinstance(response, IsrChangeResponse):
        isr_change.handle_response(work, event.node, response)
    elif isinstance(response, AlterPartitionResponse):
        alter_partition.handle_response(work, event.node, response)
    else:
        raise TypeError(f"not a response: {response!r}")
