"""ISR changes that were requested and are not known to be effective or finally refused.

A request whose answer is lost may have been applied, or be applied later. So its changes stay pending: the
leader commits by the effective ISR and the requested one, and asks again until an answer or metadata says
what became of them.

Source: Kafka: Partition (PendingPartitionChange, handleAlterPartitionError), DefaultAlterPartitionManager.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker, PendingIsr
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.reference.brokers.work import BrokerWork
from kraftcheck.reference.frozen import replace


def asked(broker: Broker) -> tuple[PendingIsr, ...]:
    """What the request under way asks for, in its order; if there is none, what is to be asked for again."""
    return tuple(change for change in broker.pending if not change.refused)


def is_pending(broker: Broker, topic: str, index: int) -> bool:
    """Whether a change of the ISR of this partition is pending."""
    return any((change.topic, change.index) == (topic, index) for change in broker.pending)


def rule_of(work: BrokerWork) -> str:
    """The rule about changes whose result is not known."""
    return "AISR-6" if work.protocol.isr_changes is IsrChanges.ALTER_PARTITION else "ISR-10"


def drop(work: BrokerWork, change: PendingIsr) -> None:
    """It is known what became of ``change``."""
    work.update(pending=tuple(each for each in work.broker.pending if each != change))


def refuse(work: BrokerWork, change: PendingIsr) -> None:
    """``change`` was refused, or applied but metadata does not show it yet: it waits for the metadata, and
    is not requested again.
    """
    refused = replace(change, refused=True)
    work.update(pending=tuple(refused if each == change else each for each in work.broker.pending))


def keep(work: BrokerWork) -> None:
    """No answer came to the request that was under way, or an error: what it asked for stays pending."""
    if asked(work.broker):
        work.by(rule_of(work))
    settle(work)


def give_up(work: BrokerWork) -> None:
    """No answer comes to the request under way. What it asked for stays pending; a legacy broker, which
    writes the store itself, forgets it.
    """
    if work.broker.legacy:
        work.update(pending=())
    keep(work)


def settle(work: BrokerWork) -> None:
    """Drop the changes of which metadata says what became of them.

    A change asked for with IsrChange may still be applied in its leader epoch, whatever else has changed;
    with AlterPartition it may not in any other partition epoch. The answer to IsrChange belongs to its
    request by position, so that nothing is dropped while one is awaited.
    """
    broker = work.broker
    by_epoch = work.protocol.isr_changes is IsrChanges.ALTER_PARTITION
    if broker.legacy or (not by_epoch and Api.ISR in broker.awaiting):
        return
    kept = tuple(change for change in broker.pending if not _is_settled(broker, change, by_epoch=by_epoch))
    if kept != broker.pending:
        work.by(rule_of(work))
        work.update(pending=kept)


def _is_settled(broker: Broker, change: PendingIsr, *, by_epoch: bool) -> bool:
    known = views.partition_of(broker, change.topic, change.index)
    if known is None or known.leader_epoch != change.leader_epoch:
        return True
    return known.partition_epoch > change.partition_epoch and (by_epoch or known.isr == change.isr)
