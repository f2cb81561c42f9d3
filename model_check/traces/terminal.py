"""A trace in the terminal: one lane per replica where the width allows it, else one paragraph per step."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from kraftcheck.support import terminal
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console
from kraftcheck.systems.model import Place, called
from kraftcheck.traces import narrate
from kraftcheck.traces.model import Trace, TraceStep
from kraftcheck.traces.narrate import Line

#: Where a word that is too long for a line may end: after a mark, or between the words that make a name.
_ENDS = re.compile(r"[-(,=]")
_STARTS = re.compile(r"[a-z](?=[A-Z][a-z])")

MIN_LANE = 22
MAX_LANE = 44
_NUMBER = 5

_STYLES = {
    "head": "bold",
    "sent": "cyan",
    "dropped": "yellow",
    "effect": "dim",
    "rules": "dim",
    "history": "dim",
    "violation": "bold red",
}


def show(trace: Trace, console: Console | None = None, *, verbose: bool = False) -> None:
    """Print ``trace``; off a terminal without colour."""
    target = console or terminal.console()
    for line in render(trace, terminal.width(target), verbose=verbose):
        target.print(line, soft_wrap=True)


def transcript(trace: Trace, width: int = 80, *, verbose: bool = False) -> str:
    """``trace`` as plain text."""
    return "".join(f"{line.plain}\n" for line in render(trace, width, verbose=verbose))


def render(trace: Trace, width: int = 80, *, verbose: bool = False) -> Iterator[Text]:
    """The lines of ``trace`` for a terminal of ``width`` columns."""
    yield from _wrapped(narrate.title(trace), width, "bold")
    yield Text()
    yield from _wrapped(narrate.legend(trace), width, "dim")
    yield Text()
    lane = min((width - 1 - _NUMBER) // max(len(trace.replicas), 1), MAX_LANE)
    if lane >= MIN_LANE:
        yield from _lanes(trace, lane, verbose)
    else:
        yield from _stacked(trace, width, verbose)
    yield from _verdict(trace, width)


def _wrapped(text: str, width: int, style: str = "", indent: str = "", hang: str = "") -> Iterator[Text]:
    for line in _wrap(printable(text), max(width - 1, 20), indent, indent + hang):
        yield Text(line, style)


def _wrap(text: str, width: int, indent: str = "", hang: str = "  ") -> list[str]:
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [piece for line in lines for piece in _pieces(line, width, hang)] or [""]


def _pieces(line: str, width: int, hang: str) -> Iterator[str]:
    """``line`` in pieces of at most ``width``: a word that is too long ends after a mark if it can, else
    within a name such as ``MetadataHeartbeatRequest`` before one of the words that make it.
    """
    while len(line) > width:
        ends = [found.end() for found in _ENDS.finditer(line, len(hang) + 1, width)]
        starts = [found.end() for found in _STARTS.finditer(line, len(hang) + 1, width + 1)]
        end = max(ends or starts or [width])
        yield line[:end]
        line = hang + line[end:]
    yield line


# Lanes.


def _lanes(trace: Trace, lane: int, verbose: bool) -> Iterator[Text]:
    total = _NUMBER + lane * len(trace.replicas) - 1
    heads = "".join(called(replica).ljust(lane) for replica in trace.replicas)
    yield Text((" " * _NUMBER + heads).rstrip(), "bold")
    yield Text("─" * total, "dim")
    starts = [[Line("start", text) for text in narrate.start_lines(node)] for _, node in trace.nodes]
    yield from _row("", starts, lane)
    for line in narrate.in_flight_lines(trace):
        yield from _wrapped(line.text, total, _STYLES[line.kind], " " * _NUMBER, "  ")
    budgets = trace.budgets
    for step in trace.steps:
        yield Text("─" * total, "dim")
        if (mark := narrate.mark(trace, step.number)) is not None:
            yield Text(mark, "bold")
        yield from _row(str(step.number), [list(_cell(step, each, verbose)) for each in trace.replicas], lane)
        for line in narrate.world_lines(step, budgets):
            yield from _wrapped(line.text, total, _STYLES[line.kind], " " * _NUMBER, "  ")
        budgets = step.budgets
    yield Text("─" * total, "dim")


def _cell(step: TraceStep, replica: Place, verbose: bool) -> Iterator[Line]:
    if replica == step.replica:
        yield from narrate.lines(step, verbose=verbose)
    else:
        for change in narrate.changes(step, replica, verbose=verbose):
            yield Line("change", narrate.describe(change))


def _row(number: str, cells: Sequence[Sequence[Line]], lane: int) -> Iterator[Text]:
    columns = [
        [(piece, line.kind) for line in cell for piece in _wrap(printable(line.text), lane - 2)]
        for cell in cells
    ]
    for height, pieces in enumerate(zip_longest(*columns, fillvalue=("", ""))):
        text = Text(number.rjust(_NUMBER - 2).ljust(_NUMBER) if height == 0 else " " * _NUMBER)
        for piece, kind in pieces:
            text.append(piece.ljust(lane), _STYLES.get(kind, ""))
        text.rstrip()
        yield text


# Paragraphs.


def _stacked(trace: Trace, width: int, verbose: bool) -> Iterator[Text]:
    for replica, node in trace.nodes:
        yield from _wrapped(f"{called(replica)}: {'; '.join(narrate.start_lines(node))}", width, hang="  ")
    for line in narrate.in_flight_lines(trace):
        yield from _wrapped(line.text, width, _STYLES[line.kind], hang="  ")
    budgets = trace.budgets
    for step in trace.steps:
        yield Text()
        if (mark := narrate.mark(trace, step.number)) is not None:
            yield Text(mark, "bold")
        for line in narrate.lines(step, verbose=verbose):
            if line.kind == "head":
                yield from _wrapped(
                    f"{step.number}. {called(step.replica)}: {line.text}", width, "bold", hang="   "
                )
            else:
                yield from _wrapped(line.text, width, _STYLES.get(line.kind, ""), "   ", "  ")
        for replica in trace.replicas:
            for change in narrate.changes(step, replica, verbose=verbose) if replica != step.replica else ():
                yield from _wrapped(f"{called(replica)}: {narrate.describe(change)}", width, "", "   ", "  ")
        for line in narrate.world_lines(step, budgets):
            yield from _wrapped(line.text, width, _STYLES[line.kind], "   ", "  ")
        budgets = step.budgets
    yield Text()


# The end.


def _verdict(trace: Trace, width: int) -> Iterator[Text]:
    stated = narrate.statement(trace)
    if trace.finding is not None and stated is not None:
        name = f"{trace.finding.property} ({stated[0]})" if stated[0] else trace.finding.property
        yield from _wrapped(f"Violated: {name}", width, "bold red")
        yield from _wrapped(stated[1], width, indent="  ")
        yield from _wrapped("What does not hold:", width)
        for reason in trace.finding.reasons:
            yield from _wrapped(reason, width, "bold", "  ")
    else:
        yield from _wrapped("No property is violated so far.", width)
    yield from _wrapped(f"Again: kraftcheck trace show {narrate.permalink(trace)}", width, "dim", hang="  ")
