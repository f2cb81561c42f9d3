"""What a step of a broker or of the controller covers, as :mod:`.outcomes` says it of replicas.

* an answer: ``MetadataHeartbeatResponse ACTIVE``, ``BrokerHeartbeatResponse unfenced``, ``IsrChangeResponse
  INVALID_REQUEST``; for each partition of an answer what became of it
* a request that is sent: ``sends AlterPartitionRequest``; metadata that is told: ``tells metadata``
* what is declared: ``declares INACTIVE``, ``fences``, ``unfences``
* a partition: ``partition changes``, with ``, another leader`` or ``, no leader`` where that is so
* another effect by its class: ``FencedItself``, ``Refused``, ``Stop``
* without effects ``no effect, changes`` or ``no effect``, as the state is another one afterwards or not; ``no
  effect, an ISR changes`` where a process knows another ISR, or has another change pending.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.effects import (
    BrokerDeclared,
    BrokerEffect,
    BrokerFenced,
    ControllerEffect,
    ForgetRequest,
    PartitionChanged,
    Reply,
    Send,
    StoreReply,
    Tell,
    WriteStore,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    IsrChangeResponse,
    MetadataHeartbeatResponse,
    Response,
)
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.vectors.outcomes import SEPARATOR


def features(before: Controller | Broker, outcome: ControllerOutcome | BrokerOutcome) -> tuple[str, ...]:
    """The pairs that a step covers, sorted: ``INC-4: MetadataHeartbeatResponse STALE_BROKER_EPOCH``."""
    words = dict.fromkeys(outcomes(before, outcome))
    return tuple(sorted(f"{rule}{SEPARATOR}{word}" for rule in outcome.rules for word in words))


def outcomes(before: Controller | Broker, outcome: ControllerOutcome | BrokerOutcome) -> Iterator[str]:
    """What came out of a step, in the order of its effects."""
    if not outcome.effects:
        yield _without_effect(before, outcome.state)
    for effect in outcome.effects:
        if isinstance(effect, Reply):
            yield from (f"{type(effect.response).__name__} {word}" for word in _answers(effect.response))
        elif isinstance(effect, PartitionChanged):
            yield _of_partition(before, effect)
        else:
            yield _word(effect)


def _without_effect(before: Controller | Broker, after: Controller | Broker) -> str:
    if after == before:
        return "no effect"
    isrs = [(each.partitions, each.pending) for each in (before, after) if isinstance(each, Broker)]
    return "no effect, an ISR changes" if len(set(isrs)) > 1 else "no effect, changes"


def _of_partition(before: Controller | Broker, effect: PartitionChanged) -> str:
    """What changes of a partition; ``before`` is the state before the step, that of the controller."""
    assert isinstance(before, Controller)
    now = effect.partition
    leaders = {(each.topic, each.index): each.leader for each in before.durable.partitions}
    if leaders.get((now.topic, now.index)) == now.leader:
        return "partition changes"
    return f"partition changes, {'no' if now.leader is None else 'another'} leader"


def _word(effect: ControllerEffect | BrokerEffect) -> str:
    if isinstance(effect, Send | WriteStore):
        return f"sends {type(effect.request).__name__}"
    if isinstance(effect, Tell):
        return "tells metadata"
    if isinstance(effect, StoreReply):
        return f"the store {'is' if effect.response.written else 'is not'} written"
    if isinstance(effect, BrokerDeclared):
        return f"declares {effect.state.name}"
    if isinstance(effect, BrokerFenced):
        return "fences" if effect.fenced else "unfences"
    if isinstance(effect, ForgetRequest):
        return f"forgets the request {effect.api.value}"
    return type(effect).__name__


def _answers(response: Response) -> Iterator[str]:
    """What a response says; of several partitions, of each."""
    if response.error is not BrokerErrorCode.NONE:
        yield response.error.name
    elif isinstance(response, MetadataHeartbeatResponse):
        yield "no state" if response.state is None else response.state.name
    elif isinstance(response, BrokerHeartbeatResponse):
        told = "to shut down" if response.should_shut_down else "fenced" if response.fenced else "unfenced"
        yield told if response.caught_up else f"{told}, not caught up"
    elif isinstance(response, IsrChangeResponse):
        yield from (code.name for code in response.results) if response.results else ("no partition",)
    elif isinstance(response, AlterPartitionResponse):
        codes = (each.error.name for each in response.partitions)
        yield from codes if response.partitions else ("no partition",)
    else:
        yield BrokerErrorCode.NONE.name
