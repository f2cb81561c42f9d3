"""Checks of shipped registrations and sessions: by their changes, not by what effects report."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import BrokerRegistration, Controller, MetadataLog, Session
from kraftcheck.reference.brokers.effects import BrokerFenced, Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ControllerEvent,
    Failover,
    RequestReceived,
    SessionExpired,
    Tick,
)
from kraftcheck.reference.brokers.messages import BrokerHeartbeatRequest, BrokerRegistrationRequest, Request
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import ControllerOutcome
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import names


def violations(
    protocol: BrokerProtocol, before: Controller, event: ControllerEvent, outcome: ControllerOutcome
) -> Iterator[str]:
    """The violations of a step of the controller of KIP-631."""
    old, new = before.durable, outcome.state.durable
    if not (isinstance(old, MetadataLog) and isinstance(new, MetadataLog)):
        return
    request = _accepted(before, event, outcome)
    was = {each.broker: each for each in old.registrations}
    changed = [each for each in new.registrations if was.get(each.broker) != each]
    said = {each.broker for each in outcome.effects if isinstance(each, BrokerFenced) and not each.fenced}
    for broker in said | {each.broker for each in changed if not each.fenced and _is_fenced(was, each)}:
        if not _has_caught_up(outcome.state, broker, request):
            yield names.UNFENCED_HAS_CAUGHT_UP
    kept = set(was) <= {each.broker for each in new.registrations}
    in_order = [
        _is_in_order(before, outcome.state, was.get(each.broker), each, event, request) for each in changed
    ]
    if not (kept and all(in_order)):
        yield names.NEWEST_REGISTRATION
    if not _is_heard(protocol, before, event, request, outcome.state):
        yield names.SESSIONS_SAY


def _accepted(before: Controller, event: ControllerEvent, outcome: ControllerOutcome) -> Request | None:
    """The request of a step that the active controller answered without an error."""
    if not isinstance(event, RequestReceived) or event.node != before.active:
        return None
    errors = [each.response.error for each in outcome.effects if isinstance(each, Reply)]
    return event.request if errors == [BrokerErrorCode.NONE] else None


def _is_fenced(was: dict[int, BrokerRegistration], now: BrokerRegistration) -> bool:
    return now.broker not in was or was[now.broker].fenced


def _has_caught_up(after: Controller, broker: int, request: Request | None) -> bool:
    """Whether a heartbeat of its own incarnation that reports the registration unfences a broker (HBK-2)."""
    known = views.registration(after, broker)
    if known is None or not isinstance(request, BrokerHeartbeatRequest) or request.broker != broker:
        return False
    return request.epoch == known.epoch and request.offset >= known.epoch


def _is_in_order(
    before: Controller,
    after: Controller,
    was: BrokerRegistration | None,
    now: BrokerRegistration,
    event: ControllerEvent,
    request: Request | None,
) -> bool:
    """Whether a registration changes by a new incarnation of its broker or by a heartbeat of its own, or is
    fenced because its own session ends.
    """
    if was is None or (was.incarnation, was.epoch) != (now.incarnation, now.epoch):
        assert isinstance(before.durable, MetadataLog)
        asked = isinstance(request, BrokerRegistrationRequest) and request.broker == now.broker
        begun = BrokerRegistration(now.broker, now.incarnation, before.durable.end_offset)
        waited = was is None or views.session(before, now.broker) is None
        return asked and waited and now == begun and _is_newcomer(request, was, now)
    if isinstance(event, SessionExpired | Tick):
        had, has = (views.session(each, now.broker) is not None for each in (before, after))
        return had and not has and now == replace(was, fenced=True)
    own = isinstance(request, BrokerHeartbeatRequest) and request.broker == now.broker
    return own and isinstance(request, BrokerHeartbeatRequest) and request.epoch == now.epoch


def _is_newcomer(request: Request | None, was: BrokerRegistration | None, now: BrokerRegistration) -> bool:
    assert isinstance(request, BrokerRegistrationRequest)
    return request.incarnation == now.incarnation and (was is None or was.incarnation != now.incarnation)


def _is_heard(
    protocol: BrokerProtocol,
    before: Controller,
    event: ControllerEvent,
    request: Request | None,
    after: Controller,
) -> bool:
    """Whether sessions begin with a heartbeat or a new controller, hold the reports, and end in time."""
    found = {each.broker: each for each in after.sessions}
    if isinstance(event, Failover):
        return found == _of_new_controller(after)
    expected = {each.broker: each for each in before.sessions}
    timeout = protocol.controller_timeout
    if isinstance(event, SessionExpired) and timeout is None and before.active is not None:
        expected.pop(event.broker, None)
    elif isinstance(event, Tick) and timeout is not None and before.active is not None:
        later = (replace(each, ticks=each.ticks + 1) for each in expected.values())
        expected = {each.broker: each for each in later if each.ticks < timeout}
    elif isinstance(request, BrokerHeartbeatRequest):
        # From which offset on a broker may go is the subject of another property.
        own = found.get(request.broker, Session(request.broker))
        heard = Session(request.broker, 0, request.offset, own.shutdown_offset)
        expected[request.broker] = heard
    return found == expected


def _of_new_controller(after: Controller) -> dict[int, Session]:
    """New sessions of all unfenced brokers, which have reported nothing yet (HBK-11)."""
    assert isinstance(after.durable, MetadataLog)
    if after.active is None:
        return {}
    return {each.broker: Session(each.broker) for each in after.durable.registrations if not each.fenced}
