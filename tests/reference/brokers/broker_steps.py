"""Short ways to let events happen to a controller or a broker process, and to say what a partition is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.events import RequestReceived, ResponseReceived
from kraftcheck.reference.brokers.messages import IsrMember, PartitionProposal, Process, Request, Response
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace

#: A partition of brokers 1 and 2 that 1 leads, and one that 2 leads.
LED_BY_1 = Partition("t", 0, (1, 2), (1, 2), leader=1)
LED_BY_2 = Partition("t", 1, (2, 1), (1, 2), leader=2)


@dataclass(frozen=True)
class After:
    """A controller or a broker process, and what it did on the last event."""

    protocol: BrokerProtocol
    state: Any
    effects: tuple[Any, ...] = ()
    rules: tuple[str, ...] = ()

    def on(self, *events: Any) -> After:
        """After some more events."""
        after = self
        for event in events:
            outcome = step(self.protocol, after.state, event)
            after = After(self.protocol, outcome.state, outcome.effects, outcome.rules)
        return after

    def ask(self, request: Request, node: int = 1) -> After:
        """The controller after a request that reaches one of its nodes."""
        return self.on(RequestReceived(node, Process(request.broker, 0), request))

    def hear(self, response: Response, node: int = 1) -> After:
        """The process after a response of a controller node."""
        return self.on(ResponseReceived(node, response))

    def but(self, **changes: Any) -> After:
        """With some fields of the state changed."""
        return After(self.protocol, replace(self.state, **changes))

    def of(self, kind: type) -> list[Any]:
        """The effects of a class."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def response(self) -> Any:
        """The response in the effects, of which there is one."""
        (reply,) = self.of(Reply)
        return reply.response

    @property
    def sent(self) -> Any:
        """The request in the effects, of which there is one."""
        (effect,) = self.effects
        return effect.request

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions of the controller."""
        found: tuple[Partition, ...] = self.state.durable.partitions
        return found


def cluster(
    protocol: BrokerProtocol, *partitions: Partition, brokers: tuple[int, ...] = (1, 2), **named: Any
) -> tuple[After, After, After]:
    """A running cluster: its controller, and the processes of its first two brokers."""
    controller, processes = running_cluster(protocol, brokers, partitions or (LED_BY_1,), **named)
    first, second, *_ = (After(protocol, each) for each in processes)
    return After(protocol, controller), first, second


def controller(protocol: BrokerProtocol, *partitions: Partition, **named: Any) -> After:
    """The controller of a running cluster."""
    return cluster(protocol, *partitions, **named)[0]


def leader(protocol: BrokerProtocol, *partitions: Partition, **named: Any) -> After:
    """The process of broker 1 of a running cluster, which leads the first partition."""
    return cluster(protocol, *partitions, **named)[1]


def proposal(
    *isr: int,
    epochs: dict[int, int] | None = None,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    **named: Any,
) -> PartitionProposal:
    """A proposal for the partition t-0; ``epochs``: the broker epochs that it names."""
    members = tuple(IsrMember(member, (epochs or {}).get(member, -1)) for member in isr)
    return PartitionProposal("t", named.pop("index", 0), leader_epoch, partition_epoch, members, **named)
