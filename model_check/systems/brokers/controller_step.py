"""A step of the controller, as its checks see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kraftcheck.reference.brokers.controller import Controller, MetadataLog
from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import ControllerEvent, RequestReceived
from kraftcheck.reference.brokers.messages import Request, Response
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import ControllerOutcome

#: By broker in controlled shutdown, up to which offset of the metadata log every other active broker has to
#: have read before it may stop. It follows from requests and responses, not from the state of the reference.
Leaving = tuple[tuple[int, int], ...]
#: The topic and the index of a partition.
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ControllerStep:
    """A step of the controller. ``leaving``: as before it; ``hand_over_survives``: B-20 is checked instead of
    B-13.
    """

    protocol: BrokerProtocol
    before: Controller
    event: ControllerEvent
    outcome: ControllerOutcome
    leaving: Leaving = ()
    hand_over_survives: bool = False

    @property
    def after(self) -> Controller:
        return self.outcome.state

    @property
    def request(self) -> Request | None:
        """The request that arrives, if one does."""
        return self.event.request if isinstance(self.event, RequestReceived) else None

    @property
    def responses(self) -> tuple[Response, ...]:
        return tuple(each.response for each in self.outcome.effects if isinstance(each, Reply))

    @property
    def accepted(self) -> Request | None:
        """The request that the active controller answers without an error, if it does."""
        if not isinstance(self.event, RequestReceived) or self.event.node != self.before.active:
            return None
        errors = [each.error for each in self.responses]
        return self.request if errors == [BrokerErrorCode.NONE] else None

    def changes(self) -> list[tuple[Partition, Partition]]:
        """The partitions that the step has changed, before and after."""
        both = zip(self.before.durable.partitions, self.after.durable.partitions, strict=True)
        return [(old, new) for old, new in both if old != new]


def key_of(partition: Any) -> Key:
    """The topic and the index of a partition, or of the partition of a proposal or a result."""
    return partition.topic, partition.index


def partitions_of(controller: Controller) -> Mapping[Key, Partition]:
    """The partitions of a controller by their names."""
    return {key_of(each): each for each in controller.durable.partitions}


def unfenced(log: MetadataLog) -> set[int]:
    """The brokers of KIP-631 that are not fenced."""
    return {each.broker for each in log.registrations if not each.fenced}
