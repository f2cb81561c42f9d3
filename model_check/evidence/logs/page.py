"""What ``kraftcheck logs --explain`` says as a page for the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kraftcheck.evidence.logs.sections import Section, sections
from kraftcheck.traces.page.shell import asset, html_file, text

_STYLE: Final = """
body { height: auto; }
main { display: block; padding: 0 0.9rem 2rem; max-width: 75rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem; }
tr { border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { color: var(--quiet); }
"""


def page(data: Mapping[str, Any]) -> str:
    """The document as an HTML file that runs nothing and asks no network."""
    body = "\n".join(map(_element, sections(data)))
    nodes = ", ".join(str(each["node"]) for each in data["nodes"])
    title = f"What the logs of node {nodes} show"
    style = asset("kraftcheck.traces.page", "viewer.css") + _STYLE
    return html_file(title, style, f"<header><h1>{text(title)}</h1></header>\n<main>{body}</main>")


def _element(section: Section) -> str:
    rows = "".join(
        f"<tr><td>{text(row.time)}</td><td>{text(row.what)}</td><td>{text(row.where)}</td></tr>"
        for row in section.rows
    )
    head = "<thead><tr><th>Time</th><th>What</th><th>Where</th></tr></thead>"
    table = f"<table>{head}<tbody>{rows}</tbody></table>" if rows else ""
    said = "".join(f"<li>{text(name)}: <code>{text(value)}</code></li>" for name, value in section.said)
    return f"<section><h2>{text(section.title)}</h2>{table}{f'<ul>{said}</ul>' if said else ''}</section>"
