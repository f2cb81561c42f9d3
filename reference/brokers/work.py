"""A step in progress: the state so far, the effects in order, and the rules that decided.

Handlers take a ``ControllerWork`` or a ``BrokerWork``; nothing of it survives the step.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import (
    BrokerRegistration,
    Controller,
    Liveness,
    MetadataLog,
    Session,
    Store,
    StoredRegistration,
)
from kraftcheck.reference.brokers.effects import (
    BrokerEffect,
    ControllerEffect,
    ForgetRequest,
    PartitionChanged,
    Send,
)
from kraftcheck.reference.brokers.messages import BrokerState, PartitionState, Request
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.frozen import replace


class _Rules:
    """The rules that decided, each listed once, where it first did."""

    __slots__ = ("rules",)

    def __init__(self) -> None:
        self.rules: list[str] = []

    def by(self, *rules: str) -> None:
        """Name the rules that decide what comes next."""
        self.rules += [rule for rule in rules if rule not in self.rules]


class ControllerWork(_Rules):
    """A step of the controller."""

    __slots__ = ("controller", "effects", "protocol")

    def __init__(self, protocol: BrokerProtocol, controller: Controller) -> None:
        super().__init__()
        self.protocol = protocol
        self.controller = controller
        self.effects: list[ControllerEffect] = []

    def emit(self, effect: ControllerEffect) -> None:
        self.effects.append(effect)

    def update(self, **changes: Any) -> None:
        """Change fields of the controller."""
        self.controller = replace(self.controller, **changes)

    @property
    def store(self) -> Store:
        """What is durable in the form of KIP-343."""
        assert isinstance(self.controller.durable, Store)
        return self.controller.durable

    @property
    def log(self) -> MetadataLog:
        """What is durable in the form of KIP-631."""
        assert isinstance(self.controller.durable, MetadataLog)
        return self.controller.durable

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, if there is one."""
        for partition in self.controller.durable.partitions:
            if partition.topic == topic and partition.index == index:
                return partition
        return None

    def change_partition(self, partition: Partition, **changes: Any) -> Partition:
        """Write a partition anew, in its next partition epoch: one record in the form of KIP-631."""
        changed = replace(partition, partition_epoch=partition.partition_epoch + 1, **changes)
        durable = self.controller.durable
        partitions = tuple(changed if each == partition else each for each in durable.partitions)
        if isinstance(durable, MetadataLog):
            durable = replace(durable, partitions=partitions, end_offset=durable.end_offset + 1)
        else:
            durable = replace(durable, partitions=partitions)
        self.update(durable=durable)
        self.emit(PartitionChanged(changed))
        return changed

    def store_registration(self, broker: int, registration: StoredRegistration | None) -> None:
        """Replace the registration of a broker id in the store, or remove it (``None``)."""
        others = [each for each in self.store.registrations if each.broker != broker]
        kept = others if registration is None else [*others, registration]
        registrations = tuple(sorted(kept, key=lambda each: each.broker))
        self.update(durable=replace(self.store, registrations=registrations))

    def remember(self, known: Liveness, *, timed: bool) -> None:
        """Remember this of a broker id (KIP-343). What says nothing is not kept: states stay comparable."""
        if not timed or known.state is BrokerState.INACTIVE:
            known = replace(known, ticks=0)
        others = [each for each in self.controller.brokers if each.broker != known.broker]
        if known != Liveness(known.broker):
            others.append(known)
        self.update(brokers=tuple(sorted(others, key=lambda each: each.broker)))

    def write_registration(self, registration: BrokerRegistration) -> None:
        """Append a record about a broker to the metadata log (KIP-631)."""
        others = [each for each in self.log.registrations if each.broker != registration.broker]
        registrations = tuple(sorted([*others, registration], key=lambda each: each.broker))
        self.update(
            durable=replace(self.log, registrations=registrations, end_offset=self.log.end_offset + 1)
        )

    def keep_session(self, broker: int, session: Session | None) -> None:
        """Replace the session of a broker id, or end it (``None``)."""
        others = [each for each in self.controller.sessions if each.broker != broker]
        kept = others if session is None else [*others, session]
        self.update(sessions=tuple(sorted(kept, key=lambda each: each.broker)))


class BrokerWork(_Rules):
    """A step of a broker process."""

    __slots__ = ("broker", "effects", "protocol")

    def __init__(self, protocol: BrokerProtocol, broker: Broker) -> None:
        super().__init__()
        self.protocol = protocol
        self.broker = broker
        self.effects: list[BrokerEffect] = []

    def emit(self, effect: BrokerEffect) -> None:
        self.effects.append(effect)

    def update(self, **changes: Any) -> None:
        """Change fields of the broker."""
        self.broker = replace(self.broker, **changes)

    @property
    def own_life(self) -> int:
        """The number of this process among those with its id: incarnation id or broker epoch (KIP-631)."""
        return self.broker.incarnation if self.protocol.is_draft else self.broker.epoch

    def can_send(self, api: Api) -> bool:
        """Whether a controller is known and no such request under way."""
        return self.broker.controller is not None and api not in self.broker.awaiting

    def send(self, api: Api, request: Request) -> None:
        """Send a request to the controller and await its answer."""
        assert self.broker.controller is not None
        self.await_answer(api)
        self.emit(Send(self.broker.controller, request))

    def await_answer(self, api: Api) -> None:
        self.update(awaiting=tuple(each for each in Api if each in (*self.broker.awaiting, api)))

    def answered(self, api: Api) -> bool:
        """Whether an answer of this kind was awaited; it is no more."""
        if api not in self.broker.awaiting:
            return False
        self.update(awaiting=tuple(each for each in self.broker.awaiting if each is not api))
        return True

    def forget(self, api: Api) -> None:
        """Abandon a request under way; its answer will be dropped."""
        if self.answered(api):
            self.emit(ForgetRequest(api))

    def lose_controller(self, node: int) -> None:
        """Node ``node`` says that it is not the controller."""
        if self.broker.controller == node:
            self.update(controller=None)

    def change_partition(self, state: PartitionState) -> None:
        """Take ``state`` for what is known of its partition."""
        name = (state.topic, state.index)
        partitions = tuple(
            state if (each.topic, each.index) == name else each for each in self.broker.partitions
        )
        self.update(partitions=partitions)
