"""A trace in a few words a step: what happens, what changes, what is sent, and at the end what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.support.printable import printable
from kraftcheck.systems.model import called
from kraftcheck.traces import narrate
from kraftcheck.traces.model import Trace

#: What a reader can do without: rules are in the full views, messages that no longer matter do not.
_SHOWN = ("effect", "change", "sent")


def render(trace: Trace) -> str:
    """``trace`` as plain text, without a width: lines are as long as what they say."""
    return "\n".join(printable(line) for line in _lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    for replica, node in trace.nodes:
        yield f"{called(replica)}: {'; '.join(narrate.start_lines(node))}"
    for line in narrate.in_flight_lines(trace):
        yield line.text
    for step in trace.steps:
        if (mark := narrate.mark(trace, step.number)) is not None:
            yield mark
        yield f"{step.number:3}. {called(step.replica)}: {narrate.head(step)}"
        told = [line.text for line in narrate.lines(step) if line.kind in _SHOWN]
        for text in told:
            yield f"       {text}"
        for replica in trace.replicas:
            if replica != step.replica:
                for change in narrate.changes(step, replica):
                    yield f"       {called(replica)}: {narrate.describe(change)}"
    if trace.finding is not None:
        yield from trace.finding.reasons
