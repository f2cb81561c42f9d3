"""State graphs: against the reference explorer's, projected, and in all formats."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any, cast

import networkx as nx
import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.system import System
from kraftcheck.engine.witness import Witnessing
from kraftcheck.graphs.picture import as_dot, as_svg
from kraftcheck.graphs.projection import FIELDS, Projection, parse_condition, parse_projection
from kraftcheck.graphs.states import States, collect_states, merged, projected, state_graph
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import find, from_data
from kraftcheck.traces.words import node_fields
from tests.engine.replayed import naive_graph
from tests.traces.trace_samples import POWER_LOSS

PROJECTIONS = ("role-epoch", "role,epoch", "leader,high-watermark,end-offset", "role.1,messages", "messages")


def collected(name: str) -> States:
    system = build(from_data(POWER_LOSS, "power-loss") if name == "power-loss" else find(name))
    return collect_states(system, 5000)


def ids(system: KRaftSystem) -> list[int]:
    return [identity.id for identity in system.identities]


@pytest.mark.slow
@pytest.mark.parametrize("name", ("power-loss", "single-voter", "scenario-a-granting-by-log"))
def test_the_graph_is_the_naive_one(name: str) -> None:
    states = collected(name)
    found = state_graph(states)
    naive, edges = naive_graph(cast(System, Witnessing(states.system)))
    assert found.number_of_nodes() == len(naive)
    assert Counter(action for _, _, action in found.edges(data="action")) == Counter(
        f"loss of {step.message}" if action == "lose" else str(action) for _, _, step, action in edges
    )


def test_states_after_violating_steps_are_marked_and_lead_nowhere() -> None:
    graph = state_graph(collected("scenario-a-granting-by-log"))
    violating = [node for node, violates in graph.nodes(data="violates") if violates]
    assert violating
    assert all(graph.out_degree(node) == 0 for node in violating)
    assert {graph.nodes[node]["violates"] for node in violating} == {"ReturningReplicaDeposesNobody"}


@pytest.mark.parametrize("text", PROJECTIONS)
def test_folding_loses_no_state_and_no_step(text: str) -> None:
    states = collected("single-voter")
    projection = parse_projection(text, ids(states.system), "--project")
    whole = state_graph(states, projection)
    found = projected(whole, text)
    labels = Counter(label for _, label in whole.nodes(data="label"))
    assert {label: count for _, (label, count) in _seen(found).items()} == labels
    assert sum(count for _, count in found.nodes(data="states")) == whole.number_of_nodes()
    steps = sum(count for _, _, count in found.edges(data="steps"))
    assert steps + sum(count for _, count in found.nodes(data="internal")) == whole.number_of_edges()
    simple = merged(found)
    assert sum(count for _, _, count in simple.edges(data="steps")) == steps
    assert all(sum(actions.values()) == count for _, _, actions, count in (
        (one, other, data["actions"], data["steps"]) for one, other, data in simple.edges(data=True)
    ))  # fmt: skip


def _seen(found: nx.MultiDiGraph) -> dict[int, tuple[str, int]]:
    return {node: (data["label"], data["states"]) for node, data in found.nodes(data=True)}


def test_a_projection_shows_what_is_asked_for() -> None:
    states = collected("scenario-a")
    found = states.label(0, Projection((("role", None), ("leader", 2), ("high-watermark", None))))
    assert found.startswith("1 Leader hw=") and ", 2 Follower leader=1 hw=" in found
    assert states.label(0, Projection(())) == "all states"


def test_all_fields_of_replicas_can_be_asked_for() -> None:
    """Traces and projections have the same names for the fields of replicas."""
    for name in ("scenario-a", "single-voter", "ping-pong"):
        states = collected(name)
        for number in range(0, states.graph.size, 7):
            for node in states.graph.state(number).locals:
                assert {field.replace(" ", "-") for field in node_fields(node)} <= {  # type: ignore[arg-type]
                    *FIELDS, "leader-endpoints", "next-correlation",
                }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "text", "says"),
    (
        ("--project", "nonsense", "no field"),
        ("--project", "role.9", "no replica"),
        ("--project", "messages.1", "no replica"),
        ("--project", "", "no field"),
        ("--project", "role.", "no replica"),
        ("--to", "role", "says nothing"),
        ("--to", "role=", "says nothing"),
        ("--to", "x=1", "no field"),
        ("--to", "violated=Nonsense", "not judged"),
    ),
)
def test_bad_projections_and_conditions_are_refused(option: str, text: str, says: str) -> None:
    system = build(find("scenario-a"))
    with pytest.raises(InputError, match=f"{option}.*{says}"):
        if option == "--to":
            parse_condition(text, system, option)
        else:
            parse_projection(text, system.places, option)


def test_what_is_never_so_is_said(capsys: Any) -> None:
    command = ["graph", "scenario-a", "--to", "role.1=Boss,epoch.2=1"]
    assert main(command) == 1
    out = capsys.readouterr().out
    assert "No such path" in out and "role.1 is never Boss; seen: Leader" in out and "epoch" not in out
    assert main([*command, "--format", "json"]) == 1
    (never,) = json.loads(capsys.readouterr().out)["never"]
    assert (never["field"], never["asked"]) == ("role.1", "Boss") and "Leader" in never["seen"]


def test_values_with_commas() -> None:
    condition = parse_condition("log.1=1@1,1@2,role=Leader,epoch=2", build(find("scenario-a")), "--to")
    assert condition.wanted == (("log", 1, "1@1,1@2"), ("role", None, "Leader"), ("epoch", None, "2"))


def test_a_picture_of_single_states_is_refused_before_it_is_drawn(capsys: Any) -> None:
    assert main(["graph", "single-voter", "--project", "none", "--format", "svg"]) == 2
    said = capsys.readouterr().err
    assert "495 boxes are more than a reader can follow" in said and "on fewer fields" in said


@pytest.mark.parametrize("how", ("none", "role-epoch", "role,high-watermark"))
def test_formats(how: str, tmp_path: Path, capsys: Any) -> None:
    command = ["graph", "finding-single-voter-power-loss", "--project", how, "--format"]
    assert main([*command, "json"]) == 0
    read = nx.node_link_graph(json.loads(capsys.readouterr().out), edges="edges")
    file = tmp_path / "graph.xml"
    assert main([*command, "graphml", "-o", str(file)]) == 0
    assert f"{read.number_of_nodes()} nodes" in capsys.readouterr().out
    assert ET.parse(file).getroot().tag.endswith("graphml")
    assert nx.read_graphml(file).number_of_edges() == read.number_of_edges()
    assert main([*command, "dot"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("digraph ") and text.count(" -> ") == merged(read).number_of_edges()
    assert text.count("class=violating") == sum(bool(bad) for _, bad in read.nodes(data="violates"))
    assert "peripheries=2" in text
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_refusals(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "graph.xml"
    assert main(["graph", "single-voter", "--max-states", "2", "-o", str(file)]) == 3
    assert "more states than the 2 allowed" in capsys.readouterr().err
    assert not file.exists()
    assert main(["graph", "scenario-a", "-o", str(tmp_path / "no" / "such" / "place")]) == 2
    assert main(["graph", "scenario-a", "--max-states", "0"]) == 2


def hostile() -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph(name='"]; evil', projection="none", states=1)
    graph.add_node(0, label='1 Leader "<e1>" \\', in_flight=0, initial=True, violates="")
    graph.add_edge(0, 0, action='a<b "]; x -> y [label="\x1b&lt;\\N\n')
    return graph


def test_dot_escapes_what_it_shows() -> None:
    lines = as_dot(hostile()).splitlines()
    assert lines[0] == r'digraph "\"]; evil" {'
    assert r'>1 Leader "&lt;e1&gt;" \</font><br/><font color="black">0 in flight</font>>' in lines[4]
    assert lines[5] == r'  0 -> 0 [label="a<b \"]; x -> y [label=\"?&amp;lt;\\N?"];'
    assert lines[6:] == ["}"]


@pytest.mark.parametrize(
    ("script", "says"),
    ((None, "'dot' is not on the path; install"), ("echo broken >&2; exit 1", r"fails \(broken\)")),
)
def test_svg_says_what_is_wrong_with_dot(
    script: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dot(script, tmp_path, monkeypatch)
    with pytest.raises(InputError, match=says):
        as_svg(hostile())


def test_svg_is_what_dot_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    fake_dot('test "$1" = -Tsvg && cat', tmp_path, monkeypatch)
    command = ["graph", "single-voter", "--format"]
    assert (main([*command, "svg"]), main([*command, "dot"])) == (0, 0)
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]


def fake_dot(script: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program ``dot`` that runs ``script`` on the path, or none."""
    if script is not None:
        (folder / "dot").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n", encoding="utf-8")
        (folder / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
