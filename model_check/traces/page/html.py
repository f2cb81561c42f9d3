"""The file of a behaviour's page: its document as data, and the viewer that shows it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kraftcheck.traces.page.document import Document
from kraftcheck.traces.page.shell import asset, bounded, data_element, html_file, text

_PACKAGE = "kraftcheck.traces.page"
_PROGRAMS = ("behaviour.js", "viewer.js", "overview.js")


def page(document: Document) -> str:
    """``document`` as an HTML file."""
    return page_with(document, "", "begin();\n", connects=False)


def page_with(document: Document, style: str, program: str, *, connects: bool) -> str:
    """``document`` as an HTML page, with a ``style`` and a ``program`` after those of the viewer.

    ``connects``: whether the program may ask the server that the page comes from.
    """
    again = (
        f"<noscript>This page needs JavaScript. In a terminal: <code>{text(document.again)}</code></noscript>"
    )
    return html_file(
        document.title,
        asset(_PACKAGE, "viewer.css") + style,
        f"{again}\n{data_element(asdict(document))}",
        "".join(asset(_PACKAGE, name) for name in _PROGRAMS) + program,
        connects=connects,
    )


def data_of(document: Document) -> Any:
    """``document`` as the program reads it, with the beginnings of texts that are too long for a reader."""
    return bounded(asdict(document))
