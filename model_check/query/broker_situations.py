"""What the domains of the decision tables of brokers share; see :mod:`.situations`.

Broker 1 is what they are about. Broker 2 is active or unfenced, broker 3 is not registered unless it is in
the ISR, node 1 is the controller. One partition is at stake, in leader epoch 5 and partition epoch 7.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference.brokers.broker import Api, Broker, Life, PendingIsr
from kraftcheck.reference.brokers.controller import (
    HEARTBEAT_VERSION,
    LEGACY_VERSION,
    BrokerRegistration,
    Controller,
    FinalizedFeature,
    Liveness,
    MetadataLog,
    Session,
    Store,
    StoredRegistration,
)
from kraftcheck.reference.brokers.messages import BrokerState, PartitionState, Process, VisibleBroker
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

Given = Mapping[str, str]

OTHER, ABSENT = 2, 3
CONTROLLER_NODE, OTHER_NODE = 1, 2
#: The incarnation of broker 1 that is known, and its broker epoch.
INCARNATION, EPOCH = 4, 10
#: Those of broker 3, where it is in the ISR.
_THIRD_INCARNATION, _THIRD_EPOCH = 1, 5
#: The next offset of the metadata log.
END = 20
LEADER_EPOCH, PARTITION_EPOCH = 5, 7
COMPARED = {"smaller": -1, "same": 0, "larger": 1}
NODES = {"the controller": CONTROLLER_NODE, "another": OTHER_NODE}
YES_NO = ("no", "yes")
#: How many ticks a counter may stand at: time-outs are at most 9.
TICKS = tuple(map(str, range(9)))
PROCESS = Process(BROKER, INCARNATION)


def partition_of(
    replicas: tuple[int, ...] = (BROKER, OTHER),
    isr: tuple[int, ...] = (BROKER, OTHER),
    leader: int | None = BROKER,
) -> Partition:
    """The partition at stake."""
    return Partition("t", 0, replicas, isr, leader, LEADER_EPOCH, PARTITION_EPOCH)


#: What broker 1 is to the partition.
PARTITIONS = {
    "leads, another can": partition_of(),
    "leads, others cannot": partition_of((BROKER, ABSENT), (BROKER, ABSENT)),
    "leads, alone in the ISR": partition_of(isr=(BROKER,)),
    "follows": partition_of(leader=OTHER),
    "leaderless": partition_of(isr=(BROKER,), leader=None),
    "outside the ISR": partition_of(isr=(OTHER,), leader=OTHER),
}


def leads(partition: str) -> bool:
    """Whether broker 1 leads in this value of a column."""
    return partition.startswith("leads")


# The controller of the draft.

#: What the controller of the draft holds broker 1 to be, registered or not: who has lost its registration and
#: still sends heartbeats is ACTIVE again.
STATES = ("INACTIVE", "ACTIVE", "STOPPING", "legacy")
_STATE = {"ACTIVE": BrokerState.ACTIVE, "STOPPING": BrokerState.STOPPING}


def draft_controller(
    state: str,
    partition: str | Partition,
    *,
    registered: bool = True,
    incarnation: int | None = INCARNATION,
    written: int = INCARNATION,
    ticks: int = 0,
    active: bool = True,
) -> Controller | None:
    """A controller that holds broker 1 to be in ``state``; ``None`` if that cannot be.

    ``incarnation`` is what it remembers of broker 1, ``written`` what was registered last. Broker 3, where it
    is in the ISR, cannot lead as it is stopping.
    """
    if not registered and (state == "legacy" or (incarnation is None and state != "INACTIVE")):
        return None
    held = _STATE.get(state, BrokerState.INACTIVE)
    if active and isinstance(partition, str):
        if state == "INACTIVE" and leads(partition):
            return None
        if state in ("ACTIVE", "legacy") and partition == "leaderless":
            return None
    if not active and (held is not BrokerState.INACTIVE or ticks):
        return None
    version = LEGACY_VERSION if state == "legacy" else HEARTBEAT_VERSION
    at_stake = _partition(partition)
    third = _THIRD_INCARNATION if ABSENT in at_stake.isr else None
    stored = [StoredRegistration(BROKER, written, version)] if registered else []
    stored.append(StoredRegistration(OTHER, 2))
    known = [Liveness(BROKER, incarnation, held, ticks), Liveness(OTHER, 2, BrokerState.ACTIVE)]
    if third is not None:
        stored.append(StoredRegistration(ABSENT, third))
        known.append(Liveness(ABSENT, third, BrokerState.STOPPING))
    store = Store(tuple(stored), (at_stake,), written)
    if not active:
        return Controller(None, store, epoch=1)
    brokers = tuple(each for each in known if each != Liveness(each.broker))
    return Controller(CONTROLLER_NODE, store, epoch=1, brokers=brokers)


def _partition(partition: str | Partition) -> Partition:
    return PARTITIONS[partition] if isinstance(partition, str) else partition


# The controller of the shipped form.

#: What the metadata log says of broker 1, and whether the controller knows from when on it may shut down.
REGISTERED = (
    "unregistered",
    "fenced",
    "fenced and in controlled shutdown",
    "unfenced",
    "in controlled shutdown",
    "in controlled shutdown, new controller",
)


def is_fenced(registered: str) -> bool:
    """Whether broker 1 is fenced in this value of the column of registrations."""
    return registered.startswith("fenced")


def shipped_controller(
    state: str,
    partition: str | Partition,
    *,
    session: bool = True,
    ticks: int = 0,
    others_read: bool = True,
    active: bool = True,
    features: tuple[FinalizedFeature, ...] = (),
) -> Controller | None:
    """A controller by whose log broker 1 is in ``state``; ``None`` if that cannot be beside the rest.

    Broker 3, where it is in the ISR, cannot lead as it is fenced.
    """
    registered, fenced = state != "unregistered", is_fenced(state)
    if state == "unfenced" and partition == "leaderless":
        return None
    if active and registered and not fenced and not session:
        return None
    if (session and not registered) or (ticks and not session) or (not active and (session or ticks)):
        return None
    shutting_down = "in controlled shutdown" in state
    own = BrokerRegistration(BROKER, INCARNATION, EPOCH, fenced, shutting_down)
    other = BrokerRegistration(OTHER, 2, 3, fenced=False)
    registrations = (own, other) if registered else (other,)
    at_stake = _partition(partition)
    if ABSENT in at_stake.isr:
        registrations = (*registrations, BrokerRegistration(ABSENT, 6, _THIRD_EPOCH))
    log = MetadataLog(registrations, (at_stake,), END, finalized=features)
    if not active:
        return Controller(None, log, epoch=1)
    until = END - 5 if state == "in controlled shutdown" else None
    first = (Session(BROKER, ticks, EPOCH, until),) if session else ()
    second = Session(OTHER, offset=END - 1 if others_read else EPOCH)
    return Controller(CONTROLLER_NODE, log, epoch=1, sessions=(*first, second))


# Processes.

STATE_TOLD = PartitionState("t", 0, BROKER, LEADER_EPOCH, PARTITION_EPOCH, (BROKER, OTHER))
LED_BY_OTHER = replace(STATE_TOLD, leader=OTHER)
#: A change that is pending. Which lives of members it means follows from the protocol.
PENDING = PendingIsr("t", 0, LEADER_EPOCH, PARTITION_EPOCH, (BROKER,))
#: What metadata says of the partition since :data:`PENDING` was asked for.
SAID_SINCE = {
    "what it was": STATE_TOLD,
    "newer, with the ISR asked for": replace(STATE_TOLD, partition_epoch=PARTITION_EPOCH + 1, isr=(BROKER,)),
    "newer, with another ISR": replace(
        STATE_TOLD, partition_epoch=PARTITION_EPOCH + 1, isr=(BROKER, OTHER, ABSENT)
    ),
    "of another leader epoch": replace(
        STATE_TOLD, leader_epoch=LEADER_EPOCH + 1, partition_epoch=PARTITION_EPOCH + 1
    ),
}
_VISIBLE = (VisibleBroker(BROKER, INCARNATION), VisibleBroker(OTHER, 2))


def draft_process(
    state: BrokerState = BrokerState.ACTIVE,
    *,
    wish: BrokerState = BrokerState.ACTIVE,
    fenced: bool = False,
    awaiting: tuple[Api, ...] = (),
    partitions: tuple[PartitionState, ...] = (STATE_TOLD,),
) -> Broker:
    """Broker 1 as a process of the draft that has been told of the cluster."""
    return Broker(
        BROKER,
        INCARNATION,
        controller=CONTROLLER_NODE,
        controller_epoch=1,
        awaiting=awaiting,
        partitions=partitions,
        visible=_VISIBLE,
        wish=wish,
        state=state,
        fenced=fenced,
    )


def shipped_process(
    life: Life = Life.RUNNING,
    *,
    registered: bool = True,
    awaiting: tuple[Api, ...] = (),
    partitions: tuple[PartitionState, ...] = (STATE_TOLD,),
) -> Broker:
    """Broker 1 as a process of the shipped form that has read the metadata log."""
    return Broker(
        BROKER,
        INCARNATION,
        controller=CONTROLLER_NODE,
        controller_epoch=1,
        awaiting=awaiting,
        partitions=partitions,
        visible=(VisibleBroker(BROKER, EPOCH), VisibleBroker(OTHER, 3)),
        fenced=False,
        life=life,
        epoch=EPOCH if registered else -1,
        offset=END - 1,
    )
