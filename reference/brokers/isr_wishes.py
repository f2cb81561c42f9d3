"""A leader that wants other ISRs: whether it may ask, and the request it asks by.

Source: KIP-343 (Initiating ISR Changes), KIP-497; Kafka: DefaultAlterPartitionManager, Partition.
"""

from __future__ import annotations

from reference.brokers import alter_partition, store_isr, views
from reference.brokers.broker import Api, PendingIsr
from reference.brokers.events import IsrWish
from reference.brokers.messages import IsrChangeRequest, IsrProposal
from reference.brokers.protocol import BrokerLiveness, IsrChanges
from reference.brokers.work import BrokerWork


def ask(work: BrokerWork, wishes: tuple[IsrWish, ...]) -> None:
    """Ask for the ISRs of those partitions that this process leads. One request is under way at a time."""
    broker = work.broker
    unregistered = work.protocol.liveness is BrokerLiveness.KIP631 and broker.epoch < 0
    if Api.ISR in broker.awaiting or unregistered:
        return
    if broker.superseded:
        work.by("ISR-3")
        return
    changes = tuple(change for wish in wishes for change in _pending(work, wish))
    if not changes or not (broker.legacy or work.can_send(Api.ISR)):
        return
    work.update(pending=changes)
    if broker.legacy:
        store_isr.send(work, changes)
    elif work.protocol.isr_changes is IsrChanges.ALTER_PARTITION:
        work.send(Api.ISR, alter_partition.request_of(work, changes))
    else:
        work.by("ISR-1", "ISR-9")
        work.send(Api.ISR, _isr_change_of(work, changes))


def _pending(work: BrokerWork, wish: IsrWish) -> tuple[PendingIsr, ...]:
    known = views.partition_of(work.broker, wish.topic, wish.index)
    if known is None or known.leader != work.broker.id:
        if work.protocol.isr_changes is IsrChanges.ISR_CHANGE:
            work.by("ISR-1")
        return ()
    isr = tuple(sorted(wish.isr))
    return (PendingIsr(wish.topic, wish.index, known.leader_epoch, known.partition_epoch, isr),)


def _isr_change_of(work: BrokerWork, changes: tuple[PendingIsr, ...]) -> IsrChangeRequest:
    proposals = tuple(
        IsrProposal(change.topic, change.index, change.leader_epoch, change.isr) for change in changes
    )
    life = work.broker.incarnation
    if work.protocol.liveness is BrokerLiveness.KIP631:
        life = work.broker.epoch
    return IsrChangeRequest(work.broker.id, life, proposals)
