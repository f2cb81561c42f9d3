"""The shell of pages for the browser: a file with everything that it needs, which asks no network.

Texts of a page are inert: of a page with a program they are JSON, of which the program makes text nodes; the
policy of the page forbids every other program and style.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from kraftcheck.support.printable import json_text, printable, shortened

#: Of one text of the data; longer ones are cut off.
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
{body}
</body>
</html>
"""


def html_file(title: str, style: str, body: str, program: str = "", *, connects: bool = False) -> str:
    """An HTML file with this ``title`` (a text), ``style`` (CSS) and ``body`` (HTML, whose texts are
    escaped). ``program``: the only JavaScript that it may run; it stands at the end of the body.

    ``connects``: whether the program may ask the server that the page comes from.
    """
    allowed = f"script-src {_allowed(program)}; " if program else ""
    asks = "connect-src 'self'; " if connects else ""
    policy = (
        f"default-src 'none'; style-src {_allowed(style)}; {allowed}{asks}base-uri 'none'; form-action 'none'"
    )
    whole = f"{body}\n<script>{program}</script>" if program else body
    return _PAGE.format(policy=policy, title=text(title), style=style, body=whole)


def data_element(data: Any) -> str:
    """The element ``document`` with ``data`` as JSON, for the program of a page."""
    return f'<script type="application/json" id="document">{_inert(json_text(bounded(data)))}</script>'


def text(content: str) -> str:
    """``content`` as HTML that shows it and does nothing else."""
    return escape(printable(content))


@cache
def asset(package: str, name: str) -> str:
    """The text of the file ``name`` of a package."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def bounded(data: Any) -> Any:
    """``data`` with the beginnings of texts that are too long for a reader."""
    if isinstance(data, str):
        return shortened(data, MOST_LETTERS)
    if isinstance(data, Mapping):
        return {bounded(key): bounded(value) for key, value in data.items()}
    return [bounded(each) for each in data] if isinstance(data, list | tuple) else data


def _allowed(content: str) -> str:
    """The source of a policy that allows ``content`` within the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _inert(data: str) -> str:
    """JSON that ends no element and begins no comment, whatever its texts say."""
    return re.sub(r"[<>&]", lambda found: f"\\u{ord(found[0]):04x}", data)
