"""Leaders and ISRs of partitions that change with their brokers, without a request of a leader.

Source: Kafka: ReplicationControlManager.generateLeaderAndIsrUpdates, PartitionChangeBuilder.electAnyLeader.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.work import ControllerWork


def leave(work: ControllerWork, broker: int, *, leaves_isr: bool = True) -> None:
    """A broker can lead nothing any more: another leads, or none, and it leaves each ISR that has others."""
    for partition in work.controller.durable.partitions:
        isr = partition.isr
        if leaves_isr and len(isr) > 1:
            isr = tuple(member for member in isr if member != broker)
        if partition.leader == broker:
            others = [each for each in partition.replicas if each != broker]
            _change_leader(work, partition, isr, elect(work, others, isr))
        elif isr != partition.isr:
            work.change_partition(partition, isr=isr)


def come(work: ControllerWork, broker: int) -> None:
    """A broker is active or unfenced again: it leads the partitions without leader that have it in their ISR.

    Kafka does not check here whether the broker is in controlled shutdown (HBK-7).
    """
    for partition in work.controller.durable.partitions:
        if partition.leader is None and broker in partition.isr:
            _change_leader(work, partition, partition.isr, broker)


def move(work: ControllerWork, topic: str, index: int) -> None:
    """Move a partition away from a leader that is stopping, to another member of its ISR, if one can lead."""
    partition = work.partition(topic, index)
    if work.controller.active is None or partition is None or partition.leader is None:
        return
    if views.state_of(work.controller, partition.leader) is not BrokerState.STOPPING:
        return
    work.by("BSTATE-5")
    leader = elect(work, partition.replicas, partition.isr)
    if leader is not None:
        _change_leader(work, partition, partition.isr, leader)


def elect(work: ControllerWork, candidates: Sequence[int], isr: Sequence[int]) -> int | None:
    """The first candidate in the ISR that can lead."""
    return next((each for each in candidates if each in isr and views.can_lead(work.controller, each)), None)


def _change_leader(
    work: ControllerWork, partition: Partition, isr: tuple[int, ...], leader: int | None
) -> None:
    work.change_partition(partition, isr=isr, leader=leader, leader_epoch=partition.leader_epoch + 1)
