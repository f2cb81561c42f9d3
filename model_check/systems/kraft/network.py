"""Messages in flight between replicas, and their fate when a replica forgets its requests (docs/engine.md).

Answers on their way to that replica leave the network, and its undelivered requests become unanswerable.
Those that are void expire with the epoch of their receiver. A receiver that loses its disk would go back in
time: where that may happen, nothing expires.
"""

from __future__ import annotations

from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.messages import (
    ApiVersionsRequest,
    Message,
    PartitionRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.types import NodeId
from kraftcheck.reference.voters import Endpoint

#: The correlation of a request whose sender no longer awaits the answer.
NOBODY_WAITS = -1

#: The node from which the admin client's requests come; answers to it leave the model.
CLIENT = -1


class InFlight(Frozen):
    """A message from one replica id to another; ``answerable`` is False for a forgotten request, ``address``
    the endpoint to which a request goes, where that matters.
    """

    source: NodeId
    destination: NodeId
    payload: Message
    answerable: bool = True
    address: Endpoint | None = None

    @property
    def is_request(self) -> bool:
        return isinstance(self.payload, Request)

    def __str__(self) -> str:
        return f"{type(self.payload).__name__} {self.source}→{self.destination}"


def request_of(event: Event | None) -> Request | None:
    """The request that arrives with an event, if one does."""
    return event.request if isinstance(event, RequestReceived) else None


def response_of(event: Event | None) -> Response | None:
    """The response that arrives with an event, if one does."""
    return event.response if isinstance(event, ResponseReceived) else None


def after_forgetting(
    message: InFlight, forgetful: int, peer: int | None, requests_stay: bool
) -> InFlight | None:
    """``message`` after replica ``forgetful`` forgets its requests to ``peer`` (``None``: to all
    replicas).
    """
    if message.is_request:
        concerned = message.source == forgetful and peer in (None, message.destination)
        if not concerned:
            return message
        return replace(message, answerable=False) if requests_stay else None
    concerned = message.destination == forgetful and peer in (None, message.source)
    return None if concerned else message


def clock(stored: QuorumState) -> int:
    """The logical time at a replica: its epoch, and within the epoch whether it has voted or knows the
    leader.

    Neither ever goes back, except that a leader does not keep the vote for itself.
    """
    return 2 * stored.epoch + (stored.voted is not None or stored.leader is not None)


def expiry(message: InFlight) -> int | None:
    """The clock of the receiver from which on an unanswerable request has no effect."""
    if message.answerable or not message.is_request:
        return None
    payload = message.payload
    if isinstance(payload, ApiVersionsRequest):
        return 0
    if not isinstance(payload, PartitionRequest | UpdateRaftVoterRequest):
        return None
    if isinstance(payload, VoteRequest):
        return 2 * payload.epoch if payload.pre_vote else 2 * payload.epoch + 1
    return 2 * payload.epoch + 2
