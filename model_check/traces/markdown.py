"""A trace as Markdown, for issues and reviews."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kraftcheck.support.printable import printable
from kraftcheck.systems.model import called
from kraftcheck.traces import narrate
from kraftcheck.traces.model import Trace


def render(trace: Trace, *, verbose: bool = False) -> str:
    """``trace`` as a Markdown document."""
    return "\n".join(_lines(trace, verbose)) + "\n"


def _lines(trace: Trace, verbose: bool) -> Iterator[str]:
    yield f"# {escape(narrate.title(trace))}"
    yield ""
    stated = narrate.statement(trace)
    if trace.finding is not None and stated is not None:
        name = f"{trace.finding.property} ({stated[0]})" if stated[0] else trace.finding.property
        yield f"**{escape(name)}**: {escape(stated[1])}"
        yield ""
        for reason in trace.finding.reasons:
            yield f"> {escape(reason)}"
        yield ""
    yield escape(narrate.legend(trace))
    yield ""
    kind = "replica" if all(isinstance(each, int) for each in trace.replicas) else "who"
    yield f"| {kind} | at the beginning |"
    yield "|---|---|"
    for replica, node in trace.nodes:
        yield f"| {replica} | {escape('; '.join(narrate.start_lines(node)))} |"
    for line in narrate.in_flight_lines(trace):
        yield ""
        yield escape(line.text)
    budgets = trace.budgets
    for step in trace.steps:
        yield ""
        if (mark := narrate.mark(trace, step.number)) is not None:
            yield f"*{mark}*"
            yield ""
        for line in narrate.lines(step, verbose=verbose):
            if line.kind == "head":
                yield f"**{step.number}. {_capital(called(step.replica))}: {escape(line.text)}**"
                yield ""
            else:
                yield f"- {escape(line.text)}"
        others = [replica for replica in trace.replicas if replica != step.replica]
        for replica in others:
            for change in narrate.changes(step, replica, verbose=verbose):
                yield f"- {called(replica)}: {escape(narrate.describe(change))}"
        for line in narrate.world_lines(step, budgets):
            stars = "**" if line.kind == "violation" else ""
            yield f"- {stars}{escape(line.text)}{stars}"
        budgets = step.budgets
    yield ""
    yield f"Again: `kraftcheck trace show {narrate.permalink(trace)}`"


def escape(text: str) -> str:
    """``text`` so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", printable(text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
