"""Checks of requests that change ISRs, in both forms: partition by partition."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RequestReceived, StoreIsrReceived
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    IsrProposal,
    Response,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import ControllerOutcome, step
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import names

IsrRequest = IsrChangeRequest | AlterPartitionRequest
Key = tuple[str, int]


def violations(
    protocol: BrokerProtocol,
    before: Controller,
    event: RequestReceived,
    request: IsrRequest,
    outcome: ControllerOutcome,
) -> Iterator[str]:
    """The violations of a step that handles a request for ISRs (ISR-2 to ISR-8, AISR-1 to AISR-5)."""
    changed = [_key(old) for old, _ in _changes(before, outcome.state)]
    if changed:
        life = request.incarnation if isinstance(request, IsrChangeRequest) else request.epoch
        may = event.node == before.active and _is_current(before, request.broker, life)
        if not may or not set(changed) <= _led(before, request):
            yield names.ISR_BY_LEADER_ONLY
    for response in _answers(outcome):
        refused = is_refused(response) and before != outcome.state
        if refused or not set(changed) <= _applied(request, response):
            yield names.REJECTED_HAS_NO_EFFECT
    if len(request.partitions) > 1 and not _is_independent(protocol, before, event, request, outcome):
        yield names.REJECTED_HAS_NO_EFFECT


def of_store_write(before: Controller, event: StoreIsrReceived, after: Controller) -> Iterator[str]:
    """A legacy broker writes past the controller; only the leader may do so here, too.

    Any incarnation of it may: the store compares only the version of the node, which no registration changes.
    A write of a previous incarnation may therefore be applied after the next one has registered.
    """
    for old, new in _changes(before, after):
        led = (old.leader, old.leader_epoch) == (event.request.broker, event.request.leader_epoch)
        if old.isr != new.isr and not led:
            yield names.ISR_BY_LEADER_ONLY


def is_refused(response: Response) -> bool:
    """Whether a response says that nothing of a request for ISRs was applied."""
    results = _results(response)
    return response.error is not BrokerErrorCode.NONE or (bool(results) and all(map(_says_no, results)))


def is_partly_refused(response: Response) -> bool:
    """Whether a response says that some partitions of a request for ISRs were changed and others not."""
    return len(set(map(_says_no, _results(response)))) > 1


def _key(partition: Partition) -> Key:
    return partition.topic, partition.index


def _changes(before: Controller, after: Controller) -> Iterator[tuple[Partition, Partition]]:
    """The partitions that a step has changed, before and after."""
    for old, new in zip(before.durable.partitions, after.durable.partitions, strict=True):
        if old != new:
            yield old, new


def _led(before: Controller, request: IsrRequest) -> set[Key]:
    """The partitions of a request that its sender leads in the epochs that it names."""
    known = {_key(each): each for each in before.durable.partitions}
    return {
        _key(now)
        for each in request.partitions
        if (now := known.get((each.topic, each.index))) is not None
        and (now.leader, now.leader_epoch) == (request.broker, each.leader_epoch)
        and (isinstance(each, IsrProposal) or now.partition_epoch == each.partition_epoch)
    }


def _answers(outcome: ControllerOutcome) -> Iterator[Response]:
    return (each.response for each in outcome.effects if isinstance(each, Reply))


def _results(response: Response) -> tuple[BrokerErrorCode, ...]:
    if isinstance(response, IsrChangeResponse):
        return response.results
    if isinstance(response, AlterPartitionResponse):
        return tuple(each.error for each in response.partitions)
    return ()


def _says_no(result: BrokerErrorCode) -> bool:
    """Whether a result means that nothing was changed; NEW_LEADER_ELECTED reports a change."""
    return result not in (BrokerErrorCode.NONE, BrokerErrorCode.NEW_LEADER_ELECTED)


def _applied(request: IsrRequest, response: Response) -> set[Key]:
    """The partitions that a request names and its response does not refuse."""
    if isinstance(response, AlterPartitionResponse):
        return {(each.topic, each.index) for each in response.partitions if not _says_no(each.error)}
    asked = ((each.topic, each.index) for each in request.partitions)
    return {key for key, result in zip(asked, _results(response), strict=False) if not _says_no(result)}


def _is_independent(
    protocol: BrokerProtocol,
    before: Controller,
    event: RequestReceived,
    request: IsrRequest,
    outcome: ControllerOutcome,
) -> bool:
    """Whether each partition changes as it would in a request of its own (ISR-8)."""
    together = _results_of(outcome)
    alone: list[object] = []
    for proposal in request.partitions:
        single = replace(request, partitions=(proposal,))
        found = step(protocol, before, replace(event, request=single))
        key = (proposal.topic, proposal.index)
        if _partition(found.state, key) != _partition(outcome.state, key):
            return False
        alone += _results_of(found)
    return together == alone


def _results_of(outcome: ControllerOutcome) -> list[object]:
    """The results of responses for single partitions."""
    return [
        each
        for answer in _answers(outcome)
        if isinstance(answer, IsrChangeResponse | AlterPartitionResponse)
        for each in (answer.results if isinstance(answer, IsrChangeResponse) else answer.partitions)
    ]


def _partition(controller: Controller, key: Key) -> Partition | None:
    return next((each for each in controller.durable.partitions if _key(each) == key), None)


def _is_current(controller: Controller, broker: int, life: int) -> bool:
    if isinstance(controller.durable, Store):
        stored = views.stored(controller, broker)
        return stored is not None and stored.incarnation == life
    known = views.registration(controller, broker)
    return known is not None and known.epoch == life
