"""A trace in a few words a step: what happens, what changes, what is sent, and at the end what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.support.printable import printable
from kraftcheck.systems.kind import called
from kraftcheck.traces.model import Trace
from kraftcheck.traces.view import CYCLE, view_of

#: The kinds of lines that are shown: rules are in the full views, dropped messages matter no longer.
_SHOWN = ("effect", "change", "sent")


def render(trace: Trace) -> str:
    """``trace`` as plain text, without a width: lines are as long as what they say."""
    return "\n".join(printable(line) for line in _lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    view = view_of(trace)
    for place, texts in view.start:
        yield f"{called(place)}: {'; '.join(texts)}"
    yield from (line.text for line in view.in_flight)
    for step in view.steps:
        if step.begins_cycle:
            yield CYCLE
        yield f"{step.number:3}. {called(step.actor)}: {step.head}"
        yield from (f"       {line.text}" for line in step.own if line.kind in _SHOWN)
        yield from (f"       {called(place)}: {line.text}" for place, line in step.others)
    yield from view.reasons
