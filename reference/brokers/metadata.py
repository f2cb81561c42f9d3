"""How metadata gets from the controller to the brokers.

KIP-343: the controller tells every visible broker what has changed (LeaderAndIsr, UpdateMetadata), and tells
it again on :class:`~kraftcheck.reference.brokers.events.MetadataDue`. KIP-631: a process reads the metadata
log itself.

Source: KIP-343 (Broker State); Kafka: ControllerBrokerRequestBatch, BrokerMetadataPublisher.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import pending_isrs, views
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.effects import Tell
from kraftcheck.reference.brokers.messages import MetadataUpdate, PartitionState, Process
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork


def tell_changes(work: ControllerWork, before: Controller) -> None:
    """Tell every visible broker, if what it would be told is not what it was before the step (KIP-343)."""
    controller = work.controller
    if controller.active is None or not isinstance(controller.durable, Store):
        return
    if before.active is not None and views.metadata(before) == views.metadata(controller):
        return
    work.by("BSTATE-8")
    for target in _visible_processes(controller):
        work.emit(Tell(target, views.metadata(controller)))


def tell(work: ControllerWork, target: Process) -> None:
    """Tell one process, which has to be visible in the form of KIP-343."""
    controller = work.controller
    if controller.active is None:
        return
    if isinstance(controller.durable, Store):
        work.by("BSTATE-8")
        if target not in _visible_processes(controller):
            return
    work.emit(Tell(target, views.metadata(controller)))


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
    told = {
        (each.topic, each.index): _newer(known.get((each.topic, each.index)), each)
        for each in update.partitions
    }
    partitions = {**known, **told} if draft else told
    work.update(visible=update.brokers, partitions=tuple(partitions[name] for name in sorted(partitions)))
    pending_isrs.settle(work)


def _newer(known: PartitionState | None, told: PartitionState) -> PartitionState:
    """Of a partition the answer to AlterPartition may have said more than the metadata that is read later."""
    if known is None:
        return told
    newer = (told.leader_epoch, told.partition_epoch) > (known.leader_epoch, known.partition_epoch)
    return told if newer else known
