"""The page of a state graph: its layout, its content, and that texts in it are only texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.graphs.layout import boxes
from kraftcheck.graphs.page import document_of, refuse_large
from kraftcheck.graphs.projection import parse_projection
from kraftcheck.graphs.states import collect_states
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.scenario import find
from kraftcheck.traces.page.shell import data_element, html_file

DATA = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)


@st.composite
def graphs(draw: Any) -> tuple[nx.DiGraph, dict[Any, int], dict[Any, tuple[float, float]]]:
    count = draw(st.integers(1, 60))
    node = st.integers(0, count - 1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(draw(st.lists(st.tuples(node, node), max_size=120)))
    levels = {each: draw(st.integers(0, 4)) for each in graph}
    sizes = {each: (draw(st.integers(20, 300)), draw(st.integers(20, 90))) for each in graph}
    return graph, levels, sizes


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_nodes_do_not_overlap(drawn: tuple[nx.DiGraph, dict[Any, int], dict[Any, Any]]) -> None:
    graph, levels, sizes = drawn
    placed = boxes(graph, levels, sizes)
    assert set(placed) == set(graph)
    found = sorted(placed.items(), key=lambda pair: pair[1].x)
    for index, (one, a) in enumerate(found):
        assert (a.width, a.height) == sizes[one]
        for other, b in found[index + 1 :]:
            apart = a.x + a.width <= b.x or b.x + b.width <= a.x
            assert apart or a.y + a.height <= b.y or b.y + b.height <= a.y
            assert levels[one] >= levels[other] or a.x + a.width <= b.x


@pytest.mark.slow
@pytest.mark.parametrize("shown", ["role-epoch", "role,leader,messages"])
def test_the_document_has_every_state_and_step(shown: str) -> None:
    chosen = find("scenario-a-granting-by-log")
    projection = parse_projection(shown, (1, 2, 3), "--project")
    states = collect_states(build(chosen), 5_000)  # type: ignore[arg-type]
    found = document_of(states, chosen, projection, shown)
    ids = {node["id"] for node in found["nodes"]}
    assert sum(node["states"] for node in found["nodes"]) == states.graph.size
    assert all({edge["source"], edge["target"]} <= ids for edge in found["edges"])
    within = sum(node["internal"] for node in found["nodes"])
    assert sum(edge["steps"] for edge in found["edges"]) + within == len(states.graph.sources)
    assert {name for node in found["nodes"] for name in node["violates"]} == {"ReturningReplicaDeposesNobody"}
    for node in found["nodes"]:
        assert len(node["steps"]) == node["level"] and node["samples"]
        assert (node["steps"][-1][1] if node["steps"] else node["start"]) == node["id"]


def test_a_large_graph_is_refused() -> None:
    with pytest.raises(InputError, match=r"2,001 nodes are more than .*--project"):
        refuse_large(2_001, 0)


@settings(max_examples=40)
@given(
    st.text(st.characters(codec=None), max_size=60)
    | st.sampled_from(["</script><b>", "<!--", "\u2028", "&amp;"])
)
def test_no_text_ends_the_data(hostile: str) -> None:
    text = html_file(hostile, "a {}", data_element({"label": hostile}), "go();")
    assert text.count("<script") == 2 and text.count("</script") == 2 and text.count("<!--") == 1
    found = DATA.search(text)
    assert found is not None and json.loads(found[1])["label"] == hostile
    text.encode()


def test_the_command_writes_a_page_that_asks_no_network(tmp_path: Path) -> None:
    file = tmp_path / "graph.html"
    assert main(["graph", "single-voter", "--format", "html", "-o", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "default-src 'none'" in text and not re.findall(r"(?:src|href)\s*=\s*[\"']?https?:", text)
    found = DATA.search(text)
    assert found is not None
    nodes = json.loads(found[1])["nodes"]
    assert len(nodes) == 6 and all(node["path"] for node in nodes)
