"""Text as Markdown that shows it as it is, and templates of Markdown in which every value is such text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kraftcheck.support.printable import printable

#: What Markdown or HTML would read as a mark, anywhere or at the beginning of a line.
_MARKS = re.compile(r"[\\`*_\[\]<>&#|~^={}!$\"':]|^[-+]|^\d+(?=[.)])")


def escaped(text: str) -> Markup:
    """``text`` as Markdown on one line that no reader takes for marks, whatever it says."""
    line = printable(" ".join(text.split()))
    return Markup(_MARKS.sub(lambda found: "".join(f"&#{ord(letter)};" for letter in found[0]), line))


def code(text: str) -> Markup:
    """``text`` as code within a line."""
    return Markup(f"<code>{escaped(text)}</code>")


def fence(text: str, language: str = "") -> Markup:
    """Lines of code as a block, which ends where ``text`` ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    lines = "\n".join(printable(line.replace("\t", "    ")) for line in text.rstrip("\n").split("\n"))
    return Markup(f"{ticks} {language}\n{lines}\n{ticks}")


def templates(**functions: Callable[..., Any]) -> Environment:
    """The templates of the package. They may call ``functions``; of values they show the text alone."""
    found = Environment(
        loader=PackageLoader("kraftcheck.site"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaped(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals.update(functions, code=code, fence=fence)
    return found
