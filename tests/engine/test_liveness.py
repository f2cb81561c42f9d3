"""*Eventually* properties: known answers, and random graphs against brute force."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine import cycles
from kraftcheck.engine.fairness import ANY_STEP, Fairness, Lasso, Strength
from kraftcheck.engine.graph import Graph, collect_graph
from kraftcheck.engine.liveness import Waiting, lassos, out_of_reach
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import GlobalState, PathStep
from tests.engine.components import by_networkx
from tests.engine.handmade import BadMutex, LossyPing, Ring
from tests.engine.random_systems import RandomSystem, random_system, systems
from tests.engine.replayed import naive_graph
from tests.examples import examples

Edge = tuple[int, int, int]
#: A graph, a strategy for one of its states, and goals.
Drawn = tuple[Graph, st.SearchStrategy[int], set[int]]


def graph_of(size: int, edges: list[Edge], initial: tuple[int, ...] = (0,)) -> Graph:
    """A graph with edges (source, target, label) and labels 0 to 2."""
    table = np.array(sorted(set(edges)), np.int32).reshape(-1, 3)
    return Graph(
        size, initial, initial, table[:, 0], table[:, 1], table[:, 2],
        tuple((PathStep("act", label, None, 0), label) for label in range(3)),
        lambda number: GlobalState((number,), (), 0, ()),
    )  # fmt: skip


def edges_of(graph: Graph) -> list[Edge]:
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), graph.labels.tolist(), strict=True))


def as_networkx(size: int, pairs: Iterable[tuple[int, int]]) -> nx.DiGraph:
    graph = nx.DiGraph(list(pairs))
    graph.add_nodes_from(range(size))
    return graph


@st.composite
def graphs(draw: st.DrawFn, goals: int = 2) -> Drawn:
    """A graph of at most six states, a strategy for one of them, and at most so many of them as goals."""
    size = draw(st.integers(1, 6))
    node = st.integers(0, size - 1)
    graph = graph_of(size, draw(st.lists(st.tuples(node, node, st.integers(0, 2)), max_size=14)))
    return graph, node, draw(st.sets(node, max_size=goals))


def fair(label: int, strength: Strength) -> Fairness:
    return Fairness(f"{strength.value} {label}", strength, lambda step, action: action == label)


def fairness_of(labels: tuple[int, int], most: int) -> st.SearchStrategy[list[Fairness]]:
    """At most so many classes of steps with one of the labels from the first to the last."""
    return st.lists(st.builds(fair, st.integers(*labels), st.sampled_from(Strength)), max_size=most)


def among(numbers: set[int]) -> Callable[[GlobalState], bool]:
    """Whether the number of a state is one of ``numbers``."""
    return lambda state: state.locals[0] in numbers


def check_eventually(graph: Graph, goals: set[int], *wanted: Any, **more: Any) -> Lasso | None:
    """The first lasso that avoids ``goals``."""
    return next(lassos(graph, among(goals), *wanted, **more), None)


def satisfied(graph: Graph, cycle: set[int], taken: set[Hashable], fairness: list[Fairness]) -> bool:
    """Whether going round all of ``cycle``, taking the actions ``taken``, is fair."""
    moving = [e for e in edges_of(graph) if e[0] != e[1]]
    for each in fairness:
        able = {s for s, _, label in moving if each.matches(*graph.label_values[label])}
        if any(each.matches(PathStep("act", 0, None, 0), action) for action in taken):
            continue
        if (each.strength is Strength.STRONG and able & cycle) or cycle <= able:
            return False
    return True


def brute_force(graph: Graph, goals: set[int], starts: set[int], fairness: list[Fairness]) -> int | None:
    """The length of the shortest stem from ``starts`` to a fair cycle without goals, or ``None``."""
    edges = [(s, t, label) for s, t, label in edges_of(graph) if s != t and not {s, t} & goals]
    free = as_networkx(graph.size, ((s, t) for s, t, _ in edges))
    free.remove_nodes_from(goals)
    best: int | None = None
    for count in range(1, len(free) + 1):
        for chosen in combinations(free, count):
            cycle = set(chosen)
            if not nx.is_strongly_connected(free.subgraph(chosen)):
                continue
            taken: set[Hashable] = {label for s, t, label in edges if s in cycle and t in cycle}
            if not satisfied(graph, cycle, taken, fairness):
                continue
            for start in starts - goals:
                for end in cycle:
                    if nx.has_path(free, start, end):
                        length = nx.shortest_path_length(free, start, end)
                        best = length if best is None else min(best, length)
    return best


def shortest_cycle(graph: Graph, end: int, goals: set[int], fairness: list[Fairness]) -> int | None:
    """The length of the shortest fair cycle of steps from ``end`` that avoids ``goals``."""
    edges = [(s, t, label) for s, t, label in edges_of(graph) if s != t and t not in goals]
    seen = level = {(end, frozenset({end}), frozenset[int]())}
    length = 0
    while level:
        length += 1
        level = {
            (t, visited | {t}, taken | {label})
            for at, visited, taken in level
            for s, t, label in edges
            if s == at
        } - seen
        seen = seen | level
        for at, visited, taken in level:
            if at == end and satisfied(graph, set(visited), set(taken), fairness):
                return length
    return None


def check_lasso(graph: Graph, lasso: Lasso, goals: set[int], fairness: list[Fairness]) -> None:
    """Whether ``lasso`` is a real and fair path of the graph that avoids the goal after its ``when``."""
    steps = lasso.stem + lasso.cycle
    real = edges_of(graph)
    assert len(lasso.states) == len(steps) + 1
    for index, step in enumerate(steps):
        assert (lasso.states[index], lasso.states[index + 1], step.component) in real
    cycle = lasso.states[len(lasso.stem) :]
    assert cycle[0] == cycle[-1]
    assert not goals & set(cycle)
    assert satisfied(graph, set(cycle), {step.component for step in lasso.cycle}, fairness)


@pytest.mark.slow
@examples(200)
@given(graphs(), fairness_of((0, 2), 3))
def test_against_brute_force(drawn: Drawn, fairness: list[Fairness]) -> None:
    graph, _, goals = drawn
    lasso = check_eventually(graph, goals, fairness)
    expected = brute_force(graph, goals, {0}, fairness)
    assert (None if lasso is None else len(lasso.stem)) == expected
    with patch.object(cycles, "strong_components", by_networkx):
        assert check_eventually(graph, goals, fairness) == lasso
    if lasso is not None:
        check_lasso(graph, lasso, goals, fairness)
        assert not goals & set(lasso.states)
        end = lasso.states[len(lasso.stem)]
        if lasso.cycle:
            assert len(lasso.cycle) == shortest_cycle(graph, end, goals, fairness)
        with patch.object(cycles, "MOST_PAIRS", 0):
            longer = check_eventually(graph, goals, fairness)
        assert longer is not None and len(longer.cycle) >= len(lasso.cycle)
        check_lasso(graph, longer, goals, fairness)


@pytest.mark.slow
@examples(100)
@given(graphs(goals=1), fairness_of((0, 2), 2))
def test_one_lasso_of_each_component(drawn: Drawn, fairness: list[Fairness]) -> None:
    graph, _, goals = drawn
    found = list(lassos(graph, among(goals), fairness))
    first = check_eventually(graph, goals, fairness)
    assert found[:1] == ([] if first is None else [first])
    for lasso in found:
        check_lasso(graph, lasso, goals, fairness)
    assert [len(each.stem) for each in found[1:]] == sorted(len(each.stem) for each in found[1:])
    cycles = [set(each.states[len(each.stem) :]) for each in found]
    assert sum(map(len, cycles)) == len(set().union(*cycles))
    free = as_networkx(graph.size, ((s, t) for s, t, _ in edges_of(graph)))
    free.remove_nodes_from(goals)
    for component in nx.strongly_connected_components(free):
        kept = goals | (set(range(graph.size)) - component)
        there = component & ({0} | nx.descendants(free, 0)) if 0 in free else set()
        expected = bool(there) and brute_force(graph, kept, component, fairness) is not None
        assert any(cycle <= component for cycle in cycles) == expected


@pytest.mark.slow
@examples(50)
@given(graphs(), st.data())
def test_leads_to_against_brute_force(drawn: Drawn, data: st.DataObject) -> None:
    graph, node, goals = drawn
    origins = data.draw(st.sets(node, max_size=3))
    fairness = [fair(0, Strength.WEAK), fair(1, Strength.STRONG)]
    when = np.array([each in origins for each in range(graph.size)], bool)
    lasso = check_eventually(graph, goals, fairness, when=when)
    whole = as_networkx(graph.size, ((s, t) for s, t, _ in edges_of(graph)))
    starts = origins & ({0} | nx.descendants(whole, 0))
    assert (lasso is None) == (brute_force(graph, goals, starts, fairness) is None)
    if lasso is not None:
        check_lasso(graph, lasso, goals, fairness)
        assert origins & set(lasso.states)


@pytest.mark.slow
@examples(50)
@given(graphs(), fairness_of((1, 2), 3))
def test_an_end_against_brute_force(drawn: Drawn, fairness: list[Fairness]) -> None:
    """Steps 0 are taken for ever by a fair behaviour exactly if they are where that is a demand on them."""
    graph, _, outside = drawn
    lasso = check_eventually(graph, outside, fairness, through=graph.labels == 0)
    edges = edges_of(graph)
    free = nx.DiGraph([(s, t) for s, t, _ in edges if s != t and not {s, t} & outside])
    expected = False
    for count in range(2, len(free) + 1):
        for chosen in combinations(free, count):
            inner = {label for s, t, label in edges if s != t and {s, t} <= set(chosen)}
            reached = 0 in free and any(nx.has_path(free, 0, each) for each in chosen)
            expected |= (
                reached
                and 0 in inner
                and nx.is_strongly_connected(free.subgraph(chosen))
                and satisfied(graph, set(chosen), set(inner), fairness)
            )
    assert (lasso is not None) == expected
    if lasso is not None:
        check_lasso(graph, lasso, outside, fairness)
        assert any(step.component == 0 for step in lasso.cycle)


@pytest.mark.slow
@examples(60)
@given(st.data())
def test_components_by_arrays_are_those_of_networkx(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    node = st.integers(0, size - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=60))
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    expected = by_networkx(size, ends[:, 0], ends[:, 1])
    found = cycles.strong_components(size, ends[:, 0], ends[:, 1])
    renumbered = set(zip(expected.tolist(), found.tolist(), strict=True))
    assert len(renumbered) == len(set(expected.tolist())) == len(set(found.tolist()))
    assert min(found) == 0


def test_known_answers() -> None:
    # 0 → 1 by label 0; 0 ⇄ 2 by label 1: going to and fro for ever enables label 0 again and again.
    graph = graph_of(3, [(0, 1, 0), (0, 2, 1), (2, 0, 1)])
    to_and_fro = fair(1, Strength.WEAK)
    assert check_eventually(graph, {1}) is not None
    weak = check_eventually(graph, {1}, [fair(0, Strength.WEAK), to_and_fro])
    assert weak is not None and len(weak.cycle) == 2
    assert check_eventually(graph, {1}, [fair(0, Strength.STRONG), to_and_fro]) is None


def test_the_ring_goes_round() -> None:
    graph = collect_graph(Ring(4))
    moves = Fairness("pass", Strength.WEAK, lambda step, action: action == "pass")
    assert not list(lassos(graph, lambda state: state.locals == (2,) * 4, [moves]))
    lasso = check_eventually(graph, {3}, [moves])
    assert lasso is not None and (len(lasso.stem), len(lasso.cycle)) == (8, 4)


@pytest.mark.slow
def test_collected_graph_equals_the_oracles() -> None:
    for system in (LossyPing(), BadMutex(), *map(random_system, range(60))):
        graph = collect_graph(system, threads=2)
        if graph.size > 1_000:
            continue
        states, expected = naive_graph(system)
        found = [
            (graph.state(s), graph.state(t), graph.label_values[label][0]) for s, t, label in edges_of(graph)
        ]
        assert len(found) == len(set(found))
        assert set(found) == {(source, target, step) for source, target, step, _ in expected}
        assert graph.size == len(states)


@examples(50)
@given(graphs(), st.just({0, 1, 2}) | st.sets(st.integers(0, 2)))
def test_out_of_reach_against_networkx(drawn: Drawn, asked: set[int]) -> None:
    graph, _, goals = drawn
    whole = as_networkx(graph.size, ((s, t) for s, t, _ in edges_of(graph)))
    promised = as_networkx(graph.size, ((s, t) for s, t, label in edges_of(graph) if label in asked))
    mask = np.array([each in goals for each in range(graph.size)], bool)
    classes = [ANY_STEP] if len(asked) == 3 else [fair(label, Strength.STRONG) for label in asked]
    lost = out_of_reach(graph, mask, classes)
    assert lost.tolist() == [
        not goals & ({each} | nx.descendants(promised, each)) for each in range(graph.size)
    ]
    lengths = nx.single_source_shortest_path_length(whole, 0)
    reachable = [lengths[each] for each in range(graph.size) if lost[each] and each in lengths]
    if reachable:
        found = Waiting(graph, np.zeros(graph.size, bool)).shortest(lost)
        assert found is not None and len(found.stem) == min(reachable)


@pytest.mark.slow
@examples(40)
@given(systems())
def test_initial_states_that_one_stands_for(system: RandomSystem) -> None:
    def represent(state: GlobalState) -> GlobalState:
        return replace(state, history=0)

    graph, given_states = collect_graph(system, represent=represent), initial_states(system)
    begun = [graph.state(each) for each in graph.initial]
    assert len(set(begun)) == len(begun)
    assert begun == [represent(given_states[index]) for index in graph.initial_indices]
    assert set(begun) == set(map(represent, given_states))


def test_one_initial_state_stands_for_two() -> None:
    """A system in which what is found next would be taken for an initial state."""
    graph = collect_graph(random_system(9), represent=lambda state: replace(state, history=0))
    assert graph.exploration is not None
    assert len(graph.initial) == graph.exploration.levels[0] < len(initial_states(random_system(9)))
