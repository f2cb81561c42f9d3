"""A step as a trace shows it: its name, its outcome, and what the reference did in it."""

from __future__ import annotations

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.brokers.effects import BrokerEffect, ControllerEffect
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.frozen import Frozen


class Action(Frozen):
    """What a trace and a graph edge call a step: ``kind`` at ``place``, with details."""

    kind: str
    place: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}" + (f" ({self.detail})" if self.detail else "")


class Execution(Frozen):
    """What the reference did: events, all effects, and the rules that decided, each in order."""

    events: tuple[ControllerEvent | BrokerEvent, ...]
    effects: tuple[ControllerEffect | BrokerEffect, ...]
    rules: tuple[str, ...]


class Step(Frozen):
    """An outcome, with what the reference did; ``execution`` is ``None`` where it was not asked.

    ``starts``: the process starts in this step.
    """

    outcome: Outcome
    execution: Execution | None = None
    starts: bool = False
