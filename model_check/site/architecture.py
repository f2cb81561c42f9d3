"""The drawing of the architecture: the packages and which of them import which, read from the sources.

An edge that follows from others is left out: what is imported by way of another package is not drawn again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import networkx as nx

from kraftcheck.graphs.layout import Box, boxes
from kraftcheck.support.places import modules
from kraftcheck.support.printable import printable

#: The size of a box, and the distance between the upper edges of two levels, in pixels.
_WIDE, _HIGH, _LEVEL = 112, 34, 72
_MARGIN = 4
_IMPORTS = re.compile(r"^\s*(?:from|import) kraftcheck(?:\.| import )(\w+)", re.M)


def packages() -> nx.DiGraph:
    """The packages of kraftcheck as nodes with ``about``, the first line of what they say of themselves; an
    edge from each to those that it imports.
    """
    found = nx.DiGraph()
    files = {name.split(".")[1]: path for name, path in modules().items() if name.count(".") == 1}
    for name, path in files.items():
        if path.name == "__init__.py":
            found.add_node(name, about=_about(path))
    for module, path in modules().items():
        own = module.partition(".")[2].partition(".")[0]
        for other in _IMPORTS.findall(path.read_text(encoding="utf-8")) if own in found else ():
            if other in found and other != own:
                found.add_edge(own, other)
    return found


def _about(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def svg() -> str:
    """The drawing as an SVG element on one line, with a caption: an arrow leads to what a package imports."""
    whole = packages()
    reduced = nx.transitive_reduction(whole)
    levels = {
        node: level for level, nodes in enumerate(nx.topological_generations(reduced)) for node in nodes
    }
    # The layout goes from left to right, the drawing from top to bottom.
    placed = boxes(reduced, levels, dict.fromkeys(reduced, (_HIGH, _WIDE)))
    left = min(box.y for box in placed.values())
    at: dict[str, Box] = {
        str(node): Box(box.y - left + _MARGIN, levels[node] * _LEVEL + _MARGIN, _WIDE, _HIGH)
        for node, box in placed.items()
    }
    width = max(box.x for box in at.values()) + _WIDE + _MARGIN
    height = (max(levels.values())) * _LEVEL + _HIGH + 2 * _MARGIN
    parts = [*(_arrow(at[one], at[other]) for one, other in sorted(reduced.edges)), *_nodes(whole, at)]
    words = "; ".join(f"{one} imports {', '.join(sorted(reduced[one]))}" for one in reduced if reduced[one])
    drawing = (
        f'<svg class="packages" role="img" aria-label="{escape(words, quote=True)}" '
        f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" xmlns="http://www.w3.org/2000/svg">'
        f"{''.join(parts)}</svg>"
    )
    caption = "A line leads down to what a package imports; what follows from other lines is left out."
    return f"<figure data-search-exclude>{drawing}<figcaption>{caption}</figcaption></figure>"


def _arrow(one: Box, other: Box) -> str:
    x, y, u, v = one.x + _WIDE / 2, one.y + _HIGH, other.x + _WIDE / 2, other.y
    curve = f"M{x:.0f} {y:.0f} C{x:.0f} {y + 30:.0f} {u:.0f} {v - 30:.0f} {u:.0f} {v:.0f}"
    return f'<path class="link" d="{curve}"/>'


def _nodes(whole: nx.DiGraph, at: dict[str, Box]) -> Iterator[str]:
    for node, about in whole.nodes(data="about"):
        box = at[node]
        yield (
            f'<g><title>{escape(printable(about))}</title><rect class="node" x="{box.x:.0f}" y="{box.y:.0f}" '
            f'width="{_WIDE}" height="{_HIGH}" rx="6"/><text x="{box.x + _WIDE / 2:.0f}" '
            f'y="{box.y + 22:.0f}">{escape(node)}</text></g>'
        )
