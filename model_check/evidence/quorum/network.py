"""The messages in flight: those of a behaviour, each with what the replicas really sent.

The model of a network changes messages on their way (``docs/engine.md``): the answer to a forgotten request
is gone, a request that no process awaits an answer to is unanswerable, void ones expire. Here a message of
the behaviour keeps what was really sent with it, whatever becomes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from kraftcheck.engine.system import Signal
from kraftcheck.evidence.adapters.deployed import modelled
from kraftcheck.evidence.adapters.likeness import without_granting_voters
from kraftcheck.evidence.quorum.member import Sent
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchRequest, FetchResponse, Message, VoteRequest
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.system import KRaftSystem


class Flight(NamedTuple):
    """A message in flight: that of the behaviour, the reference's, and the ``data`` of the adapter's."""

    model: InFlight
    message: Message
    data: Json


class Network:
    """The messages in flight, in the order in which they were sent."""

    def __init__(self) -> None:
        self.flights: list[Flight] = []

    def find(self, model: Any) -> Flight | None:
        """The latest message that is ``model`` in the behaviour."""
        return next((flight for flight in reversed(self.flights) if flight.model == model), None)

    def remove(self, flight: Flight) -> None:
        """``flight`` has arrived or is lost."""
        self.flights = [each for each in self.flights if each is not flight]

    def signal(self, system: KRaftSystem, signals: Sequence[Signal]) -> None:
        """Replicas have forgotten their requests."""
        for signal in signals:
            mapped = [(flight, system.signal_message(signal, flight.model)) for flight in self.flights]
            self.flights = [
                flight._replace(model=cast(InFlight, model)) for flight, model in mapped if model is not None
            ]

    def keep(self, messages: Sequence[object]) -> Counter[object]:
        """Drop those that are not among the ``messages`` of the behaviour; those of them that are not in
        flight here.
        """
        left, kept = Counter(messages), list[Flight]()
        for flight in reversed(self.flights):
            if left[flight.model] > 0:
                left[flight.model] -= 1
                kept.append(flight)
        self.flights = kept[::-1]
        return +left


def pick(model: InFlight, sent: list[Sent]) -> Sent | None:
    """The message among ``sent`` that is ``model`` in the behaviour, taken out of the list.

    An unanswerable one was sent by an earlier process or before the request was forgotten, and comes first.
    """
    order = range(len(sent)) if not model.answerable else range(len(sent) - 1, -1, -1)
    for index in order:
        if sent[index].to == model.destination and is_same(model.payload, sent[index].message):
            return sent.pop(index)
    return None


def is_same(model: Message, message: Message) -> bool:
    """Whether a message is one of the model, which leaves out fields that no rule reads. High watermarks show
    in the states of the replicas.
    """
    return _as_modelled(model) == _as_modelled(modelled(message))


def _as_modelled(message: Message) -> Message:
    if isinstance(message, FetchRequest):
        return replace(message, high_watermark=None)
    if isinstance(message, VoteRequest):
        # A peer without pre-vote does not see the flag.
        return replace(message, pre_vote=False)
    if isinstance(message, FetchResponse):
        batches = tuple(map(without_granting_voters, message.batches))
        return replace(message, high_watermark=None, batches=batches)
    return message
