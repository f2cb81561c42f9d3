"""Messages in flight between broker processes and the controller, and the signals that change them.

Requests and responses of the protocol are those of the reference. This module adds those that Apache Kafka
leaves to the store or to replication: a process registers, its session in the store ends, it reads the
metadata log, and a leader sends its log to a follower.
"""

from __future__ import annotations

from typing import get_args

from kraftcheck.reference.brokers import messages
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.messages import Process, Request, Response
from kraftcheck.reference.frozen import Frozen, replace

#: What the component of the controller and that of time are called.
CONTROLLER = "controller"
TIME = "time"


class Record(Frozen):
    """A record of the partition: the leader epoch in which it was appended, and by which process."""

    epoch: int
    by: str


class StoreRegistration(Frozen):
    """A starting process writes its registration of this version into the store."""

    broker: int
    version: int


class StoreRegistered(Frozen):
    """The store has the registration; its transaction id is the incarnation id."""

    process: Process
    version: int


class SessionGone(Frozen):
    """The session of an ended process in the store has ended."""

    process: Process


#: Messages to and from the store: its session delivers none of them twice.
OVER_A_SESSION = (
    StoreRegistration,
    StoreRegistered,
    SessionGone,
    messages.StoreIsrRequest,
    messages.StoreIsrResponse,
)


class ReadMetadata(Frozen):
    """A process reads the metadata log (KIP-631)."""


class Replicate(Frozen):
    """A leader sends its log to a follower."""

    epoch: int
    log: tuple[Record, ...]


class Replicated(Frozen):
    """A follower acknowledges the log of its leader up to ``end``. ``life``: the broker epoch or incarnation
    id that it names, -1 for none (before KIP-903).
    """

    broker: int
    life: int
    epoch: int
    end: int


Payload = (
    Request
    | Response
    | messages.MetadataUpdate
    | messages.StoreIsrRequest
    | messages.StoreIsrResponse
    | StoreRegistration
    | StoreRegistered
    | SessionGone
    | ReadMetadata
    | Replicate
    | Replicated
)

_KINDS = {
    Api.REGISTRATION: messages.BrokerRegistrationRequest | messages.BrokerRegistrationResponse,
    Api.HEARTBEAT: (
        messages.MetadataHeartbeatRequest
        | messages.MetadataHeartbeatResponse
        | messages.BrokerHeartbeatRequest
        | messages.BrokerHeartbeatResponse
    ),
    Api.ISR: (
        messages.IsrChangeRequest
        | messages.IsrChangeResponse
        | messages.AlterPartitionRequest
        | messages.AlterPartitionResponse
        | messages.StoreIsrRequest
        | messages.StoreIsrResponse
    ),
}
_REQUESTS = (*get_args(Request), messages.StoreIsrRequest)
_ANSWERS = (*get_args(Response), messages.StoreIsrResponse)


class InFlight(Frozen):
    """A message from one component to another. ``node``: the controller node at one end; ``sender``: the
    process that sent it; ``answerable``: its sender still awaits the response; ``age``: the ticks for which
    it has been in flight, where that is bounded.
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


class ProcessEnded(Frozen):
    """Signal: the process of a component has ended."""


class RequestForgotten(Frozen):
    """Signal: the process of a component no longer awaits the response to its request of this API."""

    api: Api


class ClocksMove(Frozen):
    """Signal: a tick has passed. ``moves``: how often the clock of each component ticks, that of time (0)
    last.
    """

    moves: tuple[int, ...]


class MetadataReplaced(Frozen):
    """Signal: the controller sends newer metadata to a component, which replaces older metadata in flight."""


class Silenced(Frozen):
    """Signal: the controller no longer hears from a process, which has ended or is cut off, or hears it
    again.
    """

    incarnation: int
    silent: bool


class TurnTaken(Frozen):
    """Signal: the clock of a component has moved."""


PROCESS_ENDED, TURN_TAKEN = ProcessEnded(), TurnTaken()


def after_forgetting(message: InFlight, place: str, api: Api | None) -> InFlight | None:
    """``message`` after the process at ``place`` stops awaiting the response to its request of ``api``
    (``None``: after the process has ended); ``None`` if it disappears.
    """
    payload = message.payload
    if message.destination == place:
        dropped = api is None or (isinstance(payload, _ANSWERS) and isinstance(payload, _KINDS[api]))
        return None if dropped else message
    if api is None and message.source == place and isinstance(payload, ReadMetadata):
        # The process that starts there next reads for itself.
        return None
    mine = message.source == place and isinstance(payload, _REQUESTS)
    if mine and (api is None or isinstance(payload, _KINDS[api])):
        return replace(message, answerable=False)
    return message


def after_tick(message: InFlight, delay: int | None) -> InFlight | None:
    """``message`` one tick later; ``None`` if it would be older than ``delay`` allows."""
    if delay is None:
        return message
    return replace(message, age=message.age + 1) if message.age < delay else None
