"""*Eventually* properties at the bounds: nothing holds because of what lies beyond them."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine import cycles
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.system import GlobalState, Limits
from kraftcheck.engine.watch import IncompleteGraphError
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Value, append
from kraftcheck.reference.replica import Follower, Leader, Prospective, Replica, Resigned
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.wanted import GOALS, settled_states
from kraftcheck.systems.scenario import shipped
from kraftcheck.traces import build_dead_end
from kraftcheck.traces.build import walk
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.program import source
from kraftcheck.traces.replay import replay
from tests.engine.components import by_networkx
from tests.systems.kraft.small import changed


@pytest.mark.slow
def test_a_leader_out_of_reach_is_no_leader() -> None:
    """With a check of membership the voter that has not seen its addition grants no vote."""
    changes = {"voter-membership": "on"}
    result = check(changed("unseen-voter-change", protocol={"set": changes}))
    assert [judged.holds for judged in result.judged] == [False, False]
    assert all(judged.lasso is not None or judged.dead_end is not None for judged in result.judged)


def test_what_is_open_at_the_bound_is_counted() -> None:
    (judged,) = check(shipped()["ping-pong"]).judged
    assert judged.holds
    assert 0 < judged.open_states < judged.states


def test_bounds_without_room_for_an_election_are_refused() -> None:
    with pytest.raises(InputError, match="leaves no room for an election"):
        check(changed("ping-pong", bounds__max_epoch=1, check__goals=[]))


@pytest.mark.slow
def test_a_resignation_takes_two_epochs() -> None:
    """One epoch less, and no state in which the old leader is Resigned is judged."""
    judged = check(changed("shrink-and-restart", bounds__max_epoch=2, check__goals=[])).judged
    assert all(each.holds for each in judged)


def test_nobody_knows_a_high_watermark_without_a_leader() -> None:
    scenario = changed("mutants-high-watermark")
    (state,) = build(scenario).initial_states()
    assert GOALS["high-watermark-known"](state)
    follower = cast(Node, state.locals[1])
    assert not GOALS["high-watermark-known"](replace(state, locals=(follower,)))


def test_a_process_that_does_not_run_counts_by_its_disk() -> None:
    (state,) = build(changed("mutants-high-watermark")).initial_states()
    leader, follower = (cast(Node, local) for local in state.locals)

    def ended(node: Node) -> GlobalState:
        return replace(state, locals=(leader, replace(node, replica=None)))

    assert GOALS["all-caught-up"](state)
    assert not GOALS["high-watermark-known"](ended(follower))


def test_the_trace_to_a_dead_end_replays() -> None:
    scenario = shipped()["unseen-voter-change"]
    system = build(scenario)
    first = next(step for step in walk(system, ()).options() if step.cut is None)
    trace = build_dead_end(system, scenario, "ElectableAfterUnseenVoterChange", [first.path])
    assert trace.dead_end
    assert loads(dumps(trace)) == trace
    assert replay(trace) is None
    assert "assert run.violated == ()" in source(trace)


def test_a_stale_leader_and_an_observer_without_leader_are_no_goal() -> None:
    (state,) = build(changed("superseded-leader")).initial_states()
    old, new, follower, observer = (cast(Node, local) for local in state.locals)

    def holds(*nodes: Node) -> bool:
        return GOALS["no-stale-leader"](replace(state, locals=nodes))

    assert not holds(old, new, follower)
    assert holds(new, follower)
    assert not holds(new, follower, observer)
    assert observer.replica is not None and follower.replica is not None
    led = replace(observer.replica, quorum_state=follower.replica.quorum_state)
    assert holds(new, follower, replace(observer, replica=led))
    unled = replace(led, quorum_state=replace(led.quorum_state, leader=None))
    assert not holds(new, follower, replace(observer, replica=unled))


def test_an_append_waits_until_it_is_committed_or_its_leader_has_left() -> None:
    (state,) = build(changed("mutants-high-watermark")).initial_states()
    leader = cast(Node, state.locals[0])
    assert leader.replica is not None
    log = append(leader.replica.log, Batch(1, 1, (Value(7),)))

    def waits(**changes: Any) -> bool:
        node = replace(leader, replica=replace(cast(Replica, leader.replica), log=log, **changes))
        return not GOALS["no-append-waits"](replace(state, locals=(node,)))

    assert GOALS["no-append-waits"](state)
    assert waits()
    assert not waits(high_watermark=2)
    assert not waits(role=Resigned(()))
    pending = replace(leader.replica, role=replace(cast(Leader, leader.replica.role), pending=((Value(7),),)))
    assert not GOALS["no-append-waits"](replace(state, locals=(replace(leader, replica=pending),)))


def test_a_leadership_is_settled_once_its_follower_has_fetched() -> None:
    """Also where a change would take an epoch beyond the bound."""
    scenario = changed("leadership-settles", bounds__max_epoch=1, check__goals=[])
    system = build(scenario, absorbs=True)
    graph = collect_graph(system)
    settled = settled_states(graph)
    assert settled.any()
    for number, state in enumerate(map(graph.state, range(graph.size))):
        two, three = (cast(Node, local).replica for local in state.locals[1:])
        fetched = three is not None and isinstance(three.role, Follower) and three.role.has_fetched
        assert fetched or not settled[number]
        # A pre-vote that was granted before may still arrive.
        assert settled[number] or two is None or isinstance(two.role, Prospective) or not fetched


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "flip-flop",
        "ping-pong-rejecting-always",
        "superseded-leader",
        "leader-removal-completes",
        # Larger ones of the same kinds.
        pytest.param("unseen-voter-change", marks=pytest.mark.nightly),
        pytest.param("flip-flop-before-kip-996", marks=pytest.mark.nightly),
        pytest.param("mixed-versions-elect-one-old", marks=pytest.mark.nightly),
    ],
)
def test_networkx_and_arrays_give_the_same_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever looks for the components."""
    by_arrays = check(shipped()[name]).judged
    monkeypatch.setattr(cycles, "strong_components", by_networkx)
    assert by_arrays and check(shipped()[name]).judged == by_arrays


