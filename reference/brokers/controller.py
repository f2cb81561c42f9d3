"""The controller as a value: what is durable, apart from what the active controller has in memory.

There is one such value for all controller nodes: ``active`` says which of them is the controller. What it
writes is durable at once, and a failover takes nothing but its memory.

Source: KIP-343 (Broker State, Controller Logic); Kafka: ClusterControlManager, BrokerHeartbeatManager,
ReplicationControlManager.
"""

from __future__ import annotations

from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.types import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ControllerId,
    FeatureLevel,
    Incarnation,
    MetadataOffset,
    Ticks,
    Version,
)
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import Ascending, InSequence, Name

#: The version of a registration with an inter-broker protocol below that of KIP-343, and of one with it.
LEGACY_VERSION = 4
HEARTBEAT_VERSION = 5


class StoredRegistration(Frozen):
    """The registration of a broker id in the store: its creation transaction id and its version (4 or 5)."""

    broker: BrokerId
    incarnation: Incarnation
    version: Version = HEARTBEAT_VERSION


class Store(Frozen):
    """What is durable in the form of KIP-343: registrations by broker id, and the partitions.

    ``last_transaction`` is the id of the last registration that was written.
    """

    registrations: Ascending[StoredRegistration] = ()
    partitions: InSequence[Partition] = ()
    last_transaction: Incarnation = 0


class BrokerRegistration(Frozen):
    """What the records of the metadata log say of a broker; ``epoch`` is the offset of its registration."""

    broker: BrokerId
    incarnation: Incarnation
    epoch: BrokerEpoch
    fenced: bool = True
    in_controlled_shutdown: bool = False


class FinalizedFeature(Frozen):
    """A feature level that every broker has to support."""

    name: Name
    level: FeatureLevel


class MetadataLog(Frozen):
    """What is durable in the form of KIP-631: the image of the metadata log, whose next offset is
    ``end_offset``.
    """

    registrations: Ascending[BrokerRegistration] = ()
    partitions: InSequence[Partition] = ()
    end_offset: MetadataOffset = 0
    cluster_id: Name = "cluster"
    finalized: InSequence[FinalizedFeature] = ()


class Liveness(Frozen):
    """What the controller of KIP-343 remembers of a broker id.

    ``incarnation`` is the highest one it has accepted, ``None`` before the first. ``ticks`` have passed since
    its last valid heartbeat; 0 where no timer runs (inactive, legacy, or untimed).
    """

    broker: BrokerId
    incarnation: Incarnation | None = None
    state: BrokerState = BrokerState.INACTIVE
    ticks: Ticks = 0


class Session(Frozen):
    """The valid session of a registered broker (KIP-631), which begins with a heartbeat, and what that said.

    ``offset`` is -1 where a new controller has heard of none. ``shutdown_offset``: all active brokers have to
    reach it before the broker may shut down.
    """

    broker: BrokerId
    ticks: Ticks = 0
    offset: MetadataOffset = -1
    shutdown_offset: MetadataOffset | None = None


class Controller(Frozen):
    """The controller: ``active`` is the node that is the controller, or ``None`` between two; ``epoch`` grows
    with every failover. ``brokers`` (KIP-343) and ``sessions`` (KIP-631) are in memory; sorted by id.
    """

    active: ControllerId | None
    durable: Store | MetadataLog
    epoch: ControllerEpoch = 0
    brokers: Ascending[Liveness] = ()
    sessions: Ascending[Session] = ()
