"""What the explorer says of a state is what the system does there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from kraftcheck.engine.steps import broken_invariants
from kraftcheck.explorer import ground as grounds
from kraftcheck.explorer.events import Group
from kraftcheck.explorer.ground import MOST_STEPS, Ground
from kraftcheck.explorer.here import here, preview
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.traces.build import build
from kraftcheck.traces.walk import Walk, name_of
from tests.explorer.walks import NAMES, WALKS, ground_of, options_of, walked


@settings(max_examples=10, deadline=None)
@given(WALKS)
def test_a_path_is_a_walk_of_the_system(walk: tuple[str, list[int]]) -> None:
    ground = ground_of(walk[0])
    path, found = walked(ground, walk[1])
    own = Walk(ground.kind.build(ground.scenario))
    for option in path:
        own.take(option)
    assert ground.walk(path).state == own.state
    possible = [] if own.violated else [at for at, step in enumerate(own.options()) if step.cut is None]
    assert sorted(options_of(found.events)) == possible
    assert {each.name for each in found.properties if each.holds is False} == set(own.violated)
    assert [each.left for each in found.budgets] == list(own.state.budgets)
    assert ground.trace(path) == build(own.system, ground.scenario, path)


@settings(max_examples=5, deadline=None)
@given(WALKS, WALKS)
def test_going_back_and_branching_off_leaves_no_trace(
    one: tuple[str, list[int]], other: tuple[str, list[int]]
) -> None:
    """An answer depends on the path alone, whatever was asked before."""
    used, fresh = ground_of(one[0]), Ground(scenario.find(one[0]))
    path, _ = walked(used, one[1])
    walked(used, one[1][:2] + other[1])
    for end in range(len(path), -1, -1):
        assert here(used, path[:end]) == here(fresh, path[:end])


@settings(max_examples=10, deadline=None)
@given(WALKS)
def test_nothing_is_possible_and_refused_at_once(walk: tuple[str, list[int]]) -> None:
    _, found = walked(ground_of(walk[0]), walk[1])
    offered = {(event.lane, event.head) for event in found.events}
    refused = {(each.lane, what) for each in found.refusals for what in each.what}
    assert not offered & refused
    assert all(each.why for each in found.refusals)


@pytest.mark.slow
def test_each_event_without_a_message_is_possible_or_refused() -> None:
    """The kinds of events that some state of these scenarios offers, at a replica that runs."""
    for name in NAMES[:4]:
        ground = ground_of(name)
        kinds = set()
        seen = []
        for seed in range(12):
            _, found = walked(ground, [seed * 7 + at * 5 for at in range(7)])
            if found.events:
                seen.append(found)
                acts = [event.head for event in found.events if event.group is not Group.MESSAGES]
                kinds |= {head.partition(" (")[0] for head in acts if not head.startswith("←")}
        for found in seen:
            told = [event.head for event in found.events]
            told += [what for each in found.refusals for what in each.what]
            missing = {kind for kind in kinds if not any(kind in text for text in told)}
            stopped = any("does not run" in each.why for each in found.refusals)
            assert stopped or not missing, missing


def test_choices_say_what_comes_of_them() -> None:
    ground = ground_of("three-voters-crash")
    found = here(ground, ())
    (timer,) = [each for each in found.events if each.lane == 0 and each.group is Group.TIMERS]
    assert timer.head == "timer (election)"
    assert timer.choices[0].variation == ""
    assert timer.choices[0].moments == ("replica 1: role: Unattached → Prospective",)
    assert all("crashes after effect" in each.variation for each in timer.choices[1:])
    crash = next(each for each in found.events if each.lane == 0 and each.group is Group.FAULTS)
    assert crash.head == "crash" and crash.choices[0].variation == "" and crash.choices[0].idle


def test_why_something_is_not_possible() -> None:
    ground = ground_of("three-voters-crash")
    found = here(ground, ())
    reasons = {(each.lane, what): each.why for each in found.refusals for what in each.what}
    assert reasons[0, "append"] == "budgets.appends = 0"
    assert reasons[0, "timer (fetch)"] == "it does not run in the role Unattached"
    assert reasons[0, "a message from replica 2"] == "none is in flight"
    assert reasons[None, "a message gets lost"] == "no message is in flight"
    crash = next(
        choice.option
        for event in found.events
        if event.head == "crash" and event.lane == 2
        for choice in event.choices
    )
    after = here(ground, (crash,))
    reasons = {(each.lane, what): each.why for each in after.refusals for what in each.what}
    assert reasons[0, "any crash"] == "budgets.crashes = 1 is spent"


def test_why_the_admin_client_is_not_heard() -> None:
    ground = ground_of("finding-second-leader-of-epoch")
    reasons = {(each.lane, what): each.why for each in here(ground, ()).refusals for what in each.what}
    refused = [why for (_, what), why in reasons.items() if what.startswith("remove voter")]
    assert set(refused) == {
        "admin.at does not name this replica",
        "the model leaves out requests to a Follower, which refuses them",
    }


def test_a_violation_ends_the_path() -> None:
    ground = ground_of("finding-second-leader-of-epoch")
    path = (2, 5, 3, 2, 0, 0, 0, 0, 4, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 3, 1, 1, 2)
    before, after = here(ground, path[:-1]), here(ground, path)
    assert any("SingleLeaderPerEpoch" in c.violates for e in before.events for c in e.choices)
    assert not after.events and after.ended.startswith("SingleLeaderPerEpoch: violated here")
    assert [each.name for each in after.properties if each.holds is False] == ["SingleLeaderPerEpoch"]


def test_a_preview_is_the_step_without_taking_it() -> None:
    ground = ground_of("three-voters-crash")
    found = preview(ground, (), 0)
    assert found.step.rules and set(found.rules) == set(found.step.rules)
    taken = ground.walk((0,)).taken[0]
    assert found.step.head in name_of(taken.step).replace(" at 1", "")
    assert not broken_invariants(ground.system, ground.walk((0,)).state)


@pytest.mark.parametrize("path", [(99,), (0, 99), (0,) * (MOST_STEPS + 1)])
def test_a_path_that_there_is_not_is_refused_in_a_sentence(path: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as error:
        here(ground_of("three-voters-crash"), path)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_few_walks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounds, "_KEPT", 3)
    ground = Ground(scenario.find("three-voters-crash"))
    path, _ = walked(ground, [0, 1, 2, 3, 4, 5])
    assert len(path) > 3
    assert here(ground, path) == here(ground_of("three-voters-crash"), path)
    assert len(ground._points) <= 3
