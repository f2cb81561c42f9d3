"""How metadata gets from the controller to the brokers.

KIP-343: the controller sends every visible broker what has changed (LeaderAndIsr, UpdateMetadata), and sends
it again on :class:`~kraftcheck.reference.brokers.events.MetadataDue`. KIP-631: a process reads the metadata
log itself.

Source: KIP-343 (Broker State); Kafka: ControllerBrokerRequestBatch, BrokerMetadataPublisher.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import pending_isrs, views
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.effects import SendMetadata
from kraftcheck.reference.brokers.messages import MetadataUpdate, PartitionState, Process
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork


def send_changes(work: ControllerWork, before: Controller) -> None:
    """Send metadata to every visible broker, if it is not what it was before the step (KIP-343)."""
    controller = work.controller
    if controller.active is None or not isinstance(controller.durable, Store):
        return
    if before.active is not None and views.metadata(before) == views.metadata(controller):
        return
    work.by("BSTATE-8")
    for target in _visible_processes(controller):
        work.emit(SendMetadata(target, views.metadata(controller)))


def send(work: ControllerWork, target: Process) -> None:
    """Send metadata to one process, which has to be visible in the form of KIP-343."""
    controller = work.controller
    if controller.active is None:
        return
    if isinstance(controller.durable, Store):
        work.by("BSTATE-8")
        if target not in _visible_processes(controller):
            return
    work.emit(SendMetadata(target, views.metadata(controller)))


def _visible_processes(controller: Controller) -> tuple[Process, ...]:
    visible = views.visible_brokers(controller)
    return tuple(Process(each.broker, each.life) for each in visible if each.life is not None)


def receive(work: BrokerWork, update: MetadataUpdate) -> None:
    """Take what is newer than what is known."""
    draft = work.protocol.is_draft
    work.by("BSTATE-8" if draft else "HBK-10")
    if update.controller_epoch < work.broker.controller_epoch:
        return
    work.update(controller=update.controller, controller_epoch=update.controller_epoch)
    if not draft:
        if update.offset <= work.broker.offset:
            return
        work.update(offset=update.offset)
    known = {(each.topic, each.index): each for each in work.broker.partitions}
    received = {
        (each.topic, each.index): _newer(known.get((each.topic, each.index)), each)
        for each in update.partitions
    }
    partitions = {**known, **received} if draft else received
    work.update(visible=update.brokers, partitions=tuple(partitions[name] for name in sorted(partitions)))
    pending_isrs.settle(work)


def _newer(known: PartitionState | None, received: PartitionState) -> PartitionState:
    """Of a partition the answer to AlterPartition may have said more than the metadata that is read later."""
    if known is None:
        return received
    newer = (received.leader_epoch, received.partition_epoch) > (known.leader_epoch, known.partition_epoch)
    return received if newer else known
