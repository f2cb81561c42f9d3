"""A trace in the terminal: one lane per replica where the width allows it, else one paragraph per step."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from kraftcheck.support import terminal
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console
from kraftcheck.systems.kind import Place, called
from kraftcheck.traces.model import Trace
from kraftcheck.traces.view import CYCLE, Line, View, view_of

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
    view = view_of(trace, verbose=verbose)
    yield from _wrapped(view.title, width, "bold")
    yield Text()
    yield from _wrapped(view.legend, width, "dim")
    yield Text()
    lane = min((width - 1 - _NUMBER) // max(len(view.start), 1), MAX_LANE)
    yield from _lanes(view, lane) if lane >= MIN_LANE else _stacked(view, width)
    yield from _verdict(view, width)


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


def _lanes(view: View, lane: int) -> Iterator[Text]:
    places = [place for place, _ in view.start]
    total = _NUMBER + lane * len(places) - 1
    yield Text((" " * _NUMBER + "".join(called(place).ljust(lane) for place in places)).rstrip(), "bold")
    yield Text("─" * total, "dim")
    yield from _row("", [[Line("start", text) for text in texts] for _, texts in view.start], lane)
    yield from _across(view.in_flight, total)
    for step in view.steps:
        yield Text("─" * total, "dim")
        if step.begins_cycle:
            yield Text(CYCLE, "bold")
        cells: dict[Place, list[Line]] = {place: [] for place in places}
        cells[step.actor] = [Line("head", step.head), *step.own]
        for place, line in step.others:
            cells[place].append(line)
        yield from _row(str(step.number), list(cells.values()), lane)
        yield from _across(step.world, total)
    yield Text("─" * total, "dim")


def _across(lines: Iterable[Line], total: int) -> Iterator[Text]:
    for line in lines:
        yield from _wrapped(line.text, total, _STYLES[line.kind], " " * _NUMBER, "  ")


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


def _stacked(view: View, width: int) -> Iterator[Text]:
    for place, texts in view.start:
        yield from _wrapped(f"{called(place)}: {'; '.join(texts)}", width, hang="  ")
    for line in view.in_flight:
        yield from _wrapped(line.text, width, _STYLES[line.kind], hang="  ")
    for step in view.steps:
        yield Text()
        if step.begins_cycle:
            yield Text(CYCLE, "bold")
        yield from _wrapped(f"{step.number}. {called(step.actor)}: {step.head}", width, "bold", hang="   ")
        others = [Line("change", f"{called(place)}: {line.text}") for place, line in step.others]
        for line in (*step.own, *others, *step.world):
            yield from _wrapped(line.text, width, _STYLES.get(line.kind, ""), "   ", "  ")
    yield Text()


# The end.


def _verdict(view: View, width: int) -> Iterator[Text]:
    if view.violated is not None:
        yield from _wrapped(f"Violated: {view.violated}", width, "bold red")
        yield from _wrapped(view.statement, width, indent="  ")
        yield from _wrapped("What does not hold:", width)
        for reason in view.reasons:
            yield from _wrapped(reason, width, "bold", "  ")
    else:
        yield from _wrapped("No property is violated so far.", width)
    yield from _wrapped(f"Again: kraftcheck trace show {view.permalink}", width, "dim", hang="  ")
