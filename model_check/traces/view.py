"""A trace as lines of text: built once from the trace, laid out by each view for people.

:func:`view_of` makes a :class:`View`; :mod:`~kraftcheck.traces.terminal`, :mod:`~kraftcheck.traces.brief`,
:mod:`~kraftcheck.traces.markdown` and :mod:`~kraftcheck.traces.program` lay it out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from kraftcheck import spec
from kraftcheck.systems.kind import INITIAL_PREFIX, Flying, Place, called
from kraftcheck.systems.kinds import KINDS, kind_of
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import Scenario, find, shipped_files
from kraftcheck.traces.model import Change, Run, Trace, TraceStep
from kraftcheck.traces.paths import path_text
from kraftcheck.traces.words import label


@dataclass(frozen=True, slots=True)
class Line:
    """A line about a step: ``kind`` is start, change, sent, dropped, effect, rules, history or violation."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class StepView:
    """A step.

    number: counted from 1; actor: the replica that acts; head: what happens to it, which is an event and what
    comes with it, such as a crash (see :func:`event_of`).
    begins_cycle: whether the steps from here on repeat for ever.
    own: effects, changes of the actor, messages and the rules that decided; changed: the changes of the actor
    and of others, for those that have any; world: what changed beyond the replicas, and what is violated.
    """

    number: int
    actor: Place
    head: str
    begins_cycle: bool
    own: tuple[Line, ...]
    changed: tuple[tuple[Place, tuple[Change, ...]], ...]
    world: tuple[Line, ...]

    @property
    def others(self) -> Iterator[tuple[Place, Line]]:
        """The changes of replicas that do not act, a line each."""
        for place, changes in self.changed:
            if place != self.actor:
                for change in changes:
                    yield place, Line("change", describe(change))


@dataclass(frozen=True, slots=True)
class View:
    """A trace.

    start: by replica its state at the beginning; in_flight: the messages in flight then.
    violated: the violated property with its id, or ``None``; statement: what the catalogue says of it;
    reasons: which part of it does not hold. permalink: arguments that show this behaviour again.
    """

    title: str
    legend: str
    start: tuple[tuple[Place, tuple[str, ...]], ...]
    in_flight: tuple[Line, ...]
    steps: tuple[StepView, ...]
    violated: str | None
    statement: str
    reasons: tuple[str, ...]
    permalink: str


#: How a step says that a process ends in it.
_CRASHES = re.compile(r"crashes\b|loses power\b")

#: What is said before a step that begins a cycle.
CYCLE = "From here on the steps repeat for ever:"


def view_of(trace: Trace, *, verbose: bool = False, after: int = 0) -> View:
    """The view of ``trace``; ``verbose``: with all events, effects and fields; with the steps ``after`` that
    one alone.
    """
    words = kind_of(trace.scenario).words
    violated, statement = _statement(trace)
    budgets = (trace.budgets, *(step.budgets for step in trace.steps))
    return View(
        title=_title(trace),
        legend=words.legend,
        start=tuple((place, tuple(kind_of(node).words.start_lines(node))) for place, node in trace.nodes),
        in_flight=tuple(
            Line("sent", f"in flight: {each.source}→{each.destination} {label(each)}")
            for each in trace.in_flight
        ),
        steps=tuple(
            step_view(trace, step, before, verbose=verbose)
            for step, before in zip(trace.steps[after:], budgets[after:], strict=False)
        ),
        violated=violated,
        statement=statement,
        reasons=() if trace.finding is None else trace.finding.reasons,
        permalink=permalink(trace),
    )


def _title(trace: Trace) -> str:
    """The trace in a sentence."""
    count = f"{len(trace.steps)} step" + ("" if len(trace.steps) == 1 else "s")
    if trace.finding is None:
        return f"{trace.scenario.name}: a behaviour of {count}"
    where = f"after {count}" if trace.steps else "in the initial state"
    if trace.loop is not None:
        cycle = len(trace.steps) - trace.loop
        where = f"by a cycle of {cycle} after {trace.loop} steps" if cycle else f"by staying {where} for ever"
    return f"{trace.scenario.name}: {trace.finding.property} is violated {where}"


