"""MetadataHeartbeat (KIP-343): a broker is running and requests a state, the controller decides.

Source: KIP-343 (Controller Heartbeat, Controller Logic, MetadataHeartbeat).
"""

from __future__ import annotations

from kraftcheck.reference.brokers import fencing, liveness, shutdown, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork


def handle_request(
    work: ControllerWork, node: int, request: MetadataHeartbeatRequest
) -> MetadataHeartbeatResponse:
    """Decide on the state of a broker and say it."""
    # validate
    if node != work.controller.active:
        work.by("HEARTBEAT-10")
        return MetadataHeartbeatResponse(BrokerErrorCode.NOT_CONTROLLER)
    work.by("HEARTBEAT-4")
    if request.broker < 0:
        work.by("HEARTBEAT-3")
        return MetadataHeartbeatResponse(BrokerErrorCode.INVALID_REQUEST)
    # epoch
    if not _is_current(work, request):
        work.by("HEARTBEAT-9")
        if work.protocol.rejection_restarts_timer:
            liveness.declare(work, request.broker, ticks=0)
        return MetadataHeartbeatResponse(BrokerErrorCode.INVALID_INCARNATION_ID)
    # decide
    if request.target is BrokerState.INITIAL:
        work.by("HEARTBEAT-6", "BSTATE-2")
        liveness.declare(work, request.broker, incarnation=request.incarnation)
        return MetadataHeartbeatResponse(BrokerErrorCode.INVALID_REQUEST)
    _name_decision(work, request)
    # effects
    liveness.declare(work, request.broker, incarnation=request.incarnation, state=request.target, ticks=0)
    work.by("HEARTBEAT-2", "BSTATE-2")
    return MetadataHeartbeatResponse(state=views.state_of(work.controller, request.broker))


def _is_current(work: ControllerWork, request: MetadataHeartbeatRequest) -> bool:
    """Whether no later incarnation is known."""
    work.by("INC-3")
    known = views.remembered(work.controller, request.broker).incarnation
    if known is None:
        return True
    work.by("INC-4")
    return request.incarnation >= known


def _name_decision(work: ControllerWork, request: MetadataHeartbeatRequest) -> None:
    if views.is_legacy(work.controller, request.broker):
        work.by("COMPAT-3")
    elif request.target is BrokerState.INACTIVE:
        work.by("HEARTBEAT-6")
    else:
        work.by("HEARTBEAT-5")
        if views.state_of(work.controller, request.broker) is BrokerState.INACTIVE:
            work.by("HEARTBEAT-8")


def send(work: BrokerWork) -> None:
    """It is time for a heartbeat."""
    if work.broker.legacy:
        work.by("COMPAT-1", "CONFIG-15")
        return
    if not work.can_send(Api.HEARTBEAT):
        return
    shutdown.proceed(work)
    work.by("HEARTBEAT-1", "HEARTBEAT-2")
    broker = work.broker
    work.send(Api.HEARTBEAT, MetadataHeartbeatRequest(broker.id, broker.incarnation, broker.target))


def handle_response(work: BrokerWork, node: int, response: MetadataHeartbeatResponse) -> None:
    """Take the controller's decision."""
    # validate
    if not work.answered(Api.HEARTBEAT):
        return
    if response.error is BrokerErrorCode.NOT_CONTROLLER:
        work.by("HEARTBEAT-10")
        work.lose_controller(node)
    # epoch
    if response.error is not BrokerErrorCode.NONE:
        fencing.answered_with_error(work)
        if response.error is BrokerErrorCode.INVALID_INCARNATION_ID:
            work.by("FENCE-6")
            if work.protocol.rejection_fences:
                fencing.fence(work)
        return
    # decide
    assert response.state is not None
    work.by("BSTATE-2")
    work.update(state=response.state)
    # effects
    if response.state is BrokerState.INACTIVE:
        work.by("FENCE-6")
        fencing.restart_request(work)
        fencing.fence(work)
        shutdown.end_if_done(work)
    else:
        work.by("BSTATE-4")
        fencing.reached_controller(work)
