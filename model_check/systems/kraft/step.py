"""A step as a trace shows it: its name, its outcome, and the executions of the reference within it."""

from __future__ import annotations

from enum import Enum

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.types import Count, InSequence, Name, ReplicaId
from kraftcheck.systems.kraft.node import Execution


class Also(Enum):
    """What happens in a step as well, as its name says it."""

    COPY_STAYS = "a copy stays in flight"
    UPDATE_VOTER_OVER = "update-voter timer over"
    STARTS_AGAIN = "dies and starts again"


class Crash(Frozen):
    """The process is killed: after ``completed`` of ``count`` effects of the step, or of the start in it
    (``within_start``); without a ``count`` between two steps. ``loses_power``: what is not flushed is lost.
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
    """What a trace and a graph edge call a step: ``kind`` at ``replica``, what it is ``about`` (the name of a
    timer, ``from 2``), and what happens in it as well.
    """

    kind: Name
    replica: ReplicaId
    about: Name = ""
    also: InSequence[Also | Crash] = ()

    def __str__(self) -> str:
        told = [self.about] if self.about else []
        told += [each.value if isinstance(each, Also) else str(each) for each in self.also]
        return f"{self.kind} at {self.replica}" + (f" ({', '.join(told)})" if told else "")

    @property
    def crashes(self) -> tuple[Crash, ...]:
        """The crashes in the step, in order."""
        return tuple(each for each in self.also if isinstance(each, Crash))

    def with_also(self, more: Also | Crash) -> Action:
        """The action of the step in which ``more`` happens as well."""
        return replace(self, also=(*self.also, more))


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
