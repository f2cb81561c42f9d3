"""Questions to state graphs, against networkx and against definitions that are tried out."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.engine.graph import Graph
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.graphs.projection import Projection, parse_condition
from kraftcheck.graphs.queries import Queries, initial, where
from kraftcheck.graphs.states import States, collect_states
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.scenario import find

SIZE, NAMES = 8, 4


class Numbered(Projection):
    """Shows of a state that is a number whether it is odd."""

    def label(self, system: Any, state: GlobalState) -> str:
        return str(state.budgets[0] % 3)


NUMBERED = Numbered(())
edges = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), st.integers(0, NAMES - 1)), max_size=20
)


def graph_of(steps: list[tuple[int, int, int]]) -> States:
    """A graph on numbers; state 0 is initial, steps called "3" are faults."""
    sources, targets, labels = (np.array([each[i] for each in steps], np.int32) for i in range(3))
    graph = Graph(
        SIZE, (0,), (0,), sources, targets, labels,
        tuple((PathStep("act", 0, None, name), str(name)) for name in range(NAMES)),
        lambda number: GlobalState((), (), None, (number,)),
    )  # fmt: skip
    names = tuple(map(str, range(NAMES)))
    return States(None, graph, {}, names, ((), (), (), ("crashes",)))  # type: ignore[arg-type]


def mask(*numbers: int) -> Any:
    found = np.zeros(SIZE, np.bool_)
    found[list(numbers)] = True
    return found


def as_networkx(steps: list[tuple[int, int, int]], without: str | None = None) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(SIZE))
    graph.add_edges_from((one, other) for one, other, name in steps if str(name) != without)
    return graph


def reaches(graph: nx.DiGraph, begin: int, ends: set[int]) -> bool:
    return begin in graph and bool((nx.descendants(graph, begin) | {begin}) & ends)


@pytest.mark.slow
@given(edges, st.sets(st.integers(0, SIZE - 1), min_size=1), st.sets(st.integers(0, SIZE - 1), min_size=1))
def test_shortest_ways(steps: list[tuple[int, int, int]], begin: set[int], end: set[int]) -> None:
    way = Queries(graph_of(steps)).shortest(mask(*begin), mask(*end))
    graph = as_networkx(steps)
    lengths = [
        nx.shortest_path_length(graph, one, other)
        for one in begin
        for other in end
        if nx.has_path(graph, one, other)
    ]
    if way is None:
        assert not lengths
        return
    assert len(way.labels) == min(lengths)
    assert way.states[0] in begin and way.states[-1] in end
    taken = zip(way.states, way.states[1:], way.labels, strict=False)
    assert all(step in steps for step in taken)


@pytest.mark.slow
@given(edges, st.sets(st.integers(1, SIZE - 1), min_size=1))
def test_what_every_way_shares(steps: list[tuple[int, int, int]], end: set[int]) -> None:
    found = Queries(graph_of(steps)).shared(mask(*end), NUMBERED)
    graph = as_networkx(steps)
    if found is None:
        assert not reaches(graph, 0, end)
        return
    for name in map(str, range(NAMES)):
        assert (name in found.steps) != reaches(as_networkx(steps, name), 0, end)
    for label in range(3):
        left = as_networkx(steps)
        left.remove_nodes_from([number for number in range(SIZE) if number % 3 == label])
        assert (str(label) in found.labels) != reaches(left, 0, end)
    for number in range(SIZE):
        left = as_networkx(steps)
        left.remove_node(number)
        assert (number in found.states) != reaches(left, 0, end)


@given(edges)
def test_what_is_there_only_after_a_fault(steps: list[tuple[int, int, int]]) -> None:
    found = {each.label: each for each in Queries(graph_of(steps)).after_faults(NUMBERED)}
    whole, spared = as_networkx(steps), as_networkx(steps, "3")
    everything = nx.descendants(whole, 0) | {0}
    without = {number % 3 for number in nx.descendants(spared, 0) | {0}}
    expected = {str(number % 3) for number in everything} - {str(each) for each in without}
    assert set(found) == expected
    for each in found.values():
        assert each.faults
        assert each.steps == nx.shortest_path_length(whole, 0, each.first)


def test_a_way_in_a_scenario(capsys: Any) -> None:
    question = ["graph", "scenario-a-granting-by-log", "--to", "violated", "--format", "json"]
    assert main(question) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["steps"]) == 5 and data["violates"] == ["ReturningReplicaDeposesNobody"]
    assert main(["trace", "show", "scenario-a-granting-by-log", "--path", data["path"]]) == 0
    assert "Violated: ReturningReplicaDeposesNobody" in capsys.readouterr().out


def test_a_way_from_somewhere_is_told_from_the_beginning(capsys: Any) -> None:
    ends = ["--from", "role.1=Leader,epoch.1=1", "--to", "role.1=Leader,epoch.1=2"]
    assert main(["graph", "single-voter", *ends]) == 0
    text = capsys.readouterr().out
    assert "(after 1 step)" in text and text.count("\n  ") >= 1
    path = text.rsplit("--path ", 1)[1].strip()
    assert path.count(",") == 1
    assert main(["trace", "show", "single-voter", "--path", path]) == 0


def test_conditions_on_some_replica() -> None:
    system = build(find("scenario-a"))
    states = collect_states(system, 5000)
    some = where(states, parse_condition("role=Leader,epoch=1", system, "--to"))
    assert some[0] and initial(states)[0]
    each = [where(states, parse_condition(f"role.{n}=Leader,epoch.{n}=1", system, "--to")) for n in (1, 2, 3)]
    assert (some == np.logical_or.reduce(each)).all()
    assert not where(states, parse_condition("role=Leader,epoch=7", system, "--to")).any()
    messages = where(states, parse_condition("messages=1", system, "--to"))
    assert messages.sum() == sum(len(states.graph.state(n).messages) == 1 for n in range(states.graph.size))


@pytest.mark.slow
def test_answers_in_words(capsys: Any) -> None:
    assert main(["graph", "scenario-a-granting-by-log", "--shared", "violated"]) == 0
    assert "  timer at 2 (fetch)\n" in capsys.readouterr().out
    assert main(["graph", "single-voter", "--after-faults"]) == 0
    assert "1 Leader e2, 2 Unattached e0: " in capsys.readouterr().out
    assert main(["graph", "scenario-a", "--after-faults"]) == 1
    assert main(["graph", "scenario-a", "--to", "violated"]) == 1
    assert "No such path" in capsys.readouterr().out
    assert main(["graph", "scenario-a", "--shared", "violated"]) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    (
        (["--to", "role"], "says nothing"),
        (["--from", "violated"], "--to"),
        (["--to", "violated", "--format", "dot"], "text or json"),
        (["--to", "violated", "--project", "none"], "by fields"),
        (["--to", "violated", "--shared", "violated"], "not allowed"),
        (["--project", "nonsense"], "no field"),
    ),
)
def test_bad_questions(options: list[str], says: str, capsys: Any) -> None:
    assert main(["graph", "scenario-a", *options]) == 2
    assert says in capsys.readouterr().err
