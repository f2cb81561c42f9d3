"""A projected state graph as a page for the browser: drawn by level, with states and paths of each node.

:mod:`~kraftcheck.graphs.layout` places the nodes; ``graph.js`` and ``graph.css`` go into the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from kraftcheck.graphs.growth import Growth
from kraftcheck.graphs.layout import boxes
from kraftcheck.graphs.paths import Paths
from kraftcheck.graphs.picture import ROLES
from kraftcheck.graphs.projection import Projection
from kraftcheck.graphs.states import States, merged, projected, state_graph
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces.page.shell import asset, data_element, html_file, text
from kraftcheck.traces.paths import path_text
from kraftcheck.traces.words import label

#: A larger graph is slow to draw, and not understood.
MOST_NODES, MOST_EDGES = 2_000, 12_000
#: Of a node; of an edge; of a line of a node's label.
MOST_SAMPLES, MOST_ACTIONS, MOST_LETTERS = 3, 12, 38
#: The size of a letter, of a line, and the room around them, in pixels.
_LETTER, _LINE, _ROOM = 7.3, 17, 10


def refuse_large(nodes: int, edges: int) -> None:
    """Raises InputError if a graph is too large for a page."""
    if nodes > MOST_NODES or edges > MOST_EDGES:
        many = f"{nodes:,} nodes and {edges:,} edges" if edges else f"{nodes:,} nodes"
        raise InputError(
            f"--format html: {many} are more than a page can show ({MOST_NODES:,} and {MOST_EDGES:,}); "
            "project on fewer fields (--project), or take --format graphml."
        )


def as_html(
    states: States, chosen: Scenario, where: str, projection: Projection, shown: str, growth: Growth
) -> str:
    """The page of ``states``, projected on ``shown`` (``none``: a node for each state, which shows
    ``projection``); ``where``: the scenario's name or file, as commands take it. Raises
    InputError if it is too large.
    """
    document = document_of(states, chosen, projection, shown)
    document |= {"scenario": where, "growth": growth.as_data()}
    again = f"kraftcheck graph {where} --project {shown}"
    body = (
        f"<noscript>This page needs JavaScript. In a terminal: <code>{text(again)}</code></noscript>\n"
        + data_element(document)
    )
    style = asset("kraftcheck.traces.page", "viewer.css") + asset("kraftcheck.graphs", "graph.css")
    return html_file(document["title"], style, body, asset("kraftcheck.graphs", "graph.js"))


def document_of(states: States, chosen: Scenario, projection: Projection, shown: str) -> dict[str, Any]:
    """The content of the page, for its program. Raises InputError if there is too much."""
    if shown == "none":
        refuse_large(states.graph.size, 0)
    whole = state_graph(states, projection)
    graph = merged(whole if shown == "none" else projected(whole, shown))
    refuse_large(graph.number_of_nodes(), graph.number_of_edges())
    numbers: dict[Any, list[int]] = defaultdict(list)
    ids = {} if shown == "none" else {(d["label"], d["violates"]): n for n, d in graph.nodes(data=True)}
    for number, data in whole.nodes(data=True):
        numbers[ids[data["label"], data["violates"]] if ids else number].append(number)
    paths = Paths(states)
    levels = {node: int(paths.depths[numbers[node]].min()) for node in graph}
    names: dict[str, int] = {}
    group = {number: node for node, members in numbers.items() for number in members}
    return {
        "title": f"{chosen.name}: the state graph",
        "scenario": chosen.name,
        "about": " ".join(chosen.about.split()),
        "projection": "single states" if shown == "none" else shown,
        "states": states.graph.size,
        "roles": [*ROLES],
        "nodes": _nodes(states, graph, levels, numbers, paths, group, names),
        "edges": [
            {"source": source, "target": target, "steps": data["steps"], **_actions(data["actions"])}
            for source, target, data in graph.edges(data=True)
        ],
        "names": [*names],
    }


def _nodes(
    states: States,
    graph: nx.DiGraph,
    levels: Mapping[Any, int],
    numbers: Mapping[Any, Sequence[int]],
    paths: Paths,
    group: Mapping[int, Any],
    names: dict[str, int],
) -> list[dict[str, Any]]:
    lines = {node: _lines(data["label"]) for node, data in graph.nodes(data=True)}
    placed = boxes(graph, levels, {node: _size(lines[node], data) for node, data in graph.nodes(data=True)})
    targets, labels = states.graph.targets, states.graph.labels
    found = []
    for node, data in graph.nodes(data=True):
        members = numbers[node]
        nearest = min(members, key=lambda number: int(paths.depths[number]))
        edges = paths.steps_to(nearest)
        passed = [group[int(targets[edge])] for edge in edges]
        box = placed[node]
        found.append(
            {
                "id": node,
                "label": data["label"],
                "lines": lines[node],
                "states": len(members),
                "internal": data.get("internal", 0),
                "initial": bool(data["initial"]),
                "violates": data["violates"].split(),
                "level": levels[node],
                "box": [round(each, 1) for each in (box.x, box.y, box.width, box.height)],
                "path": path_text(paths.options(edges)) if paths.begins_first(edges, nearest) else None,
                "start": group[int(states.graph.sources[edges[0]]) if edges else nearest],
                "steps": [
                    [names.setdefault(states.names[labels[edge]], len(names)), then]
                    for edge, then in zip(edges, passed, strict=True)
                ],
                "samples": [_sample(states, number) for number in _some(members, nearest)],
            }
        )
    return found


def _lines(whole: str) -> list[str]:
    return [
        each if len(each) <= MOST_LETTERS else f"{each[: MOST_LETTERS - 1]}…" for each in whole.split(", ")
    ]


def _size(lines: Sequence[str], data: Mapping[str, Any]) -> tuple[float, float]:
    # Below the label stands the number of states, and whether the node is initial or violates something.
    below = f"{data.get('states', 1):,} states{', violates' if data['violates'] or data['initial'] else ''}"
    widest = max(len(line) for line in (*lines, below))
    return widest * _LETTER + 2 * _ROOM, (len(lines) + 1) * _LINE + 2 * _ROOM


def _actions(actions: Mapping[str, int]) -> dict[str, Any]:
    ranked = sorted(actions.items(), key=lambda pair: (-pair[1], pair[0]))
    return {"actions": ranked[:MOST_ACTIONS], "more": len(ranked[MOST_ACTIONS:])}


def _some(members: Sequence[int], nearest: int) -> list[int]:
    """The nearest state of a node, and others from the whole of it."""
    others = [number for number in members if number != nearest]
    apart = max(1, len(others) // (MOST_SAMPLES - 1))
    return [nearest, *others[::apart][: MOST_SAMPLES - 1]]


def _sample(states: States, number: int) -> list[str]:
    """A state: a line for each component, and one for the messages in flight."""
    state, system = states.graph.state(number), states.system
    lines = []
    for place, local in zip(system.places, state.locals, strict=True):
        said = "; ".join(kind_of(local).words.start_lines(local)) or "nothing"
        lines.append(f"{place}: {said}")
    messages: list[Any] = list(state.messages)
    if messages:
        flying = (f"{each.source}→{each.destination} {label(each)}" for each in messages)
        lines.append(f"in flight: {'; '.join(flying)}")
    return lines
