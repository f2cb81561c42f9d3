"""A step as a trace shows it: its name, its outcome, and the executions of the reference within it."""

from __future__ import annotations

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import Count, InSequence, Name, ReplicaId, Sentence
from kraftcheck.systems.kraft.node import Execution


class Action(Frozen):
    """What a trace and a graph edge call a step: ``kind`` at ``replica``, with details."""

    kind: Name
    replica: ReplicaId
    detail: Sentence = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.replica}" + (f" ({self.detail})" if self.detail else "")


class CutStart(Frozen):
    """A crash within the start ``execution``, of which ``completed`` effects happened.

    ``loses_power``: and the unflushed tail is gone.
    """

    execution: Execution
    completed: Count
    loses_power: bool


class Step(Frozen):
    """An outcome together with what a trace shows of it: the execution, and how much of it happened.

    ``completed`` counts the effects that happened before the process ended, ``loses_power`` tells that it
    ended with the loss of the unflushed tail; ``restarted`` is the execution of the process that took over on
    the same disk. ``cut`` are the starts before that one which a crash has cut short, in order.
    """

    outcome: Outcome
    execution: Execution | None
    completed: Count
    restarted: Execution | None = None
    loses_power: bool = False
    cut: InSequence[CutStart] = ()