def permalink(trace: Trace) -> str:
    """The arguments that show this behaviour again."""
    name, known, preset = trace.scenario.name, shipped_files(), trace.scenario.asked_preset
    if name in known or not name.endswith(INITIAL_PREFIX):
        word = _word(trace.scenario, name, name in known and _is_of(trace, _shipped(name, preset)))
    else:
        name = name.removesuffix(INITIAL_PREFIX)
        shipped = _shipped(name, preset) if name in known else None
        same = shipped is not None and kind_of(shipped).initial_prefix(shipped) == trace.scenario
        word = f"{_word(trace.scenario, name, same)} --initial-prefix"
    asked = "" if preset is None else f" --protocol {preset}"
    violated = f" --violates {trace.property}" if trace.is_of_behaviours else ""
    loop = "" if trace.loop is None else f" --loop {trace.loop}"
    return f"{word}{asked} --path {path_text(trace.path)}{violated}{loop}"


def _is_of(trace: Trace, scenario: Scenario) -> bool:
    """Whether ``trace`` is one of ``scenario``, perhaps with the bounds that a cycle needs."""
    if not trace.is_of_behaviours:
        return trace.scenario == scenario
    return trace.scenario in kind_of(scenario).liveness.rooms(scenario, len(trace.steps))


def _shipped(name: str, preset: str | None) -> Scenario:
    return under(find(name), preset)


def _word(scenario: Scenario, name: str, is_shipped: bool) -> str:
    """The word that commands take for the scenario: its name where it is a shipped one, or else its file."""
    file = scenario.file
    return name if is_shipped else shlex.quote(file if file.endswith(".toml") else f"{name}.toml")


def _statement(trace: Trace) -> tuple[str | None, str]:
    """The violated property with its id, and its statement, from the catalogue."""
    if trace.finding is None:
        return None, ""
    name = trace.finding.property
    try:
        found = spec.load().property_named(name)
    except KeyError:
        return name, "The catalogue has no property of this name."
    return f"{name} ({found.id})", " ".join(found.statement.split())


# Steps.


def step_view(
    trace: Trace, step: TraceStep, before: tuple[tuple[str, int], ...], *, verbose: bool = False
) -> StepView:
    """The view of ``step``, before which the environment had these budgets; ``verbose`` as in
    :func:`view_of`.
    """
    changed = {place: _changes(step, place, verbose) for place in trace.replicas}
    return StepView(
        number=step.number,
        actor=step.replica,
        head=head_of(step),
        begins_cycle=trace.loop == step.number - 1,
        own=tuple(_own_lines(step, changed.get(step.replica, ()), verbose)),
        changed=tuple((place, changes) for place, changes in changed.items() if changes),
        world=tuple(_world_lines(step, before)),
    )


