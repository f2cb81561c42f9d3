"""A state graph as an SVG picture: boxes by steps from the beginning, replicas coloured by their roles."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import networkx as nx

from kraftcheck.graphs.layout import Layout, Point, lay_out
from kraftcheck.graphs.states import merged
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable

#: More than this nobody can look at.
MOST_NODES = 150
MOST_EDGES = 500
MOST_ACTIONS = 3
_CHARACTER, _LINE, _SMALL = 6.8, 16.0, 12.0
_DOT = 14.0
_FONT = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_PADDING = 8.0
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
    """Raises InputError if there is more than can be looked at."""
    if boxes > MOST_NODES or arrows > MOST_EDGES:
        many = f"{boxes:,} boxes and {arrows:,} arrows" if arrows else f"{boxes:,} boxes"
        raise InputError(
            f"--format svg: {many} are more than can be looked at ({MOST_NODES} and {MOST_EDGES}); fold more "
            "(--fold), or take another format."
        )


def as_svg(graph: nx.MultiDiGraph) -> str:
    """``graph`` as SVG. Raises InputError if it is too large to be looked at."""
    simple = merged(graph)
    loops = {node: simple.edges[node, node] for node in simple if simple.has_edge(node, node)}
    simple.remove_edges_from([(node, node) for node in loops])
    refuse_large(simple.number_of_nodes(), simple.number_of_edges())
    boxes = {node: _lines(data, loops.get(node)) for node, data in simple.nodes(data=True)}
    written = {edge: _actions(simple.edges[edge]) for edge in simple.edges}
    sizes = {node: _box(lines) for node, lines in boxes.items()}
    texts = {edge: _text_size(lines) for edge, lines in written.items()}
    first = [node for node, initial in simple.nodes(data="initial") if initial]
    layout = lay_out(simple, first, sizes, texts)
    parts = [*_head(graph, layout, boxes)]
    for edge, points in layout.edges.items():
        parts.append(_arrow(edge, points, sizes))
    for edge, lines in written.items():
        parts += _label(layout.texts[edge], lines)
    for node, data in simple.nodes(data=True):
        parts += _node(layout.nodes[node], sizes[node], boxes[node], data)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lines(data: dict[str, Any], loop: dict[str, Any] | None) -> list[str]:
    lines = [printable(part) for part in data["label"].split(", ")]
    if "states" in data:
        inside = f", {data['internal']:,} steps within" if data.get("internal") else ""
        lines.append(f"{data['states']:,} state{'s' if data['states'] > 1 else ''}{inside}")
    else:
        lines.append(f"{data['in_flight']} in flight")
    if loop is not None:
        many = "1 step leads" if loop["steps"] == 1 else f"{loop['steps']:,} steps lead"
        lines.append(f"{many} back to it")
    return [*lines, *(f"violates {name}" for name in data["violates"].split())]


def _actions(data: dict[str, Any]) -> list[str]:
    """What is written on an edge: the most frequent actions, and how many there are of the others."""
    ranked = sorted(data["actions"].items(), key=lambda pair: (-pair[1], pair[0]))
    lines = [_short(name) + (f" ×{count:,}" if count > 1 else "") for name, count in ranked[:MOST_ACTIONS]]
    if len(ranked) > MOST_ACTIONS:
        lines.append(
            f"and {sum(count for _, count in ranked[MOST_ACTIONS:]):,} of {len(ranked) - MOST_ACTIONS} more"
        )
    return lines


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= 44 else f"{name[:43]}…"


def _box(lines: list[str]) -> tuple[float, float]:
    return (
        max(map(len, lines)) * _CHARACTER + 2 * _PADDING + _DOT,
        len(lines) * _LINE + 2 * _PADDING,
    )


def _text_size(lines: list[str]) -> tuple[float, float]:
    return max(map(len, lines)) * _CHARACTER * 0.8 + 4, len(lines) * _SMALL + 4


def _head(graph: nx.MultiDiGraph, layout: Layout, boxes: dict[Hashable, list[str]]) -> Iterator[str]:
    shown = [
        role for role in ROLES if any(role in line.split() for lines in boxes.values() for line in lines)
    ]
    width = max(layout.width, 130.0 * max(len(shown), 3))
    height = layout.height + 40
    title = f"{graph.graph['name']}: {graph.graph['states']:,} states, folded by {graph.graph['fold']}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 -40 {width:.0f} {height:.0f}" font-family="{_FONT}" font-size="11">'
    )
    yield f"<title>{escape(title)}</title>"
    yield (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="#546e7a"/></marker></defs>'
    )
    yield f'<rect x="0" y="-40" width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    yield f'<text x="10" y="-24" font-weight="bold">{escape(title)}</text>'
    for place, role in enumerate(shown):
        x = 16 + 120 * place
        yield f'<circle cx="{x}" cy="-10" r="5" fill="{ROLES[role]}"/><text x="{x + 9}" y="-6">{role}</text>'


def _arrow(
    edge: tuple[Hashable, Hashable], points: tuple[Point, ...], sizes: dict[Any, tuple[float, float]]
) -> str:
    """A smooth line through ``points`` that ends at the borders of the boxes."""
    places = list(points)
    for end, node, near in ((0, edge[0], 1), (-1, edge[1], -2)):
        x, y = places[end]
        down = places[near][1] > y
        places[end] = (x, y + (sizes[node][1] / 2 if down else -sizes[node][1] / 2))
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(places):
        middle = (y + to_y) / 2
        path += f" C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
    return f'<path d="{path}" fill="none" stroke="#90a4ae" marker-end="url(#head)"/>'


def _label(at: Point, lines: list[str]) -> Iterator[str]:
    x, y = at
    width, height = _text_size(lines)
    yield (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'fill="white" fill-opacity="0.85"/>'
    )
    for number, line in enumerate(lines):
        top = y - height / 2 + _SMALL * (number + 0.85)
        yield (
            f'<text x="{x:.1f}" y="{top:.1f}" text-anchor="middle" font-size="9" fill="#37474f">'
            f"{escape(line)}</text>"
        )


def _node(at: Point, size: tuple[float, float], lines: list[str], data: dict[str, Any]) -> Iterator[str]:
    (x, y), (width, height) = at, size
    left, top = x - width / 2, y - height / 2
    violating = bool(data["violates"])
    border, back = ("#c62828", "#ffebee") if violating else ("#455a64", "#fafafa")
    described = quoteattr("violating" if violating else "initial" if data["initial"] else "state")
    yield f"<g class={described}>"
    if data["initial"]:
        yield (
            f'<rect x="{left - 4:.1f}" y="{top - 4:.1f}" width="{width + 8:.1f}" height="{height + 8:.1f}" '
            f'rx="7" fill="none" stroke="{border}"/>'
        )
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5" fill="{back}" '
        f'stroke="{border}" stroke-width="{2.5 if violating else 1}"/>'
    )
    for number, line in enumerate(lines):
        base = top + _PADDING + _LINE * (number + 0.75)
        role = next((word for word in line.split() if word in ROLES), None)
        if role is not None:
            yield (f'<circle cx="{left + _PADDING + 4:.1f}" cy="{base - 4:.1f}" r="5" fill="{ROLES[role]}"/>')
        bad = ' fill="#c62828" font-weight="bold"' if line.startswith("violates ") else ""
        yield f'<text x="{left + _PADDING + _DOT:.1f}" y="{base:.1f}"{bad}>{escape(line)}</text>'
    yield "</g>"
