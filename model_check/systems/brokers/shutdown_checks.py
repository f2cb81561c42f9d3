"""Checks of controlled shutdowns at the controller, and the state that they need.

``Leaving``: by broker in controlled shutdown, up to which offset of the metadata log every other active
broker has to have read before it may stop. It follows from requests and responses, not from the state that
the reference keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Controller, MetadataLog
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import ControllerEvent, Failover, RequestReceived
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    IsrMember,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.step import ControllerOutcome
from kraftcheck.systems.brokers import names
from kraftcheck.systems.brokers.wiring import Wiring

Leaving = tuple[tuple[int, int], ...]


def leaving_after(
    wiring: Wiring, leaving: Leaving, event: ControllerEvent, outcome: ControllerOutcome
) -> Leaving:
    """``leaving`` after a step. A new controller starts without it (HBK-11), unless B-20 is checked."""
    log = outcome.state.durable
    if not isinstance(log, MetadataLog):
        return ()
    if isinstance(event, Failover) and not wiring.hand_over_survives:
        return ()
    found = dict(leaving)
    for request, response in _heartbeats(event, outcome):
        if response.should_shut_down:
            found.pop(request.broker, None)
        elif request.want_shutdown:
            found.setdefault(request.broker, log.end_offset - 1)
    unfenced = _unfenced(log)
    return tuple(sorted((broker, offset) for broker, offset in found.items() if broker in unfenced))


def violations(
    wiring: Wiring, leaving: Leaving, before: Controller, event: ControllerEvent, outcome: ControllerOutcome
) -> Iterator[str]:
    """The violations of a step; ``leaving`` as before it."""
    for request, response in _heartbeats(event, outcome):
        if not _is_handed_over(leaving, before, outcome.state, request, response):
            yield names.HAND_OVER_SURVIVES if wiring.hand_over_survives else names.SHUTDOWN_HANDS_OVER
    after = {broker for broker, _ in leaving_after(wiring, leaving, event, outcome)}
    old = {(each.topic, each.index): each for each in before.durable.partitions}
    for partition in outcome.state.durable.partitions:
        was = old.get((partition.topic, partition.index), partition)
        if was != partition and not _is_chosen_well(after, before, event, outcome.state, was, partition):
            yield names.LEAVING_NOT_CHOSEN


def goals(
    leaving: Leaving, before: Controller, event: ControllerEvent, outcome: ControllerOutcome
) -> Iterator[str]:
    """The goal that a step reaches if a broker without leaderships has to wait until others have read so."""
    led = {each.leader for each in before.durable.partitions}
    for request, response in _heartbeats(event, outcome):
        waits = request.broker in dict(leaving) and request.broker not in led
        if request.want_shutdown and waits and not response.should_shut_down:
            yield names.GOAL_SHUTDOWN_WAITS


def _heartbeats(
    event: ControllerEvent, outcome: ControllerOutcome
) -> Iterator[tuple[BrokerHeartbeatRequest, BrokerHeartbeatResponse]]:
    """The heartbeat that a step accepts, and its response."""
    if isinstance(event, RequestReceived) and isinstance(event.request, BrokerHeartbeatRequest):
        for effect in outcome.effects:
            response = getattr(effect, "response", None)
            if isinstance(response, BrokerHeartbeatResponse) and response.error is BrokerErrorCode.NONE:
                yield event.request, response


def _unfenced(log: MetadataLog) -> set[int]:
    return {each.broker for each in log.registrations if not each.fenced}


def _is_handed_over(
    leaving: Leaving,
    before: Controller,
    after: Controller,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
) -> bool:
    """Whether a broker that requests a shutdown has lost its leaderships, and stops once all know (HBK-5)."""
    broker, since = request.broker, dict(leaving)
    if not request.want_shutdown and broker not in since:
        return not response.should_shut_down
    known = views.registration(after, broker)
    if known is None or any(_is_needed(broker, each) for each in after.durable.partitions):
        return False
    if not response.should_shut_down:
        return known.in_controlled_shutdown and not known.fenced
    assert isinstance(before.durable, MetadataLog)
    if any(each.leader == broker for each in before.durable.partitions):
        return False
    active = _unfenced(before.durable) - set(since)
    have_read = (each.offset >= since.get(broker, -1) for each in before.sessions if each.broker in active)
    return known.fenced and all(have_read)


def _is_needed(broker: int, partition: Partition) -> bool:
    """Whether ``broker`` leads a partition, or is in its ISR with others."""
    return partition.leader == broker or (len(partition.isr) > 1 and broker in partition.isr)


def _is_chosen_well(
    leaving: set[int],
    before: Controller,
    event: ControllerEvent,
    after: Controller,
    was: Partition,
    partition: Partition,
) -> bool:
    """Whether a new leader can lead, and the one before it cannot or is no replica any more; and, in the form
    of KIP-631, whether the members of a new ISR may be in it.
    """
    led = partition.leader in (None, was.leader) or _can_lead(after, leaving, partition.leader)
    if was.leader != partition.leader and was.leader in partition.replicas:
        led = led and not _can_lead(after, leaving, was.leader)
    if not isinstance(after.durable, MetadataLog):
        return led
    joined = (IsrMember(each) for each in set(partition.isr) - set(was.isr))
    proposed = _proposed(event, partition) if partition.isr != was.isr else ()
    return led and all(_may_join(before, leaving, member) for member in (*joined, *proposed))


def _can_lead(after: Controller, leaving: set[int], broker: int) -> bool:
    if not isinstance(after.durable, MetadataLog):
        return views.state_of(after, broker) is BrokerState.ACTIVE
    return _may_join(after, leaving, IsrMember(broker))


def _may_join(controller: Controller, leaving: set[int], member: IsrMember) -> bool:
    """Whether a broker is registered in this incarnation, and neither fenced nor leaving (AISR-4)."""
    known = views.registration(controller, member.broker)
    if known is None or known.fenced or known.in_controlled_shutdown or member.broker in leaving:
        return False
    return member.epoch in (-1, known.epoch)


def _proposed(event: ControllerEvent, partition: Partition) -> tuple[IsrMember, ...]:
    """The members that a leader proposes, with their incarnations."""
    if not isinstance(event, RequestReceived) or not isinstance(event.request, AlterPartitionRequest):
        return ()
    return tuple(
        member
        for proposal in event.request.partitions
        if (proposal.topic, proposal.index) == (partition.topic, partition.index)
        for member in proposal.isr
    )