@pytest.mark.slow
def test_components_of_a_large_graph_by_networkx_and_by_arrays() -> None:
    graph = collect_graph(build(shipped()["mixed-versions-elect-one-old"], absorbs=True))
    sources, targets = graph.sources, graph.targets
    assert len(sources) > 400_000
    expected = by_networkx(graph.size, sources, targets)
    found = cycles.strong_components(graph.size, sources, targets)
    pairs = len(np.unique(np.stack([expected, found]), axis=1).T)
    assert pairs == expected.max() + 1 == found.max() + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted", "holds"),
    [
        ("ping-pong-rejecting-always", {"goal": "all-follow-one-leader"}, False),
        ("ping-pong-rejecting-always", {"goal": "all-follow-one-leader", "form": "eventually"}, True),
        ("split-votes", {"goal": "a-leader", "form": "eventually"}, False),
        ("split-votes", {"goal": "a-leader", "form": "recoverable"}, True),
        ("split-votes", {"goal": "a-leader", "form": "leads-to", "when": "all-caught-up"}, False),
        ("split-votes", {"goal": "a-leader", "form": "leads-to", "when": "a-leader"}, True),
    ],
)
def test_forms(name: str, wanted: dict[str, str], holds: bool) -> None:
    eventually = [{"property": "LeaderEventuallyElected", **wanted}]
    result = check(changed(name, check={"eventually": eventually}))
    (judged,) = result.judged
    assert judged.holds == holds
    for trace in result.traces():
        assert replay(trace) is None


def test_recoverable_without_fairness_is_by_any_step() -> None:
    """A goal counts as reached if it can be, where no step is promised."""
    fairness = {"deliveries": "none", "timers": "none"}
    wanted = {"property": "LeaderEventuallyElected", "goal": "a-leader", "form": "recoverable"}
    eventually = [{**wanted, "fairness": fairness}]
    (judged,) = check(changed("ping-pong", check={"eventually": eventually})).judged
    assert judged.holds


def test_without_symmetry_epochs_are_relative_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "flip-flop", "--no-symmetry", "--threads", "1", "--json"]) == 0
    (judged,) = json.loads(capsys.readouterr().out)["liveness"]
    assert judged["closed"] and judged["states"] == 80


def test_a_behaviour_that_ends_where_no_process_runs_is_shown() -> None:
    fairness = {"deliveries": "none", "timers": "none"}
    wanted = {"property": "LeaderEventuallyElected", "goal": "a-leader", "fairness": fairness}
    result = check(
        changed(
            "single-voter",
            check={"only": ["NoFatal"], "eventually": [wanted]},
            budgets={"shutdowns": 1},
            environment={},
        )
    )
    (judged,) = result.judged
    assert judged.lasso is not None and not judged.lasso.cycle
    (trace,) = result.traces()
    assert replay(trace) is None


@pytest.mark.parametrize("limit", ["max_states", "max_memory", "max_seconds"])
def test_a_graph_beyond_a_limit_says_which(limit: str) -> None:
    with pytest.raises(IncompleteGraphError) as raised:
        collect_graph(build(changed("ping-pong")), limits=Limits(**cast(dict[str, Any], {limit: 0})))
    assert raised.value.limit == limit


@pytest.mark.slow
@pytest.mark.parametrize("goal", [[], ["Leader->Resigned"]])
def test_a_goal_that_is_missing_is_told_although_the_graph_is_too_large(goal: list[str]) -> None:
    """A system that ends behaviours at the bounds has one more state than the search."""
    scenario = changed("ping-pong", check__goals=goal)
    states = check(changed("ping-pong", check__goals=[])).exploration.distinct
    result = check(scenario, limits=Limits(max_states=states))
    assert (result.liveness, result.limit) == (None, "max_states")
    assert result.undetermined == (not goal)
    assert result.as_expected is False
    assert [difference[:5] for difference in result.differences] == ["goal "] * len(goal)


def test_what_a_limit_keeps_from_being_seen_is_open() -> None:
    """A violation that is expected and was not met before the limit may still be there."""
    expect = {"verdict": "violated", "violates": ["HighWatermarkOnMajority", "SingleLeaderPerEpoch"]}
    scenario = changed(
        "finding-removal-before-flush", expect=expect, check__without=["AcknowledgedIsDurable"]
    )
    limited = check(scenario, keep_going=True, limits=Limits(max_states=10))
    assert limited.exploration.violations and not limited.differences
    assert limited.undetermined and not limited.as_expected
    whole = check(scenario, keep_going=True)
    assert not whole.undetermined
    assert whole.differences == ("SingleLeaderPerEpoch was expected to be violated, and is not",)
