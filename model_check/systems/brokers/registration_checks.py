"""Checks of shipped registrations and sessions: by their changes, not by what effects report."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import BrokerRegistration, Controller, MetadataLog, Session
from kraftcheck.reference.brokers.effects import BrokerFenced
from kraftcheck.reference.brokers.events import Failover, SessionExpired, Tick
from kraftcheck.reference.brokers.messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.controller_step import ControllerStep


def violations(step: ControllerStep) -> Iterator[str]:
    """The violations of a step of the controller of KIP-631."""
    old, new = step.before.durable, step.after.durable
    if not (isinstance(old, MetadataLog) and isinstance(new, MetadataLog)):
        return
    was = {each.broker: each for each in old.registrations}
    changed = [each for each in new.registrations if was.get(each.broker) != each]
    unfences = {
        each.broker for each in step.outcome.effects if isinstance(each, BrokerFenced) and not each.fenced
    }
    for now in changed:
        if not now.fenced and (now.broker not in was or was[now.broker].fenced):
            unfences.add(now.broker)
    for broker in unfences:
        if not _has_caught_up(step, broker):
            yield "UnfencedBrokerHasCaughtUp"
    kept = set(was) <= {each.broker for each in new.registrations}
    if not (kept and all(_is_in_order(step, old, was.get(each.broker), each) for each in changed)):
        yield "NewestRegistrationCounts"
    if set(step.after.sessions) != set(_sessions(step)):
        yield "SessionsSayWhatWasHeard"


def _has_caught_up(step: ControllerStep, broker: int) -> bool:
    """A heartbeat of its own incarnation that reports the registration unfences a broker (HBK-2)."""
    known, request = views.registration(step.after, broker), step.accepted
    if known is None or not isinstance(request, BrokerHeartbeatRequest) or request.broker != broker:
        return False
    return request.epoch == known.epoch and request.offset >= known.epoch


def _is_in_order(
    step: ControllerStep, log: MetadataLog, was: BrokerRegistration | None, now: BrokerRegistration
) -> bool:
    """A registration changes by a new incarnation of its broker or by a heartbeat of its own, or it is fenced
    because its own session ends.
    """
    request = step.accepted
    if was is None or (was.incarnation, was.epoch) != (now.incarnation, now.epoch):
        if not isinstance(request, BrokerRegistrationRequest) or request.broker != now.broker:
            return False
        waited = was is None or views.session(step.before, now.broker) is None
        is_new = request.incarnation == now.incarnation and (
            was is None or was.incarnation != now.incarnation
        )
        return waited and is_new and now == BrokerRegistration(now.broker, now.incarnation, log.end_offset)
    if isinstance(step.event, SessionExpired | Tick):
        had, has = (views.session(each, now.broker) is not None for each in (step.before, step.after))
        return had and not has and now == replace(was, fenced=True)
    own = isinstance(request, BrokerHeartbeatRequest) and request.broker == now.broker
    return own and isinstance(request, BrokerHeartbeatRequest) and request.epoch == now.epoch


def _sessions(step: ControllerStep) -> Iterator[Session]:
    """The sessions after a step: they begin with a heartbeat or a new controller, and end in time."""
    event, request, timeout = step.event, step.accepted, step.protocol.controller_timeout
    if isinstance(event, Failover):
        yield from _of_new_controller(step.after)
        return
    expected = {each.broker: each for each in step.before.sessions}
    if isinstance(event, SessionExpired) and timeout is None and step.before.active is not None:
        expected.pop(event.broker, None)
    elif isinstance(event, Tick) and timeout is not None and step.before.active is not None:
        later = (replace(each, ticks=each.ticks + 1) for each in expected.values())
        expected = {each.broker: each for each in later if each.ticks < timeout}
    elif isinstance(request, BrokerHeartbeatRequest):
        # From which offset on a broker may go is the subject of another property.
        own = views.session(step.after, request.broker) or Session(request.broker)
        expected[request.broker] = Session(request.broker, 0, request.offset, own.shutdown_offset)
    yield from expected.values()


def _of_new_controller(after: Controller) -> Iterator[Session]:
    """New sessions of all unfenced brokers, which have reported nothing yet (HBK-11)."""
    assert isinstance(after.durable, MetadataLog)
    if after.active is not None:
        yield from (Session(each.broker) for each in after.durable.registrations if not each.fenced)
