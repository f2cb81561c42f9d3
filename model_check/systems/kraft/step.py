"""A step as a trace shows it: its name, its outcome, and the executions of the reference within it."""

from __future__ import annotations

from enum import Enum

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.types import Count, InSequence, Name, ReplicaId
from kraftcheck.systems.kraft.node import Execution


class Also(Enum):
    """An additional event in a step, by the name in the step's action."""

    COPY_STAYS = "a copy stays in flight"
    UPDATE_VOTER_OVER = "update-voter timer over"
    RESTARTS = "exits and restarts"
    READ_LATER = "the records are read later"


class Crash(Frozen):
    """The process is killed: after ``completed`` of ``count`` effects of the step, or of the start in it
    (``within_start``); without a ``count`` between two steps. ``loses_power``: unflushed records are lost.
    """

    loses_power: bool
    completed: Count = 0
    count: Count | None = None
    within_start: bool = False

    def __str__(self) -> str:
        cause = "loses power" if self.loses_power else "crashes"
        if self.count is None:
            return cause
        return f"{cause} after effect {self.completed} of {self.count}" + " of its start" * self.within_start


class Action(Frozen):
    """The name of a step in a trace and on a graph edge: ``kind`` at ``replica``, the object ``about`` (the
    name of a timer, ``from 2``), and additional events in it.
    """

    kind: Name
    replica: ReplicaId
    about: Name = ""
    also: InSequence[Also | Crash] = ()

    def __str__(self) -> str:
        details = [self.about] if self.about else []
        details += [each.value if isinstance(each, Also) else str(each) for each in self.also]
        return f"{self.kind} at {self.replica}" + (f" ({', '.join(details)})" if details else "")

    @property
    def crashes(self) -> tuple[Crash, ...]:
        """The crashes in the step, in order."""
        return tuple(each for each in self.also if isinstance(each, Crash))

    def with_also(self, more: Also | Crash) -> Action:
        """The action of the step with the additional event ``more``."""
        return replace(self, also=(*self.also, more))


class CutStart(Frozen):
    """A crash within the start ``execution``, of which ``completed`` effects happened.

    ``loses_power``: the unflushed tail is lost too.
    """

    execution: Execution
    completed: Count
    loses_power: bool


class Step(Frozen):
    """An outcome together with its part in a trace: the execution, and how much of it happened.

    ``completed`` counts the effects that happened before the process ended, with ``loses_power`` it ended
    with the loss of the unflushed tail; ``restarted`` is the execution of the process that took over on the
    same disk. ``cut`` are the starts before that one that a crash has cut short, in order.
    """

    outcome: Outcome
    execution: Execution | None
    completed: Count
    restarted: Execution | None = None
    loses_power: bool = False
    cut: InSequence[CutStart] = ()
