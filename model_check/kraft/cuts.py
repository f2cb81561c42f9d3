"""Where a crash may fall within an execution, and what it finds there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from model_check.kraft.node import Execution
from model_check.kraft.world import Left, World, is_boundary
from reference.effects import Send
from reference.frozen import replace


@dataclass(frozen=True, slots=True)
class Cut:
    """A crash after the first ``completed`` effects of ``execution``, which have ``left`` this.

    Where requests go out in any order, those that went out come first in this ``execution``.
    """

    left: Left
    execution: Execution
    completed: int


def happen(world: World, execution: Execution) -> list[Cut]:
    """Let all effects of ``execution`` happen in ``world``; a cut after each that leaves something behind."""
    effects, cuts = execution.effects, list[Cut]()
    done = 0
    while done < len(effects):
        together = _sent_together(effects, done) if world.wiring.any_order else 1
        if together > 1:
            cuts += _among(world, execution, done, together)
        for effect in effects[done : done + together]:
            world.happen(effect)
        done += together
        if is_boundary(effects[done - 1]):
            cuts.append(Cut(world.left(), execution, done))
    return cuts


def _sent_together(effects: tuple[object, ...], first: int) -> int:
    """How many requests go out one after the other from effect ``first`` on; at least 1, whatever it is."""
    last = first
    while last < len(effects) and isinstance(effects[last], Send):
        last += 1
    return max(1, last - first)


def _among(world: World, execution: Execution, first: int, together: int) -> list[Cut]:
    """Crashes when some of the requests have gone out that go out together, and others have not."""
    cuts = []
    places = range(first, first + together)
    for size in range(1, together):
        for chosen in combinations(places, size):
            order = [*chosen, *(place for place in places if place not in chosen)]
            other = world.copy()
            for place in chosen:
                other.happen(execution.effects[place])
            moved = tuple(execution.effects[place] for place in order)
            effects = (*execution.effects[:first], *moved, *execution.effects[first + together :])
            cuts.append(Cut(other.left(), replace(execution, effects=effects), first + size))
    return cuts
