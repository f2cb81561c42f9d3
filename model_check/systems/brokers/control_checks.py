"""Checks of single steps of the controller, and the goals that they reach."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Controller, MetadataLog, Store
from kraftcheck.reference.brokers.effects import (
    BrokerDeclared,
    BrokerFenced,
    ControllerEffect,
    PartitionChanged,
    Reply,
    Tell,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import ControllerEvent, Failover, RequestReceived, StoreIsrReceived
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.step import ControllerOutcome
from kraftcheck.systems.brokers import isr_checks, names, registration_checks
from kraftcheck.systems.brokers.wiring import Wiring


def violations(
    wiring: Wiring, before: Controller, event: ControllerEvent, outcome: ControllerOutcome
) -> Iterator[str]:
    """The properties that a step of the controller violates."""
    after = outcome.state
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, MetadataHeartbeatRequest):
        known = views.remembered(before, request.broker).incarnation
        if known is not None and request.incarnation < known and after != before:
            yield names.INCARNATION_MONOTONE
    if isinstance(event, RequestReceived) and isinstance(request, IsrChangeRequest | AlterPartitionRequest):
        yield from isr_checks.violations(wiring.protocol, before, event, request, outcome)
    elif isinstance(event, StoreIsrReceived):
        yield from isr_checks.of_store_write(before, event, after)
    if not all(map(_is_well_formed, after.durable.partitions)):
        yield names.ISR_WELL_FORMED
    if any(_shows_inactive(after, effect) for effect in outcome.effects) or _has_fenced_member(after):
        yield names.INACTIVE_INVISIBLE
    if isinstance(after.durable, Store) and after.active is not None:
        visible = {each.broker for each in views.visible_brokers(after)}
        legacy = {each.broker for each in after.durable.registrations if each.version == LEGACY_VERSION}
        if not legacy <= visible:
            yield names.LEGACY_ACTIVE
    yield from registration_checks.violations(wiring.protocol, before, event, outcome)


def _is_well_formed(partition: Partition) -> bool:
    isr = set(partition.isr)
    led = partition.leader is None or partition.leader in isr
    return bool(isr) and led and isr <= set(partition.replicas)


# Brokers.


def _shows_inactive(after: Controller, effect: ControllerEffect) -> bool:
    """Whether metadata shows a broker that is inactive or fenced, or that the controller does not know."""
    if not isinstance(effect, Tell):
        return False
    durable = after.durable
    if isinstance(durable, MetadataLog):
        shown = {each.broker for each in durable.registrations if not each.fenced}
    else:
        # A broker without a kept state is inactive (BSTATE-1).
        shown = {each.broker for each in after.brokers if each.state is not BrokerState.INACTIVE}
        shown |= {each.broker for each in durable.registrations if each.version == LEGACY_VERSION}
    return not {each.broker for each in effect.update.brokers} <= shown


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


def goals(before: Controller, event: ControllerEvent, effects: tuple[ControllerEffect, ...]) -> Iterator[str]:
    """The goals that a step of the controller reaches."""
    if isinstance(event, Failover):
        yield names.GOAL_FAILOVER
    for effect in effects:
        if isinstance(effect, BrokerDeclared):
            inactive = effect.state is BrokerState.INACTIVE
            yield names.GOAL_DECLARED if inactive else names.GOAL_BACK
        elif isinstance(effect, BrokerFenced):
            yield names.GOAL_DECLARED if effect.fenced else names.GOAL_BACK
        elif isinstance(effect, PartitionChanged):
            led = {(each.topic, each.index): each.leader for each in before.durable.partitions}
            changed = effect.partition
            if led.get((changed.topic, changed.index)) != changed.leader:
                yield names.GOAL_LEADER_CHANGED
        elif isinstance(effect, Reply):
            yield from _goals_of_answer(effect)


def _goals_of_answer(effect: Reply) -> Iterator[str]:
    response = effect.response
    if response.error is BrokerErrorCode.INVALID_INCARNATION_ID:
        yield names.GOAL_REJECTED_LIFE
    if isinstance(response, IsrChangeResponse | AlterPartitionResponse):
        yield names.GOAL_ISR_REFUSED if isr_checks.is_refused(response) else names.GOAL_ISR_CHANGED
        if isr_checks.is_partly_refused(response):
            yield names.GOAL_ISR_PARTLY_REFUSED
