"""What makes the states of a graph: levels, budgets, bounds and actions."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits, System
from kraftcheck.engine.witness import Witnessing
from kraftcheck.graphs.growth import Cause, bounds_of, growth_of, in_words
from kraftcheck.graphs.paths import Paths
from kraftcheck.graphs.states import States, collect_states
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, find
from kraftcheck.traces import build as build_trace


def collected(name: str) -> tuple[Scenario, States]:
    chosen = find(name)
    return chosen, collect_states(kind_of(chosen).build(chosen), 5_000)


def test_levels_are_those_of_the_exploration() -> None:
    _, states = collected("single-voter")
    growth = growth_of(states)
    assert states.graph.exploration is not None
    assert growth.levels == states.graph.exploration.levels
    assert sum(growth.levels) == growth.states == states.graph.size


def test_a_budget_less_by_one_is_the_scenario_with_that_budget() -> None:
    chosen, states = collected("single-voter")
    found = {each.name: each.without for each in growth_of(states).budgets}
    lower = chosen.model_copy(
        update={"budgets": chosen.budgets.model_copy(update={"timers": chosen.budgets.timers - 1})}  # type: ignore[attr-defined]
    )
    explored = explore(cast(System, Witnessing(kind_of(lower).build(lower))), keep_going=True)
    assert found["budgets.timers"] == explored.distinct < states.graph.size
    assert set(found) == {"budgets.timers", "budgets.appends", "budgets.crashes"}


def test_states_without_an_action_never_take_it() -> None:
    _, states = collected("single-voter")
    found = {each.name: each.without for each in growth_of(states).actions}
    assert found["start"] == 7 and found["loss"] is not None and found["loss"] < states.graph.size
    assert list(found.values()) == sorted(found.values(), key=lambda each: each or 0)


@pytest.mark.slow
def test_bounds_are_explored_within_the_limits() -> None:
    chosen = find("single-voter")
    found = {(each.name, each.less): each.without for each in bounds_of(chosen, Limits(max_states=300))}
    assert found["bounds.max-epoch", "2"] is None
    assert found["environment.timers", "election"] == 191


@pytest.mark.parametrize("name", ["single-voter", "scenario-a-granting-by-log"])
def test_paths_lead_to_their_states(name: str) -> None:
    chosen, states = collected(name)
    paths = Paths(states)
    for number in range(0, states.graph.size, states.graph.size // 7):
        edges = paths.steps_to(number)
        assert len(edges) == paths.depths[number]
        trace = build_trace(states.system, chosen, paths.options(edges))
        assert [step.action for step in trace.steps] == [
            states.names[states.graph.labels[edge]] for edge in edges
        ]


@pytest.mark.slow
def test_words_say_what_to_cut_first(capsys: Any) -> None:
    assert main(["graph", "single-voter", "--growth"]) == 0
    lines = capsys.readouterr().out.splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith("What to cut first"))
    assert lines[begin + 1].split() == ["budgets.crashes", "1", "→", "0", "44", "-91", "%"]
    assert main(["graph", "single-voter", "--growth", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["question"] == "growth" and data["budgets"][0]["without"] == 44
    assert main(["graph", "single-voter", "--growth", "--format", "svg"]) == 2


@pytest.mark.slow
def test_a_space_that_does_not_fit_shows_its_first_levels(capsys: Any) -> None:
    words = ["graph", "single-voter", "--growth", "--max-states", "60"]
    assert main([*words, "--format", "json"]) == 3
    data = json.loads(capsys.readouterr().out)
    chosen, whole = collected("single-voter")
    levels = growth_of(whole).levels
    assert data["complete"] is False and growth_of(whole).complete
    assert data["levels"] == [*levels[: len(data["levels"])]] and sum(data["levels"]) == data["states"] <= 60
    assert data["states"] + levels[len(data["levels"])] > 60
    lower = kind_of(chosen).build(chosen.model_copy(
        update={"budgets": chosen.budgets.model_copy(update={"timers": chosen.budgets.timers - 1})}  # type: ignore[attr-defined]
    ))  # fmt: skip
    explored = explore(
        cast(System, Witnessing(lower)), limits=Limits(max_depth=len(data["levels"]) - 1), keep_going=True
    )
    counted = {each["name"]: each["without"] for each in data["budgets"]}
    assert counted["budgets.timers"] == explored.distinct


def test_what_cannot_be_counted_is_said() -> None:
    _, states = collected("single-voter")
    growth = growth_of(states)
    text = "\n".join(
        in_words(type(growth)(9, (1, 8), (), (), (Cause("bounds.max-epoch", "3", "2", None),)), "x")
    )
    assert "more than can be counted" in text


def test_a_bound_that_makes_more_states_when_less_says_so() -> None:
    _, states = collected("single-voter")
    growth = growth_of(states)
    bound = Cause("network.capacity", "4", "3", 15)
    lines = list(in_words(type(growth)(10, (1, 9), (), (bound,), ()), "x"))
    assert lines[-1].endswith("15  +50 %")
