"""The results of reproducing behaviours, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.report import head, print_differences, print_rules
from kraftcheck.evidence.quorum.chosen import Chosen
from kraftcheck.evidence.quorum.replay import Reproduction, Stopped
from kraftcheck.reference.events import RequestReceived, ResponseReceived
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import console, heading, say
from kraftcheck.traces.view import StepView, view_of

_STYLES = {"confirmed": "green", "differs": "bold red", "undetermined": "yellow"}


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A behaviour and its result; ``implementation`` is the adapter's name for what it drives."""

    behaviour: Chosen
    implementation: str
    result: Reproduction
    seconds: float


def _rules(stopped: Stopped) -> tuple[str, ...]:
    """The rules that decided in the reference, in the event that differs."""
    question = stopped.question
    return () if question is None or question.outcome is None else question.outcome.rules


# For programs.


def as_data(found: Reproduced) -> dict[str, Any]:
    """The machine-readable form."""
    behaviour, result = found.behaviour, found.result
    return {
        "name": behaviour.name,
        "scenario": behaviour.trace.scenario.name,
        "properties": list(behaviour.violated),
        "implementation": found.implementation,
        "verdict": result.verdict,
        "steps": result.steps,
        "taken": result.taken,
        "note": result.note,
        "stopped": None if result.stopped is None else _stopped(result.stopped),
        "seconds": round(found.seconds, 3),
    }


def _stopped(stopped: Stopped) -> dict[str, Any]:
    question = stopped.question
    return {
        "step": stopped.step,
        "reason": stopped.reason,
        "replica": stopped.replica,
        "event": None if question is None else wire.kind_of(question.event),
        "differences": [
            {"field": each.field, "expected": each.expected, "got": each.found}
            for each in stopped.differences
        ],
        "rules": list(_rules(stopped)),
    }


# For people.


def print_trace(found: Reproduced, *, verbose: bool) -> None:
    """The result of one behaviour; ``verbose``: with its steps."""
    out, result, behaviour = console(), found.result, found.behaviour
    implementation = printable(found.implementation)[:60]
    about = f" ({', '.join(behaviour.violated)})" if behaviour.violated else ""
    taken = f"{result.taken} of {result.steps} steps"
    text = {
        "confirmed": f"confirmed on {implementation}, {taken}",
        "differs": f"{implementation} differs {_place(result)}",
        "undetermined": f"not determined on {implementation}, {taken}",
    }[result.verdict]
    say(out, printable(f"{behaviour.name}{about}: {text}"), _STYLES[result.verdict], hang=4)
    steps = view_of(behaviour.trace).steps
    for step in steps[: result.taken] if verbose else ():
        _print_step(step)
    if result.stopped is not None:
        _print_stopped(result.stopped, steps, verbose=verbose)
    if result.note:
        say(out, f"note: {result.note}", indent=4, hang=2)


def _place(result: Reproduction) -> str:
    number = 0 if result.stopped is None else result.stopped.step
    return f"in step {number} of {result.steps}" if number else "before the first step"


def _print_step(step: StepView) -> None:
    say(console(), printable(f"{step.number:>3}. replica {step.actor}: {step.head}"), indent=2, hang=5)


def _print_stopped(stopped: Stopped, steps: Sequence[StepView], *, verbose: bool) -> None:
    out = console()
    if stopped.step:
        _print_step(steps[stopped.step - 1])
    else:
        say(out, "on the way to the state in which the behaviour begins", indent=4)
    if stopped.question is None or stopped.replica is None:
        say(out, printable(stopped.reason), indent=7, hang=2)
        return
    if not stopped.step or not isinstance(stopped.question.event, RequestReceived | ResponseReceived):
        event = head(stopped.question, stopped.replica)
        say(out, printable(f"replica {stopped.replica}: {event}"), indent=7, hang=2)
    print_differences(stopped.differences)
    heading(out, "Rules that decided in the reference")
    print_rules(_rules(stopped), verbose=verbose)


def print_summary(results: Sequence[Reproduced], seconds: float) -> None:
    """All behaviours in one line, if there are several."""
    if len(results) < 2:
        return
    counts = Counter(each.result.verdict for each in results)
    steps = sum(each.result.taken for each in results)
    others = "".join(
        f", {counts[verdict]} {word}"
        for verdict, word in (("differs", "differ"), ("undetermined", "not determined"))
        if counts[verdict]
    )
    say(
        console(),
        f"{counts['confirmed']} of {len(results)} behaviours confirmed{others}; {steps:,} steps in "
        f"{seconds:.1f} s",
        "bold",
    )
