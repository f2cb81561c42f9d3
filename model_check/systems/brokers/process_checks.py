"""Checks of single steps of a broker process."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.effects import Accepted, BrokerEffect, Completed, FencedItself, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import BrokerEvent, ResponseReceived, ShutdownRequested, Tick
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.protocol import BrokerProtocol, Contact, ContactTime
from kraftcheck.reference.brokers.step import BrokerOutcome
from kraftcheck.systems.brokers.wiring import Wiring


def violations(wiring: Wiring, before: Broker, event: BrokerEvent, outcome: BrokerOutcome) -> Iterator[str]:
    """The violations of a step of a process."""
    after, effects = outcome.state, outcome.effects
    if before.ended:
        # Its machine goes on, but an ended process must not change.
        if after != before or effects:
            yield "StopsOnlyWhenLetGo"
        return
    if wiring.is_draft and not _fences(before, after, effects):
        yield "FencedBrokerServesNothingNew"
    stops = (_stops_by_state if wiring.is_draft else _stops_by_life)(before, event, after)
    if not stops or (before.life is Life.SHUTTING_DOWN and any(map(_is_heartbeat, effects))):
        yield "StopsOnlyWhenLetGo"
    if not _completes(before, after, effects):
        yield "AcceptedRequestsAreCompleted"
    timed = wiring.is_draft and not before.legacy and not after.ended
    if timed and not _counts(wiring.protocol, before, event, after):
        yield "ContactCountsByItsRequest"


def _fences(before: Broker, after: Broker, effects: tuple[BrokerEffect, ...]) -> bool:
    """Whether a process accepts no request while it is fenced, fences itself, or has received no state yet
    (FENCE-2, FENCE-9).
    """
    accepts = any(isinstance(each, Accepted) for each in effects)
    fences = any(isinstance(each, FencedItself) for each in effects)
    waits = before.fenced or (before.state is BrokerState.INITIAL and not before.legacy)
    return not (accepts and waits) and not (fences and not (after.fenced or after.ended))


def _completes(before: Broker, after: Broker, effects: tuple[BrokerEffect, ...]) -> bool:
    """Whether a process that may stop neither drops accepted requests nor accepts more (BSTATE-9)."""
    accepted = sum(isinstance(each, Accepted) for each in effects)
    left = before.accepted + accepted - sum(isinstance(each, Completed) for each in effects)
    may_stop = before.ended or before.life is Life.SHUTTING_DOWN
    if before.legacy:
        may_stop = before.target is BrokerState.INACTIVE
    return left == after.accepted and left >= 0 and not (accepted and may_stop)


# The end of a process.


def _stops_by_life(before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """KIP-631: whether a process takes its states in order, and ends when the controller allows it."""
    ends = after.ended or after.life is Life.SHUTTING_DOWN
    if before.life is Life.SHUTTING_DOWN:
        return ends
    if before.life in (Life.STARTING, Life.RECOVERY):
        return not ends or isinstance(event, ShutdownRequested)
    requests = before.life is Life.PENDING_CONTROLLED_SHUTDOWN
    answer = event.response if isinstance(event, ResponseReceived) else None
    if ends:
        allowed = isinstance(answer, BrokerHeartbeatResponse) and not answer.error and answer.should_shut_down
        return requests and allowed and Api.HEARTBEAT in before.awaiting
    requested = requests or isinstance(event, ShutdownRequested)
    return after.life is (Life.PENDING_CONTROLLED_SHUTDOWN if requested else Life.RUNNING)


def _is_heartbeat(effect: BrokerEffect) -> bool:
    """Whether an effect sends a heartbeat; that of a stopping process would not say that it stops (HBK-2)."""
    return isinstance(effect, Send) and isinstance(effect.request, BrokerHeartbeatRequest)


def _stops_by_state(before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """KIP-343: whether a stopping process requests to be inactive once it leads nothing, and then ends."""
    if before.legacy:
        requested = before.target is BrokerState.INACTIVE or isinstance(event, ShutdownRequested)
        return requested or not after.ended
    state = _last_state(before, event)
    if after.ended:
        return before.target is BrokerState.INACTIVE and state is BrokerState.INACTIVE
    if after.state is not state:
        return False
    if after.target is before.target:
        return True
    if after.target is BrokerState.STOPPING:
        return before.target is BrokerState.ACTIVE and isinstance(event, ShutdownRequested)
    leads_nothing = before.state is BrokerState.STOPPING and not views.led(before)
    return after.target is BrokerState.INACTIVE and before.target is BrokerState.STOPPING and leads_nothing


def _last_state(before: Broker, event: BrokerEvent) -> BrokerState:
    """The last state that a process received from the controller."""
    answer = event.response if isinstance(event, ResponseReceived) else None
    if not isinstance(answer, MetadataHeartbeatResponse) or Api.HEARTBEAT not in before.awaiting:
        return before.state
    return before.state if answer.state is None else answer.state


# The time since the controller was reached.


def _counts(protocol: BrokerProtocol, before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """Whether time is counted as FENCE-8 says: for each request by itself, and not for a cancelled one."""
    timeout = protocol.broker_timeout
    if timeout is None:
        return True
    return _of_request(protocol, timeout, before, event, after) and _of_contact(
        protocol, timeout, before, event, after
    )


def _of_request(
    protocol: BrokerProtocol, timeout: int, before: Broker, event: BrokerEvent, after: Broker
) -> bool:
    """Whether the age of the heartbeat in flight counts from its sending, if the variant counts that."""
    counted = protocol.contact_time is ContactTime.REQUEST
    if not counted or Api.HEARTBEAT not in after.awaiting or Api.HEARTBEAT not in before.awaiting:
        return after.request_ticks == 0
    age = before.request_ticks + isinstance(event, Tick)
    return after.request_ticks == min(age, timeout)


def _of_contact(
    protocol: BrokerProtocol, timeout: int, before: Broker, event: BrokerEvent, after: Broker
) -> bool:
    """Whether the time since contact is the age of the answered request, and else goes on."""
    age = before.request_ticks
    answer = event.response if isinstance(event, ResponseReceived) else None
    awaited = isinstance(answer, MetadataHeartbeatResponse) and Api.HEARTBEAT in before.awaiting
    if awaited and answer is not None and answer.error is BrokerErrorCode.NONE:
        assert isinstance(answer, MetadataHeartbeatResponse)
        if answer.state is BrokerState.INACTIVE:
            return after.fenced and after.ticks == 0
        if age < timeout:
            return not after.fenced and after.ticks == age
        return (after.fenced, after.ticks) == (before.fenced, before.ticks)
    if isinstance(event, Tick) and not before.fenced:
        without_controller = before.ticks + 1 >= timeout
        return after.fenced is without_controller and after.ticks == (
            0 if without_controller else before.ticks + 1
        )
    if after.fenced:
        return after.ticks == 0
    renews = awaited and protocol.contact is Contact.ANY_ANSWER
    return after.ticks == (min(before.ticks, age) if renews else before.ticks)
