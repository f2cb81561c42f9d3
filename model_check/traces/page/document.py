"""What the page of a behaviour shows, as plain data: the form that ``viewer.js`` reads.

A field that holds texts of the behaviour holds them as they are: the page never reads them as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from kraftcheck import spec
from kraftcheck.systems.kind import Place, called
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.text.fields import NOTHING
from kraftcheck.traces.journeys import journeys
from kraftcheck.traces.model import Trace, TraceStep
from kraftcheck.traces.view import StepView, event_of, is_crash, moments_of, step_view, view_of
from kraftcheck.traces.words import RUNNING, label, node_fields

#: No step at which a rule is at fault.
NO_FAULTS: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Lane:
    """A replica, or another process: its name, and its state at the beginning in a line and by fields."""

    name: str
    fields: Mapping[str, str]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message: from lane ``source`` to lane ``target``, sent in step ``sent`` (0: in flight at the
    beginning), ended in step ``ended`` (``None``: on the way), which is how it ``end``s.
    """

    source: int
    target: int
    sent: int
    ended: int | None
    end: str
    copy: bool
    text: str


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect of the reference, in the order in which they happen; not ``done``: a crash came before."""

    name: str
    text: str
    done: bool


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of lane ``lane`` with another value after the step; ``lane`` ``None``: of the history. A value
    is empty where the role has no such field.
    """

    lane: int | None
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step: what happens in lane ``lane``, and what comes of it.

    ``kind``: deliver, act or lose. ``head``: the event; ``besides``: what comes with it, such as a crash, or
    empty. ``remarks``: what the step means, such as how many votes there are. ``summaries``: the lanes with
    another summary after the step, and that. ``events``: the events that the reference was asked about.
    ``rules``: the ids of the rules that decided, in order. ``notes``: what changed beyond the lanes.
    ``moments``: the changes that an overview mentions; ``outcome``: those of the lane itself in a few words.
    ``cycle``: whether the steps from here on repeat for ever. ``asked``: whether the admin client asks for
    it.
    ``fault``: the id of the rule that decided here and is at fault in the finding, or empty. ``short``: the
    event alone, without the words of a message that a picture has no room for.
    """

    lane: int
    kind: str
    head: str
    events: tuple[str, ...]
    effects: tuple[Effect, ...]
    changes: tuple[FieldChange, ...]
    rules: tuple[str, ...]
    notes: tuple[str, ...]
    moments: tuple[str, ...]
    violations: tuple[str, ...]
    cycle: bool = False
    besides: str = ""
    remarks: tuple[str, ...] = ()
    summaries: tuple[tuple[int, str], ...] = ()
    outcome: str = ""
    asked: bool = False
    fault: str = ""
    short: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a cycle never ends: a sentence about ``step``, or about the whole cycle if that is ``None``."""

    step: int | None
    text: str


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule for the page: its title, its sentence and where that is said."""

    title: str
    sentence: str
    source: str


@dataclass(frozen=True, slots=True)
class Document:
    """A page. ``about``: paragraphs on what is shown; ``verdict``: the violated property in a sentence, or
    ``None``; ``reasons``: which part of it does not hold; ``cycle``: why the steps at the end repeat for
    ever, if they do; ``notation``: the signs that the page has, each with what it means; ``again``: the
    command that shows this again; ``hidden``: the fields that follow from others.
    """

    title: str
    about: tuple[str, ...]
    verdict: str | None
    statement: str
    reasons: tuple[str, ...]
    notation: tuple[str, ...]
    again: str
    lanes: tuple[Lane, ...]
    steps: tuple[Step, ...]
    arrows: tuple[Arrow, ...]
    rules: Mapping[str, RuleText]
    hidden: tuple[str, ...]
    cycle: tuple[Reason, ...] = ()


def document_of(
    trace: Trace, about: Iterable[str] = (), *, after: int = 0, faults: Mapping[int, str] = NO_FAULTS
) -> Document:
    """The document of ``trace``, with paragraphs ``about`` it after that of its scenario.

    With the steps ``after`` that one alone, and their rules, for a reader that has those before. ``faults``:
    by the number of a step the id of the rule that is at fault there.
    """
    view = view_of(trace, after=after)
    lanes = {place: index for index, place in enumerate(trace.replicas)}
    states = islice(_states(trace), after, None)
    steps = tuple(map(partial(_step, lanes, faults), trace.steps[after:], view.steps, states))
    begin = tuple(
        Lane(called(place), dict(node_fields(node)), kind_of(node).words.summary(node))
        for place, node in trace.nodes
    )
    arrows = tuple(_arrows(trace, lanes))
    return Document(
        title=view.title,
        about=tuple(text for text in (_one_line(trace.scenario.about), *about) if text),
        verdict=view.violated,
        statement=view.statement,
        reasons=view.reasons,
        cycle=() if after else tuple(_cycle(trace, steps)),
        notation=tuple(_notation(trace, view.legend, steps, begin, arrows)),
        again=f"kraftcheck trace show {view.permalink}",
        lanes=begin,
        steps=steps,
        arrows=arrows,
        rules=texts_of_rules(rule for step in steps for rule in step.rules),
        hidden=tuple(sorted({name for _, node in trace.nodes for name in kind_of(node).words.following})),
    )


def step_document(trace: Trace, number: int) -> Step:
    """The step of ``trace`` with this number, counted from 1."""
    lanes = {place: index for index, place in enumerate(trace.replicas)}
    budgets = trace.budgets if number == 1 else trace.steps[number - 2].budgets
    step = trace.steps[number - 1]
    before = next(islice(_states(trace), number - 1, None))
    return _step(lanes, NO_FAULTS, step, step_view(trace, step, budgets), before)


def _states(trace: Trace) -> Iterator[Mapping[Place, Any]]:
    """The local states before each step, and those at the end."""
    state = dict(trace.nodes)
    for step in trace.steps:
        yield state
        state = {**state, **dict(step.nodes)}
    yield state


def texts_of_rules(ids: Iterable[str]) -> dict[str, RuleText]:
    """The texts of the rules with these ids that the catalogue has."""
    rules = spec.load().rules
    found = {rule: rules[rule] for rule in dict.fromkeys(ids) if rule in rules}
    return {
        name: RuleText(rule.title, _one_line(rule.sentence), "; ".join(rule.source))
        for name, rule in found.items()
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _arrows(trace: Trace, lanes: Mapping[Place, int]) -> Iterator[Arrow]:
    for each in journeys(trace):
        source, target = lanes[each.message.source], lanes[each.message.destination]
        yield Arrow(source, target, each.sent, each.ended, each.end, each.copy, label(each.message))


def _notation(
    trace: Trace, legend: str, steps: Iterable[Step], lanes: Iterable[Lane], arrows: Iterable[Arrow]
) -> Iterator[str]:
    """The signs in the texts of a page, each with what it means; the legend of a kind without such a list."""
    words = kind_of(trace.scenario).words
    if not words.notation:
        yield legend
        return
    shown = "\n".join(
        (
            *(
                text
                for lane in lanes
                for text in (lane.summary, *(f"{k}: {v}" for k, v in lane.fields.items()))
            ),
            *(arrow.text for arrow in arrows),
            *(text for step in steps for text in _texts(step)),
        )
    )
    yield from (meaning for sign, meaning in words.notation if re.search(sign, shown, re.MULTILINE))


def _texts(step: Step) -> Iterator[str]:
    yield from (step.head, step.besides, *step.events, *step.notes)
    yield from (f"{effect.name} {effect.text}" for effect in step.effects)
    yield from (f"{each.field}: {each.before} → {each.after}" for each in step.changes)


def _step(
    lanes: Mapping[Place, int],
    faults: Mapping[int, str],
    step: TraceStep,
    seen: StepView,
    before: Mapping[Place, Any],
) -> Step:
    old, nodes = before[step.replica], dict(step.nodes)
    words = kind_of(old).words
    asked = step.kind == "act" and step.action.partition(f" at {step.replica}")[0] in words.requested
    head, besides = _head(step, asked)
    message = step.message if step.kind == "deliver" else None
    return Step(
        lane=lanes[step.replica],
        kind=step.kind,
        head=head,
        besides=besides,
        remarks=tuple(words.remarks(old, nodes.get(step.replica, old), message, step.runs)),
        summaries=tuple(
            (lanes[place], words.summary(node))
            for place, node in step.nodes
            if words.summary(node) != words.summary(before[place])
        ),
        events=tuple(text for run in step.runs for text in (("start",) if run.start else ()) + run.short),
        effects=tuple(_effects(step)),
        changes=tuple(_changes(step, lanes, before)),
        rules=step.rules,
        notes=tuple(line.text for line in seen.world if line.kind == "history"),
        moments=tuple(moments_of(step)),
        outcome=", ".join(_outcome(step, words.telling)),
        violations=step.violations,
        cycle=seen.begins_cycle,
        asked=asked,
        fault=faults.get(step.number, ""),
        short=_short(head, words.minor),
    )


def _head(step: TraceStep, asked: bool) -> tuple[str, str]:
    """The event of a step with what comes with it, and a crash that cuts it short; a crash between two steps
    is an event of its own.
    """
    event, besides = event_of(step)
    if event == "crash" and besides:
        again = " and starts again" if step.runs and step.runs[-1].start else ""
        event, besides = besides[0] + again, besides[1:]
    if asked:
        kind, _, about = event.partition(" (")
        event = f"admin: {kind} {about.removesuffix(')')}".rstrip()
    crashes = [text for text in besides if is_crash(text)]
    return "; ".join((event, *(text for text in besides if text not in crashes))), "; ".join(crashes)


def _short(head: str, minor: str) -> str:
    """The event alone, without the ``minor`` words of its message."""
    event = head.partition("; ")[0]
    return re.sub(minor, "", event).replace(" )", ")").replace("()", "") if minor else event


def _outcome(step: TraceStep, telling: Iterable[str]) -> Iterator[str]:
    """What the acting component is afterwards: ``→ Leader``, ``epoch 2``, ``exits``."""
    changed = {each.field: each for each in step.changes if each.replica == step.replica}
    ends = "process" in changed and changed["process"].after != RUNNING
    for field in telling:
        if field not in changed or changed[field].after == NOTHING:
            continue
        after = changed[field].after
        if field == "process":
            yield (
                "its process exits" if after.startswith("ended") else "starts" if after == RUNNING else after
            )
        elif not ends:
            yield f"→ {after}" if field == "role" else f"{field} {after}"


def _cycle(trace: Trace, steps: Sequence[Step]) -> Iterator[Reason]:
    """Why the steps at the end repeat for ever: they lead back, and what each of them lacks to end it."""
    if trace.loop is None:
        return
    states = tuple(_states(trace))
    first, last = trace.loop + 1, len(trace.steps)
    if first > last:
        for place, node in states[last].items():
            yield Reason(None, f"In this state, {called(place)}: {kind_of(node).words.summary(node)}.")
        return
    same = "all is" if states[trace.loop] == states[last] else "all but the epochs is"
    before = "in the beginning" if trace.loop == 0 else f"after step {trace.loop}"
    yield Reason(last, f"After step {last} {same} as it was {before}, so that the same can happen again.")
    for number in range(first, last + 1):
        step = steps[number - 1]
        name = called(trace.steps[number - 1].replica)
        yield from (Reason(number, f"Step {number}, {name}: {remark}") for remark in step.remarks)
    for place, node in states[last].items():
        yield Reason(None, f"After each round, {called(place)}: {kind_of(node).words.summary(node)}.")


def _effects(step: TraceStep) -> Iterator[Effect]:
    for position, run in enumerate(step.runs):
        if run.start and position:
            yield Effect("process", "starts again", done=True)
        for number, effect in enumerate(run.effects):
            name, text = kind_of(effect).words.describe_effect(effect)
            yield Effect(name, text, done=number < run.completed)


def _changes(
    step: TraceStep, lanes: Mapping[Place, int], before: Mapping[Place, Any]
) -> Iterator[FieldChange]:
    nodes = dict(step.nodes)
    for change in (*step.changes, *step.history):
        place = change.replica
        if place is None:
            yield FieldChange(None, change.field, change.before, change.after)
            continue
        states = (before[place], nodes.get(place, before[place]))
        values = (change.before, change.after)
        texts = (
            "" if value == NOTHING and change.field not in node_fields(node) else value
            for node, value in zip(states, values, strict=True)
        )
        yield FieldChange(lanes[place], change.field, *texts)
