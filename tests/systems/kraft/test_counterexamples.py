"""Counterexamples of shipped scenarios: the simplest, causes, smallest bounds, and what walks find."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import pytest

from kraftcheck.checking.counterexamples import causes_of, simplest_of
from kraftcheck.checking.run import check
from kraftcheck.checking.smallest_bounds import (
    CAPACITY,
    EPOCH,
    smallest_bounds,
    smallest_bounds_of_eventually,
    used,
)
from kraftcheck.checking.violations import more_data
from kraftcheck.cli.main import main
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.links import AppendedFile
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import Watch
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.scenario import find
from kraftcheck.traces.replay import replay
from tests.systems.kraft.small import changed

SMALL = ("scenario-a-granting-by-log", "finding-restart-as-candidate", "finding-single-voter-power-loss")


@pytest.mark.parametrize("name", SMALL)
def test_what_is_shown_is_the_simplest_and_replays(name: str) -> None:
    result = check(find(name))
    (trace,) = result.traces()
    (violation,) = result.exploration.violations
    best = result.simplest[violation.property]
    assert len(trace.steps) == violation.depth == best.violation.depth
    assert len({step.replica for step in trace.steps if step.kind != "lose"}) == best.actors
    assert replay(trace) is None


def test_where_there_are_too_many_states_the_first_one_found_is_shown(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("kraftcheck.checking.counterexamples.MOST_STATES", 10)
    result = check(find("scenario-a-granting-by-log"))
    assert simplest_of(result.system, result.exploration.violations) == {}
    assert causes_of(result.system, result.exploration.violations[0]) is None
    assert len(result.traces()) == 1


@pytest.mark.slow
def test_causes_are_told(capsys: Any) -> None:
    command = ["check", "scenario-a-granting-by-log", "--causes", "3"]
    assert main(command) == 0
    assert "ReturningReplicaDeposesNobody by VoteResponse; no fault" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    causes = json.loads(capsys.readouterr().out)["causes"]["ReturningReplicaDeposesNobody"]
    assert 2 <= len(causes) <= 3 and len({each["step"] for each in causes}) == len(causes)
    for each in causes:
        assert main(["trace", "show", "scenario-a-granting-by-log", "--path", each["path"]]) == 0
        assert "Violated: ReturningReplicaDeposesNobody" in capsys.readouterr().out


@pytest.mark.slow
def test_causes_of_an_eventually_property_are_told(capsys: Any) -> None:
    name = "ping-pong-rejecting-always"
    assert main(["check", name, "--causes", "3"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    cycle = "VoteRequest, VoteResponse, timer election, timer fetch for ever, 10 steps a round; no fault"
    assert f"LeaderEventuallyElected by {cycle}; after 2 steps:" in told
    assert main(["check", name, "--causes", "3", "--json"]) == 0
    (cause,) = json.loads(capsys.readouterr().out)["causes"]["LeaderEventuallyElected"]
    assert (cause["steps"], cause["cycle_steps"], cause["faults"]) == (2, 10, [])
    assert main(["trace", "show", name, "--path", cause["path"]]) == 0


@pytest.mark.slow
def test_causes_are_those_of_the_goal_that_is_missed() -> None:
    """A scenario may want several goals of one property."""
    eventually = [
        {"property": "FollowerEventuallyCatchesUp", "goal": "all-caught-up", "form": "recoverable"},
        {"property": "FollowerEventuallyCatchesUp", "goal": "high-watermark-known"},
    ]
    result = check(changed("stray-vote-after-epoch", check__eventually=eventually))
    first, second = result.judged
    assert first.holds and second.lasso is not None
    data = more_data(result, 5, bounds=True)
    name = "FollowerEventuallyCatchesUp (high-watermark-known)"
    assert list(data["causes"]) == list(data["smallest_bounds"]) == [name]
    assert data["causes"][name][0]["steps"] == len(second.lasso.stem)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_no_bound_can_be_smaller(name: str) -> None:
    scenario = find(name)
    result = check(scenario)
    (violation,) = result.exploration.violations
    found = smallest_bounds(scenario, violation)
    assert violation.property in _violated(found.scenario)
    for lowered in found.bounds:
        assert not lowered.open
        table, _, field = lowered.name.replace("-", "_").partition(".")
        if isinstance(lowered.smallest, int) and lowered.smallest > (table != "budgets"):
            part = getattr(found.scenario, table).model_copy(update={field: lowered.smallest - 1})
            assert violation.property not in _violated(found.scenario.model_copy(update={table: part}))


def _violated(scenario: Any) -> set[str]:
    return {each.property for each in explore(build(scenario), keep_going=True).violations}


def test_bounds_that_a_counterexample_uses() -> None:
    scenario = find("finding-restart-as-candidate")
    (violation,) = check(scenario).exploration.violations
    needs = used(scenario, violation)
    assert needs.budgets.crashes == 1
    assert getattr(needs, EPOCH[0]).max_epoch == 1
    assert 1 <= getattr(needs, CAPACITY[0]).capacity <= scenario.network.capacity
    assert violation.property in _violated(needs)


def test_what_cannot_be_told_is_said() -> None:
    scenario = find("scenario-a-granting-by-log")
    (violation,) = check(scenario).exploration.violations
    found = smallest_bounds(scenario, violation, watch=Watch(Limits(max_states=5)))
    assert any(lowered.open for lowered in found.bounds)


def test_a_full_disk_is_no_smallest_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = find("finding-observer-without-voter-set")
    violation = check(scenario).exploration.violations[0]

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(AppendedFile, "append", full)
    with pytest.raises(DiskError, match="No space left"):
        smallest_bounds(scenario, violation)


def test_smallest_bounds_are_told(capsys: Any) -> None:
    assert main(["check", "finding-single-voter-power-loss", "--smallest-bounds"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "budgets.appends 0 (of 1); budgets.crashes 1; bounds.max-epoch 2 (of 3)" in text
    assert main(["check", "scenario-a", "--smallest-bounds", "--causes", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["smallest_bounds"] == {} and data["causes"] == {}


@pytest.mark.slow
def test_smallest_bounds_of_eventually_properties(capsys: Any) -> None:
    command = ["check", "ping-pong-rejecting-always", "--smallest-bounds", "--threads", "1"]
    assert main(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "LeaderEventuallyElected with the smallest bounds: bounds.max-epoch 1 (of 2);" in text
    scenario = find("ping-pong-rejecting-always")
    (judged,) = check(scenario).judged
    found = smallest_bounds_of_eventually(scenario, judged)
    (again,) = check(found.scenario).judged
    assert again.lasso is not None
    capacity = found.scenario.network.capacity
    network = found.scenario.network.model_copy(update={"capacity": capacity - 1})
    with pytest.raises(InputError, match=r"network\.capacity = \d+ has no room"):
        check(found.scenario.model_copy(update={"network": network}))


@pytest.mark.slow
def test_all_violated_properties_are_told(capsys: Any) -> None:
    assert main(["check", "finding-leader-of-two-removes-itself", "--threads", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "violated: LeaderEventuallyElected" in text and "also violated: VoterChangeEventuallySettled" in text
    )


def test_walks_are_shrunk(capsys: Any) -> None:
    command = ["simulate", "scenario-a-granting-by-log", "--seed", "2", "--walks", "1", "--json"]
    assert main(command) == 0
    (short,) = json.loads(capsys.readouterr().out)["violations"]
    assert main([*command, "--no-shrink"]) == 0
    (long,) = json.loads(capsys.readouterr().out)["violations"]
    assert short["walked_steps"] == long["walked_steps"] == len(long["trace"]["steps"])
    assert len(short["trace"]["steps"]) < len(long["trace"]["steps"])
    assert short["property"] == long["property"]
