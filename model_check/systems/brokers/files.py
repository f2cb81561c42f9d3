"""Local states and messages of brokers as trace files hold them."""

from __future__ import annotations

from typing import cast

from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.systems.brokers.network import InFlight
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.kind import Place
from kraftcheck.systems.reading import keys, text, value


class BrokerFiles:
    """See :class:`kraftcheck.systems.kind.Files`."""

    events = tuple[ControllerEvent | BrokerEvent, ...]
    effects = tuple[ControllerEffect | BrokerEffect, ...]

    def encode_local(self, place: Place, local: Control | Machine | Time) -> dict[str, Json]:
        return {"id": place, "local": codec.encode(local, Control | Machine | Time)}

    def decode_local(self, data: Json, where: str) -> tuple[Place, Control | Machine | Time]:
        found = keys(data, where, {"id": text, "local": value(Control | Machine | Time)})
        return found["id"], found["local"]

    def encode_message(self, message: InFlight) -> dict[str, Json]:
        return cast(dict[str, Json], codec.encode(message, InFlight))

    def decode_message(self, data: Json, where: str) -> InFlight:
        return codec.decode(data, InFlight, where)
