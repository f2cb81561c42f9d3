"""What a controller or a broker shows: which brokers are visible, who may lead, what a broker may serve.

Handlers decide by these functions, and so may any code that judges a state.
"""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.controller import (
    LEGACY_VERSION,
    BrokerRegistration,
    Controller,
    Liveness,
    MetadataLog,
    Session,
    Store,
    StoredRegistration,
)
from kraftcheck.reference.brokers.messages import BrokerState, MetadataUpdate, PartitionState, VisibleBroker
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol

# The controller, in the form of KIP-343.


def stored(controller: Controller, broker: int) -> StoredRegistration | None:
    """The registration of a broker id in the store."""
    assert isinstance(controller.durable, Store)
    return next((each for each in controller.durable.registrations if each.broker == broker), None)


def is_legacy(controller: Controller, broker: int) -> bool:
    """Whether a broker id is registered with version 4 (COMPAT-3)."""
    registration = stored(controller, broker)
    return registration is not None and registration.version == LEGACY_VERSION


def remembered(controller: Controller, broker: int) -> Liveness:
    """What the controller remembers of a broker id."""
    return next((each for each in controller.brokers if each.broker == broker), Liveness(broker))


def state_of(controller: Controller, broker: int) -> BrokerState:
    """Inactive, active or stopping: what the controller of KIP-343 holds a broker id to be."""
    if is_legacy(controller, broker):
        return BrokerState.ACTIVE
    return remembered(controller, broker).state


def _incarnation_of(controller: Controller, broker: int) -> int | None:
    """The process that the controller means by a broker id: the one it heard of, else the registered one."""
    incarnation = remembered(controller, broker).incarnation
    registered = stored(controller, broker)
    if registered is not None and (incarnation is None or registered.version == LEGACY_VERSION):
        return registered.incarnation
    return incarnation


# The controller, in the form of KIP-631.


def registration(controller: Controller, broker: int) -> BrokerRegistration | None:
    """What the metadata log says of a broker id."""
    assert not isinstance(controller.durable, Store)
    return next((each for each in controller.durable.registrations if each.broker == broker), None)


def session(controller: Controller, broker: int) -> Session | None:
    """The valid session of a broker id."""
    return next((each for each in controller.sessions if each.broker == broker), None)


# The controller, in either form.


def visible_brokers(controller: Controller) -> tuple[VisibleBroker, ...]:
    """The brokers that an answer of the controller about metadata shows, by id.

    KIP-343: all that are active or stopping (BSTATE-3); KIP-631: all that are not fenced.
    """
    durable = controller.durable
    if isinstance(durable, MetadataLog):
        unfenced = (each for each in durable.registrations if not each.fenced)
        return tuple(VisibleBroker(each.broker, each.epoch) for each in unfenced)
    known = {each.broker for each in durable.registrations} | {each.broker for each in controller.brokers}
    shown = (broker for broker in sorted(known) if state_of(controller, broker) is not BrokerState.INACTIVE)
    return tuple(VisibleBroker(broker, _incarnation_of(controller, broker)) for broker in shown)


def can_lead(controller: Controller, broker: int) -> bool:
    """Whether a broker may become leader: it is neither inactive or fenced, nor on its way out."""
    if isinstance(controller.durable, Store):
        return state_of(controller, broker) is BrokerState.ACTIVE
    known = registration(controller, broker)
    return known is not None and not known.fenced and not known.in_controlled_shutdown


def metadata(controller: Controller) -> MetadataUpdate:
    """What the active controller sends of brokers and partitions. There must be one."""
    assert controller.active is not None
    durable = controller.durable
    return MetadataUpdate(
        controller=controller.active,
        controller_epoch=controller.epoch,
        brokers=visible_brokers(controller),
        partitions=tuple(_shown(partition) for partition in durable.partitions),
        offset=-1 if isinstance(durable, Store) else durable.end_offset - 1,
    )


def _shown(partition: Partition) -> PartitionState:
    return PartitionState(
        topic=partition.topic,
        index=partition.index,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=partition.isr,
        recovering=partition.recovering,
    )


# A broker process.


def is_let_go(broker: Broker) -> bool:
    """Whether a process of the draft may end once it has nothing left to complete (BSTATE-9)."""
    return broker.target is BrokerState.INACTIVE and (broker.legacy or broker.state is BrokerState.INACTIVE)


def serves(protocol: BrokerProtocol, broker: Broker) -> bool:
    """Whether a process accepts a new request of a client.

    KIP-343: unless it has fenced itself (FENCE-2); KIP-631: once it runs, whatever the controller holds it
    to be (HBK-10).
    """
    if broker.ended:
        return False
    if protocol.is_draft:
        return not (broker.fenced or (broker.legacy and is_let_go(broker)))
    return broker.life in (Life.RUNNING, Life.PENDING_CONTROLLED_SHUTDOWN)


def partition_of(broker: Broker, topic: str, index: int) -> PartitionState | None:
    """A partition as a process knows it."""
    return next(
        (each for each in broker.partitions if each.topic == topic and each.index == index),
        None,
    )


def led(broker: Broker) -> tuple[PartitionState, ...]:
    """The partitions that a process believes to lead."""
    return tuple(each for each in broker.partitions if each.leader == broker.id)


def shown_to_clients(protocol: BrokerProtocol, broker: Broker) -> tuple[VisibleBroker, ...] | None:
    """The brokers in a process's answer to a new metadata request of a client; ``None``: it answers none."""
    return broker.visible if serves(protocol, broker) else None
