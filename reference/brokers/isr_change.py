"""IsrChange (KIP-343): the leader of a partition asks the controller for another ISR.

Source: KIP-343 (Initiating ISR Changes, IsrChange).
"""

from __future__ import annotations

from kraftcheck.reference.brokers import lives, pending_isrs, views
from kraftcheck.reference.brokers.broker import Api, PendingIsr
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import IsrChangeRequest, IsrChangeResponse, IsrProposal
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.work import BrokerWork, ControllerWork
from kraftcheck.reference.frozen import replace


def handle_request(work: ControllerWork, node: int, request: IsrChangeRequest) -> IsrChangeResponse:
    """Apply each proposal that is in order, and say of each what became of it."""
    # validate
    if node != work.controller.active:
        work.by("ISR-2")
        return IsrChangeResponse(BrokerErrorCode.NOT_CONTROLLER)
    # epoch
    if not lives.is_current(work, request.broker, request.incarnation):
        work.by("ISR-3")
        return IsrChangeResponse(BrokerErrorCode.INVALID_INCARNATION_ID)
    # decide, effects
    work.by("ISR-8")
    return IsrChangeResponse(
        results=tuple(_decide(work, request.broker, proposal) for proposal in request.partitions)
    )


def _decide(work: ControllerWork, broker: int, proposal: IsrProposal) -> BrokerErrorCode:
    partition = work.partition(proposal.topic, proposal.index)
    if partition is None:
        work.by("ISR-6")
        return BrokerErrorCode.INVALID_REQUEST
    if partition.leader != broker:
        work.by("ISR-4")
        return BrokerErrorCode.NOT_LEADER_FOR_PARTITION
    if work.protocol.compares_leader_epoch and partition.leader_epoch != proposal.leader_epoch:
        work.by("ISR-5")
        return BrokerErrorCode.NOT_LEADER_FOR_PARTITION
    if not is_isr(partition, proposal.isr):
        work.by("ISR-6")
        return BrokerErrorCode.INVALID_REQUEST
    work.by("ISR-7")
    isr = tuple(sorted(proposal.isr))
    if isr != partition.isr:
        work.change_partition(partition, isr=isr)
    return BrokerErrorCode.NONE


def is_isr(partition: Partition, proposed: tuple[int, ...]) -> bool:
    """Whether a proposal is an ISR: replicas of the partition, each once, and its leader among them."""
    distinct = len(set(proposed)) == len(proposed)
    return distinct and partition.leader in proposed and set(proposed) <= set(partition.replicas)


def request_of(work: BrokerWork, changes: tuple[PendingIsr, ...]) -> IsrChangeRequest:
    """The request for some changes."""
    proposals = tuple(
        IsrProposal(change.topic, change.index, change.leader_epoch, change.isr) for change in changes
    )
    return IsrChangeRequest(work.broker.id, work.own_life, proposals)


def handle_response(work: BrokerWork, node: int, response: IsrChangeResponse) -> None:
    """Take the ISRs that were applied. Others stay pending, unless they can never be applied."""
    # validate
    if not work.answered(Api.ISR):
        return
    asked = pending_isrs.asked(work.broker)
    # epoch
    if response.error is not BrokerErrorCode.NONE:
        if response.error is BrokerErrorCode.NOT_CONTROLLER:
            work.by("ISR-2")
            work.lose_controller(node)
        elif response.error is BrokerErrorCode.INVALID_INCARNATION_ID:
            work.by("ISR-3")
            work.update(superseded=True)
        pending_isrs.keep(work)
        return
    # decide, effects
    work.by("ISR-8", "ISR-9")
    for change, result in zip(asked, response.results, strict=False):
        if result is BrokerErrorCode.NONE:
            pending_isrs.drop(work, change)
            _take(work, change)
        elif result is BrokerErrorCode.INVALID_REQUEST:
            pending_isrs.drop(work, change)
        else:
            work.by("ISR-10")
            pending_isrs.refuse(work, change)
    pending_isrs.settle(work)


def _take(work: BrokerWork, change: PendingIsr) -> None:
    """Use the new ISR, unless metadata received meanwhile is newer than the request."""
    known = views.partition_of(work.broker, change.topic, change.index)
    epochs = (change.leader_epoch, change.partition_epoch)
    if known is not None and (known.leader_epoch, known.partition_epoch) == epochs:
        work.change_partition(replace(known, isr=change.isr))
