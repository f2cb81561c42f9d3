"""Requests and responses between brokers and the controller, as far as behaviour needs their fields.

Field by field: ``spec/messages.toml``. Left out are texts of errors, throttle times, listeners, racks and
directories. A topic is one name, whether the request names it by name or by id.
"""

from __future__ import annotations

from enum import IntEnum

from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.types import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ControllerId,
    FeatureLevel,
    Incarnation,
    LeaderEpoch,
    LifeId,
    MetadataOffset,
    PartitionEpoch,
    PartitionIndex,
    Topic,
    Version,
)
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import InSequence, Name


class BrokerState(IntEnum):
    """The states of KIP-343, by their number on the wire."""

    INITIAL = 0
    INACTIVE = 1
    ACTIVE = 2
    STOPPING = 3

    def __repr__(self) -> str:
        return self.name


class Process(Frozen):
    """One process: a broker id and the incarnation that distinguishes it from others with the same id."""

    broker: BrokerId
    incarnation: Incarnation


class MetadataHeartbeatRequest(Frozen):
    """A broker is running and requests a state (KIP-343)."""

    broker: BrokerId
    incarnation: Incarnation
    target: BrokerState


class MetadataHeartbeatResponse(Frozen):
    """The state that the controller decided on; ``None`` with an error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    state: BrokerState | None = None


class IsrProposal(Frozen):
    """The ISR that a leader wants for a partition, and the leader epoch in which it leads it."""

    topic: Topic
    index: PartitionIndex
    leader_epoch: LeaderEpoch
    isr: InSequence[BrokerId]


class IsrChangeRequest(Frozen):
    """A leader asks for other ISRs (KIP-343)."""

    broker: BrokerId
    incarnation: Incarnation
    partitions: InSequence[IsrProposal]


class IsrChangeResponse(Frozen):
    """One result for each partition of the request, in its order, unless there is a top-level error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    results: InSequence[BrokerErrorCode] = ()


class FeatureRange(Frozen):
    """The levels of a feature that a broker supports."""

    name: Name
    lowest: FeatureLevel
    highest: FeatureLevel


class BrokerRegistrationRequest(Frozen):
    """A process makes itself known (KIP-631)."""

    broker: BrokerId
    cluster_id: Name
    incarnation: Incarnation
    features: InSequence[FeatureRange] = ()


class BrokerRegistrationResponse(Frozen):
    """The broker epoch given to the incarnation; -1 with an error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    epoch: BrokerEpoch = -1


class BrokerHeartbeatRequest(Frozen):
    """A running broker has read the metadata log up to ``offset``; it may request its fencing or shutdown."""

    broker: BrokerId
    epoch: BrokerEpoch
    offset: MetadataOffset
    want_fence: bool = False
    want_shutdown: bool = False


class BrokerHeartbeatResponse(Frozen):
    """The controller's decision (KIP-631)."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    caught_up: bool = False
    fenced: bool = True
    should_shut_down: bool = False


class IsrMember(Frozen):
    """A member of an ISR that a leader wants, with its broker epoch; -1: not said (before version 3)."""

    broker: BrokerId
    epoch: BrokerEpoch = -1


class PartitionProposal(Frozen):
    """What a leader wants for a partition with AlterPartition."""

    topic: Topic
    index: PartitionIndex
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: InSequence[IsrMember]
    recovering: bool = False


class AlterPartitionRequest(Frozen):
    """A leader asks for other ISRs (KIP-497, KIP-841, KIP-903)."""

    broker: BrokerId
    epoch: BrokerEpoch
    partitions: InSequence[PartitionProposal]
    version: Version = 3


class PartitionResult(Frozen):
    """The result for a partition; with an error only the first three fields matter."""

    topic: Topic
    index: PartitionIndex
    error: BrokerErrorCode = BrokerErrorCode.NONE
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch = -1
    partition_epoch: PartitionEpoch = -1
    isr: InSequence[BrokerId] = ()
    recovering: bool = False


class AlterPartitionResponse(Frozen):
    """One result for each partition of the request, in its order, unless there is a top-level error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    partitions: InSequence[PartitionResult] = ()


class StoreIsrRequest(Frozen):
    """A legacy broker writes an ISR into the store itself, on condition that no process has written since
    (``partition_epoch`` is the version of the node of the partition)."""

    broker: BrokerId
    topic: Topic
    index: PartitionIndex
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: InSequence[BrokerId]


class StoreIsrResponse(Frozen):
    """Whether the store was written, and the version of the node since."""

    topic: Topic
    index: PartitionIndex
    written: bool
    partition_epoch: PartitionEpoch = -1


class VisibleBroker(Frozen):
    """A broker that metadata shows; ``life`` is its incarnation id (KIP-343) or broker epoch (KIP-631), or
    ``None`` where the controller knows none."""

    broker: BrokerId
    life: LifeId | None = None


class PartitionState(Frozen):
    """What metadata says of a partition."""

    topic: Topic
    index: PartitionIndex
    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: InSequence[BrokerId]
    recovering: bool = False


class MetadataUpdate(Frozen):
    """What a broker receives: LeaderAndIsr and UpdateMetadata in one, or the metadata log up to ``offset``.

    ``controller`` is the node that sends it, ``controller_epoch`` its epoch. ``offset`` is -1 in the form of
    KIP-343, which has no metadata log.
    """

    controller: ControllerId
    controller_epoch: ControllerEpoch
    brokers: InSequence[VisibleBroker]
    partitions: InSequence[PartitionState]
    offset: MetadataOffset = -1


Request = (
    MetadataHeartbeatRequest
    | IsrChangeRequest
    | BrokerRegistrationRequest
    | BrokerHeartbeatRequest
    | AlterPartitionRequest
)
Response = (
    MetadataHeartbeatResponse
    | IsrChangeResponse
    | BrokerRegistrationResponse
    | BrokerHeartbeatResponse
    | AlterPartitionResponse
)
