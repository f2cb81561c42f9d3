"""The shipped scenarios: they parse, they give what they expect, and together they take every transition."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import Limits
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.reference.voters import VoterSet
from kraftcheck.spec import load
from kraftcheck.systems.kraft import identities
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.membership import own_origin
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.scenario import find
from tests.systems.kraft.small import changed

CI = [scenario for scenario in shipped().values() if "ci" in scenario.tags]


@pytest.mark.slow
def test_every_scenario_builds() -> None:
    for scenario in shipped().values():
        assert build(scenario).initial_states(), scenario.name
        assert scenario.expect.violates or scenario.expect.verdict == "holds", scenario.name


def test_replicas_are_formatted_and_configured_as_the_scenario_says() -> None:
    for scenario in shipped().values():
        for replica in scenario.replicas.everybody:
            identity = identities.identity_of(scenario, replica)
            assert identity.key == identities.key_of(scenario, replica), scenario.name
            assert own_origin(identity) == identities.formatted_for(scenario, replica), scenario.name


def test_a_replica_that_begins_with_other_voters_violates_a_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when formatting has left out what it is to write (P-7)."""
    scenario = find("mutants-formatted")
    nothing = replace(identities.identity_of(scenario, 2), bootstrap_voters=VoterSet())
    formatted = identities.identity_of
    monkeypatch.setattr(
        identities, "identity_of", lambda s, replica: nothing if replica == 2 else formatted(s, replica)
    )
    violated = {(found.property, found.depth) for found in check(scenario).exploration.violations}
    assert ("VotersOfTheLog", 0) in violated


def test_what_the_first_starts_violate_is_a_violation() -> None:
    """Two replicas that each believe to be the only voter lead the same epoch from the beginning."""
    replicas = {"voters": [1, 2], "views": {"1": [1], "2": [2]}}
    only = {"only": ["SingleLeaderPerEpoch"]}
    scenario = changed("single-voter", replicas=replicas, check=only, budgets__crashes=0)
    result = check(scenario)
    assert [(found.property, found.depth) for found in result.exploration.violations] == [
        ("SingleLeaderPerEpoch", 0)
    ]
    naive, _ = explore_naively(build(scenario))
    assert naive.violations == result.exploration.violations


def test_there_are_enough_scenarios() -> None:
    assert len(CI) >= 8


def test_every_number_of_states_is_pinned() -> None:
    """A change of the model that merges states or loses some shows in each scenario that CI checks."""
    assert not [one.name for one in CI if one.expect.verdict == "holds" and one.expect.states is None]


def test_every_goal_is_reached_in_ci() -> None:
    """A CI scenario that holds has reached its goals: each *sometimes* property is the goal of one."""
    reached = {goal for one in CI if one.expect.verdict == "holds" for goal in one.check.goals}
    assert {each.name for each in load().properties.values() if each.kind == "sometimes"} <= reached


def _reachable(table: str) -> set[tuple[str, str]]:
    """The rows of the spec's table that a static voter set with single endpoints can take at all."""
    out_of_reach = {"voter-change", "endpoints", "file-behind-log"}
    return {
        (row.from_state, row.to_state)
        for row in load().transitions
        if row.table == table and row.kafka and not out_of_reach & set(row.requires)
    }


@pytest.mark.slow
@pytest.mark.parametrize("table", ["kip996", "pre996"])
def test_explored_transitions_are_those_of_the_table(table: str) -> None:
    legal = {(row.from_state, row.to_state) for row in load().transitions if row.table == table}
    taken: set[tuple[str, str]] = set()
    for scenario in CI:
        # That no scenario takes another one is a property, which `check` judges.
        if _reachable(table) <= taken:
            break
        preset = PRESETS[scenario.protocol.preset].state_machine.value
        machine = scenario.protocol.set.get("state-machine", preset)
        if machine != table or scenario.protocol.at:
            continue
        # What takes long takes the same transitions again and again.
        found = explore(build(scenario), threads=2, limits=Limits(max_states=2_000))
        pairs = (goal.split("->") for goal in found.reached_goals if "->" in goal)
        taken |= {(source, target) for source, target in pairs}
    assert taken <= legal, f"illegal: {sorted(taken - legal)}"
    assert _reachable(table) <= taken, f"never taken: {sorted(_reachable(table) - taken)}"
