"""A broker process as a value.

Source: KIP-343 (Controller Heartbeat, Initiating ISR Changes); Kafka: BrokerLifecycleManager,
AlterPartitionManager, Partition.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.brokers.messages import (
    BrokerState,
    FeatureRange,
    PartitionState,
    Process,
    VisibleBroker,
)
from kraftcheck.reference.brokers.types import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ControllerId,
    Incarnation,
    LeaderEpoch,
    LifeId,
    MetadataOffset,
    PartitionEpoch,
    PartitionIndex,
    Ticks,
    Topic,
)
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import Ascending, Count, InSequence, Name


class Life(Enum):
    """The life of a shipped broker process (HBK-9)."""

    STARTING = "starting"
    RECOVERY = "recovery"
    RUNNING = "running"
    PENDING_CONTROLLED_SHUTDOWN = "pending-controlled-shutdown"
    SHUTTING_DOWN = "shutting-down"

    def __repr__(self) -> str:
        return self.name


class Api(Enum):
    """The requests of which a broker has at most one under way each."""

    REGISTRATION = "registration"
    HEARTBEAT = "heartbeat"
    ISR = "isr"

    def __repr__(self) -> str:
        return self.name


class PendingIsr(Frozen):
    """An ISR that was requested and is not known to be effective, and the epochs of the partition then.

    ``lives``: which life of each member is meant, in the order of ``isr`` (AlterPartition; -1: any).
    ``refused``: it was refused, and metadata will show the effective ISR; it is not requested again.
    """

    topic: Topic
    index: PartitionIndex
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Ascending[BrokerId]
    lives: InSequence[LifeId] = ()
    refused: bool = False


class Broker(Frozen):
    """One process of a broker.

    ``controller`` is the node it takes for the controller, ``None`` while it looks for it;
    ``controller_epoch`` the highest it has received. ``awaiting``: its requests under way, at most one each,
    in the order of :class:`Api`. ``partitions`` and ``visible`` are the metadata that it has, ``pending`` the
    ISRs that it requested and whose result it does not know, in the order of its request.
    ``accepted`` counts requests of clients that it has taken and not completed. ``ended``: the process is
    gone.

    KIP-343: ``legacy``: it runs below the inter-broker protocol of the draft. ``target`` is the state it
    requests, ``state`` the one it was given last. ``ticks`` of its clock have passed since it reached the
    controller, ``request_ticks`` since it sent the heartbeat under way; 0 where they do not run.
    ``superseded``: it has learned that another process has its id, and changes no ISR any more.

    KIP-631: ``life``, ``epoch`` (-1: not registered) and ``offset``, the last of the metadata log that it has
    read (-1: none).
    """

    id: BrokerId
    incarnation: Incarnation
    controller: ControllerId | None = None
    controller_epoch: ControllerEpoch = 0
    awaiting: InSequence[Api] = ()
    partitions: InSequence[PartitionState] = ()
    visible: InSequence[VisibleBroker] = ()
    pending: InSequence[PendingIsr] = ()
    accepted: Count = 0
    ended: bool = False
    legacy: bool = False
    target: BrokerState = BrokerState.ACTIVE
    state: BrokerState = BrokerState.INITIAL
    fenced: bool = True
    ticks: Ticks = 0
    request_ticks: Ticks = 0
    superseded: bool = False
    life: Life = Life.STARTING
    epoch: BrokerEpoch = -1
    offset: MetadataOffset = -1
    cluster_id: Name = "cluster"
    features: InSequence[FeatureRange] = ()

    @property
    def process(self) -> Process:
        return Process(self.id, self.incarnation)
