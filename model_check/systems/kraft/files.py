"""Nodes and messages of replicas as trace files hold them."""

from __future__ import annotations

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Fatal
from kraftcheck.reference.events import Event
from kraftcheck.reference.messages import Message
from kraftcheck.reference.replica import Replica
from kraftcheck.support.codec import Json
from kraftcheck.systems.kind import Files, Place
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Ended, Node
from kraftcheck.systems.reading import FLAG, NUMBER, Form, fields, keys, of_type

_NODE = {"replica": of_type(Replica | None), "disk": of_type(Disk), "died": of_type(Fatal | Ended | None)}


def _write_node(placed: tuple[Place, Node]) -> Json:
    place, node = placed
    written = {key: form.write(getattr(node, key)) for key, form in _NODE.items()}
    return {"id": place, **written, **({} if node.clock is None else {"clock": node.clock.now})}


def _read_node(data: Json, where: str) -> tuple[Place, Node]:
    # Only where clocks run.
    clocked = {"clock": NUMBER} if isinstance(data, dict) and "clock" in data else {}
    found = keys(data, where, {"id": NUMBER, **_NODE, **clocked})
    clock = Clock(found["clock"]) if clocked else None
    return found["id"], Node(found["replica"], found["disk"], found["died"], clock=clock)


#: The JSON of replicas.
FILES = Files(
    events=of_type(tuple[Event, ...]),
    effects=of_type(tuple[Effect, ...]),
    local=Form(_write_node, _read_node),
    message=fields(InFlight, source=NUMBER, destination=NUMBER, payload=of_type(Message), answerable=FLAG),
)
