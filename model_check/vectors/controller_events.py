"""The events of the controller in a state: sound and unsound requests, timeouts, failovers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import HEARTBEAT_VERSION, LEGACY_VERSION, Controller, MetadataLog
from kraftcheck.reference.brokers.events import (
    ControllerEvent,
    Failover,
    LeaderMoveDue,
    MetadataDue,
    RegistrationRemoved,
    RegistrationWritten,
    RequestReceived,
    SessionExpired,
    StoreIsrReceived,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerState,
    FeatureRange,
    IsrChangeRequest,
    IsrMember,
    IsrProposal,
    MetadataHeartbeatRequest,
    PartitionProposal,
    Process,
    Request,
    StoreIsrRequest,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol, IsrChanges
from kraftcheck.vectors.malformed import with_others

#: A broker that no scenario of these has.
_UNKNOWN = 9
_CLUSTERS = ("cluster", "another-cluster")


def events(protocol: BrokerProtocol, controller: Controller) -> Iterator[ControllerEvent]:
    """All events of ``controller`` in this form."""
    lives = _lives(controller)
    requests = _registrations if isinstance(controller.durable, MetadataLog) else _heartbeats_of_draft
    for broker, life in lives.items():
        process = Process(broker, _incarnation(controller, broker))
        for request in (
            *requests(controller, process, life),
            *_isr_changes(protocol, controller, broker, life),
        ):
            yield RequestReceived(controller.active or 1, process, request)
        first = next(requests(controller, process, life))
        yield RequestReceived(_UNKNOWN, process, first)
        for request in with_others(first):
            yield RequestReceived(controller.active or 1, process, request)
        yield MetadataDue(process)
        yield SessionExpired(broker)
    for partition in controller.durable.partitions:
        yield RequestReceived(_UNKNOWN, Process(1, 1), _wanted(protocol, partition, 1, 1, (1,)))
    yield Tick()
    yield from (Failover(node) for node in (1, 2, None))
    if protocol.is_draft:
        yield from _of_store(controller, list(lives))


def _lives(controller: Controller) -> dict[int, int]:
    """By broker id its incarnation id, or its broker epoch."""
    durable = controller.durable
    if isinstance(durable, MetadataLog):
        found = {each.broker: each.epoch for each in durable.registrations}
    else:
        found = {each.broker: each.incarnation for each in durable.registrations}
    return found | {_UNKNOWN: 1}


def _incarnation(controller: Controller, broker: int) -> int:
    known = controller.durable.registrations
    return next((each.incarnation for each in known if each.broker == broker), 1)


# Liveness.


def _heartbeats_of_draft(controller: Controller, process: Process, life: int) -> Iterator[Request]:
    for incarnation, state in product((life, life - 1, life + 1), BrokerState):
        yield MetadataHeartbeatRequest(process.broker, incarnation, state)


def _registrations(controller: Controller, process: Process, life: int) -> Iterator[Request]:
    """Registrations and heartbeats."""
    assert isinstance(controller.durable, MetadataLog)
    end = controller.durable.end_offset
    for of, offset, fence, stop in product((life, life - 1), (-1, end - 1), (False, True), (False, True)):
        yield BrokerHeartbeatRequest(process.broker, of, offset, fence, stop)
    ranges = ((), (FeatureRange("metadata.version", 5, 8),), (FeatureRange("metadata.version", 1, 2),))
    lives = (process.incarnation, process.incarnation + 8)
    for cluster, incarnation, features in product(_CLUSTERS, lives, ranges):
        yield BrokerRegistrationRequest(process.broker, cluster, incarnation, features)


# ISR changes.


def _isr_changes(
    protocol: BrokerProtocol, controller: Controller, broker: int, life: int
) -> Iterator[Request]:
    for partition in controller.durable.partitions:
        isrs = dict.fromkeys((partition.isr, partition.replicas, (broker,), ()))
        for isr in isrs:
            sound = _wanted(protocol, partition, broker, life, isr, _lives(controller))
            yield from with_others(sound) if broker == partition.leader else (sound,)


def _wanted(
    protocol: BrokerProtocol,
    partition: Partition,
    broker: int,
    life: int,
    isr: tuple[int, ...],
    lives: dict[int, int] | None = None,
) -> Request:
    """The request of a leader of ``partition`` of this incarnation or broker epoch."""
    name = (partition.topic, partition.index, partition.leader_epoch)
    if protocol.isr_changes is IsrChanges.ISR_CHANGE:
        return IsrChangeRequest(broker, life, (IsrProposal(*name, isr),))
    version = protocol.alter_partition_version
    known = lives if lives is not None and version >= 3 else {}
    members = tuple(IsrMember(member, known.get(member, -1)) for member in isr)
    proposal = PartitionProposal(*name, partition.partition_epoch, members)
    return AlterPartitionRequest(broker, life, (proposal,), version)


# The store of the draft.


def _of_store(controller: Controller, brokers: list[int]) -> Iterator[ControllerEvent]:
    for broker, version in product(brokers, (LEGACY_VERSION, HEARTBEAT_VERSION)):
        yield RegistrationWritten(broker, version)
    for broker in brokers:
        yield RegistrationRemoved(broker)
    for partition in controller.durable.partitions:
        yield LeaderMoveDue(partition.topic, partition.index)
        yield LeaderMoveDue("x", partition.index)
        name = (partition.topic, partition.index, partition.leader_epoch, partition.partition_epoch)
        for broker in brokers:
            registered = views.stored(controller, broker)
            if registered is not None and registered.version == LEGACY_VERSION:
                process = Process(broker, registered.incarnation)
                written = StoreIsrRequest(broker, *name, (broker,))
                yield from (StoreIsrReceived(process, each) for each in with_others(written))
