"""Nodes and messages of replicas as trace files hold them."""

from __future__ import annotations

from typing import Any

from model_check import codec
from model_check.codec import Json
from model_check.kraft.clock import Clock
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.model import Place
from model_check.reading import Reader, flag, keys, number, optional, text, value
from reference.disk import Disk
from reference.effects import Effect
from reference.events import Event
from reference.messages import Message
from reference.replica import Replica


class KRaftFiles:
    """See :class:`model_check.model.Files`."""

    events = tuple[Event, ...]
    effects = tuple[Effect, ...]

    def encode_local(self, place: Place, local: Node) -> dict[str, Json]:
        return {
            "id": place,
            "replica": codec.encode(local.replica, Replica | None),
            "disk": codec.encode(local.disk, Disk),
            "died": local.died,
            **({} if local.clock is None else {"clock": local.clock.now}),
        }

    def decode_local(self, data: Json, where: str) -> tuple[Place, Node]:
        readers: dict[str, Reader[Any]] = {
            "id": number,
            "replica": value(Replica | None),
            "disk": value(Disk),
            "died": optional(text),
        }
        # Only where clocks run.
        clocked = isinstance(data, dict) and "clock" in data
        found = keys(data, where, {**readers, "clock": number} if clocked else readers)
        clock = Clock(found["clock"]) if clocked else None
        return found["id"], Node(found["replica"], found["disk"], found["died"], clock=clock)

    def encode_message(self, message: InFlight) -> dict[str, Json]:
        return {
            "source": message.source,
            "destination": message.destination,
            "payload": codec.encode(message.payload, Message),
            "answerable": message.answerable,
        }

    def decode_message(self, data: Json, where: str) -> InFlight:
        readers: dict[str, Reader[Any]] = {
            "source": number,
            "destination": number,
            "payload": value(Message),
            "answerable": flag,
        }
        return InFlight(**keys(data, where, readers))
