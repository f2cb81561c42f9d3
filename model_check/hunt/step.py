"""A step of a hunt: a scenario is widened once more and searched, in this process or another one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from kraftcheck.engine.system import Limits
from kraftcheck.hunt import schedule
from kraftcheck.hunt.past import whole
from kraftcheck.hunt.search import OutOfLimits, Sighting, look
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.systems.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Line:
    """What a scenario has come to. ``first``: what the first round left of it, ``now``: the last step;
    ``None`` where there is nothing to go on with. ``explores``: whether it was small enough to explore all
    states; ``widened``: the widenings since ``first``.
    """

    first: Scenario | None = None
    now: Scenario | None = None
    explores: bool = True
    widened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """``line`` of ``origin`` takes the step of ``round``, until ``deadline`` (``time.time``) at most."""

    origin: Scenario
    line: Line
    round: int
    seed: int
    deadline: float
    max_memory: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job. ``searched``: whether there was a scenario to search."""

    line: Line
    seen: tuple[Sighting, ...] = ()
    states: int = 0
    walked: int = 0
    searched: bool = True


def take(job: Job) -> Done | None:
    """The result of ``job``, which does not depend on time; ``None``: time or memory did not suffice."""
    line = _next(job)
    if line.now is None:
        return Done(line, searched=False)
    effort = schedule.effort_of(job.round)
    seed = schedule.walk_seed(job.seed, job.origin.name, job.round)
    limits = Limits(max_memory=job.max_memory, max_seconds=max(0.1, job.deadline - time.time()))
    try:
        found = look(line.now, job.origin, effort, seed, explores=line.explores, limits=limits)
    except OutOfLimits:
        return None
    except DiskError:
        raise
    except InputError:
        # Judging it needs a larger network than there is: this line ends.
        return Done(replace(line, now=None), searched=False)
    first = found.past if job.round == 0 else line.first
    # Wider scenarios would show what is new again, and its consequences.
    now = None if found.new else found.past
    after = replace(line, first=first, now=now, explores=line.explores and found.whole)
    return Done(after, found.seen, found.states, found.walked)


def _next(job: Job) -> Line:
    """The line with the scenario to search."""
    if job.round == 0:
        return Line(now=whole(job.origin))
    line = job.line
    if schedule.place_of(job.round).begins:
        line = Line(first=line.first, now=line.first)
    if line.now is None:
        return line
    wider = schedule.next_wider(line.now, job.seed, job.round)
    if wider is None:
        return replace(line, now=None)
    return replace(line, now=wider[1], widened=(*line.widened, wider[0]))
