"""What cannot happen in a state, and why: the guard, the bound or the budget that stops it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import cast

from kraftcheck.engine.steps import Step, events
from kraftcheck.engine.system import GlobalState, Loss, Outcome, PathStep
from kraftcheck.explorer.events import head_without_variation, variation_of
from kraftcheck.explorer.ground import Ground
from kraftcheck.systems.hindrance import is_no_budget
from kraftcheck.systems.kind import Flying, called
from kraftcheck.traces.walk import Walk


@dataclass(frozen=True, slots=True)
class Refusal:
    """Events that cannot happen in lane ``lane`` (``None``: in the network), all because of ``why``."""

    lane: int | None
    what: tuple[str, ...]
    why: str


def refusals_of(ground: Ground, walk: Walk) -> tuple[Refusal, ...]:
    """What cannot happen at the end of ``walk``, by lane."""
    if walk.violated:
        return ()
    found: dict[tuple[int | None, str], dict[str, None]] = {}
    for lane, what, why in (
        *_of_the_network(ground, walk.state),
        *_spent(ground, walk.state),
        *_outside(ground, walk),
        *_hindered(ground, walk.state),
    ):
        found.setdefault((lane, why), {})[what] = None
    return tuple(Refusal(lane, tuple(what), why) for (lane, why), what in sorted(found.items(), key=_rank))


def _rank(found: tuple[tuple[int | None, str], object]) -> tuple[int, bool]:
    """By lane; what the scenario has no budget for comes last, as that is so in every state."""
    lane, why = found[0]
    return -1 if lane is None else lane, is_no_budget(why)


#: The lane, what does not happen there, and why.
_Found = tuple[int | None, str, str]


def _hindered(ground: Ground, state: GlobalState) -> Iterator[_Found]:
    """What the local state of a component or the scenario rules out."""
    for component, local in enumerate(state.locals):
        for each in ground.kind.hindrances(ground.system, component, local):
            yield component, each.what, each.why


def _spent(ground: Ground, state: GlobalState) -> Iterator[_Found]:
    """What a spent budget rules out."""
    for component, message, outcomes in events(ground.system, state):
        for choice, outcome in enumerate(outcomes):
            costs = Counter(outcome.costs)
            spent = [index for index, count in costs.items() if count > state.budgets[index]]
            step = Step(PathStep("deliver" if message else "act", component, message, choice), outcome, state)
            cut_short = bool(getattr(outcome.action, "crashes", ()))
            if not spent or (cut_short and len(spent) > 1):
                continue  # The event itself is ruled out, with or without a crash.
            what = head_without_variation(ground.system, step)
            if cut_short:  # There are too many of these to list them.
                what = "a further crash in the same step" if state.budgets[spent[0]] else "any crash"
            yield component, what, "; ".join(_no_more(ground, state, outcome, each) for each in spent)


def _no_more(ground: Ground, state: GlobalState, outcome: Outcome, index: int) -> str:
    name, size = ground.system.budget_names[index].replace("_", "-"), ground.system.budgets[index]
    left, wanted = state.budgets[index], outcome.costs.count(index)
    if left == 0:
        return f"budgets.{name} = {size} is spent"
    return f"budgets.{name} = {size}: {left} is left, and this needs {wanted}"


def _outside(ground: Ground, walk: Walk) -> Iterator[_Found]:
    """What leads outside the bounds."""
    for step in walk.options():
        if step.cut is not None:
            what = ", ".join((head_without_variation(ground.system, step), *variation_of(step)))
            yield step.path.component, what, _bound(ground, step)


def _bound(ground: Ground, step: Step) -> str:
    if step.cut == "capacity":
        capacity = ground.system.network.capacity
        return f"network.capacity = {capacity}: {len(step.target.messages)} messages would be in flight"
    bounds = [(table, key) for table, key in ground.kind.bounds(ground.scenario) if table == "bounds"]
    values = (
        f"{table}.{key.replace('_', '-')} = {getattr(getattr(ground.scenario, table), key)}"
        for table, key in bounds
    )
    return f"{', '.join(values)}: it leads outside"


def _of_the_network(ground: Ground, state: GlobalState) -> Iterator[_Found]:
    """Why no message can get lost, if none can, and between which replicas none can arrive."""
    network, count = ground.system.network, len(state.messages)
    if network.loss is Loss.NEVER:
        yield None, "a message gets lost", "network.loss = 'never'"
    elif not count:
        yield None, "a message gets lost", "no message is in flight"
    elif network.loss is Loss.WHEN_FULL and count < network.capacity:
        filled = f"{count} of network.capacity = {network.capacity} messages are in flight"
        yield (
            None,
            "a message gets lost",
            f"network.loss = 'when-full': {filled}; one may simply never arrive",
        )
    between = {(each.source, each.destination) for each in cast(tuple[Flying, ...], state.messages)}
    replicas = [place for place in ground.system.places if isinstance(place, int)]
    for source, destination in permutations(replicas, 2):
        if (source, destination) not in between:
            lane = ground.system.places.index(destination)
            yield lane, f"a message from {called(source)}", "none is in flight"
