"""Local states and messages of brokers as trace files hold them."""

from __future__ import annotations

from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.systems.brokers.network import InFlight
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.kind import Files
from kraftcheck.systems.reading import TEXT, of_type, row

#: The JSON of brokers and their controller.
FILES = Files(
    events=of_type(tuple[ControllerEvent | BrokerEvent, ...]),
    effects=of_type(tuple[ControllerEffect | BrokerEffect, ...]),
    local=row(id=TEXT, local=of_type(Control | Machine | Time)),
    message=of_type(InFlight),
)
