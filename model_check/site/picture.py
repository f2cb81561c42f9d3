"""The picture of a scenario: who takes part, how they begin, and which links are cut, as an SVG.

The colours are classes of ``assets/site.css``, so that it is readable on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape

from kraftcheck.support.printable import printable
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import Scenario

_WIDE, _HIGH, _RADIUS = 150, 128, 26


@dataclass(frozen=True, slots=True)
class Node:
    """A participant: its name in the circle, its kind (voter, observer, …), and words below it."""

    name: str
    kind: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """The participants in rows, and the pairs of names between which nothing is delivered."""

    rows: tuple[tuple[Node, ...], ...]
    cut: frozenset[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        """In words, for those who do not see the picture."""
        nodes = (
            f"{node.kind} {node.name}{f' ({node.words})' if node.words else ''}"
            for row in self.rows
            for node in row
        )
        pairs = sorted(" and ".join(sorted(pair)) for pair in self.cut)
        cut = "; ".join(f"{pair} are cut off from each other" for pair in pairs)
        return ", ".join(nodes) + (f"; {cut}" if cut else "")


def scene_of(scenario: Scenario) -> Scene:
    """Who takes part in ``scenario``."""
    if isinstance(scenario, KRaftScenario):
        return _of_replicas(scenario)
    assert isinstance(scenario, BrokerScenario)
    return _of_brokers(scenario)


def _of_replicas(scenario: KRaftScenario) -> Scene:
    replicas = scenario.replicas
    begins: Mapping[int, str] = {int(name): text for name, text in replicas.initial.items()}

    def node(name: int, kind: str) -> Node:
        if name in replicas.stopped:
            return Node(str(name), kind, "stopped")
        if replicas.initial_leader is not None and name not in replicas.fresh:
            leads = name == replicas.initial_leader
            return Node(str(name), kind, "leads epoch 1" if leads else "follows")
        return Node(str(name), kind, _begins(begins[name]) if name in begins else "starts")

    others = [node(name, "joining") for name in replicas.joining]
    others += [node(name, "observer") for name in replicas.observers]
    voters = tuple(node(name, "voter") for name in replicas.voters)
    cut = frozenset(frozenset(link.replace(">", "-").split("-")) for link in scenario.network.cut)
    return Scene(tuple(row for row in (voters, tuple(others)) if row), cut)


def _begins(short: str) -> str:
    """The role and the epoch of a short form: "follower epoch=1 leader=1 …"."""
    role, *fields = short.split()
    values = dict(field.partition("=")[::2] for field in fields)
    return f"{role}, epoch {values['epoch']}" if "epoch" in values else role


def _of_brokers(scenario: BrokerScenario) -> Scene:
    brokers = scenario.brokers
    controllers = tuple(Node(f"C{number + 1}", "controller") for number in range(brokers.controllers))
    running = [Node(str(name), "broker", "runs") for name in brokers.running]
    starting = [Node(str(name), "broker", "starts later") for name in brokers.starting]
    return Scene((controllers, (*running, *starting)))


def svg(scene: Scene, caption: str) -> str:
    """``scene`` as an SVG element on one line, with ``caption`` below it."""
    width = max(len(row) for row in scene.rows) * _WIDE
    height = len(scene.rows) * _HIGH
    places = dict(_places(scene, width))
    parts = [*_links(scene, places), *_nodes(scene, places)]
    words = escape(printable(str(scene)), quote=True)
    drawing = (
        f'<svg class="scene" role="img" aria-label="{words}" viewBox="0 0 {width} {height}" '
        f'width="{width}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
    words = f"<figcaption>{escape(printable(caption))}</figcaption>"
    return f"<figure data-search-exclude>{drawing}{words}</figure>"


def _places(scene: Scene, width: int) -> Iterator[tuple[tuple[int, int], tuple[float, float]]]:
    """The centre of each node, by row and number in the row."""
    for row, nodes in enumerate(scene.rows):
        begin = (width - len(nodes) * _WIDE) / 2 + _WIDE / 2
        for number in range(len(nodes)):
            yield (row, number), (begin + number * _WIDE, row * _HIGH + 46.0)


def _links(scene: Scene, places: Mapping[tuple[int, int], tuple[float, float]]) -> Iterator[str]:
    """Cut links, and those between neighbours: all may talk to all, which many lines would hide."""
    names = {(r, n): node.name for r, row in enumerate(scene.rows) for n, node in enumerate(row)}
    for one, other in _pairs(names):
        cut = frozenset((names[one], names[other])) in scene.cut
        near = one[0] == other[0] and abs(one[1] - other[1]) == 1
        if not (cut or near or one[0] != other[0]):
            continue
        (x, y), (u, v) = places[one], places[other]
        kind = "cut" if cut else "link"
        if one[0] == other[0] and not near:  # An arc above those in between.
            arc = f"M{x:.0f} {y:.0f} Q{(x + u) / 2:.0f} {y - 76:.0f} {u:.0f} {v:.0f}"
            yield f'<path class="{kind}" d="{arc}"/>'
        else:
            yield f'<line class="{kind}" x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}"/>'


def _pairs(names: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    listed = list(names)
    return ((one, other) for at, one in enumerate(listed) for other in listed[at + 1 :])


def _nodes(scene: Scene, places: Mapping[tuple[int, int], tuple[float, float]]) -> Iterator[str]:
    for row, nodes in enumerate(scene.rows):
        for number, node in enumerate(nodes):
            x, y = places[row, number]
            off = " off" if node.words == "stopped" else " leads" if "lead" in node.words else ""
            shape = f'cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS}"'
            yield f'<circle class="node {node.kind}{off}" {shape}/>'
            yield f'<text class="name" x="{x:.0f}" y="{y + 6:.0f}">{escape(printable(node.name))}</text>'
            for line, text in enumerate(filter(None, (node.kind, node.words))):
                place = f'x="{x:.0f}" y="{y + _RADIUS + 20 + 17 * line:.0f}"'
                yield f'<text class="words" {place}>{escape(printable(text))}</text>'
