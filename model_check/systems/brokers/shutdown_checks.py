"""Checks of controlled shutdowns at the controller, and of the leaders and members that it chooses."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Controller, MetadataLog
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import Failover
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    IsrMember,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.systems.brokers.controller_step import ControllerStep, Leaving, key_of, unfenced


def leaving_after(step: ControllerStep) -> Leaving:
    """The brokers that are leaving after a step. A new controller starts without them (HBK-11), unless B-20
    is checked.
    """
    log = step.after.durable
    if not isinstance(log, MetadataLog):
        return ()
    if isinstance(step.event, Failover) and not step.hand_over_survives:
        return ()
    found = dict(step.leaving)
    for request, response in _heartbeats(step):
        if response.should_shut_down:
            found.pop(request.broker, None)
        elif request.want_shutdown:
            found.setdefault(request.broker, log.end_offset - 1)
    kept = unfenced(log)
    return tuple(sorted((broker, offset) for broker, offset in found.items() if broker in kept))


def violations(step: ControllerStep) -> Iterator[str]:
    """The violations of a step; ``leaving`` as before it."""
    for request, response in _heartbeats(step):
        if not _is_handed_over(step, request, response):
            yield "HandOverSurvivesFailover" if step.hand_over_survives else "ShutdownHandsLeadersOver"
    leaving = {broker for broker, _ in leaving_after(step)}
    for was, partition in step.changes():
        if not _is_chosen_well(step, leaving, was, partition):
            yield "LeavingBrokerIsNotChosen"


def goals(step: ControllerStep) -> Iterator[str]:
    """The goal that a step reaches if a broker without leaderships has to wait until others have read so."""
    led = {each.leader for each in step.before.durable.partitions}
    for request, response in _heartbeats(step):
        waits = request.broker in dict(step.leaving) and request.broker not in led
        if request.want_shutdown and waits and not response.should_shut_down:
            yield "GoalShutdownWaits"


def _heartbeats(step: ControllerStep) -> Iterator[tuple[BrokerHeartbeatRequest, BrokerHeartbeatResponse]]:
    """The heartbeat that a step accepts, and its response."""
    request = step.request
    if isinstance(request, BrokerHeartbeatRequest):
        for response in step.responses:
            if isinstance(response, BrokerHeartbeatResponse) and response.error is BrokerErrorCode.NONE:
                yield request, response


def _is_handed_over(
    step: ControllerStep, request: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse
) -> bool:
    """A broker that requests a shutdown has lost its leaderships, and stops once all know (HBK-5)."""
    broker, since, before = request.broker, dict(step.leaving), step.before
    if not request.want_shutdown and broker not in since:
        return not response.should_shut_down
    known = views.registration(step.after, broker)
    if known is None or any(_is_needed(broker, each) for each in step.after.durable.partitions):
        return False
    if not response.should_shut_down:
        return known.in_controlled_shutdown and not known.fenced
    assert isinstance(before.durable, MetadataLog)
    if any(each.leader == broker for each in before.durable.partitions):
        return False
    active = unfenced(before.durable) - set(since)
    have_read = (each.offset >= since.get(broker, -1) for each in before.sessions if each.broker in active)
    return known.fenced and all(have_read)


def _is_needed(broker: int, partition: Partition) -> bool:
    """Whether ``broker`` leads a partition, or is in its ISR with others."""
    return partition.leader == broker or (len(partition.isr) > 1 and broker in partition.isr)


def _is_chosen_well(step: ControllerStep, leaving: set[int], was: Partition, partition: Partition) -> bool:
    """A new leader can lead, and the one before it cannot or is no replica any more; in the form of KIP-631
    the members of a new ISR may be in it.
    """
    after = step.after
    led = partition.leader in (None, was.leader) or _can_lead(after, leaving, partition.leader)
    if was.leader != partition.leader and was.leader in partition.replicas:
        led = led and not _can_lead(after, leaving, was.leader)
    if not isinstance(after.durable, MetadataLog):
        return led
    joined = (IsrMember(each) for each in set(partition.isr) - set(was.isr))
    proposed = _proposed(step, partition) if partition.isr != was.isr else ()
    return led and all(_may_join(step.before, leaving, member) for member in (*joined, *proposed))


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


def _proposed(step: ControllerStep, partition: Partition) -> tuple[IsrMember, ...]:
    """The members that a leader proposes, with their incarnations."""
    request = step.request
    if not isinstance(request, AlterPartitionRequest):
        return ()
    proposals = (each for each in request.partitions if key_of(each) == key_of(partition))
    return tuple(member for proposal in proposals for member in proposal.isr)
