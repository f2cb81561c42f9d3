"""Relative epochs: the states that stand for others behave like them, and cycles are real ones."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.checking.run import check
from kraftcheck.engine.graph import Graph, collect_graph
from kraftcheck.engine.representatives import real_path
from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log, Snapshot, SnapshotId
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.rebuilding import changed as with_numbers
from kraftcheck.systems.kraft.relative import Relative, relative_epochs
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import shipped
from kraftcheck.traces import build_lasso, with_room
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.program import source
from kraftcheck.traces.replay import replay
from tests.systems.kraft.small import alone, changed

#: Of every kind of scenario that goes with relative epochs one.
SCENARIOS = (
    "flip-flop-before-kip-996",
    "flip-flop",
    "split-votes",
    "five-voters-stable",
    "append-is-answered",
    "superseded-leader",
    "mixed-versions-elect",
    "resign-and-hand-over",
    "divergence-by-offset",
    "zombie-leader",
)


@cache
def unbounded(name: str) -> tuple[KRaftSystem, Relative]:
    """The system of a scenario without a bound on epochs, and what stands for its states."""
    system = build(shipped()[name]).unjudged().bounded(1000)
    return system, relative_epochs(system)


def successors(system: KRaftSystem, represent: Relative, state: GlobalState) -> list[tuple[Any, ...]]:
    """The possible actions in ``state``, with their components and the representatives of their targets."""
    return sorted(
        (
            step.path.kind,
            step.path.component,
            "" if step.outcome is None else repr(step.outcome.action),
            repr(represent(step.target)),
        )
        for step in steps(system, state)
        if step.cut is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 150))
def test_representatives_take_the_same_steps(name: str, seed: int, length: int) -> None:
    system, represent = unbounded(name)
    chosen = random.Random(seed)
    state = initial_states(system)[0]
    for number in range(length):
        possible = [step.target for step in steps(system, state) if step.cut is None]
        if not possible:
            break
        state = chosen.choice(possible)
        if number >= length - 3:
            stands = represent(state)
            assert represent(stands) == stands
            assert successors(system, represent, stands) == successors(system, represent, state)


@pytest.mark.slow
def test_the_graph_is_that_of_the_naive_search() -> None:
    scenario = changed("leader-always-recoverable", bounds__max_epoch=2, check__goals=[])
    system = build(scenario, absorbs=True).unjudged()
    represent = relative_epochs(system)
    first = represent(initial_states(system)[0])
    known, todo, edges = {first}, [first], set()
    while todo:
        state = todo.pop()
        for step in steps(system, state):
            if step.cut is None:
                target = represent(step.target)
                edges.add((state, target, step.path, step.target != state))
                if target not in known:
                    known.add(target)
                    todo.append(target)
    graph = collect_graph(system, represent=represent)
    assert {graph.state(number) for number in range(graph.size)} == known
    assert graph.size == len(known)
    assert set(edges_of(graph)) == edges


def edges_of(graph: Graph) -> list[tuple[GlobalState, GlobalState, PathStep, bool]]:
    columns = (graph.sources, graph.targets, graph.labels, graph.moving)
    return [
        (graph.state(source), graph.state(target), graph.label_values[label][0], moving)
        for source, target, label, moving in zip(*(each.tolist() for each in columns), strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flip-flop-before-kip-996", "split-votes"])
def test_a_cycle_in_which_epochs_grow_is_real(name: str) -> None:
    """Its trace replays; and the cycle can be gone round again."""
    result = check(shipped()[name])
    (trace,) = result.traces()
    assert trace.loop is not None and len(trace.steps) > trace.loop
    assert replay(trace) is None
    assert loads(dumps(trace)) == trace
    exec(compile(source(trace), name, "exec"), program := dict[str, Any]())
    next(value for key, value in program.items() if key.startswith("test_"))()
    lasso = result.judged[0].lasso
    assert lasso is not None
    system, represent = unbounded(name)
    real = initial_states(system)[lasso.initial]
    visited = [real]
    for wanted in lasso.stem + lasso.cycle:
        real = next(step.target for step in steps(system, real) if step.path == wanted)
        visited.append(real)
    begin, cycle = visited[len(lasso.stem)], visited[len(lasso.stem) :]
    assert begin != real and represent(begin) == represent(real)
    assert epochs(real) > epochs(begin)
    stem = [represent(state) for state in visited]
    stands = [represent(state) for state in cycle]
    path = shown(system, stem + stands[1:] * 2)
    again = real_path(system, represent, lasso.initial, stem + stands[1:] * 2, path)
    assert len(again) == len(lasso.stem) + 3 * len(lasso.cycle)


def shown(system: KRaftSystem, states: list[GlobalState]) -> list[PathStep]:
    """A step of each of ``states`` to one that the next of them stands for."""
    represent = relative_epochs(system)
    return [
        next(step.path for step in steps(system, one) if represent(step.target) == other)
        for one, other in pairwise(states)
    ]


def epochs(state: GlobalState) -> list[int]:
    replicas = [cast(Node, local).replica for local in state.locals]
    return [replica.epoch for replica in replicas if replica is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states"), [("flip-flop", 80), ("five-voters-stable", 900), ("leader-always-recoverable", 748)]
)
def test_what_holds_for_any_number_of_elections(name: str, states: int) -> None:
    """No step leads beyond the bounds, and a larger bound finds no more states."""
    for larger in (0, 2):
        bound = shipped()[name].bounds.max_epoch + larger
        (judged,) = check(changed(name, bounds__max_epoch=bound)).judged
        assert judged.holds and judged.closed
        assert (judged.open_states, judged.states) == (0, states)


@pytest.mark.slow
def test_a_trace_that_needs_a_larger_bound_has_it() -> None:
    scenario = shipped()["split-votes"]
    (judged,) = check(scenario).judged
    assert judged.lasso is not None
    path = judged.lasso.stem + judged.lasso.cycle
    low = changed("split-votes", bounds__max_epoch=1)
    system, roomy = with_room(build(low), low, path)
    assert roomy.bounds.max_epoch == system.bounds.max_epoch > 1
    trace = build_lasso(system, roomy, judged.name, judged.lasso.stem, judged.lasso.cycle)
    assert replay(trace) is None


def test_a_wrong_representative_is_found_out() -> None:
    system, represent = unbounded("split-votes")
    first = represent(initial_states(system)[0])
    step = next(each for each in steps(system, first) if each.target != first)
    with pytest.raises(ValueError, match="no real state does"):
        real_path(system, lambda state: first, 0, [first, step.target], [step.path])


@pytest.mark.slow
def test_states_that_are_not_alike_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that are left out cannot arrive."""
    right = Relative.__call__

    def wrong(self: Relative, state: GlobalState) -> GlobalState:
        found = right(self, state)
        return GlobalState(found.locals, found.messages[:1], found.history, found.budgets)

    monkeypatch.setattr(Relative, "__call__", wrong)
    with pytest.raises(InputError, match="do not behave alike"):
        check(shipped()["split-votes"])


