"""Short ways to ask a controller or a broker process something, and to say what a partition is."""

from __future__ import annotations

from typing import Any, TypeVar

from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.events import RequestReceived, ResponseReceived
from kraftcheck.reference.brokers.messages import IsrMember, PartitionProposal, Process, Request, Response
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome, step
from kraftcheck.reference.frozen import Frozen

Message = TypeVar("Message", bound=Frozen)

#: A partition of brokers 1 and 2 that 1 leads, and one that 2 leads.
LED_BY_1 = Partition("t", 0, (1, 2), (1, 2), leader=1)
LED_BY_2 = Partition("t", 1, (2, 1), (1, 2), leader=2)


def cluster(
    protocol: BrokerProtocol, *partitions: Partition, brokers: tuple[int, ...] = (1, 2), **named: Any
) -> tuple[Controller, Broker, Broker]:
    """A running cluster: its controller, and the processes of its first two brokers."""
    controller, processes = running_cluster(protocol, brokers, partitions or (LED_BY_1,), **named)
    return controller, processes[0], processes[1]


def ask(
    protocol: BrokerProtocol, controller: Controller, request: Request, node: int = 1
) -> tuple[ControllerOutcome, Any]:
    """Send a request to a controller node: the outcome, and the response in it."""
    outcome = step(protocol, controller, RequestReceived(node, Process(request.broker, 0), request))
    (response,) = (effect.response for effect in outcome.effects if isinstance(effect, Reply))
    return outcome, response


def answer(protocol: BrokerProtocol, broker: Broker, response: Response, node: int = 1) -> BrokerOutcome:
    """Answer a broker process from a controller node."""
    return step(protocol, broker, ResponseReceived(node, response))


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
