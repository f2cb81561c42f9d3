"""A leader that wants other ISRs: whether it may ask, and the request it asks by.

Source: KIP-343 (Initiating ISR Changes), KIP-497; Kafka: DefaultAlterPartitionManager, Partition.
"""

from __future__ import annotations

from reference.brokers import alter_partition, isr_change, store_isr, views
from reference.brokers.broker import Api, PendingIsr
from reference.brokers.events import IsrWish
from reference.brokers.protocol import IsrChanges
from reference.brokers.work import BrokerWork


def ask(work: BrokerWork, wishes: tuple[IsrWish, ...]) -> None:
    """Ask for the ISRs of those partitions that this process leads. One request is under way at a time."""
    broker = work.broker
    if Api.ISR in broker.awaiting or work.own_life < 0:
        return
    if broker.superseded:
        work.by("ISR-3")
        return
    changes = tuple(change for wish in wishes for change in _pending(work, wish))
    if broker.legacy:
        if changes:
            store_isr.send(work, changes)
    elif work.protocol.isr_changes is IsrChanges.ALTER_PARTITION:
        if changes and work.can_send(Api.ISR):
            work.update(pending=changes)
            work.send(Api.ISR, alter_partition.request_of(work, changes))
    else:
        work.by("ISR-1")
        if changes and work.can_send(Api.ISR):
            work.by("ISR-9")
            work.update(pending=changes)
            work.send(Api.ISR, isr_change.request_of(work, changes))


def _pending(work: BrokerWork, wish: IsrWish) -> tuple[PendingIsr, ...]:
    known = views.partition_of(work.broker, wish.topic, wish.index)
    if known is None or known.leader != work.broker.id:
        return ()
    isr = tuple(sorted(wish.isr))
    return (PendingIsr(wish.topic, wish.index, known.leader_epoch, known.partition_epoch, isr),)
