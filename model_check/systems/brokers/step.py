"""A step as a trace shows it: its name, its outcome, and what the reference did in it."""

from __future__ import annotations

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.frozen import Frozen
from kraftcheck.systems.brokers.network import CONTROLLER


class Action(Frozen):
    """The name of a step in traces and graphs: ``kind`` at ``place``, with details. ``subject``: the broker
    whose time-out ends, or the node that a process finds.
    """

    kind: str
    place: str
    detail: str = ""
    subject: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}" + (f" ({self.detail})" if self.detail else "")


def session_ends(broker: int) -> Action:
    """The end of the controller's time-out of a broker."""
    return Action("timeout", CONTROLLER, f"of broker {broker}", broker)


def finds_controller(place: str, node: int) -> Action:
    """A process learns that a node is the controller."""
    return Action("finds the controller", place, f"node {node}", node)


class Execution(Frozen):
    """What the reference did: events, all effects, and the rules that decided, each in order."""

    events: tuple[ControllerEvent | BrokerEvent, ...]
    effects: tuple[ControllerEffect | BrokerEffect, ...]
    rules: tuple[str, ...]


class Step(Frozen):
    """An outcome; ``execution``: what the reference did, ``None`` if the step does not run it; ``starts``: a
    process starts in this step.
    """

    outcome: Outcome
    execution: Execution | None = None
    starts: bool = False
