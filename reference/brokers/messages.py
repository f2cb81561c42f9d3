"""Requests and responses between brokers and the controller, as far as behaviour needs their fields.

Field by field: ``spec/messages.toml``. Left out are texts of errors, throttle times, listeners, racks and
directories. A topic is one name, whether the request names it by name or by id.
"""

from __future__ import annotations

from enum import IntEnum

from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.frozen import Frozen


class BrokerState(IntEnum):
    """The states of KIP-343, by their number on the wire."""

    INITIAL = 0
    INACTIVE = 1
    ACTIVE = 2
    STOPPING = 3

    def __repr__(self) -> str:
        return self.name


class Process(Frozen):
    """One process: a broker id and the incarnation that tells it from others with the same id."""

    broker: int
    incarnation: int


class MetadataHeartbeatRequest(Frozen):
    """A broker lives and wishes for a state (KIP-343)."""

    broker: int
    incarnation: int
    target: BrokerState


class MetadataHeartbeatResponse(Frozen):
    """The state that the controller decided on; ``None`` beside an error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    state: BrokerState | None = None


class IsrProposal(Frozen):
    """The ISR that a leader wants for a partition, and the leader epoch in which it leads it."""

    topic: str
    index: int
    leader_epoch: int
    isr: tuple[int, ...]


class IsrChangeRequest(Frozen):
    """A leader asks for other ISRs (KIP-343)."""

    broker: int
    incarnation: int
    partitions: tuple[IsrProposal, ...]


class IsrChangeResponse(Frozen):
    """One result for each partition of the request, in its order, unless there is a top-level error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    results: tuple[BrokerErrorCode, ...] = ()


class FeatureRange(Frozen):
    """The levels of a feature that a broker supports."""

    name: str
    lowest: int
    highest: int


class BrokerRegistrationRequest(Frozen):
    """A process makes itself known (KIP-631)."""

    broker: int
    cluster_id: str
    incarnation: int
    features: tuple[FeatureRange, ...] = ()


class BrokerRegistrationResponse(Frozen):
    """The broker epoch given to the incarnation; -1 beside an error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    epoch: int = -1


class BrokerHeartbeatRequest(Frozen):
    """A broker lives, has read the metadata log up to ``offset`` and may wish to be fenced or shut down."""

    broker: int
    epoch: int
    offset: int
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

    broker: int
    epoch: int = -1


class PartitionProposal(Frozen):
    """What a leader wants for a partition with AlterPartition."""

    topic: str
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[IsrMember, ...]
    recovering: bool = False


class AlterPartitionRequest(Frozen):
    """A leader asks for other ISRs (KIP-497, KIP-841, KIP-903)."""

    broker: int
    epoch: int
    partitions: tuple[PartitionProposal, ...]
    version: int = 3


class PartitionResult(Frozen):
    """What became of a partition; beside an error only the first three fields say something."""

    topic: str
    index: int
    error: BrokerErrorCode = BrokerErrorCode.NONE
    leader: int | None = None
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    recovering: bool = False


class AlterPartitionResponse(Frozen):
    """One result for each partition of the request, in its order, unless there is a top-level error."""

    error: BrokerErrorCode = BrokerErrorCode.NONE
    partitions: tuple[PartitionResult, ...] = ()


class StoreIsrRequest(Frozen):
    """A legacy broker writes an ISR into the store itself, on condition that nobody has written since
    (``partition_epoch`` is the version of the node of the partition)."""

    broker: int
    topic: str
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


class StoreIsrResponse(Frozen):
    """Whether the store was written, and the version of the node since."""

    topic: str
    index: int
    written: bool
    partition_epoch: int = -1


class VisibleBroker(Frozen):
    """A broker that metadata shows; ``life`` is its incarnation id (KIP-343) or broker epoch (KIP-631), or
    ``None`` where the controller knows none."""

    broker: int
    life: int | None = None


class PartitionState(Frozen):
    """What metadata says of a partition."""

    topic: str
    index: int
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    recovering: bool = False


class MetadataUpdate(Frozen):
    """What a broker is told: LeaderAndIsr and UpdateMetadata in one, or the metadata log up to ``offset``.

    ``controller`` is the node that tells, ``controller_epoch`` its epoch. ``offset`` is -1 in the form of
    KIP-343, which has no metadata log.
    """

    controller: int
    controller_epoch: int
    brokers: tuple[VisibleBroker, ...]
    partitions: tuple[PartitionState, ...]
    offset: int = -1


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
