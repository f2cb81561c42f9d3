"""The domains of the decision tables of ISR changes, in both forms; see :mod:`.broker_situations`."""

from __future__ import annotations

from dataclasses import dataclass

from kraftcheck.query.broker_situations import (
    ABSENT,
    COMPARED,
    END,
    EPOCH,
    INCARNATION,
    LEADER_EPOCH,
    NODES,
    OTHER,
    PARTITION_EPOCH,
    PENDING,
    PROCESS,
    SAID_SINCE,
    Given,
    draft_controller,
    draft_process,
    partition_of,
    shipped_controller,
    shipped_process,
)
from kraftcheck.query.broker_tables import BrokerTable, Situation
from kraftcheck.reference.brokers.broker import Api, PendingIsr
from kraftcheck.reference.brokers.controller import BrokerRegistration, MetadataLog, Session
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RequestReceived, ResponseReceived
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    IsrMember,
    IsrProposal,
    PartitionProposal,
    PartitionResult,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

_LEADERS = {"the sender": BROKER, "another": OTHER, "nobody": None}
_REPLICAS = (BROKER, OTHER, ABSENT)

# IsrChange.

_ISRS = {
    "as it is": (BROKER, OTHER),
    "shrinks": (BROKER,),
    "grows": _REPLICAS,
    "empty": (),
    "a member twice": (BROKER, OTHER, OTHER),
    "without its leader": (ABSENT,),
    "with no replica": (BROKER, OTHER, 9),
}


def _isr_change(given: Given) -> Situation | None:
    leader = _LEADERS[given["leader"]]
    # Nobody leads where no member can, as broker 3 cannot.
    partition = partition_of(_REPLICAS, (ABSENT,) if leader is None else (BROKER, OTHER), leader)
    heard = {"none": None, "the sender's": INCARNATION, "another": INCARNATION - 1}[given["remembered"]]
    state = "ACTIVE" if heard is not None or given["leader"] == "the sender" else "INACTIVE"
    controller = draft_controller(
        state, partition, registered=given["registered"] != "none", incarnation=heard
    )
    if controller is None:
        return None
    if given["registered"] == "another":
        store = controller.durable
        stored = tuple(
            replace(each, incarnation=INCARNATION + 1) if each.broker == BROKER else each
            for each in store.registrations
        )
        written = replace(store, registrations=stored, last_transaction=INCARNATION + 1)
        controller = replace(controller, durable=written)
    proposal = IsrProposal(
        "t",
        0 if given["partition"] == "known" else 1,
        LEADER_EPOCH + COMPARED[given["leader epoch"]],
        _ISRS[given["ISR"]],
    )
    request = IsrChangeRequest(BROKER, INCARNATION, (proposal,))
    return controller, RequestReceived(NODES[given["node asked"]], PROCESS, request)


_ISR_ANSWERS = {
    **{
        f"{name} (top level)": IsrChangeResponse(BrokerErrorCode[name])
        for name in ("NOT_CONTROLLER", "INVALID_INCARNATION_ID", "UNSUPPORTED_VERSION")
    },
    **{
        name: IsrChangeResponse(results=(BrokerErrorCode[name],))
        for name in ("NONE", "INVALID_REQUEST", "NOT_LEADER_FOR_PARTITION")
    },
    "no result": IsrChangeResponse(),
}


def _isr_change_response(given: Given) -> Situation | None:
    if given["awaited"] == "yes" and given["change"] != "asked for":
        return None  # What a request asks for stays pending until its answer comes.
    broker = draft_process(
        awaiting=(Api.ISR,) if given["awaited"] == "yes" else (),
        partitions=(SAID_SINCE[given["metadata says"]],),
    )
    broker = replace(broker, pending=_pending(given["change"]))
    return broker, ResponseReceived(NODES[given["answered by"]], _ISR_ANSWERS[given["answer"]])


def _pending(change: str) -> tuple[PendingIsr, ...]:
    if change == "none pending":
        return ()
    return (replace(PENDING, refused=change == "waits for metadata"),)


# AlterPartition.


@dataclass(frozen=True, slots=True)
class _Proposal:
    """An ISR that is asked for, of brokers and the lives meant; what broker 3 and the partition are; and
    whether the leader says that it recovers.
    """

    isr: tuple[tuple[int, int], ...] = ((BROKER, EPOCH), (OTHER, 3))
    third: BrokerRegistration | None = None
    partition: Partition = partition_of(_REPLICAS)
    recovering: bool = False


