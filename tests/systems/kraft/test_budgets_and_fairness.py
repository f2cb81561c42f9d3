"""A budget that is spent ends what fairness promises: nothing is said of *eventually* properties then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.checking.smallest_bounds import smallest_bounds_of_eventually
from kraftcheck.cli.main import main
from kraftcheck.engine.fairness import Fairness, Strength
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.liveness import lassos, unpaid_of
from kraftcheck.engine.steps import steps
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.systems.kraft import liveness
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.scenario import shipped, shipped_files
from tests.systems.kraft.small import changed

ELECTED = [{"property": "LeaderEventuallyElected", "goal": "a-leader"}]


def few_timers(timers: int, **changes: Any) -> Any:
    """Two voters that need two expirations at least to elect a leader."""
    return changed("ping-pong", budgets__timers=timers, check__goals=[], **changes)


def test_what_a_spent_budget_ends_is_no_violation() -> None:
    result = check(few_timers(0))
    (judged,) = result.judged
    assert not judged.violated and not judged.holds
    assert judged.spent == ("timers",) and any("timer of" in name for name in judged.withheld)
    assert result.undetermined and not result.differences and not result.traces()
    assert result.limit == "budgets.timers"


def test_what_is_expected_to_be_violated_is_undetermined_too() -> None:
    expect = {"verdict": "violated", "violates": ["LeaderEventuallyElected"]}
    result = check(few_timers(0, expect=expect))
    assert result.undetermined and not result.as_expected and not result.differences


def test_timers_that_are_not_fair_are_not_owed() -> None:
    eventually = [dict(ELECTED[0], fairness={"timers": "none"})]
    (judged,) = check(few_timers(0, check__eventually=eventually)).judged
    assert judged.violated and not judged.spent


@pytest.mark.slow
def test_a_cycle_that_owes_no_timer_is_a_violation_whatever_is_spent() -> None:
    for name in ("finding-leader-removal-timed-out", "stray-vote-after-epoch"):
        assert check(shipped()[name]).as_expected


@pytest.mark.slow
def test_no_budget_is_a_smallest_bound_because_it_ends_fairness() -> None:
    scenario = changed("votes-refused-while-fetching")
    (judged,) = check(scenario).judged
    assert judged.violated
    budgets = scenario.budgets.model_copy(update={"timers": 1})
    (bounded,) = check(scenario.model_copy(update={"budgets": budgets})).judged
    assert bounded.spent == ("timers",)
    removal = shipped()["finding-leader-removal-timed-out"]
    found = smallest_bounds_of_eventually(removal, check(removal).judged[0])
    assert found.scenario.budgets.timers == 1


@pytest.mark.slow
def test_the_first_line_names_the_key(tmp_path: Path, capsys: Any) -> None:
    source = shipped_files()["votes-refused-while-fetching"]
    text = source.read_text(encoding="utf-8")
    assert "budgets = { appends = 1 }" in text
    file = tmp_path / "few.toml"
    file.write_text(text.replace("{ appends = 1 }", "{ appends = 1, timers = 1 }"), encoding="utf-8")
    assert main(["check", str(file), "--threads", "1"]) == 3
    first, *more = capsys.readouterr().out.splitlines()
    assert "undetermined: budgets.timers = 1 is spent" in first
    assert "leave budgets.timers out" in " ".join(" ".join(more).split())
    assert main(["check", str(file), "--threads", "1", "--json"]) == 3
    (judged,) = json.loads(capsys.readouterr().out)["liveness"]
    assert (judged["holds"], judged["spent_budgets"]) == (None, ["budgets.timers"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto-join-settles", "stray-vote-after-epoch"])
def test_fair_steps_cost_no_other_budgets_than_those_that_are_told(name: str) -> None:
    """Each step that a class asks for, in each state, costs nothing or one of ``budgets_of``."""
    scenario = shipped()[name]
    system = build(scenario, absorbs=True)
    (wanted,) = scenario.check.eventually
    classes = liveness.classes_of(system, wanted)
    told = set(liveness.budgets_of(system, wanted))
    graph = collect_graph(system)
    for state in map(graph.state, range(graph.size)):
        for step in steps(system, state):
            action = None if step.outcome is None else step.outcome.action
            if step.outcome is not None and any(each.matches(step.path, action) for each in classes):
                assert set(step.outcome.costs) <= told


def test_unpaid_steps_are_those_that_a_larger_budget_adds() -> None:
    few, more = (build(few_timers(timers, reduction={}), absorbs=True) for timers in (1, 2))
    graph = collect_graph(few)
    looked = 0
    for state in map(graph.state, range(graph.size)):
        if state.budgets != (0,):
            continue
        richer = GlobalState(state.locals, state.messages, state.history, (1,))
        offered = {step.path for step in steps(more, richer) if step.target.budgets == (0,)}
        found = {each.step for each in unpaid_of(few, state)}
        assert found <= offered
        looked += len(found)
    assert looked


def test_a_lasso_is_withheld_only_if_no_other_is_fair() -> None:
    """The steps of one class need a budget: without the class the behaviour may stay, with it it may not."""
    graph = collect_graph(build(few_timers(1), absorbs=True))

    def never(state: GlobalState) -> bool:
        return False

    def timer(step: PathStep, action: Any) -> bool:
        return getattr(action, "kind", None) == "timer"

    timers = [Fairness("timers", Strength.STRONG, timer)]
    assert graph.left is not None and set(graph.left(0).tolist()) == {0, 1}
    unfair = next(lassos(graph, never, [], budgets=(0,)), None)
    assert unfair is not None and unfair.withheld is None
    lasso = next(lassos(graph, never, timers, budgets=(0,)), None)
    assert lasso is not None and (lasso.withheld is None or lasso.withheld.classes == ("timers",))
