"""The file of a page: one HTML document with its style, its program and its data, which asks no network.

Whatever the data says, it stays text: the program makes elements and sets their text, never HTML, and the
policy of the page forbids every other program.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib import resources
from typing import Any

from kraftcheck.support.printable import json_text, printable, shortened
from kraftcheck.traces.page.document import Document

#: Of one text of a document; longer ones are cut off.
MOST_LETTERS = 4_000

# The beginning tells our files from others (:func:`kraftcheck.support.files.write_atomically`).
_PAGE = """<!-- kraftcheck page -->
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page needs JavaScript. In a terminal: <code>{again}</code></noscript>
<script type="application/json" id="document">{data}</script>
<script>{program}</script>
</body>
</html>
"""


def page(document: Document) -> str:
    """``document`` as an HTML file."""
    return page_with(document, "", "begin();\n", connects=False)


def page_with(document: Document, style: str, program: str, *, connects: bool) -> str:
    """``document`` as an HTML page, with a ``style`` and a ``program`` after those of the viewer.

    ``connects``: whether the program may ask the server that the page comes from.
    """
    style = _asset("viewer.css") + style
    program = _asset("behaviour.js") + _asset("viewer.js") + program
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; script-src {_allowed(program)}; "
        f"connect-src '{'self' if connects else 'none'}'; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        policy=policy,
        title=escape(printable(document.title)),
        style=style,
        again=escape(printable(document.again)),
        data=_inert(json_text(data_of(document))),
        program=program,
    )


def data_of(document: Document) -> Any:
    """``document`` as the program reads it, with the beginnings of texts that are too long for a reader."""
    return _bounded(asdict(document))


def _bounded(data: Any) -> Any:
    if isinstance(data, str):
        return shortened(data, MOST_LETTERS)
    if isinstance(data, Mapping):
        return {_bounded(key): _bounded(value) for key, value in data.items()}
    return [_bounded(each) for each in data] if isinstance(data, list | tuple) else data


def _asset(name: str) -> str:
    """A file of this package, which ends with a line break."""
    return (resources.files("kraftcheck.traces.page") / name).read_text(encoding="utf-8")


def _allowed(text: str) -> str:
    """The source of a policy that allows ``text`` within the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert(data: str) -> str:
    """JSON that ends no element and begins no comment, whatever its texts say."""
    return re.sub(r"[<>&]", lambda found: f"\\u{ord(found[0]):04x}", data)