#: From this version on AlterPartition says which life of a member is meant.
_SAYS_LIVES = 3
_THIRD = BrokerRegistration(ABSENT, 6, 12, fenced=False)
_ALL = ((BROKER, EPOCH), (OTHER, 3), (ABSENT, 12))
_ALONE = ((BROKER, EPOCH),)
_RECOVERING = replace(partition_of(_REPLICAS, (BROKER,)), recovering=True)
_PROPOSALS = {
    "as it is": _Proposal(),
    "shrinks": _Proposal(_ALONE),
    "grows": _Proposal(_ALL, _THIRD),
    "grows, life not said": _Proposal((*_ALL[:2], (ABSENT, -1)), _THIRD),
    "grows by one that restarted": _Proposal(_ALL, replace(_THIRD, epoch=15)),
    "grows by a fenced one": _Proposal(_ALL, replace(_THIRD, fenced=True)),
    "grows by one in controlled shutdown": _Proposal(_ALL, replace(_THIRD, in_controlled_shutdown=True)),
    "grows by one not registered": _Proposal(_ALL),
    "empty": _Proposal(()),
    "a member twice": _Proposal((*_ALL[:2], _ALL[1])),
    "without its leader": _Proposal(((ABSENT, 12),), _THIRD),
    "with no replica": _Proposal((*_ALL[:2], (9, -1))),
    "recovery goes on": _Proposal(_ALONE, partition=_RECOVERING, recovering=True),
    "recovery ends": _Proposal(_ALONE, partition=_RECOVERING),
    "recovery of two": _Proposal(partition=_RECOVERING, recovering=True),
    "recovery of none that recovers": _Proposal(_ALONE, recovering=True),
    "ends a reassignment": _Proposal(
        _ALL, _THIRD, replace(partition_of(_REPLICAS), adding=(ABSENT,), removing=(OTHER,))
    ),
    "ends a reassignment away from the leader": _Proposal(
        _ALL, _THIRD, replace(partition_of(_REPLICAS), adding=(ABSENT,), removing=(BROKER,))
    ),
    "does not end a reassignment": _Proposal(
        partition=replace(partition_of(_REPLICAS), adding=(ABSENT,), removing=(OTHER,))
    ),
}


def _alter_partition(given: Given) -> Situation | None:
    wanted = _PROPOSALS[given["ISR"]]
    leader = _LEADERS[given["leader"]]
    partition = replace(wanted.partition, leader=leader)
    state, version = "unfenced", int(given["version"])
    if given["broker epoch"] == "unregistered":
        # Who is not registered is in no ISR that has others, and leads nothing.
        state, partition = "unregistered", replace(partition, isr=(OTHER,))
    if leader is None:
        # No member can lead, as broker 3 cannot.
        partition = replace(partition, isr=(ABSENT,))
    elif leader not in partition.isr:
        partition = replace(partition, isr=(leader,))
    controller = shipped_controller(state, partition, session=state == "unfenced")
    if controller is None or (given["partition"] != "known" and given["ISR"] != "as it is"):
        return None
    log = controller.durable
    assert isinstance(log, MetadataLog)
    if wanted.third is not None and leader is not None:
        log = replace(log, registrations=(*log.registrations, wanted.third))
        if not wanted.third.fenced and controller.active is not None:
            controller = replace(controller, sessions=(*controller.sessions, Session(ABSENT, offset=END - 1)))
    proposal = PartitionProposal(
        "u" if given["partition"] == "unknown topic" else "t",
        1 if given["partition"] == "unknown index" else 0,
        LEADER_EPOCH + COMPARED[given["leader epoch"]],
        PARTITION_EPOCH + COMPARED[given["partition epoch"]],
        tuple(IsrMember(broker, life if version >= _SAYS_LIVES else -1) for broker, life in wanted.isr),
        wanted.recovering,
    )
    epoch = EPOCH - 1 if given["broker epoch"] == "stale" else EPOCH
    request = AlterPartitionRequest(BROKER, epoch, (proposal,), version)
    event = RequestReceived(NODES[given["node asked"]], PROCESS, request)
    return replace(controller, durable=log), event


