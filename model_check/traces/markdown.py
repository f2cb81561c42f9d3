"""A trace as Markdown, for issues and reviews."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kraftcheck.support.printable import printable
from kraftcheck.systems.kind import called
from kraftcheck.traces.model import Trace
from kraftcheck.traces.view import CYCLE, view_of


def render(trace: Trace, *, verbose: bool = False) -> str:
    """``trace`` as a Markdown document."""
    return "\n".join(_lines(trace, verbose)) + "\n"


def _lines(trace: Trace, verbose: bool) -> Iterator[str]:
    view = view_of(trace, verbose=verbose)
    yield f"# {escape(view.title)}"
    yield ""
    if view.violated is not None:
        yield f"**{escape(view.violated)}**: {escape(view.statement)}"
        yield ""
        yield from (f"> {escape(reason)}" for reason in view.reasons)
        yield ""
    yield escape(view.legend)
    yield ""
    kind = "replica" if all(isinstance(place, int) for place, _ in view.start) else "process"
    yield f"| {kind} | at the beginning |"
    yield "|---|---|"
    for place, texts in view.start:
        yield f"| {place} | {escape('; '.join(texts))} |"
    for line in view.in_flight:
        yield ""
        yield escape(line.text)
    for step in view.steps:
        yield ""
        if step.begins_cycle:
            yield f"*{CYCLE}*"
            yield ""
        yield f"**{step.number}. {_capital(called(step.actor))}: {escape(step.head)}**"
        yield ""
        yield from (f"- {escape(line.text)}" for line in step.own)
        yield from (f"- {called(place)}: {escape(line.text)}" for place, line in step.others)
        for line in step.world:
            stars = "**" if line.kind == "violation" else ""
            yield f"- {stars}{escape(line.text)}{stars}"
    yield ""
    yield f"Again: `kraftcheck trace show {view.permalink}`"


def escape(text: str) -> str:
    """``text`` so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", printable(text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
