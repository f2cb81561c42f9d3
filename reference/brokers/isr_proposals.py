"""A leader that proposes other ISRs: whether it may ask, and the request that it sends.

Source: KIP-343 (Initiating ISR Changes), KIP-497; Kafka: DefaultAlterPartitionManager, Partition.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import alter_partition, isr_change, pending_isrs, store_isr, views
from kraftcheck.reference.brokers.broker import Api, PendingIsr
from kraftcheck.reference.brokers.events import ProposedIsr
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.reference.brokers.work import BrokerWork


def ask(work: BrokerWork, proposals: tuple[ProposedIsr, ...]) -> None:
    """Ask for the ISRs of those partitions that this process leads, and again for those that are pending.

    One request is under way at a time, and one change of a partition is pending at a time.
    """
    broker = work.broker
    if Api.ISR in broker.awaiting or work.own_life < 0:
        return
    if broker.superseded:
        work.by("ISR-3")
        return
    new = tuple(change for proposal in proposals for change in _pending(work, proposal))
    if broker.legacy:
        if new:
            store_isr.send(work, new)
        return
    draft = work.protocol.isr_changes is IsrChanges.ISR_CHANGE
    if draft:
        work.by("ISR-1")
    again = pending_isrs.asked(broker)
    if not (again or new) or not work.can_send(Api.ISR):
        return
    if draft:
        work.by("ISR-9")
    if again:
        work.by(pending_isrs.rule_of(work))
    work.update(pending=(*broker.pending, *new))
    work.send(Api.ISR, (isr_change if draft else alter_partition).request_of(work, (*again, *new)))


def _pending(work: BrokerWork, proposal: ProposedIsr) -> tuple[PendingIsr, ...]:
    known = views.partition_of(work.broker, proposal.topic, proposal.index)
    if known is None or known.leader != work.broker.id:
        return ()
    if pending_isrs.is_pending(work.broker, proposal.topic, proposal.index):
        return ()
    if not alter_partition.may_join(work, known, proposal.fetched):
        return ()
    isr = tuple(sorted(proposal.isr))
    lives = alter_partition.lives_of(work, isr)
    return (
        PendingIsr(proposal.topic, proposal.index, known.leader_epoch, known.partition_epoch, isr, lives),
    )