@pytest.mark.slow
def test_who_loses_records_in_a_crash_may_get_them_again_one_by_one() -> None:
    """An observer that has not flushed its log may come to lack a part of it: no batch can be left out."""
    wanted = {"property": "LeaderEventuallyElected", "goal": "a-leader"}
    scenario = alone(
        replicas={"voters": [1], "observers": [2]},
        network={"capacity": 8, "forgotten": "lost"},
        environment={"discovery": True},
        budgets={"crashes": 1, "appends": 1},
        bounds={"max-epoch": 2},
        reduction={"epochs": "relative"},
        check={"only": ["NoFatal"], "eventually": [wanted]},
    )
    (judged,) = check(scenario).judged
    assert judged.holds and judged.closed


@pytest.mark.slow
@pytest.mark.parametrize("part", ["goal", "when"])
def test_a_goal_that_names_an_epoch_is_refused(part: str) -> None:
    """The epochs of later leaders become 1 again: each would be the leader of epoch 1 that never leaves."""
    goal = {"goal": "no-leader-of-epoch-1", "property": "LeaderWithoutMajorityStepsDown"}
    when = {"goal": "a-leader", "property": "LeaderEventuallyElected"}
    when |= {"form": "leads-to", "when": "no-leader-of-epoch-1"}
    wanted = [goal if part == "goal" else when]
    with pytest.raises(InputError, match="names one"):
        build(changed("split-votes", check__eventually=wanted))
    assert check(changed("split-votes", check__eventually=wanted, reduction__epochs="absolute")).judged


def test_what_no_state_has_is_refused() -> None:
    begun_later = replace(Log(), start_offset=1)
    absent = (Snapshot(SnapshotId(1, 1)), ReplicaKey(1, "d1"), begun_later, Origin(VoterSet(), 0))
    for value in absent:
        with pytest.raises(TypeError, match="no state has one where epochs are relative"):
            with_numbers(value, lambda meaning, number: number)
