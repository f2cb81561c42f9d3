"""ISRs that a legacy broker writes into the store itself, past the controller (KIP-343, first roll).

Source: KIP-343 (Compatibility); Kafka before AlterPartition: Partition.updateIsr, ReplicationUtils.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, PendingIsr
from kraftcheck.reference.brokers.effects import WriteStore
from kraftcheck.reference.brokers.messages import StoreIsrRequest, StoreIsrResponse
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork
from kraftcheck.reference.frozen import replace


def handle_write(work: ControllerWork, request: StoreIsrRequest) -> StoreIsrResponse:
    """Write the node of the partition if it has the version that the writer, any process, knows."""
    work.by("COMPAT-1")
    partition = work.partition(request.topic, request.index)
    if partition is None or partition.partition_epoch != request.partition_epoch:
        return StoreIsrResponse(request.topic, request.index, written=False)
    changed = work.change_partition(partition, isr=request.isr)
    return StoreIsrResponse(request.topic, request.index, True, changed.partition_epoch)


def send(work: BrokerWork, changes: tuple[PendingIsr, ...]) -> None:
    """Write each change, on condition that the node is as it was read."""
    work.by("COMPAT-1", "CONFIG-15")
    work.update(pending=changes)
    work.await_answer(Api.ISR)
    for change in changes:
        work.emit(
            WriteStore(
                StoreIsrRequest(
                    broker=work.broker.id,
                    topic=change.topic,
                    index=change.index,
                    leader_epoch=change.leader_epoch,
                    partition_epoch=change.partition_epoch,
                    isr=change.isr,
                )
            )
        )


def handle_answer(work: BrokerWork, response: StoreIsrResponse) -> None:
    """Take the ISR that was written."""
    name = (response.topic, response.index)
    change = next((each for each in work.broker.pending if (each.topic, each.index) == name), None)
    if change is None:
        return
    pending = tuple(each for each in work.broker.pending if each is not change)
    work.update(pending=pending)
    if not pending:
        work.answered(Api.ISR)
    work.by("COMPAT-1")
    known = views.partition_of(work.broker, *name)
    current = known is not None and known.leader_epoch == change.leader_epoch
    if (
        known is not None
        and current
        and response.written
        and response.partition_epoch > known.partition_epoch
    ):
        work.change_partition(replace(known, isr=change.isr, partition_epoch=response.partition_epoch))
