"""The coverage of a step: pairs of a rule that decided it and an outcome.

The reference names the rules that decided a step and lists its effects; it does not say which rule caused
which effect. So an outcome of a rule is any outcome of a step that this rule decided:

* a response, with what it says: ``VoteResponse granted``, ``FetchResponse diverging epoch``,
  ``BrokerHeartbeatResponse unfenced``; of several partitions, one outcome for each
* a request that is sent: ``sends VoteRequest``, ``sends VoteRequest as a pre-vote``
* of a replica a transition, ``Unattached->Follower``, with ``, larger epoch`` where the epoch grew; a timer,
  ``arms election``; ``dies`` for an effect ``Fatal``
* of the controller ``sends metadata``, ``declares INACTIVE``, ``fences``, ``unfences``, or
  ``partition changes``, with ``, another leader`` or ``, no leader`` where that is so
* another effect by its class: ``Persist``, ``Truncate``, ``FencedItself``, ``Stop``
* without effects ``no effect, changes`` or ``no effect``, as the state changes or not; ``no effect, an ISR
  changes`` where a broker process knows another ISR, or has another change pending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kraftcheck.reference import effects
from kraftcheck.reference.brokers import effects as of_brokers
from kraftcheck.reference.brokers import messages as broker_messages
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.reference.messages import FetchResponse, VoteRequest, VoteResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome

State = Replica | Controller | Broker
AnyOutcome = Outcome | ControllerOutcome | BrokerOutcome

#: Separates the rule from the outcome in the text of a pair.
SEPARATOR = ": "


def features(before: State, outcome: AnyOutcome) -> tuple[str, ...]:
    """The pairs that a step covers, sorted: ``VOTE-10: VoteResponse granted``."""
    words = dict.fromkeys(outcomes(before, outcome))
    return tuple(sorted(f"{rule}{SEPARATOR}{word}" for rule in outcome.rules for word in words))


def outcomes(before: State, outcome: AnyOutcome) -> Iterator[str]:
    """The outcomes of a step, in the order of its effects."""
    if not outcome.effects:
        yield _without_effect(before, outcome.replica if isinstance(outcome, Outcome) else outcome.state)
    epoch = before.epoch if isinstance(before, Replica) else 0
    for effect in outcome.effects:
        if isinstance(effect, effects.Transition):
            yield f"{effect.source}->{effect.target}{', larger epoch' if effect.epoch > epoch else ''}"
            epoch = effect.epoch
        elif isinstance(effect, effects.Reply | of_brokers.Reply):
            kind = type(effect.response).__name__
            yield from (f"{kind} {word}" for word in _responses(effect.response))
        elif isinstance(effect, of_brokers.PartitionChanged):
            yield _partition(before, effect)
        else:
            yield _WORDS.get(type(effect), lambda effect: type(effect).__name__)(effect)


def _without_effect(before: State, after: State) -> str:
    if after == before:
        return "no effect"
    isrs = {(each.partitions, each.pending) for each in (before, after) if isinstance(each, Broker)}
    return "no effect, an ISR changes" if len(isrs) > 1 else "no effect, changes"


def _partition(before: State, effect: of_brokers.PartitionChanged) -> str:
    """What changes of a partition; ``before`` is the controller before the step."""
    assert isinstance(before, Controller)
    now = effect.partition
    leaders = {(each.topic, each.index): each.leader for each in before.durable.partitions}
    if leaders.get((now.topic, now.index)) == now.leader:
        return "partition changes"
    return f"partition changes, {'no' if now.leader is None else 'another'} leader"


def _sends(effect: Any) -> str:
    pre_vote = isinstance(effect.request, VoteRequest) and effect.request.pre_vote
    return f"sends {type(effect.request).__name__}{' as a pre-vote' if pre_vote else ''}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    effects.Send: _sends,
    of_brokers.Send: _sends,
    of_brokers.WriteStore: _sends,
    effects.ArmTimer: lambda effect: f"arms {effect.timer.value}",
    effects.Fatal: lambda effect: "dies",
    of_brokers.SendMetadata: lambda effect: "sends metadata",
    of_brokers.StoreReply: lambda effect: (
        f"the store {'is' if effect.response.written else 'is not'} written"
    ),
    of_brokers.BrokerDeclared: lambda effect: f"declares {effect.state.name}",
    of_brokers.BrokerFenced: lambda effect: "fences" if effect.fenced else "unfences",
    of_brokers.ForgetRequest: lambda effect: f"forgets the request {effect.api.value}",
}


def _responses(response: Any) -> Iterator[str]:
    """What a response says; of several partitions, of each."""
    for name in ("error", "partition_error"):
        if (code := getattr(response, name, None)) is not None and code.value:
            yield code.name
            return
    if isinstance(response, VoteResponse):
        yield "granted" if response.granted else "refused"
    elif isinstance(response, FetchResponse):
        yield _fetched(response)
    elif isinstance(response, broker_messages.MetadataHeartbeatResponse):
        yield "no state" if response.state is None else response.state.name
    elif isinstance(response, broker_messages.BrokerHeartbeatResponse):
        held = "to shut down" if response.should_shut_down else "fenced" if response.fenced else "unfenced"
        yield held if response.caught_up else f"{held}, not caught up"
    elif isinstance(response, broker_messages.IsrChangeResponse):
        yield from [code.name for code in response.results] or ["no partition"]
    elif isinstance(response, broker_messages.AlterPartitionResponse):
        yield from [each.error.name for each in response.partitions] or ["no partition"]
    else:
        yield "NONE"


def _fetched(response: FetchResponse) -> str:
    if response.diverging is not None:
        return "diverging epoch"
    if response.snapshot is not None:
        return "snapshot"
    return "records" if response.batches else "no records"
