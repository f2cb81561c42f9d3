"""Local states and messages of brokers as trace files hold them."""

from __future__ import annotations

from typing import cast

from model_check import codec
from model_check.brokers.network import InFlight
from model_check.brokers.places import Control, Machine, Time
from model_check.codec import Json
from model_check.model import Place
from model_check.reading import keys, text, value
from reference.brokers.effects import BrokerEffect, ControllerEffect
from reference.brokers.events import BrokerEvent, ControllerEvent


class BrokerFiles:
    """See :class:`model_check.model.Files`."""

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
