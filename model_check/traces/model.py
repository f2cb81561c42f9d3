"""The trace object: a behaviour of a scenario, step by step, with everything a view may want to show.

A trace is made by :func:`kraftcheck.traces.build.build`, which replays the reference; nothing else makes one
except reading a file, and :func:`kraftcheck.traces.replay.replay` holds a file against the reference. It
embeds its scenario whole, so that a trace file needs nothing but the reference.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from kraftcheck.systems.kind import Flying, Place
from kraftcheck.systems.kind import Run as Run
from kraftcheck.systems.scenario import Scenario


class TraceError(ValueError):
    """A path that the reference does not take, or that does not end in the violation it claims."""


@dataclass(frozen=True, slots=True)
class Change:
    """A field with another value after the step, in words. ``replica`` is ``None`` for the history."""

    replica: Place | None
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a behaviour.

    number: counted from 1; replica: the one that acts (for a loss: the destination of the message).
    kind: ``deliver``, ``act`` or ``lose``; action: what the step is called.
    option: the index of this step among all that were possible (a permalink lists these); choice: the index
        among the outcomes of the same event; duplicate: whether the delivered message stayed in flight.
    message: the message delivered or lost.
    runs: what the reference did: nothing for a loss, the handling of an event, the start after a crash.
    changes: the fields that changed, by replica; nodes: the replicas that changed, as they are now.
    sent: messages put into flight; lost: messages dropped by the network or sent into a cut link;
        forgotten: messages that left the network because no replica awaits them any more or they are void;
        in_flight: all messages in flight after the step.
    history: what changed in what the properties remember of the past; budgets: what the environment has left.
    violations: the properties that this step violates.
    """

    number: int
    replica: Place
    kind: str
    action: str
    option: int
    choice: int
    duplicate: bool
    message: Flying | None
    runs: tuple[Run, ...]
    changes: tuple[Change, ...]
    nodes: tuple[tuple[Place, Any], ...]
    sent: tuple[Flying, ...]
    lost: tuple[Flying, ...]
    forgotten: tuple[Flying, ...]
    in_flight: tuple[Flying, ...]
    history: tuple[Change, ...]
    budgets: tuple[tuple[str, int], ...]
    violations: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that decided, in order."""
        return tuple(dict.fromkeys(rule for run in self.runs for rule in run.rules))


@dataclass(frozen=True, slots=True)
class Finding:
    """The meaning of a counterexample: the violated property, and in words which part of it does not hold."""

    property: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A behaviour of ``scenario`` from its initial state number ``initial``.

    ``nodes``, ``in_flight`` and ``budgets`` are that state. ``finding`` is ``None`` for a behaviour that
    violates nothing. ``loop`` is set where the behaviour goes on for ever: the state at its end is the one
    after ``loop`` steps, so that the steps from there on repeat (none of them: it stays where it is).
    """

    scenario: Scenario
    initial: int
    nodes: tuple[tuple[Place, Any], ...]
    in_flight: tuple[Flying, ...]
    budgets: tuple[tuple[str, int], ...]
    steps: tuple[TraceStep, ...]
    finding: Finding | None
    loop: int | None = None

    @property
    def property(self) -> str | None:
        """The violated property, or ``None``."""
        return None if self.finding is None else self.finding.property

    @builtins.property
    def is_of_behaviours(self) -> bool:
        """Whether the property is an *eventually* one of the scenario: steps alone do not violate it."""
        return self.property in [each.property for each in self.scenario.check.eventually]

    @builtins.property
    def dead_end(self) -> bool:
        """Whether the trace ends where an *eventually* property has come to be out of reach."""
        return self.loop is None and self.is_of_behaviours

    @builtins.property
    def path(self) -> tuple[int, ...]:
        """The behaviour as a list of options: with the scenario it says all."""
        return tuple(step.option for step in self.steps)

    @builtins.property
    def replicas(self) -> tuple[Place, ...]:
        """The names of the components: the ids of replicas."""
        return tuple(replica for replica, _ in self.nodes)
