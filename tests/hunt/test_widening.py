"""Every widening of a scenario can be built, and allows all that the scenario allowed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.hunt.past import gone_past, whole, without
from kraftcheck.hunt.run import generic
from kraftcheck.hunt.schedule import LINE, MOST, effort_of, next_wider, place_of
from kraftcheck.hunt.widening import widened, widenings
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import Scenario, find, from_data
from kraftcheck.traces.json_form import scenario_data

NAMES = [each.name for each in generic()]


def data_of(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", by_alias=True)


def without_requested(scenario: Scenario) -> Scenario:
    """``scenario`` without the properties that hold within its bounds only."""
    requested = {each.name for each in spec.load().properties.values() if each.judged == "on-request"}
    judged = {key: getattr(scenario.check, key) for key in ("only", "properties")}
    left = {key: tuple(name for name in names if name not in requested) for key, names in judged.items()}
    return scenario.model_copy(update={"check": scenario.check.model_copy(update=left)})


def is_at_least(wider: Any, before: Any, key: str) -> bool:
    """Whether a value of a widened scenario allows at least as much."""
    if key in ("timers-at", "cut", "crashes-at", "at", "moves-at", "wipes-at"):
        return True  # Without the key all may; test_the_steps_of_a_scenario_stay_possible looks at these.
    if key in ("boundaries", "power-loss", "discovery", "delayed-fetches", "late-reads"):
        return bool(wider >= before)
    if key == "write-back":
        return bool(wider <= before)
    if key == "timers" and before is None:
        return wider in (None, 1)  # One, where no timer was there to expire.
    if isinstance(before, dict):
        return all(is_at_least(wider[each], value, each) for each, value in before.items())
    if isinstance(before, list):
        return all(each in wider for each in before)
    if isinstance(before, int) and not isinstance(before, bool):
        return bool(wider >= before)
    return bool(wider == before or (key, wider) in {("loss", "always"), ("order", "any")})


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), choice=st.integers(0, 40))
def test_a_widening_is_a_scenario_and_allows_no_less(name: str, choice: int) -> None:
    before = whole(find(name))
    each = list(widenings(before))
    wider = widened(before, each[choice % len(each)])
    if wider is None:
        return
    assert wider != before
    assert from_data(scenario_data(wider), name) == wider
    kind_of(wider).build(wider)
    former, found = data_of(without_requested(before)), data_of(wider)
    assert wider.check == without_requested(before).check
    for table in ("network", "environment", "budgets", "bounds", "admin", "replicas", "brokers"):
        if table in former:
            assert is_at_least(found[table], former[table], table), (table, former[table], found[table])


#: Widenings after which fetches and reads take another course.
MODES = ("environment.delayed-fetches", "environment.late-reads")
#: Scenarios with keys that a widening leaves out.
OF_ONE = ["voter-change-reverted", "addition-answered-on-append", "disk-loss-dynamic", "three-voters-elect"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ONE)
def test_the_behaviours_of_a_scenario_stay_possible(name: str) -> None:
    """Random behaviours within the bounds are those of each widening with the same replicas, too.

    A step is known by its kind, replica, message and name. No loss is taken: a larger network needs it later.
    """
    before = whole(find(name))
    assert isinstance(before, KRaftScenario)
    system, drawing = kind_of(before).build(before), random.Random(name)
    behaviours = [drawn(system, drawing) for _ in range(5)]
    for each in widenings(before):
        wider = widened(before, each) if each.name not in MODES else None
        if isinstance(wider, KRaftScenario) and wider.replicas == before.replicas:
            larger = kind_of(wider).build(wider)
            assert all(is_possible(larger, behaviour) for behaviour in behaviours), each.name


def drawn(system: Any, drawing: random.Random) -> list[tuple[Any, ...]]:
    """The steps of a random behaviour without losses."""
    (state, *_), found = initial_states(system), []
    for _ in range(12):
        offered = [each for each in steps(system, state) if each.cut is None and each.path.kind != "lose"]
        if not offered:
            break
        step = drawing.choice(offered)
        found.append(likeness(step))
        state = step.target
    return found


def likeness(step: Any) -> tuple[Any, ...]:
    action = None if step.outcome is None else str(step.outcome.action)
    return step.path.kind, step.path.component, step.path.message, action, step.path.duplicate


def is_possible(system: Any, behaviour: list[tuple[Any, ...]]) -> bool:
    """Whether some behaviour of ``system`` has these steps in order; outcomes of one name are all tried."""
    states = list(initial_states(system))
    for wanted in behaviour:
        found = (step for state in states for step in steps(system, state) if likeness(step) == wanted)
        states = list(dict.fromkeys(step.target for step in found if step.cut is None))
    return bool(states)


def test_what_goes_past_a_known_finding_is_undone() -> None:
    found = whole(find("admin-retries-next-leader"))
    assert isinstance(found, KRaftScenario) and found.check.ignore_fatal == ()
    found = whole(find("voter-set-read-again"))
    assert isinstance(found, KRaftScenario) and "control-records" not in found.protocol.set
    # A switch that goes past no finding stays.
    assert (
        whole(find("pre-vote-without-check-quorum")).protocol
        == find("pre-vote-without-check-quorum").protocol
    )


def test_a_property_is_left_out_once() -> None:
    scenario = whole(find("auto-join-once"))
    less = without(scenario, "RemovedVoterStaysRemoved")
    assert less is not None and less.check.properties == ()
    less = gone_past(scenario, "SingleLeaderPerEpoch", None)
    assert less is not None and less.check.without == ("SingleLeaderPerEpoch",)
    assert without(less, "SingleLeaderPerEpoch") is None
    eventually = whole(find("leader-removal-completes"))
    less = without(eventually, "LeaderRemovalCompletes")
    assert less is not None and len(less.check.eventually) == len(eventually.check.eventually) - 1


@given(st.integers(0, 500))
def test_the_schedule_goes_on_for_ever_with_bounded_effort(round: int) -> None:
    place = place_of(round)
    assert 0 <= place.step < LINE and place.begins == (round == 0 or (round - 1) % LINE == 0)
    effort, later = effort_of(round), effort_of(round + 1)
    assert effort.states <= later.states <= MOST.states and effort.walks <= later.walks <= MOST.walks


def test_a_draw_depends_on_the_seed_and_the_round_alone() -> None:
    scenario = whole(find("single-voter"))
    draws = [next_wider(scenario, seed, round) for seed in range(3) for round in range(1, 6)]
    assert draws == [next_wider(scenario, seed, round) for seed in range(3) for round in range(1, 6)]
    assert len({each[0] for each in draws if each is not None}) > 3
