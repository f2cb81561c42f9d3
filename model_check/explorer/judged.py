"""What holds in a state: the properties and goals of the scenario, and the budgets that are left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck import spec
from kraftcheck.explorer.ground import Ground
from kraftcheck.traces.walk import Walk


@dataclass(frozen=True, slots=True)
class Judgement:
    """A property: whether it ``holds`` here (``None``: one state does not tell), and what that means."""

    name: str
    id: str
    statement: str
    holds: bool | None
    verdict: str


@dataclass(frozen=True, slots=True)
class GoalSeen:
    """A goal of the scenario, and the first step of the path that reaches it; ``None``: not yet."""

    name: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Budget:
    """What is ``left`` of a budget with ``size`` units."""

    name: str
    left: int
    size: int


def judgements_of(ground: Ground, walk: Walk) -> tuple[Judgement, ...]:
    """The properties of the scenario, the violated ones first."""
    of_states = {each.name for each in ground.system.invariants}
    by_step = walk.taken[-1].step.violations if walk.taken else ()
    found = []
    for name in dict.fromkeys((*walk.violated, *ground.system.properties)):
        if name in walk.violated:
            verdict = "violated by the last step" if name in by_step else "violated in this state"
        elif name in of_states:
            verdict = "holds in this state"
        else:
            verdict = "no step up to here violates it"
        found.append(_judgement(name, name not in walk.violated, verdict))
    return (*found, *_of_behaviours(ground))


def _of_behaviours(ground: Ground) -> Iterator[Judgement]:
    for wanted in ground.scenario.check.eventually:
        verdict = f"'kraftcheck check' judges whole behaviours ({wanted.form}: {wanted.goal})"
        yield _judgement(wanted.property, None, verdict)


def _judgement(name: str, holds: bool | None, verdict: str) -> Judgement:
    try:
        found = spec.load().property_named(name)
    except KeyError:
        return Judgement(name, "", "", holds, verdict)
    return Judgement(name, found.id, " ".join(found.statement.split()), holds, verdict)


def goals_of(ground: Ground, walk: Walk) -> tuple[GoalSeen, ...]:
    """The goals of the scenario, with the steps that reach them."""
    reached: dict[str, int] = {}
    for number, taken in enumerate(walk.taken, 1):
        for goal in taken.step.goals:
            reached.setdefault(goal, number)
    return tuple(GoalSeen(goal, reached.get(goal)) for goal in ground.system.goals)


def budgets_of(ground: Ground, walk: Walk) -> tuple[Budget, ...]:
    """The budgets at the end of ``walk``."""
    names = (name.replace("_", "-") for name in ground.system.budget_names)
    return tuple(Budget(*each) for each in zip(names, walk.state.budgets, ground.system.budgets, strict=True))
