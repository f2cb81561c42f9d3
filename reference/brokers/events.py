"""What can happen to the controller and to a broker process. Time is an event, on each machine its own.

A protocol with time-outs in ticks knows ``Tick`` alone; one without knows ``SessionExpired`` and
``ContactLost`` alone. The other kind changes nothing.
"""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.messages import (
    IsrMember,
    MetadataUpdate,
    Process,
    Request,
    Response,
    StoreIsrRequest,
    StoreIsrResponse,
)
from kraftcheck.reference.brokers.types import BrokerId, ControllerId, PartitionIndex, Topic, Version
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import InSequence


class Tick(Frozen):
    """One unit of time has passed on the clock of this machine."""


# The controller.


class RequestReceived(Frozen):
    """A request of ``source`` arrives at controller node ``node``, which need not be the active one."""

    node: ControllerId
    source: Process
    request: Request


class SessionExpired(Frozen):
    """The time for a heartbeat of ``broker`` is over (untimed)."""

    broker: BrokerId


class Failover(Frozen):
    """Node ``node`` becomes the controller, or no node is it for a while (``None``)."""

    node: ControllerId | None


class RegistrationWritten(Frozen):
    """A process of ``broker`` starts and writes its registration of ``version`` into the store (KIP-343)."""

    broker: BrokerId
    version: Version


class RegistrationRemoved(Frozen):
    """The registration of ``broker`` is gone from the store, its session there having ended (KIP-343)."""

    broker: BrokerId


class StoreIsrReceived(Frozen):
    """A legacy broker writes to the store, which needs no controller (KIP-343)."""

    source: Process
    request: StoreIsrRequest


class LeaderMoveDue(Frozen):
    """The controller has time to move a partition away from a leader that is stopping (KIP-343)."""

    topic: Topic
    index: PartitionIndex


class MetadataDue(Frozen):
    """``target`` receives the metadata once more (KIP-343), or reads the metadata log to its end."""

    target: Process


ControllerEvent = (
    Tick
    | RequestReceived
    | SessionExpired
    | Failover
    | RegistrationWritten
    | RegistrationRemoved
    | StoreIsrReceived
    | LeaderMoveDue
    | MetadataDue
)

# A broker process.


class ResponseReceived(Frozen):
    """Controller node ``node`` answers the request under way."""

    node: ControllerId
    response: Response


class StoreAnswered(Frozen):
    """The store answers a legacy broker."""

    response: StoreIsrResponse


class MetadataReceived(Frozen):
    """Metadata arrives."""

    update: MetadataUpdate


class ControllerFound(Frozen):
    """The process learns which node is the controller."""

    node: ControllerId


class RegistrationDue(Frozen):
    """It is time to register with the controller (KIP-631)."""


class HeartbeatDue(Frozen):
    """It is time for a heartbeat."""


class RequestTimedOut(Frozen):
    """No answer came to the request under way; it may be sent anew."""

    api: Api


class ContactLost(Frozen):
    """The broker has not reached the controller for its whole time-out (untimed, KIP-343)."""


class ShutdownRequested(Frozen):
    """A request to shut the process down in order."""


class ProposedIsr(Frozen):
    """The ISR that a leader proposes for a partition. ``fetched``: which process of a member sent its last
    fetch (KIP-903); of members left out it is the one that metadata shows.
    """

    topic: Topic
    index: PartitionIndex
    isr: InSequence[BrokerId]
    fetched: InSequence[IsrMember] = ()


class IsrProposed(Frozen):
    """Replicas have fallen behind or caught up, so that their leader proposes other ISRs. With them it
    asks again for what is pending; without any it does that alone.
    """

    proposals: InSequence[ProposedIsr]


class ClientRequest(Frozen):
    """A client asks for something."""


class ClientRequestDone(Frozen):
    """The work for an accepted request of a client is done."""


BrokerEvent = (
    Tick
    | ResponseReceived
    | StoreAnswered
    | MetadataReceived
    | ControllerFound
    | RegistrationDue
    | HeartbeatDue
    | RequestTimedOut
    | ContactLost
    | ShutdownRequested
    | IsrProposed
    | ClientRequest
    | ClientRequestDone
)