_RESULT = PartitionResult("t", 0)
_REFUSALS = (
    "INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED", "NOT_CONTROLLER", "FENCED_LEADER_EPOCH",
    "INVALID_REQUEST", "INVALID_UPDATE_VERSION", "NEW_LEADER_ELECTED", "UNKNOWN_TOPIC_OR_PARTITION",
    "UNKNOWN_TOPIC_ID",
)  # fmt: skip
#: The leader epoch and the partition epoch of an answer NONE.
_IN_ANSWER = {
    "as asked": (LEADER_EPOCH, PARTITION_EPOCH + 1),
    "already in force": (LEADER_EPOCH, PARTITION_EPOCH),
    "in a newer leader epoch": (LEADER_EPOCH + 1, PARTITION_EPOCH + 1),
}
_ALTER_ANSWERS = {
    **{
        f"{name} (top level)": AlterPartitionResponse(BrokerErrorCode[name])
        for name in ("NOT_CONTROLLER", "STALE_BROKER_EPOCH", "UNSUPPORTED_VERSION")
    },
    **{
        f"NONE, {text}": AlterPartitionResponse(
            partitions=(
                replace(
                    _RESULT,
                    leader=BROKER,
                    leader_epoch=leader_epoch,
                    partition_epoch=partition_epoch,
                    isr=(BROKER,),
                ),
            )
        )
        for text, (leader_epoch, partition_epoch) in _IN_ANSWER.items()
    },
    **{
        name: AlterPartitionResponse(partitions=(replace(_RESULT, error=BrokerErrorCode[name]),))
        for name in _REFUSALS
    },
    "of another partition": AlterPartitionResponse(partitions=(PartitionResult("t", 1),)),
}


def _alter_partition_response(given: Given) -> Situation | None:
    awaiting = (Api.ISR,) if given["awaited"] == "yes" else ()
    broker = shipped_process(awaiting=awaiting, partitions=(SAID_SINCE[given["metadata says"]],))
    broker = replace(broker, pending=_pending(given["change"]))
    return broker, ResponseReceived(NODES[given["answered by"]], _ALTER_ANSWERS[given["answer"]])


# The tables.

_CHANGES = ("asked for", "waits for metadata", "none pending")

ISR_CHANGE_REQUEST = BrokerTable(
    "isr-change-request",
    "how the controller answers IsrChange",
    "The request has one partition; of several each is decided alone. What the controller remembers of the "
    "sender's incarnation decides only with --set known-life=remembered.",
    {
        "registered": ("the sender's", "another", "none"),
        "leader": tuple(_LEADERS),
        "leader epoch": tuple(COMPARED),
        "ISR": tuple(_ISRS),
        "partition": ("known", "unknown"),
        "remembered": ("the sender's", "another", "none"),
        "node asked": tuple(NODES),
    },
    _isr_change,
)

ISR_CHANGE_RESPONSE = BrokerTable(
    "isr-change-response",
    "what a leader makes of an answer to IsrChange",
    "The request was for one partition and the ISR without broker 2.",
    {
        "answer": tuple(_ISR_ANSWERS),
        "metadata says": tuple(SAID_SINCE),
        "change": _CHANGES,
        "answered by": tuple(NODES),
        "awaited": ("yes", "no"),
    },
    _isr_change_response,
)

ALTER_PARTITION_REQUEST = BrokerTable(
    "alter-partition-request",
    "how the controller answers AlterPartition",
    "The request has one partition; of several each is decided alone. Brokers 1, 2 and 3 are replicas, 1 and "
    "2 the ISR, or 1 alone where it recovers.",
    {
        "broker epoch": ("current", "stale", "unregistered"),
        "partition": ("known", "unknown index", "unknown topic"),
        "leader epoch": tuple(COMPARED),
        "partition epoch": tuple(COMPARED),
        "leader": tuple(_LEADERS),
        "ISR": tuple(_PROPOSALS),
        "version": ("0", "1", "2", "3"),
        "node asked": tuple(NODES),
    },
    _alter_partition,
)

ALTER_PARTITION_RESPONSE = BrokerTable(
    "alter-partition-response",
    "what a leader makes of an answer to AlterPartition",
    "The request was for one partition and the ISR without broker 2.",
    {
        "answer": tuple(_ALTER_ANSWERS),
        "metadata says": tuple(SAID_SINCE),
        "change": _CHANGES,
        "answered by": tuple(NODES),
        "awaited": ("yes", "no"),
    },
    _alter_partition_response,
)
