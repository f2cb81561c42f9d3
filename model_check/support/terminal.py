"""Output for people: coloured on a terminal, plain text elsewhere, readable from 60 columns on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NoReturn

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from kraftcheck.support.printable import shown

MIN_WIDTH = 40


class Console(rich.console.Console):
    """A console that shows no text that a terminal would obey; colours and movements come from rich alone."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of ``renderable``."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Leave a closed pipe to the command line, which knows the exit status for it."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output. Off a terminal there is no colour, and ``COLUMNS`` (80) gives the width."""
    return Console(highlight=False, soft_wrap=True, emoji=False, markup=False)


def width(target: Console) -> int:
    """The columns that there are."""
    return max(target.width, MIN_WIDTH)


def say(target: Console, text: str, style: str = "", *, indent: int = 0, hang: int = 0) -> None:
    """Print ``text`` wrapped at blanks, ``indent`` columns in and further lines ``hang`` columns deeper."""
    lines = textwrap.wrap(
        text,
        max(width(target) - 1, MIN_WIDTH),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
        break_long_words=False,
    )
    for line in lines or [""]:
        target.print(Text(line, style))


def fitted(target: Console, text: str, mark: str, style: str) -> None:
    """Print ``text`` and, in ``style``, ``mark``: a single line where the output is no terminal."""
    whole = f"{text}  {mark}"
    lines = [whole]
    if target.is_terminal:
        lines = textwrap.wrap(whole, width(target) - 1, subsequent_indent="    ", break_long_words=False)
    for line in lines[:-1]:
        target.print(Text(line))
    last = lines[-1]
    at = max(len(last) - len(mark), 0)
    target.print(Text(last[:at]).append(last[at:], style))


def heading(target: Console, text: str) -> None:
    """Print a heading after an empty line."""
    target.print(Text())
    say(target, text, "bold")


def entry(target: Console, label: str, text: str, style: str = "", *, column: int = 12) -> None:
    """Print ``text`` next to its label, both indented; ``column`` is where the text begins."""
    lines = textwrap.wrap(
        text, max(width(target) - 1 - column, 24), break_on_hyphens=False, break_long_words=False
    )
    for number, line in enumerate(lines or [""]):
        shown = f"  {label}".ljust(column) if number == 0 else " " * column
        target.print(Text(shown, "dim").append(line, style or "not dim"))
