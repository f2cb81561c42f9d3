"""The states that ``spec/broker_transitions.toml`` names, and which of its transitions a step takes.

Handlers do not decide by these names: a state of the table stands for what a controller or a process holds.

Source: KIP-343 (Broker State); KIP-631 (The Broker State Machine).
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.controller import Controller, Store
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent, Failover
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.types import BrokerId
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import Name

#: The tables of the file.
DRAFT_CONTROLLER, DRAFT_PROCESS = "draft-controller", "draft-process"
SHIPPED_CONTROLLER, SHIPPED_PROCESS = "shipped-controller", "shipped-process"

_LIVES = {
    Life.STARTING: "Starting",
    Life.RECOVERY: "Recovery",
    Life.RUNNING: "Running",
    Life.PENDING_CONTROLLED_SHUTDOWN: "PendingControlledShutdown",
    Life.SHUTTING_DOWN: "ShuttingDown",
}


class BrokerChange(Frozen):
    """A state of a table that a broker has left for another one."""

    table: Name
    broker: BrokerId
    source: Name
    target: Name

    @property
    def goal(self) -> str:
        """The name of the transition as a goal."""
        return f"{self.table} {self.source}->{self.target}"


def held_by_controller(controller: Controller, broker: int) -> str:
    """What the controller holds a broker id to be."""
    if not isinstance(controller.durable, Store):
        return _registered(controller, broker)
    if controller.active is None:
        return "Unknown"
    if views.is_legacy(controller, broker):
        return "Legacy"
    remembered = any(each.broker == broker for each in controller.brokers)
    if not remembered and views.stored(controller, broker) is None:
        return "Unknown"
    return views.state_of(controller, broker).name.capitalize()


def _registered(controller: Controller, broker: int) -> str:
    known = views.registration(controller, broker)
    if known is None:
        return "Unregistered"
    if known.fenced:
        return "Fenced"
    return "ControlledShutdown" if known.in_controlled_shutdown else "Unfenced"


def state_of_process(protocol: BrokerProtocol, broker: Broker) -> str:
    """What a process is by itself."""
    if broker.ended:
        return "Ended"
    if not protocol.is_draft:
        return _LIVES[broker.life]
    if broker.legacy:
        return "Legacy"
    if broker.superseded:
        return "SupersededFenced" if broker.fenced else "Superseded"
    return "Fenced" if broker.fenced else "Unfenced"


def taken(
    protocol: BrokerProtocol,
    before: Controller | Broker,
    event: ControllerEvent | BrokerEvent,
    after: Controller | Broker,
) -> tuple[BrokerChange, ...]:
    """The transitions that the step of ``event`` takes, by broker id."""
    return tuple(each for each in _taken(protocol, before, event, after) if each.source != each.target)


def _taken(
    protocol: BrokerProtocol,
    before: Controller | Broker,
    event: ControllerEvent | BrokerEvent,
    after: Controller | Broker,
) -> Iterator[BrokerChange]:
    if isinstance(before, Broker):
        assert isinstance(after, Broker)
        table = DRAFT_PROCESS if protocol.is_draft else SHIPPED_PROCESS
        source, target = (state_of_process(protocol, each) for each in (before, after))
        yield BrokerChange(table, before.id, source, target)
        return
    assert isinstance(after, Controller)
    draft = isinstance(before.durable, Store)
    if draft and after.active is None:
        return
    for broker in sorted(_known(before) | _known(after)):
        # In memory a new controller begins with nothing.
        begins = draft and isinstance(event, Failover)
        source = "Unknown" if begins else held_by_controller(before, broker)
        table = DRAFT_CONTROLLER if draft else SHIPPED_CONTROLLER
        yield BrokerChange(table, broker, source, held_by_controller(after, broker))


def _known(controller: Controller) -> set[int]:
    durable, remembered = controller.durable.registrations, controller.brokers
    return {each.broker for each in durable} | {each.broker for each in remembered}
