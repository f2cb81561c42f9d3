"""A step as a trace shows it: its name, its outcome, and what the reference did in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.transitions import taken
from kraftcheck.reference.frozen import Frozen
from kraftcheck.systems.brokers.network import CONTROLLER
from kraftcheck.systems.brokers.wiring import Wiring

S = TypeVar("S", Broker, Controller)


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

    def unless_idle(self, before: Hashable) -> Iterator[Step]:
        """The step, unless it leaves the local state as ``before`` and has no effect."""
        if self.outcome.local != before or (self.execution is not None and self.execution.effects):
            yield self


@dataclass
class Running(Generic[S]):
    """The controller or a process on its way through the events of one step, and what came of them so far."""

    wiring: Wiring
    state: S
    events: list[Any] = field(default_factory=list)
    effects: list[Any] = field(default_factory=list)
    rules: dict[str, None] = field(default_factory=dict)
    violations: dict[str, None] = field(default_factory=dict)
    goals: dict[str, None] = field(default_factory=dict)

    def on(self, event: Any) -> Any:
        """The outcome of one more event by the reference."""
        outcome: Any = self.wiring.ask(self.state, event)
        self.events.append(event)
        self.effects += outcome.effects
        self.rules |= dict.fromkeys(outcome.rules)
        changes = taken(self.wiring.protocol, self.state, event, outcome.state)
        self.goals |= dict.fromkeys(change.goal for change in changes)
        self.state = outcome.state
        return outcome

    def step(self, action: Action, local: Hashable, **parts: Any) -> Step:
        """The step that all of it is; ``parts``: other fields of its outcome."""
        found = Outcome(action, local, violations=tuple(self.violations), goals=tuple(self.goals), **parts)
        return Step(found, Execution(tuple(self.events), tuple(self.effects), tuple(self.rules)))
