"""Checks of single steps of the controller, and the goals that they reach."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import effects, views
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Controller, MetadataLog, Store
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import Failover
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerState,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.systems.brokers import isr_checks, registration_checks, shutdown_checks
from kraftcheck.systems.brokers.controller_step import ControllerStep, key_of, partitions_of, unfenced


def violations(step: ControllerStep) -> Iterator[str]:
    """The properties that a step of the controller violates."""
    if not _is_incarnation_monotone(step):
        yield "IncarnationMonotone"
    yield from isr_checks.violations(step)
    if not all(map(_is_well_formed, step.after.durable.partitions)):
        yield "IsrWellFormed"
    if _shows_inactive(step) or _has_fenced_member(step.after):
        yield "InactiveBrokerIsInvisible"
    if not _are_legacy_active(step.after):
        yield "LegacyBrokerAlwaysActive"
    yield from registration_checks.violations(step)
    yield from shutdown_checks.violations(step)


def _is_incarnation_monotone(step: ControllerStep) -> bool:
    """A heartbeat of an earlier incarnation than the remembered one changes nothing."""
    request = step.request
    if not isinstance(request, MetadataHeartbeatRequest):
        return True
    known = views.remembered(step.before, request.broker).incarnation
    return known is None or request.incarnation >= known or step.after == step.before


def _is_well_formed(partition: Partition) -> bool:
    """An ISR has members, all of them replicas, and the leader is one of them."""
    isr = set(partition.isr)
    led = partition.leader is None or partition.leader in isr
    return bool(isr) and led and isr <= set(partition.replicas)


def _are_legacy_active(after: Controller) -> bool:
    """An active controller of the draft shows every legacy broker."""
    if not isinstance(after.durable, Store) or after.active is None:
        return True
    return _legacy(after.durable) <= {each.broker for each in views.visible_brokers(after)}


def _legacy(store: Store) -> set[int]:
    return {each.broker for each in store.registrations if each.version == LEGACY_VERSION}


def _shows_inactive(step: ControllerStep) -> bool:
    """Whether metadata shows a broker that is inactive or fenced, or that the controller does not know."""
    durable = step.after.durable
    if isinstance(durable, MetadataLog):
        shown = unfenced(durable)
    else:
        # A broker without a kept state is inactive (BSTATE-1).
        shown = {each.broker for each in step.after.brokers if each.state is not BrokerState.INACTIVE}
        shown |= _legacy(durable)
    updates = (each.update for each in step.outcome.effects if isinstance(each, effects.SendMetadata))
    return any(not {each.broker for each in update.brokers} <= shown for update in updates)


def _has_fenced_member(after: Controller) -> bool:
    """KIP-631: whether a fenced broker leads, or is in an ISR with others."""
    if not isinstance(after.durable, MetadataLog):
        return False
    fenced = {each.broker for each in after.durable.registrations if each.fenced}
    return any(
        partition.leader in fenced or (len(partition.isr) > 1 and fenced & set(partition.isr))
        for partition in after.durable.partitions
    )


# Goals.


def goals(step: ControllerStep) -> Iterator[str]:
    """The goals that a step of the controller reaches."""
    yield from shutdown_checks.goals(step)
    if isinstance(step.event, Failover):
        yield "GoalControllerFailover"
    for effect in step.outcome.effects:
        if isinstance(effect, effects.BrokerDeclared):
            inactive = effect.state is BrokerState.INACTIVE
            yield "GoalBrokerInactive" if inactive else "GoalBrokerActiveAgain"
        elif isinstance(effect, effects.BrokerFenced):
            yield "GoalBrokerInactive" if effect.fenced else "GoalBrokerActiveAgain"
        elif isinstance(effect, effects.PartitionChanged):
            if partitions_of(step.before)[key_of(effect.partition)].leader != effect.partition.leader:
                yield "GoalPartitionLeaderChanged"
        elif isinstance(effect, effects.Reply):
            yield from _goals_of_answer(effect)


def _goals_of_answer(effect: effects.Reply) -> Iterator[str]:
    response = effect.response
    if response.error is BrokerErrorCode.INVALID_INCARNATION_ID:
        yield "GoalFormerLifeRejected"
    if isinstance(response, IsrChangeResponse | AlterPartitionResponse):
        yield "GoalIsrChangeRefused" if isr_checks.is_refused(response) else "GoalIsrChanged"
        if isr_checks.is_partly_refused(response):
            yield "GoalIsrChangePartlyRefused"
