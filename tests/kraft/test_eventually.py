"""*Eventually* properties at the bounds: nothing holds because of what lies beyond them."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from model_check.engine.system import GlobalState
from model_check.errors import InputError
from model_check.kraft.build import build
from model_check.kraft.liveness import GOALS
from model_check.kraft.node import Node
from model_check.run import check
from model_check.scenario import shipped
from model_check.trace import build_dead_end
from model_check.trace.build import walk
from model_check.trace.json_form import dumps, loads
from model_check.trace.program import source
from model_check.trace.replay import replay
from tests.kraft.small import changed


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
