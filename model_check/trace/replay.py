"""A trace held against the present reference: the same steps, states, messages and violation?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from model_check.kinds import model_of
from model_check.model import Flying, Place, Words, called
from model_check.trace.build import step_of, trace_of
from model_check.trace.model import Change, Run, Trace, TraceError, TraceStep
from model_check.trace.walk import Walk
from model_check.trace.words import compare_nodes, label


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the present reference does something else. ``step`` 0 is the initial state."""

    step: int
    field: str
    recorded: str
    now: str

    def __str__(self) -> str:
        where = "the initial state" if self.step == 0 else f"step {self.step}"
        recorded, now = self.recorded.rstrip("."), self.now.rstrip(".")
        return f"{where}, {self.field}: recorded {recorded}, now {now}"


def replay(trace: Trace) -> Difference | None:
    """The first difference between ``trace`` and what the present reference does, or ``None``.

    A step is found again by what it is called and by its message; the numbers of options and choices may have
    changed. Raises InputError where the scenario itself is not accepted any more.
    """
    model = model_of(trace.scenario)
    system = model.build(trace.scenario, "the trace's scenario")
    try:
        walk = Walk(system, trace.initial)
    except TraceError as error:
        return Difference(0, "number", str(trace.initial), str(error))
    for found in _initial(trace, trace_of(walk, trace.scenario)):
        return found
    states, nodes = [walk.state], dict(trace.nodes)
    for step in trace.steps:
        try:
            walk.take(walk.find(step.action, step.message, step.choice, step.duplicate))
        except TraceError as error:
            return Difference(step.number, "action", step.action, str(error))
        now = step_of(system, walk.taken[-1], step.number)
        for found in _step(step, now, nodes, model.words):
            return found
        nodes |= dict(step.nodes)
        states.append(walk.state)
    repeats = trace.loop is not None and model.liveness.closes(
        system, trace.scenario, states[trace.loop], walk.state
    )
    return _end(trace, walk, repeats=repeats)


def _initial(recorded: Trace, now: Trace) -> Iterator[Difference]:
    if recorded.replicas != now.replicas:
        yield Difference(0, "replicas", str(recorded.replicas), str(now.replicas))
        return
    for (replica, old), (_, new) in zip(recorded.nodes, now.nodes, strict=True):
        yield from _node(0, replica, old, new)
    yield from _messages(0, "messages in flight", recorded.in_flight, now.in_flight)
    yield from _budgets(0, recorded.budgets, now.budgets)


def _step(
    recorded: TraceStep, now: TraceStep, before: dict[Place, Any], words: Words
) -> Iterator[Difference]:
    number = recorded.number
    if recorded.replica != now.replica or recorded.kind != now.kind:
        old, new = f"{recorded.kind} at {recorded.replica}", f"{now.kind} at {now.replica}"
        yield Difference(number, "replica", old, new)
    yield from _texts(number, "rules", recorded.rules, now.rules)
    yield from _runs(number, recorded.runs, now.runs, words)
    old_nodes, new_nodes = before | dict(recorded.nodes), before | dict(now.nodes)
    for replica in old_nodes:
        yield from _node(number, replica, old_nodes[replica], new_nodes[replica])
    yield from _messages(number, "messages sent", recorded.sent, now.sent)
    yield from _messages(number, "messages lost", recorded.lost, now.lost)
    yield from _messages(number, "messages forgotten", recorded.forgotten, now.forgotten)
    yield from _messages(number, "messages in flight", recorded.in_flight, now.in_flight)
    for field, old_changes, new_changes in (
        ("history", recorded.history, now.history),
        ("changed fields", recorded.changes, now.changes),
    ):
        texts = [[_change(each) for each in changes] for changes in (old_changes, new_changes)]
        yield from _texts(number, field, *texts)
    yield from _budgets(number, recorded.budgets, now.budgets)
    yield from _texts(number, "violations", recorded.violations, now.violations)


def _change(change: Change) -> str:
    return f"{change.field}: {change.before} → {change.after}"


def _runs(number: int, recorded: tuple[Run, ...], now: tuple[Run, ...], words: Words) -> Iterator[Difference]:
    if recorded == now:
        return
    views: list[tuple[str, Callable[[Run], list[str]]]] = [
        ("events", _events),
        ("effects", lambda run: [" ".join(words.describe_effect(effect)) for effect in run.effects]),
        ("completed effects", lambda run: [str(run.completed)]),
        ("starts of the process", lambda run: [str(run.start)]),
    ]
    for field, view in views:
        old, new = ([text for run in runs for text in view(run)] for runs in (recorded, now))
        if old != new:
            yield from _texts(number, field, old, new)
    yield Difference(number, "effects", "others in detail", "others")


def _events(run: Run) -> list[str]:
    return [repr(event) for event in run.events]


def _node(number: int, replica: Place, recorded: Any, now: Any) -> Iterator[Difference]:
    for change in compare_nodes(replica, recorded, now):
        yield Difference(number, f"{called(replica)}, {change.field}", change.before, change.after)
    files = model_of(recorded).files
    if files.without_notes(recorded) != files.without_notes(now):
        yield Difference(number, called(replica), "another state in detail", "this one")


def _budgets(
    number: int, recorded: Sequence[tuple[str, int]], now: Sequence[tuple[str, int]]
) -> Iterator[Difference]:
    old, new = ([f"{name} {left}" for name, left in budgets] for budgets in (recorded, now))
    yield from _texts(number, "budgets", old, new)


def _messages(
    number: int, field: str, recorded: Sequence[Flying], now: Sequence[Flying]
) -> Iterator[Difference]:
    if sorted(map(repr, recorded)) != sorted(map(repr, now)):
        old, new = (
            [f"{each.source}→{each.destination} {label(each)}" for each in group] for group in (recorded, now)
        )
        yield Difference(number, field, ", ".join(old) or "none", ", ".join(new) or "none")


def _texts(number: int, field: str, recorded: Sequence[str], now: Sequence[str]) -> Iterator[Difference]:
    if list(recorded) != list(now):
        yield Difference(number, field, ", ".join(recorded) or "none", ", ".join(now) or "none")


def _end(trace: Trace, walk: Walk, *, repeats: bool) -> Difference | None:
    number = len(trace.steps)
    if trace.loop is not None:
        if walk.violated:
            return Difference(number, "violations", "none", ", ".join(walk.violated))
        return None if repeats else Difference(number, "cycle", f"back to step {trace.loop}", "elsewhere")
    recorded = trace.property
    if (recorded is None or trace.dead_end) and not walk.violated:
        return None
    if recorded in walk.violated and trace.finding is not None:
        finding = trace_of(walk, trace.scenario, recorded).finding
        now = () if finding is None else finding.reasons
        return next(_texts(number, "what does not hold", trace.finding.reasons, now), None)
    return Difference(number, "property", recorded or "none", ", ".join(walk.violated) or "none violated")
