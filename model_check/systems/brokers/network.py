"""Messages in flight between the processes of brokers and the controller, and what a signal makes of them.

Requests and answers are those of the reference. Here are those that production leaves to the store or to
replication: that a process registers, that its session in the store is over, that it reads the metadata log,
and how a log gets from a leader to its followers.
"""

from __future__ import annotations

from typing import get_args

from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    Process,
    Request,
    Response,
    StoreIsrRequest,
    StoreIsrResponse,
)
from kraftcheck.reference.frozen import Frozen, replace

#: What the component of the controller and that of time are called.
CONTROLLER = "controller"
TIME = "time"


class Record(Frozen):
    """A record of the partition: the leader epoch in which it was appended, and by which process."""

    epoch: int
    by: str


class StoreRegistration(Frozen):
    """A process that starts writes its registration of this version into the store."""

    broker: int
    version: int


class StoreRegistered(Frozen):
    """The store has the registration; its transaction id is the incarnation id."""

    process: Process
    version: int


class SessionGone(Frozen):
    """The session in the store of a process that is no more is over."""

    process: Process


#: What goes to the store and from it, over a session in which nothing arrives twice.
OVER_A_SESSION = (StoreRegistration, StoreRegistered, SessionGone, StoreIsrRequest, StoreIsrResponse)


class ReadMetadata(Frozen):
    """A process reads the metadata log (KIP-631)."""


class Replicate(Frozen):
    """The log of a leader for a follower."""

    epoch: int
    log: tuple[Record, ...]


class Replicated(Frozen):
    """A follower holds the log of its leader up to ``end``. ``life``: which life of the broker says so, -1:
    it does not say which (before KIP-903).
    """

    broker: int
    life: int
    epoch: int
    end: int


Payload = (
    MetadataHeartbeatRequest
    | IsrChangeRequest
    | BrokerRegistrationRequest
    | BrokerHeartbeatRequest
    | AlterPartitionRequest
    | MetadataHeartbeatResponse
    | IsrChangeResponse
    | BrokerRegistrationResponse
    | BrokerHeartbeatResponse
    | AlterPartitionResponse
    | MetadataUpdate
    | StoreIsrRequest
    | StoreIsrResponse
    | StoreRegistration
    | StoreRegistered
    | SessionGone
    | ReadMetadata
    | Replicate
    | Replicated
)

_APIS: dict[type, Api] = {
    BrokerRegistrationRequest: Api.REGISTRATION,
    BrokerRegistrationResponse: Api.REGISTRATION,
    MetadataHeartbeatRequest: Api.HEARTBEAT,
    MetadataHeartbeatResponse: Api.HEARTBEAT,
    BrokerHeartbeatRequest: Api.HEARTBEAT,
    BrokerHeartbeatResponse: Api.HEARTBEAT,
    IsrChangeRequest: Api.ISR,
    IsrChangeResponse: Api.ISR,
    AlterPartitionRequest: Api.ISR,
    AlterPartitionResponse: Api.ISR,
    StoreIsrRequest: Api.ISR,
    StoreIsrResponse: Api.ISR,
}
_REQUESTS = (*get_args(Request), StoreIsrRequest)
_ANSWERS = (*get_args(Response), StoreIsrResponse)


class InFlight(Frozen):
    """A message from one component to another. ``node``: the controller node that it goes to or comes from;
    ``sender``: the process that it comes from; ``answerable``: whether anybody awaits its answer; ``age``:
    for how many ticks it has been in flight, where that is bounded.
    """

    source: str
    destination: str
    payload: Payload
    node: int | None = None
    sender: Process | None = None
    answerable: bool = True
    age: int = 0

    def __str__(self) -> str:
        return f"{type(self.payload).__name__} {self.source}→{self.destination}"


class Gone(Frozen):
    """Signal: the process of a component is gone."""


class Forgotten(Frozen):
    """Signal: the process of a component has forgotten its request."""

    api: Api


class Passed(Frozen):
    """Signal: time has passed; ``moves`` says how often the clock of each component ticks, time's own last
    (0).
    """

    moves: tuple[int, ...]


class Told(Frozen):
    """Signal: newer metadata goes to a component; what is on its way there is of no use any more."""


class Silenced(Frozen):
    """Signal: a process is silent from here on (it is gone, or its link is cut), or not any more."""

    incarnation: int
    silent: bool


class Turned(Frozen):
    """Signal: a component has taken its own ticks."""


GONE, TURN = Gone(), Turned()


def after_forgetting(message: InFlight, place: str, api: Api | None) -> InFlight | None:
    """``message`` after the process at ``place`` has forgotten its request of ``api`` (``None``: is gone)."""
    payload = message.payload
    if message.destination == place:
        gone = api is None or (isinstance(payload, _ANSWERS) and _APIS[type(payload)] is api)
        return None if gone else message
    if api is None and message.source == place and isinstance(payload, ReadMetadata):
        # Nobody reads for the process that starts there next.
        return None
    mine = message.source == place and isinstance(payload, _REQUESTS)
    if mine and (api is None or _APIS[type(payload)] is api):
        return replace(message, answerable=False)
    return message


def after_tick(message: InFlight, delay: int | None) -> InFlight | None:
    """``message`` when one unit of time more has passed."""
    if delay is None:
        return message
    return replace(message, age=message.age + 1) if message.age < delay else None
