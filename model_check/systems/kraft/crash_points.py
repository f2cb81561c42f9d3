"""Crash points: the places within an execution where a crash may fall, and the state that it leaves there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from kraftcheck.reference.effects import Send
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kraft.node import Execution
from kraftcheck.systems.kraft.world import Left, World, is_boundary


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A crash after the first ``completed`` effects of ``execution``, which have ``left`` this.

    Where requests go out in any order, those that went out come first in this ``execution``.
    """

    left: Left
    execution: Execution
    completed: int


def happen(world: World, execution: Execution) -> list[CrashPoint]:
    """Let all effects of ``execution`` happen in ``world``; the state that is left after each."""
    effects, points = execution.effects, list[CrashPoint]()
    done = 0
    while done < len(effects):
        together = _sent_together(effects, done) if world.wiring.any_order else 1
        if together > 1:
            points += _among(world, execution, done, together)
        for effect in effects[done : done + together]:
            world.happen(effect)
        done += together
        if is_boundary(effects[done - 1]):
            points.append(CrashPoint(world.left(), execution, done))
    return points


def _sent_together(effects: tuple[object, ...], first: int) -> int:
    """The number of consecutive requests from effect ``first`` on; at least 1, even if that is not a
    request.
    """
    last = first
    while last < len(effects) and isinstance(effects[last], Send):
        last += 1
    return max(1, last - first)


def _among(world: World, execution: Execution, first: int, together: int) -> list[CrashPoint]:
    """Crashes when some of the requests have gone out that go out together, and others have not."""
    points = []
    places = range(first, first + together)
    for size in range(1, together):
        for chosen in combinations(places, size):
            order = [*chosen, *(place for place in places if place not in chosen)]
            other = world.copy()
            for place in chosen:
                other.happen(execution.effects[place])
            moved = tuple(execution.effects[place] for place in order)
            effects = (*execution.effects[:first], *moved, *execution.effects[first + together :])
            points.append(CrashPoint(other.left(), replace(execution, effects=effects), first + size))
    return points
