"""Everything that the page says about the end of a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraftcheck.explorer.events import Event, events_of
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.judged import Budget, GoalSeen, Judgement, budgets_of, goals_of, judgements_of
from kraftcheck.explorer.refusals import Refusal, refusals_of
from kraftcheck.traces.page.document import RuleText, Step, step_document, texts_of_rules
from kraftcheck.traces.walk import Walk


@dataclass(frozen=True, slots=True)
class Here:
    """The end of ``path``: ``ended`` says why behaviours end there, if they do."""

    path: Path
    ended: str
    events: tuple[Event, ...]
    refusals: tuple[Refusal, ...]
    properties: tuple[Judgement, ...]
    goals: tuple[GoalSeen, ...]
    budgets: tuple[Budget, ...]


def here(ground: Ground, path: Path) -> Here:
    """What there is at the end of ``path``. Raises InputError where the reference does not take it."""
    walk = ground.walk(path)
    events = events_of(ground, walk)
    return Here(
        path,
        _ended(walk, events),
        events,
        refusals_of(ground, walk),
        judgements_of(ground, walk),
        goals_of(ground, walk),
        budgets_of(ground, walk),
    )


def _ended(walk: Walk, events: tuple[Event, ...]) -> str:
    if walk.violated:
        return (
            f"{', '.join(walk.violated)}: violated here, where the bounded model ends. Go back to branch off."
        )
    return "" if events else "Nothing can happen here within the bounds. Go back to branch off."


@dataclass(frozen=True, slots=True)
class Preview:
    """What a step would do, and the texts of the rules that decide."""

    step: Step
    rules: Mapping[str, RuleText]


def preview(ground: Ground, path: Path, option: int) -> Preview:
    """The step ``option`` from the end of ``path``, which is not taken. Raises InputError."""
    trace = ground.trace((*path, option))
    step = step_document(trace, len(trace.steps))
    return Preview(step, texts_of_rules(step.rules))
