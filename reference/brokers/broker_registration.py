"""BrokerRegistration (KIP-631): a process makes itself known and gets its broker epoch.

Source: KIP-631 (BrokerRegistration); Kafka: ClusterControlManager.registerBroker,
BrokerLifecycleManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference.brokers import leadership, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.controller import BrokerRegistration, Session
from kraftcheck.reference.brokers.effects import BrokerFenced
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import BrokerRegistrationRequest, BrokerRegistrationResponse
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork

#: The rules by which a process is refused and waits; NOT_CONTROLLER sends it to another node.
_REFUSED_BY: Mapping[BrokerErrorCode, tuple[str, ...]] = {
    BrokerErrorCode.INCONSISTENT_CLUSTER_ID: ("REG-1",),
    BrokerErrorCode.DUPLICATE_BROKER_REGISTRATION: ("REG-2",),
    BrokerErrorCode.UNSUPPORTED_VERSION: ("REG-5",),
}


def handle_request(
    work: ControllerWork, node: int, request: BrokerRegistrationRequest
) -> BrokerRegistrationResponse:
    """Register an incarnation, unless another one has a valid session."""
    # validate
    error = _error(work, node, request)
    if error is not BrokerErrorCode.NONE:
        return BrokerRegistrationResponse(error)
    # epoch
    known = views.registration(work.controller, request.broker)
    if known is not None and known.incarnation == request.incarnation:
        work.by("REG-4")
        return BrokerRegistrationResponse(epoch=known.epoch)
    # decide, effects
    work.by("REG-3")
    epoch = work.log.end_offset
    work.write_registration(BrokerRegistration(request.broker, request.incarnation, epoch))
    if known is not None and not known.fenced:
        work.emit(BrokerFenced(request.broker, True))
    leadership.leave(work, request.broker)
    if work.protocol.registration_begins_session:
        work.keep_session(request.broker, Session(request.broker))
    return BrokerRegistrationResponse(epoch=epoch)


def _error(work: ControllerWork, node: int, request: BrokerRegistrationRequest) -> BrokerErrorCode:
    work.by("REG-1")
    if node != work.controller.active:
        return BrokerErrorCode.NOT_CONTROLLER
    if request.cluster_id != work.log.cluster_id:
        return BrokerErrorCode.INCONSISTENT_CLUSTER_ID
    known = views.registration(work.controller, request.broker)
    has_session = views.session(work.controller, request.broker) is not None
    if known is not None and has_session and known.incarnation != request.incarnation:
        work.by("REG-2")
        return BrokerErrorCode.DUPLICATE_BROKER_REGISTRATION
    ranges = {each.name: each for each in request.features}
    for feature in work.log.finalized:
        supported = ranges.get(feature.name)
        if supported is None or not supported.lowest <= feature.level <= supported.highest:
            work.by("REG-5")
            return BrokerErrorCode.UNSUPPORTED_VERSION
    return BrokerErrorCode.NONE


def send(work: BrokerWork) -> None:
    """It is time to register."""
    broker = work.broker
    if broker.epoch >= 0 or not work.can_send(Api.REGISTRATION):
        return
    work.by("REG-1")
    request = BrokerRegistrationRequest(broker.id, broker.cluster_id, broker.incarnation, broker.features)
    work.send(Api.REGISTRATION, request)


def handle_response(work: BrokerWork, node: int, response: BrokerRegistrationResponse) -> None:
    """Take the broker epoch. After an error the process tries again."""
    if not work.answered(Api.REGISTRATION):
        return
    if response.error is BrokerErrorCode.NOT_CONTROLLER:
        work.by("REG-1")
        work.lose_controller(node)
    elif response.error is BrokerErrorCode.NONE:
        work.by("REG-3")
        work.update(epoch=response.epoch)
    else:
        work.by(*_REFUSED_BY.get(response.error, ()))
