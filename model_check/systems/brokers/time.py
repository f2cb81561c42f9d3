"""Physical time: a tick reaches all components at once; each moves its clock before anything else happens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from kraftcheck.engine.system import Outcome, Signal
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.history import TickEnded
from kraftcheck.systems.brokers.network import TIME, ClocksMove
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.step import Action, Step
from kraftcheck.systems.brokers.wiring import Wiring


def actions(wiring: Wiring, component: int, time: Time) -> Iterator[Step]:
    """A tick passes; with drift a clock may skip one, or tick twice, within its bound."""
    if time.left:
        return
    for moves in product((1, 0, 2) if wiring.environment.drift else (1,), repeat=len(time.ahead)):
        ahead = tuple(before + each - 1 for before, each in zip(time.ahead, moves, strict=True))
        movers = sum(map(bool, moves))
        if movers == 0 or any(abs(each) > wiring.environment.drift for each in ahead):
            continue
        slow = ", ".join(
            f"{place} {'not' if each == 0 else 'twice'}"
            for place, each in zip(wiring.places, moves, strict=False)
            if each != 1
        )
        yield Step(
            Outcome(
                Action("tick", TIME, slow),
                Time(ahead, movers),
                labels=(TickEnded(),),
                signals=(Signal(component, content=ClocksMove(moves)),),
            )
        )


def begin_turns(place: Control | Machine, component: int, moves: tuple[int, ...]) -> Control | Machine:
    """The local state of a component after a tick: it waits for its turn, and for the turns of the others."""
    left = sum(map(bool, moves))
    turn = left - sum(map(bool, moves[:component])) if moves[component] else 0
    return replace(place, left=left, turn=turn, moves=moves[component])


def has_turn(place: Control | Machine) -> bool:
    """Whether it is the turn of a component."""
    return place.moves > 0 and place.left == place.turn


def after_turn(place: Control | Machine) -> Control | Machine:
    """The local state of a component after its turn, before the reference handles its ticks."""
    return replace(place, left=place.left - 1, turn=0, moves=0)


def next_turn(place: Control | Machine | Time) -> Control | Machine | Time:
    """The local state of a component after the turn of another one."""
    return replace(place, left=place.left - 1)
