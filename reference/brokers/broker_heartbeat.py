"""BrokerHeartbeat (KIP-631): a running broker may request to be fenced or shut down, the controller decides.

Source: KIP-631 (BrokerHeartbeat, The Broker State Machine); Kafka:
ReplicationControlManager.processBrokerHeartbeat, BrokerHeartbeatManager.calculateNextBrokerState,
BrokerLifecycleManager.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.brokers import leadership, sessions, shutdown, views
from kraftcheck.reference.brokers.broker import Api, Life
from kraftcheck.reference.brokers.controller import BrokerRegistration, Session
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork
from kraftcheck.reference.frozen import replace


class ControlState(Enum):
    """The state of a broker for the controller: BrokerControlState in Kafka."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    SHUTDOWN_NOW = "shutdown-now"


def handle_request(
    work: ControllerWork, node: int, request: BrokerHeartbeatRequest
) -> BrokerHeartbeatResponse:
    """Decide what becomes of a broker and say it."""
    # validate
    work.by("HBK-1")
    if node != work.controller.active:
        return BrokerHeartbeatResponse(BrokerErrorCode.NOT_CONTROLLER)
    # epoch
    known = views.registration(work.controller, request.broker)
    if known is None or known.epoch != request.epoch:
        return BrokerHeartbeatResponse(BrokerErrorCode.STALE_BROKER_EPOCH)
    # decide
    session = views.session(work.controller, request.broker) or Session(request.broker)
    current = _current(known, session)
    following = _next(work, known, session, current, request)
    # effects
    work.keep_session(request.broker, replace(session, ticks=0, offset=request.offset))
    if following is not current:
        _enter(work, known, following)
    _note_shutdown(work, request.broker, following)
    work.by("HBK-8")
    return BrokerHeartbeatResponse(
        caught_up=request.offset >= known.epoch,
        fenced=following in (ControlState.FENCED, ControlState.SHUTDOWN_NOW),
        should_shut_down=following is ControlState.SHUTDOWN_NOW,
    )


def _current(known: BrokerRegistration, session: Session) -> ControlState:
    if session.shutdown_offset is not None:
        return ControlState.CONTROLLED_SHUTDOWN
    return ControlState.FENCED if known.fenced else ControlState.UNFENCED


def _next(
    work: ControllerWork,
    known: BrokerRegistration,
    session: Session,
    current: ControlState,
    request: BrokerHeartbeatRequest,
) -> ControlState:
    leads = any(each.leader == known.broker for each in work.log.partitions)
    if current is ControlState.FENCED:
        work.by("HBK-2")
        if request.want_shutdown:
            return ControlState.SHUTDOWN_NOW
        caught_up = request.offset >= known.epoch
        return ControlState.UNFENCED if caught_up and not request.want_fence else ControlState.FENCED
    if current is ControlState.CONTROLLED_SHUTDOWN:
        work.by("HBK-5")
        assert session.shutdown_offset is not None
        done = not leads and _all_active_have_read(work, session.shutdown_offset)
        return ControlState.SHUTDOWN_NOW if done else ControlState.CONTROLLED_SHUTDOWN
    if request.want_fence:
        work.by("HBK-3")
        return ControlState.SHUTDOWN_NOW if request.want_shutdown else ControlState.FENCED
    if request.want_shutdown:
        work.by("HBK-4")
        return ControlState.CONTROLLED_SHUTDOWN if leads else ControlState.SHUTDOWN_NOW
    return ControlState.UNFENCED


def _all_active_have_read(work: ControllerWork, offset: int) -> bool:
    """Whether every broker that is neither fenced nor on its way out has read the log up to ``offset``."""
    active = (
        session
        for session in work.controller.sessions
        if session.shutdown_offset is None and session.broker in _unfenced(work)
    )
    return all(session.offset >= offset for session in active)


def _unfenced(work: ControllerWork) -> set[int]:
    return {each.broker for each in work.log.registrations if not each.fenced}


def _enter(work: ControllerWork, known: BrokerRegistration, following: ControlState) -> None:
    if following is ControlState.UNFENCED:
        sessions.unfence(work, known.broker)
    elif following is ControlState.CONTROLLED_SHUTDOWN:
        if not known.in_controlled_shutdown:
            work.write_registration(replace(known, in_controlled_shutdown=True))
        leadership.leave(work, known.broker)
    else:
        sessions.fence(work, known.broker)


def _note_shutdown(work: ControllerWork, broker: int, following: ControlState) -> None:
    """The offset that others have to reach is that of the records by which the shutdown began."""
    session = views.session(work.controller, broker)
    assert session is not None
    if following is not ControlState.CONTROLLED_SHUTDOWN:
        work.keep_session(broker, replace(session, shutdown_offset=None))
    elif session.shutdown_offset is None:
        work.keep_session(broker, replace(session, shutdown_offset=work.log.end_offset - 1))


def send(work: BrokerWork) -> None:
    """It is time for a heartbeat. A starting process requests to stay fenced until it has caught up."""
    broker = work.broker
    if broker.epoch < 0 or broker.life is Life.SHUTTING_DOWN or not work.can_send(Api.HEARTBEAT):
        return
    work.by("HBK-1", "HBK-9")
    request = BrokerHeartbeatRequest(
        broker=broker.id,
        epoch=broker.epoch,
        offset=broker.offset,
        want_fence=broker.life is Life.STARTING,
        want_shutdown=broker.life is Life.PENDING_CONTROLLED_SHUTDOWN,
    )
    work.send(Api.HEARTBEAT, request)


def handle_response(work: BrokerWork, node: int, response: BrokerHeartbeatResponse) -> None:
    """Go on in the life of a process. Being fenced by the controller changes nothing of what it serves."""
    # validate
    if not work.answered(Api.HEARTBEAT):
        return
    # epoch
    if response.error is not BrokerErrorCode.NONE:
        work.by("HBK-1", "HBK-10")
        if response.error is BrokerErrorCode.NOT_CONTROLLER:
            work.lose_controller(node)
        return
    # decide, effects
    work.by("HBK-8", "HBK-9")
    life = work.broker.life
    if life is Life.STARTING and response.caught_up:
        work.update(life=Life.RECOVERY)
    elif life is Life.RECOVERY and not response.fenced:
        work.update(life=Life.RUNNING)
    elif life is Life.PENDING_CONTROLLED_SHUTDOWN and response.should_shut_down:
        work.update(life=Life.SHUTTING_DOWN)
        shutdown.end_if_done(work)
