"""What is judged of a single step of a broker process."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.effects import Accepted, BrokerEffect, Completed, FencedItself, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import BrokerEvent, ResponseReceived, ShutdownWished, Tick
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.protocol import BrokerProtocol, Contact, ContactTime
from kraftcheck.reference.brokers.step import BrokerOutcome
from kraftcheck.systems.brokers import names
from kraftcheck.systems.brokers.wiring import Wiring


def violations(wiring: Wiring, before: Broker, event: BrokerEvent, outcome: BrokerOutcome) -> Iterator[str]:
    """What is wrong with a step of a process."""
    after, effects = outcome.state, outcome.effects
    if before.ended:
        # Its machine goes on: of a process that is gone nothing is asked but that it stays so.
        if after != before or effects:
            yield names.STOPS_WHEN_LET_GO
        return
    if wiring.is_draft and not _fences(before, after, effects):
        yield names.FENCED_SERVES_NOTHING
    stops = (_stops_by_state if wiring.is_draft else _stops_by_life)(before, event, after)
    if not stops or (before.life is Life.SHUTTING_DOWN and any(map(_is_heartbeat, effects))):
        yield names.STOPS_WHEN_LET_GO
    if not _completes(before, after, effects):
        yield names.ACCEPTED_COMPLETED
    timed = wiring.is_draft and not before.legacy and not after.ended
    if timed and not _counts(wiring.protocol, before, event, after):
        yield names.CONTACT_COUNTS


def _fences(before: Broker, after: Broker, effects: tuple[BrokerEffect, ...]) -> bool:
    """Whether a process that is fenced, says that it fences itself, or was told no state yet accepts nothing
    (FENCE-2, FENCE-9).
    """
    accepts = any(isinstance(each, Accepted) for each in effects)
    fences = any(isinstance(each, FencedItself) for each in effects)
    waits = before.fenced or (before.state is BrokerState.INITIAL and not before.legacy)
    return not (accepts and waits) and not (fences and not (after.fenced or after.ended))


def _completes(before: Broker, after: Broker, effects: tuple[BrokerEffect, ...]) -> bool:
    """Whether what was accepted is neither dropped nor added to by a process that was let go (BSTATE-9)."""
    accepted = sum(isinstance(each, Accepted) for each in effects)
    left = before.accepted + accepted - sum(isinstance(each, Completed) for each in effects)
    let_go = before.ended or before.life is Life.SHUTTING_DOWN
    if before.legacy:
        let_go = before.wish is BrokerState.INACTIVE
    return left == after.accepted and left >= 0 and not (accepted and let_go)


# The end of a process.


def _stops_by_life(before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """KIP-631: whether a process goes through its life in order, and ends when it is told that it may."""
    ends = after.ended or after.life is Life.SHUTTING_DOWN
    if before.life is Life.SHUTTING_DOWN:
        return ends
    if before.life in (Life.STARTING, Life.RECOVERY):
        return not ends or isinstance(event, ShutdownWished)
    wishes = before.life is Life.PENDING_CONTROLLED_SHUTDOWN
    answer = event.response if isinstance(event, ResponseReceived) else None
    if ends:
        told = isinstance(answer, BrokerHeartbeatResponse) and not answer.error and answer.should_shut_down
        return wishes and told and Api.HEARTBEAT in before.awaiting
    wished = wishes or isinstance(event, ShutdownWished)
    return after.life is (Life.PENDING_CONTROLLED_SHUTDOWN if wished else Life.RUNNING)


def _is_heartbeat(effect: BrokerEffect) -> bool:
    """Whether a heartbeat is sent; that of a process that was let go does not say that it leaves (HBK-2)."""
    return isinstance(effect, Send) and isinstance(effect.request, BrokerHeartbeatRequest)


def _stops_by_state(before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """KIP-343: whether a process that stops wishes to be inactive when it leads nothing, and ends as such."""
    if before.legacy:
        wished = before.wish is BrokerState.INACTIVE or isinstance(event, ShutdownWished)
        return wished or not after.ended
    state = _told(before, event)
    if after.ended:
        return before.wish is BrokerState.INACTIVE and state is BrokerState.INACTIVE
    if after.state is not state:
        return False
    if after.wish is before.wish:
        return True
    if after.wish is BrokerState.STOPPING:
        return before.wish is BrokerState.ACTIVE and isinstance(event, ShutdownWished)
    leads_nothing = before.state is BrokerState.STOPPING and not views.led(before)
    return after.wish is BrokerState.INACTIVE and before.wish is BrokerState.STOPPING and leads_nothing


def _told(before: Broker, event: BrokerEvent) -> BrokerState:
    """The state that the controller has told a process last."""
    answer = event.response if isinstance(event, ResponseReceived) else None
    if not isinstance(answer, MetadataHeartbeatResponse) or Api.HEARTBEAT not in before.awaiting:
        return before.state
    return before.state if answer.state is None else answer.state


# The time since the controller was reached.


def _counts(protocol: BrokerProtocol, before: Broker, event: BrokerEvent, after: Broker) -> bool:
    """Whether time is counted as FENCE-8 says: for each request by itself, and not for one given up."""
    timeout = protocol.broker_timeout
    if timeout is None:
        return True
    return _of_request(protocol, timeout, before, event, after) and _of_contact(
        protocol, timeout, before, event, after
    )


def _of_request(
    protocol: BrokerProtocol, timeout: int, before: Broker, event: BrokerEvent, after: Broker
) -> bool:
    """Whether the age of the heartbeat under way is that since it was sent, where that is what counts."""
    counted = protocol.contact_time is ContactTime.REQUEST
    if not counted or Api.HEARTBEAT not in after.awaiting or Api.HEARTBEAT not in before.awaiting:
        return after.request_ticks == 0
    age = before.request_ticks + isinstance(event, Tick)
    return after.request_ticks == min(age, timeout)


def _of_contact(
    protocol: BrokerProtocol, timeout: int, before: Broker, event: BrokerEvent, after: Broker
) -> bool:
    """Whether the time since contact is that of the request that was answered, and else goes on."""
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
        lonely = before.ticks + 1 >= timeout
        return after.fenced is lonely and after.ticks == (0 if lonely else before.ticks + 1)
    if after.fenced:
        return after.ticks == 0
    renews = awaited and protocol.contact is Contact.ANY_ANSWER
    return after.ticks == (min(before.ticks, age) if renews else before.ticks)