class Happening(Protocol):
    """What a step is, apart from what comes of it; see :class:`~kraftcheck.traces.model.TraceStep`."""

    @property
    def replica(self) -> Place: ...
    @property
    def kind(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def message(self) -> Flying | None: ...
    @property
    def duplicate(self) -> bool: ...


def head_of(step: Happening) -> str:
    """The event with what comes with it, as seen from the replica to which it happens."""
    event, besides = event_of(step)
    if step.kind != "act":
        return "; ".join((event, *besides))
    kind, _, about = event.partition(" (")
    details = ", ".join(((about.removesuffix(")"),) if about else ()) + besides)
    return f"{kind} ({details})" if details else kind


def event_of(step: Happening) -> tuple[str, tuple[str, ...]]:
    """The event of a step, and what comes with it: a crash that cuts it short, or a copy that stays."""
    found = re.search(r"\((.*)\)$", step.action)
    details = tuple(found[1].split(", ")) if found else ()
    if step.kind == "act":
        kind = step.action.partition(f" at {step.replica}")[0]
        at = next((at for at, text in enumerate(details) if is_crash(text)), len(details))
        about = ", ".join(details[:at])
        return (f"{kind} ({about})" if about else kind), details[at:]
    assert step.message is not None
    text = f"←{step.message.source} {label(step.message)}"
    if step.kind == "lose":
        return f"{text} is lost", ()
    return text, (*details[1:], *(("a copy stays in flight",) if step.duplicate else ()))


def is_crash(text: str) -> bool:
    """Whether what comes with an event is a crash."""
    return _CRASHES.match(text) is not None


def _changes(step: TraceStep, replica: Place, verbose: bool) -> tuple[Change, ...]:
    """The changes of one replica that are worth showing: those that do not follow from others, if any."""
    found = tuple(change for change in step.changes if change.replica == replica)
    following = next((kind_of(node).words.following for place, node in step.nodes if place == replica), ())
    shown = tuple(change for change in found if change.field not in following)
    return found if verbose or not shown else shown


def _own_lines(step: TraceStep, changes: tuple[Change, ...], verbose: bool) -> Iterator[Line]:
    for run in step.runs:
        if verbose:
            yield from (Line("effect", f"event: {text}") for text in run.short)
        if verbose or run.completed < len(run.effects):
            yield from _effect_lines(run)
    yield from (Line("change", describe(change)) for change in changes)
    yield from (Line("sent", text) for text in _sends(step.sent))
    if step.kind != "lose":
        yield from (Line("dropped", f"{text}: the link is cut") for text in _sends(step.lost))
    for message in step.forgotten:
        where = f"from {message.source}" if message.destination == step.replica else str(message.source)
        where += "" if message.destination == step.replica else f"→{message.destination}"
        yield Line("dropped", f"no longer matters: {label(message)} {where}")
    for run in step.runs:
        started = "starts " if run.start else ""
        if run.rules:
            yield Line("rules", f"{started}by {', '.join(run.rules)}")


def _effect_lines(run: Run) -> Iterator[Line]:
    for number, effect in enumerate(run.effects, 1):
        name, text = kind_of(effect).words.describe_effect(effect)
        undone = "" if number <= run.completed else "never happens: "
        yield Line("effect", f"{number}. {undone}{name} {text}")


def _sends(messages: tuple[Flying, ...]) -> Iterator[str]:
    """The messages, those that differ only in their destination in one line."""
    texts: dict[str, list[Place]] = {}
    for message in messages:
        texts.setdefault(label(message), []).append(message.destination)
    for text, destinations in texts.items():
        yield f"→{','.join(map(str, destinations))} {text}"


def describe(change: Change) -> str:
    """A change: ``epoch: 1 → 2``."""
    return f"{change.field}: {change.before} → {change.after}"


def _news(change: Change) -> str:
    """The change of the history; of a list that only grows, its new items: ``new in votes: 3 for 1``."""
    known = change.before.split(", ")
    if not any(change.field in model.words.growing for model in KINDS):
        return describe(change)
    new = [item for item in change.after.split(", ") if item not in known]
    return f"new in {change.field}: {', '.join(new)}" if new else describe(change)


def _world_lines(step: TraceStep, before: tuple[tuple[str, int], ...]) -> Iterator[Line]:
    """The history, the budgets, and what is violated."""
    for change in step.history:
        yield Line("history", _news(change))
    spent = [
        (name, left) for (name, left), (_, had) in zip(step.budgets, before, strict=False) if left != had
    ]
    if spent:
        yield Line("history", "left: " + ", ".join(f"{name} {left}" for name, left in spent))
    for name in step.violations:
        yield Line("violation", f"violates {name}")


def moments_of(step: TraceStep) -> Iterator[str]:
    """The components whose role, epoch, commits or the like change in ``step``, and what changes, a text
    each: ``replica 3: role: Candidate → Leader``.
    """
    for place, node in step.nodes:
        yield from moments(place, node, (change for change in step.changes if change.replica == place))


def moments(place: Place, node: Any, changes: Iterable[Change]) -> Iterator[str]:
    """The same of one component, which is now ``node``, if there is something to tell."""
    changed = {change.field: change for change in changes}
    told = [describe(changed[field]) for field in kind_of(node).words.telling if field in changed]
    if told:
        yield f"{called(place)}: {', '.join(told)}"
