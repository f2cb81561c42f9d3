"""Nodes and messages of replicas as trace files hold them."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Fatal
from kraftcheck.reference.events import Event
from kraftcheck.reference.messages import Message
from kraftcheck.reference.replica import Replica
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.systems.kind import Place
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Ended, Node
from kraftcheck.systems.reading import Reader, flag, keys, number, value


class KRaftFiles:
    """See :class:`kraftcheck.systems.kind.Files`."""

    events = tuple[Event, ...]
    effects = tuple[Effect, ...]

    def encode_local(self, place: Place, local: Node) -> dict[str, Json]:
        return {
            "id": place,
            "replica": codec.encode(local.replica, Replica | None),
            "disk": codec.encode(local.disk, Disk),
            "died": codec.encode(local.died, Fatal | Ended | None),
            **({} if local.clock is None else {"clock": local.clock.now}),
        }

    def decode_local(self, data: Json, where: str) -> tuple[Place, Node]:
        readers: dict[str, Reader[Any]] = {
            "id": number,
            "replica": value(Replica | None),
            "disk": value(Disk),
            "died": value(Fatal | Ended | None),
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
