"""AlterPartition: how a partition leader changes the ISR, as it shipped.

Source: KIP-497, KIP-704, KIP-841, KIP-903; Kafka: ReplicationControlManager.alterPartition,
validateAlterPartitionData, ineligibleReplicasForIsr, Partition.handleAlterPartitionUpdate.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import isr_change, leadership, lives, pending_isrs, views
from kraftcheck.reference.brokers.broker import Api, PendingIsr
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionProposal,
    PartitionResult,
    PartitionState,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork
from kraftcheck.reference.frozen import replace


def handle_request(work: ControllerWork, node: int, request: AlterPartitionRequest) -> AlterPartitionResponse:
    """Apply each proposal that is in order, and say of each what became of it."""
    # validate
    if node != work.controller.active:
        work.by("AISR-1")
        return AlterPartitionResponse(BrokerErrorCode.NOT_CONTROLLER)
    # epoch
    if not lives.is_current(work, request.broker, request.epoch):
        work.by("AISR-1")
        return AlterPartitionResponse(BrokerErrorCode.STALE_BROKER_EPOCH)
    # decide, effects
    return AlterPartitionResponse(
        partitions=tuple(_decide(work, request, proposal) for proposal in request.partitions)
    )


def _decide(
    work: ControllerWork, request: AlterPartitionRequest, proposal: PartitionProposal
) -> PartitionResult:
    partition = work.partition(proposal.topic, proposal.index)
    error = _error(work, request, partition, proposal)
    if error is not BrokerErrorCode.NONE:
        return PartitionResult(proposal.topic, proposal.index, error)
    assert partition is not None
    changed = _apply(work, partition, proposal)
    if changed.leader != request.broker:
        work.by("AISR-5")
        led_by_other = BrokerErrorCode.NEW_LEADER_ELECTED
        if request.version < 2:
            led_by_other = BrokerErrorCode.FENCED_LEADER_EPOCH
        return PartitionResult(proposal.topic, proposal.index, led_by_other)
    return PartitionResult(
        topic=changed.topic,
        index=changed.index,
        leader=changed.leader,
        leader_epoch=changed.leader_epoch,
        partition_epoch=changed.partition_epoch,
        isr=changed.isr,
        recovering=changed.recovering,
    )


def _error(
    work: ControllerWork,
    request: AlterPartitionRequest,
    partition: Partition | None,
    proposal: PartitionProposal,
) -> BrokerErrorCode:
    work.by("AISR-2")
    if partition is None:
        topics = {each.topic for each in work.controller.durable.partitions}
        by_id = request.version >= 2 and proposal.topic not in topics
        return BrokerErrorCode.UNKNOWN_TOPIC_ID if by_id else BrokerErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if proposal.leader_epoch > partition.leader_epoch:
        return BrokerErrorCode.NOT_CONTROLLER
    if proposal.partition_epoch > partition.partition_epoch:
        return BrokerErrorCode.NOT_CONTROLLER
    if proposal.leader_epoch < partition.leader_epoch:
        return BrokerErrorCode.FENCED_LEADER_EPOCH
    if request.broker != partition.leader:
        return BrokerErrorCode.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return BrokerErrorCode.INVALID_UPDATE_VERSION
    work.by("AISR-3")
    if not _is_well_formed(partition, proposal):
        return BrokerErrorCode.INVALID_REQUEST
    work.by("AISR-4")
    # Before version 3 a request cannot say which life of a member is meant.
    says = request.version >= 3
    if not all(lives.is_eligible(work, each.broker, each.epoch if says else -1) for each in proposal.isr):
        old = request.version < 2
        return BrokerErrorCode.OPERATION_NOT_ATTEMPTED if old else BrokerErrorCode.INELIGIBLE_REPLICA
    return BrokerErrorCode.NONE


def _is_well_formed(partition: Partition, proposal: PartitionProposal) -> bool:
    members = tuple(each.broker for each in proposal.isr)
    if not isr_change.is_isr(partition, members):
        return False
    if proposal.recovering:
        return partition.recovering and len(members) == 1
    return True


def _apply(work: ControllerWork, partition: Partition, proposal: PartitionProposal) -> Partition:
    """Write the proposal, and with it the end of a reassignment that it completes."""
    work.by("AISR-5")
    isr = tuple(sorted(each.broker for each in proposal.isr))
    wanted = replace(partition, isr=isr, recovering=proposal.recovering)
    kept = tuple(member for member in isr if member not in partition.removing)
    reassigned = bool(partition.adding or partition.removing) and set(partition.adding) <= set(kept)
    if reassigned and kept:
        replicas = tuple(each for each in partition.replicas if each not in partition.removing)
        leader = leadership.elect(work, (*_present(partition), *replicas), kept)
        wanted = replace(wanted, isr=kept, replicas=replicas, adding=(), removing=(), leader=leader)
        # A broker that is no replica any more must not go on as one: a new leader epoch distinguishes it.
        if leader != partition.leader or not set(partition.replicas) <= set(replicas):
            wanted = replace(wanted, leader_epoch=partition.leader_epoch + 1)
    if wanted == partition:
        return partition
    return work.change_partition(
        partition,
        isr=wanted.isr,
        recovering=wanted.recovering,
        replicas=wanted.replicas,
        adding=wanted.adding,
        removing=wanted.removing,
        leader=wanted.leader,
        leader_epoch=wanted.leader_epoch,
    )


def _present(partition: Partition) -> tuple[int, ...]:
    return () if partition.leader is None else (partition.leader,)


def request_of(work: BrokerWork, changes: tuple[PendingIsr, ...]) -> AlterPartitionRequest:
    """The request for some changes. From version 3 on it says which life of each member is meant."""
    broker = work.broker
    known = {(each.topic, each.index): each for each in broker.partitions}
    proposals = tuple(
        PartitionProposal(
            topic=change.topic,
            index=change.index,
            leader_epoch=change.leader_epoch,
            partition_epoch=change.partition_epoch,
            isr=tuple(IsrMember(member, life) for member, life in zip(change.isr, change.lives, strict=True)),
            recovering=known[change.topic, change.index].recovering and len(change.isr) == 1,
        )
        for change in changes
    )
    return AlterPartitionRequest(broker.id, work.own_life, proposals, work.protocol.alter_partition_version)


def lives_of(work: BrokerWork, isr: tuple[int, ...]) -> tuple[int, ...]:
    """Which process of each member a leader means: the one it knows when it first asks; -1: any."""
    if work.protocol.isr_changes is not IsrChanges.ALTER_PARTITION:
        return ()
    known = {each.broker: each.life for each in work.broker.visible if each.life is not None}
    says = work.protocol.says_lives
    return tuple(known.get(member, -1) if says else -1 for member in isr)


def may_join(work: BrokerWork, known: PartitionState, fetched: tuple[IsrMember, ...]) -> bool:
    """Whether metadata shows of each broker that joins the life that fetched: another has another log."""
    joining = tuple(each for each in fetched if each.broker not in known.isr)
    if not joining or not work.protocol.says_lives:
        return True
    work.by("AISR-7")
    shown = {each.broker: each.life for each in work.broker.visible}
    return all(shown.get(each.broker) == each.epoch for each in joining)


def handle_response(work: BrokerWork, node: int, response: AlterPartitionResponse) -> None:
    """Take the ISRs that are effective. Others stay pending, unless nothing was applied."""
    # validate
    if not work.answered(Api.ISR):
        return
    # epoch
    if response.error is not BrokerErrorCode.NONE:
        if response.error is BrokerErrorCode.NOT_CONTROLLER:
            work.by("AISR-1")
            work.lose_controller(node)
        pending_isrs.keep(work)
        return
    # decide, effects
    changes = {(change.topic, change.index): change for change in pending_isrs.asked(work.broker)}
    for result in response.partitions:
        change = changes.get((result.topic, result.index))
        if change is not None:
            _learn(work, node, change, result)


def _learn(work: BrokerWork, node: int, change: PendingIsr, result: PartitionResult) -> None:
    """Learn what became of a change. Of the errors only those of eligibility say that the partition epoch is
    the current one, and so that nothing was applied.
    """
    if result.error is BrokerErrorCode.NONE:
        _take(work, change, result)
        return
    work.by("AISR-6")
    if result.error in (BrokerErrorCode.INELIGIBLE_REPLICA, BrokerErrorCode.OPERATION_NOT_ATTEMPTED):
        pending_isrs.drop(work, change)
    elif result.error is BrokerErrorCode.NOT_CONTROLLER:
        work.lose_controller(node)
    else:
        pending_isrs.refuse(work, change)


def _take(work: BrokerWork, change: PendingIsr, result: PartitionResult) -> None:
    """Use the new ISR. One of another leadership, or older than what is known, does not end the change."""
    known = views.partition_of(work.broker, result.topic, result.index)
    if (
        known is None
        or known.leader_epoch != result.leader_epoch
        or result.partition_epoch < known.partition_epoch
    ):
        work.by("AISR-6")
        pending_isrs.refuse(work, change)
        return
    pending_isrs.drop(work, change)
    if result.partition_epoch > known.partition_epoch:
        work.by("AISR-5")
        work.change_partition(
            replace(
                known,
                isr=result.isr,
                partition_epoch=result.partition_epoch,
                recovering=result.recovering,
            )
        )
