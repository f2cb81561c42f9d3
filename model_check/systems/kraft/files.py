"""Nodes and messages of replicas as trace files hold them."""

from __future__ import annotations

from kraftcheck.reference.effects import Effect
from kraftcheck.reference.events import Event
from kraftcheck.systems.kind import Files
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.reading import NUMBER, of_type, row

#: The JSON of replicas.
FILES = Files(
    events=of_type(tuple[Event, ...]),
    effects=of_type(tuple[Effect, ...]),
    local=row(id=NUMBER, local=of_type(Node)),
    message=of_type(InFlight),
)
