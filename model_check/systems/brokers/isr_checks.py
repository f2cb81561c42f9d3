"""Checks of requests that change ISRs, in both forms: partition by partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.reference.brokers import messages, views
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RequestReceived, StoreIsrReceived
from kraftcheck.reference.brokers.step import step as run
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.controller_step import ControllerStep, Key, key_of, partitions_of

IsrRequest = messages.IsrChangeRequest | messages.AlterPartitionRequest


def violations(step: ControllerStep) -> Iterator[str]:
    """The violations of a step that handles a request for ISRs, or a write of a legacy broker."""
    if not _is_changed_by_leader(step):
        yield "IsrChangedByLeaderOnly"
    if not _has_rejected_no_effect(step):
        yield "RejectedIsrChangeHasNoEffect"


def _is_changed_by_leader(step: ControllerStep) -> bool:
    """Only the leader changes an ISR, by a request in its current epochs (ISR-2 to ISR-6, AISR-1 to AISR-3).

    A legacy broker writes past the controller; only the leader may do so here, too. Any incarnation of it
    may: the store compares only the version of the node, which no registration changes. A write of a previous
    incarnation may therefore be applied after the next one has registered.
    """
    event, request, changes = step.event, step.request, step.changes()
    if isinstance(event, StoreIsrReceived):
        writer = event.request.broker, event.request.leader_epoch
        return all(old.isr == new.isr or (old.leader, old.leader_epoch) == writer for old, new in changes)
    if not changes or not isinstance(request, IsrRequest):
        return True
    assert isinstance(event, RequestReceived)
    life = request.incarnation if isinstance(request, messages.IsrChangeRequest) else request.epoch
    may = event.node == step.before.active and _is_current(step.before, request.broker, life)
    return may and {key_of(old) for old, _ in changes} <= _led(step.before, request)


def _has_rejected_no_effect(step: ControllerStep) -> bool:
    """A refused request for ISRs changes nothing, and a refused partition stays as it is (ISR-7, ISR-8)."""
    request, changed = step.request, {key_of(old) for old, _ in step.changes()}
    if not isinstance(request, IsrRequest):
        return True
    for response in step.responses:
        if is_refused(response) and step.before != step.after:
            return False
        if not changed <= _applied(request, response):
            return False
    return len(request.partitions) <= 1 or _is_independent(step, request)


def is_refused(response: messages.Response) -> bool:
    """Whether a response says that nothing of a request for ISRs was applied."""
    results = _results(response)
    return response.error is not BrokerErrorCode.NONE or (bool(results) and all(map(_says_no, results)))


def is_partly_refused(response: messages.Response) -> bool:
    """Whether a response says that some partitions of a request for ISRs were changed and others not."""
    return len(set(map(_says_no, _results(response)))) > 1


def _led(before: Controller, request: IsrRequest) -> set[Key]:
    """The partitions of a request that its sender leads in the epochs that it names."""
    known = partitions_of(before)
    return {
        key_of(now)
        for each in request.partitions
        if (now := known.get(key_of(each))) is not None
        and (now.leader, now.leader_epoch) == (request.broker, each.leader_epoch)
        and (isinstance(each, messages.IsrProposal) or now.partition_epoch == each.partition_epoch)
    }


def _results(response: messages.Response) -> tuple[BrokerErrorCode, ...]:
    if isinstance(response, messages.IsrChangeResponse):
        return response.results
    if isinstance(response, messages.AlterPartitionResponse):
        return tuple(each.error for each in response.partitions)
    return ()


def _says_no(result: BrokerErrorCode) -> bool:
    """Whether a result means that nothing was changed; NEW_LEADER_ELECTED reports a change."""
    return result not in (BrokerErrorCode.NONE, BrokerErrorCode.NEW_LEADER_ELECTED)


def _applied(request: IsrRequest, response: messages.Response) -> set[Key]:
    """The partitions that a request names and its response does not refuse."""
    if isinstance(response, messages.AlterPartitionResponse):
        return {key_of(each) for each in response.partitions if not _says_no(each.error)}
    asked = (key_of(each) for each in request.partitions)
    return {key for key, result in zip(asked, _results(response), strict=False) if not _says_no(result)}


def _is_independent(step: ControllerStep, request: IsrRequest) -> bool:
    """Whether each partition changes as it would in a request of its own (ISR-8)."""
    alone: list[object] = []
    for proposal in request.partitions:
        event = replace(cast(RequestReceived, step.event), request=replace(request, partitions=(proposal,)))
        found = ControllerStep(step.protocol, step.before, event, run(step.protocol, step.before, event))
        key = key_of(proposal)
        if partitions_of(found.after).get(key) != partitions_of(step.after).get(key):
            return False
        alone += _results_of(found)
    return _results_of(step) == alone


def _results_of(step: ControllerStep) -> list[object]:
    """The results of responses for single partitions."""
    return [
        each
        for answer in step.responses
        if isinstance(answer, messages.IsrChangeResponse | messages.AlterPartitionResponse)
        for each in (answer.results if isinstance(answer, messages.IsrChangeResponse) else answer.partitions)
    ]


def _is_current(controller: Controller, broker: int, life: int) -> bool:
    if isinstance(controller.durable, Store):
        stored = views.stored(controller, broker)
        return stored is not None and stored.incarnation == life
    known = views.registration(controller, broker)
    return known is not None and known.epoch == life
