"""What can happen next in a state: events, each with the ways in which it can go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from kraftcheck.engine.steps import Step, broken_invariants
from kraftcheck.engine.system import GlobalState
from kraftcheck.explorer.ground import Ground
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kind import Flying, ModelSystem, Place
from kraftcheck.traces.view import head_of, moments
from kraftcheck.traces.walk import Walk, name_of
from kraftcheck.traces.words import compare_nodes


class Group(StrEnum):
    """The sorts of events, in the order in which the page shows them."""

    MESSAGES = "Messages that arrive"
    TIMERS = "Timers and waits"
    INPUT = "Requests and input"
    FAULTS = "Faults"


@dataclass(frozen=True, slots=True)
class Choice:
    """A way in which an event can go: the ``option`` to take for it.

    ``variation``: what happens besides, such as a crash after an effect; empty if nothing does. ``moments``:
    the changes that a summary mentions; ``violates``: the properties that it violates; ``idle``: whether it
    changes nothing but the messages in flight and the budgets.
    """

    option: int
    variation: str
    moments: tuple[str, ...]
    violates: tuple[str, ...]
    idle: bool


@dataclass(frozen=True, slots=True)
class Event:
    """Something that can happen in lane ``lane`` (the index of the component)."""

    lane: int
    group: Group
    head: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A step as a head of a trace describes it; see :class:`kraftcheck.traces.view.Happening`."""

    replica: Place
    kind: str
    action: str
    message: Flying | None
    duplicate: bool


def events_of(ground: Ground, walk: Walk) -> tuple[Event, ...]:
    """What can happen at the end of ``walk``, by lane and group; nothing after a violation, as behaviours end
    there.
    """
    if walk.violated:
        return ()
    events: dict[tuple[int, Group, str], list[Choice]] = {}
    for option, step in enumerate(walk.options()):
        if step.cut is None:
            key = step.path.component, _group_of(ground, step), head_without_variation(ground.system, step)
            events.setdefault(key, []).append(_choice(ground.system, walk.state, option, step))
    order = list(Group)
    keys = sorted(events, key=lambda key: (key[0], order.index(key[1])))
    return tuple(Event(*key, tuple(events[key])) for key in keys)


def head_without_variation(system: ModelSystem, step: Step) -> str:
    """The event of ``step``, without what happens besides."""
    action = None if step.outcome is None else step.outcome.action
    if getattr(action, "also", ()):
        action = replace(cast(Any, action), also=())
    message = cast(Flying | None, step.path.message)
    text = name_of(step) if action is None else str(action)
    return head_of(_Seen(system.places[step.path.component], step.path.kind, text, message, False))


def _group_of(ground: Ground, step: Step) -> Group:
    if step.path.kind == "lose":
        return Group.FAULTS
    if step.path.kind == "deliver":
        return Group.MESSAGES
    kind = str(getattr(step.outcome and step.outcome.action, "kind", ""))
    if kind in ground.kind.waits:
        return Group.TIMERS
    costs = () if step.outcome is None else step.outcome.costs
    names = {ground.system.budget_names[index] for index in costs}
    return Group.FAULTS if names & ground.kind.faults else Group.INPUT


def _choice(system: ModelSystem, before: GlobalState, option: int, step: Step) -> Choice:
    pairs = zip(system.places, before.locals, step.target.locals, strict=True)
    changed = [(place, old, new) for place, old, new in pairs if old != new]
    told = (
        text for place, old, new in changed for text in moments(place, new, compare_nodes(place, old, new))
    )
    violates = step.violations or broken_invariants(system, step.target)
    sends = () if step.outcome is None else step.outcome.sends
    idle = not (changed or sends or violates) and step.path.kind != "lose"
    return Choice(option, ", ".join(variation_of(step)), tuple(told), violates, idle)


def variation_of(step: Step) -> Iterator[str]:
    """What happens in ``step`` besides its event: crashes, a copy that stays in flight and the like."""
    action = None if step.outcome is None else step.outcome.action
    for each in getattr(action, "also", ()):
        text = str(getattr(each, "value", each))
        if (getattr(action, "kind", ""), text) != ("crash", "crashes"):
            yield text
    if step.path.duplicate:
        yield "a copy stays in flight"
