"""A state graph as a picture: DOT, the language of Graphviz, and SVG drawn by its program ``dot``."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape

import networkx as nx

from kraftcheck.graphs.states import merged
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable

#: A larger picture is unreadable.
MOST_NODES = 150
MOST_EDGES = 500
MOST_ACTIONS = 3
MOST_SECONDS = 60
ROLES = {
    "Leader": "#2e7d32",
    "Follower": "#1565c0",
    "Candidate": "#e65100",
    "Prospective": "#f9a825",
    "Unattached": "#9e9e9e",
    "Resigned": "#6a1b9a",
    "stopped": "#212121",
}


def refuse_large(boxes: int, arrows: int) -> None:
    """Raises InputError if a picture would be too large to read."""
    if boxes > MOST_NODES or arrows > MOST_EDGES:
        many = f"{boxes:,} boxes and {arrows:,} arrows" if arrows else f"{boxes:,} boxes"
        raise InputError(
            f"--format svg: {many} are more than a reader can follow ({MOST_NODES} and {MOST_EDGES}); "
            "project on fewer fields (--project), or take another format."
        )


def as_svg(graph: nx.MultiDiGraph) -> str:
    """``graph`` as SVG. Raises InputError if it is too large, and where ``dot`` is missing or fails."""
    simple = merged(graph)
    refuse_large(simple.number_of_nodes(), simple.number_of_edges())
    program = shutil.which("dot")
    if program is None:
        raise InputError(
            "--format svg: Graphviz's program 'dot' is not on the path; install the package graphviz, or "
            "take --format dot and draw the text elsewhere."
        )
    try:
        drawn = subprocess.run(
            [program, "-Tsvg"],
            input=as_dot(graph).encode(),
            capture_output=True,
            timeout=MOST_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"--format svg: {program} takes more than {MOST_SECONDS} s; project on fewer fields (--project), "
            "or take --format dot."
        ) from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        why = (said.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[0]
        raise InputError(
            f"--format svg: {program} fails ({why[:200]}); repair the installation of Graphviz, or take "
            "--format dot."
        ) from None
    return drawn.stdout.decode("utf-8", "replace")


def as_dot(graph: nx.MultiDiGraph) -> str:
    """``graph`` in the language of Graphviz, with one arrow from one node to another."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: nx.MultiDiGraph) -> Iterator[str]:
    simple = merged(graph)
    about = graph.graph
    title = f"{about['name']}: {about['states']:,} states, projected on {about['projection']}"
    yield f"digraph {_quoted(graph.graph['name'])} {{"
    yield f"  graph [label={_quoted(title)}, labelloc=t, fontname=monospace];"
    yield "  node [shape=box, style=rounded, fontname=monospace, fontsize=11];"
    yield '  edge [color="#90a4ae", fontname=monospace, fontsize=9];'
    for node, data in simple.nodes(data=True):
        kind = "violating" if data["violates"] else "initial" if data["initial"] else "state"
        look = ", peripheries=2" if data["initial"] else ""
        look += ", color=red" if data["violates"] else ""
        yield f"  {node} [label={_colored(_node(data))}, class={kind}{look}];"
    for source, target, data in simple.edges(data=True):
        yield f"  {source} -> {target} [label={_quoted(*_actions(data['actions']))}];"
    yield "}"


def _node(data: dict[str, Any]) -> Iterator[str]:
    yield from data["label"].split(", ")
    if "states" in data:
        inside = f", {data['internal']:,} steps within" if data.get("internal") else ""
        yield f"{data['states']:,} state{'s' if data['states'] > 1 else ''}{inside}"
    else:
        yield f"{data['in_flight']} in flight"
    yield from (f"violates {name}" for name in data["violates"].split())


def _actions(actions: dict[str, int]) -> Iterator[str]:
    """The most frequent actions of an edge, and how many others there are."""
    ranked = sorted(actions.items(), key=lambda pair: (-pair[1], pair[0]))
    for name, count in ranked[:MOST_ACTIONS]:
        shown = name if len(name) <= 44 else f"{name[:43]}…"
        yield shown + (f" ×{count:,}" if count > 1 else "")
    rest = ranked[MOST_ACTIONS:]
    if rest:
        yield f"and {sum(count for _, count in rest):,} of {len(rest)} more"


def _colored(lines: Iterable[str]) -> str:
    """Lines of text as one HTML-like label, a replica in the colour of its role."""
    parts = []
    for line in lines:
        color = next((ROLES[word] for word in line.split() if word in ROLES), "black")
        color = "red" if line.startswith("violates ") else color
        parts.append(f'<font color="{color}">{escape(printable(line))}</font>')
    return f"<{'<br/>'.join(parts)}>"


def _quoted(*lines: str) -> str:
    r"""Lines of text as one DOT string, in which ``\N`` is no name of a node and ``&lt;`` no entity."""
    escaped = (
        printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines
    )
    return '"' + "\\n".join(escaped) + '"'
