"""What each step shows of itself, in short lines: the common ground of the views for people."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kraftcheck import spec
from kraftcheck.systems.kinds import MODELS, model_of
from kraftcheck.systems.model import PRELUDE, Flying, Place
from kraftcheck.systems.scenario import Scenario, shipped
from kraftcheck.traces.model import Change, Run, Trace, TraceStep
from kraftcheck.traces.words import label


@dataclass(frozen=True, slots=True)
class Line:
    """A line about a step: ``kind`` is head, change, sent, dropped, effect, rules, history or violation."""

    kind: str
    text: str


def title(trace: Trace) -> str:
    """What the trace shows, in a sentence."""
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
    name, known = trace.scenario.name, shipped()
    if name in known or not name.endswith(PRELUDE):
        word = _word(trace.scenario, name, known.get(name) == trace.scenario)
    else:
        name = name.removesuffix(PRELUDE)
        same = name in known and model_of(known[name]).prelude(known[name]) == trace.scenario
        word = f"{_word(trace.scenario, name, same)} --prelude"
    return f"{word} --path {path_text(trace.path)}"


def _word(scenario: Scenario, name: str, is_shipped: bool) -> str:
    """What commands call the scenario: its name where it is a shipped one, or else its file."""
    file = scenario.file
    return name if is_shipped else shlex.quote(file if file.endswith(".toml") else f"{name}.toml")


def path_text(path: Iterable[int]) -> str:
    """A path as ``--path`` takes it: ``0,3,1``, or ``none``."""
    return ",".join(map(str, path)) or "none"


def statement(trace: Trace) -> tuple[str, str] | None:
    """The id and the statement of the violated property, from the catalogue."""
    if trace.finding is None:
        return None
    try:
        found = spec.load().property_named(trace.finding.property)
    except KeyError:
        return "", "The catalogue has no property of this name."
    return found.id, " ".join(found.statement.split())


def in_flight_lines(trace: Trace) -> Iterator[Line]:
    """The messages in flight at the beginning."""
    for message in trace.in_flight:
        yield Line("sent", f"in flight: {message.source}→{message.destination} {label(message)}")


def head(step: TraceStep) -> str:
    """What happens, as seen from the replica to which it happens."""
    detail = re.search(r"\((.*)\)$", step.action)
    if step.kind == "act":
        kind = step.action.partition(f" at {step.replica}")[0]
        return f"{kind} ({detail[1]})" if detail else kind
    assert step.message is not None
    text = f"←{step.message.source} {label(step.message)}"
    if step.kind == "lose":
        return f"{text} is lost"
    fault = detail[1].partition(", ")[2] if detail else ""
    text += f"; {fault}" if fault else ""
    return f"{text}; a copy stays in flight" if step.duplicate else text


def changes(step: TraceStep, replica: Place, *, verbose: bool = False) -> list[Change]:
    """The changes of one replica that are worth showing."""
    found = [change for change in step.changes if change.replica == replica]
    following = next((model_of(node).words.following for who, node in step.nodes if who == replica), ())
    told = [change for change in found if change.field not in following]
    return found if verbose or not told else told


def lines(step: TraceStep, *, verbose: bool = False) -> Iterator[Line]:
    """The lines about the replica that acts; the others' changes are in :func:`changes`."""
    yield Line("head", head(step))
    for run in step.runs:
        if verbose:
            yield from (Line("effect", f"event: {text}") for text in run.short)
        if verbose or run.completed < len(run.effects):
            yield from _effect_lines(run)
    for change in changes(step, step.replica, verbose=verbose):
        yield Line("change", describe(change))
    for text in _sends(step.sent):
        yield Line("sent", text)
    if step.kind != "lose":
        for text in _sends(step.lost):
            yield Line("dropped", f"{text}: the link is cut")
    for message in step.forgotten:
        where = f"from {message.source}" if message.destination == step.replica else str(message.source)
        where += "" if message.destination == step.replica else f"→{message.destination}"
        yield Line("dropped", f"no longer matters: {label(message)} {where}")
    for run in step.runs:
        started = "starts " if run.start else ""
        if run.rules:
            yield Line("rules", f"{started}by {', '.join(run.rules)}")


def describe(change: Change) -> str:
    """A change: ``epoch: 1 → 2``."""
    return f"{change.field}: {change.before} → {change.after}"


def mark(trace: Trace, number: int) -> str | None:
    """What is said before step ``number``: that a cycle begins there."""
    return "From here on the steps repeat for ever:" if trace.loop == number - 1 else None


def _news(change: Change) -> str:
    """What is new in the history; of what only grows, what has come: ``new in votes: 3 for 1 in epoch 1``."""
    known = change.before.split(", ")
    if not any(change.field in model.words.growing for model in MODELS):
        return describe(change)
    new = [item for item in change.after.split(", ") if item not in known]
    return f"new in {change.field}: {', '.join(new)}" if new else describe(change)


def _effect_lines(run: Run) -> Iterator[Line]:
    for number, effect in enumerate(run.effects, 1):
        name, text = model_of(effect).words.describe_effect(effect)
        undone = "" if number <= run.completed else "never happens: "
        yield Line("effect", f"{number}. {undone}{name} {text}")


def _sends(messages: tuple[Flying, ...]) -> Iterator[str]:
    """The messages, those that differ only in their destination in one line."""
    texts: dict[str, list[Place]] = {}
    for message in messages:
        texts.setdefault(label(message), []).append(message.destination)
    for text, destinations in texts.items():
        yield f"→{','.join(map(str, destinations))} {text}"


def start_lines(local: object) -> list[str]:
    """A component at the beginning."""
    return model_of(local).words.start_lines(local)


def legend(trace: Trace) -> str:
    """How to read ``trace``."""
    return model_of(trace.scenario).words.legend


def world_lines(step: TraceStep, before: tuple[tuple[str, int], ...]) -> Iterator[Line]:
    """What changed beyond the replicas: the history, the budgets, and what is violated."""
    for change in step.history:
        yield Line("history", _news(change))
    spent = [
        (name, left) for (name, left), (_, had) in zip(step.budgets, before, strict=False) if left != had
    ]
    if spent:
        yield Line("history", "left: " + ", ".join(f"{name} {left}" for name, left in spent))
    for name in step.violations:
        yield Line("violation", f"violates {name}")
