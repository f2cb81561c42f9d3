"""Cells in processes of their own: limits, deaths, mutants, walks."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kraftcheck.checking.mutation.server import Job
from kraftcheck.pipeline.campaign import executor, explore
from kraftcheck.pipeline.campaign.cells import Cell
from kraftcheck.pipeline.campaign.executor import run_cell
from kraftcheck.pipeline.campaign.matrix import Campaign, expand
from kraftcheck.pipeline.campaign.store import CELLS
from kraftcheck.support import forks
from kraftcheck.support.forks import Ended
from kraftcheck.support.sources import source_digest
from kraftcheck.systems.scenario import find
from kraftcheck.traces import json_form

MUTANT = Campaign.model_validate({"matrix": [{"mutants": ["vote-for-an-id"], "mutants-in": "own"}]})


@pytest.fixture
def caller() -> Iterator[int]:
    """The end of a pipe on which nothing is written, as that of a caller that waits."""
    receive, send = os.pipe()
    yield receive
    os.close(receive)
    os.close(send)


def cell_of(limits: dict[str, Any] | None = None, **matrix: Any) -> Cell:
    found = expand(Campaign.model_validate({"matrix": [matrix], "limits": limits or {}}))
    return found[-1]


class Forks:
    """A server that forks this process. Its jobs become no mutants."""

    def __init__(self, caller: int) -> None:
        self._caller = caller

    def run(self, job: Job) -> Ended:
        return forks.fork(lambda: explore.run(**job.arguments), self._caller, job.seconds)


@pytest.fixture(autouse=True)
def here(caller: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells run in processes forked from this one."""
    monkeypatch.setattr(executor, "server_of_worker", lambda: Forks(caller))


def told(cell: Cell) -> dict[str, Any]:
    found = executor.found_by(cell, cell.task("sources"))
    assert json.loads(json.dumps(found)) == found
    return found


@pytest.mark.slow
def test_a_cell_finds_what_check_finds() -> None:
    found = told(cell_of(scenarios=["single-voter"], coverage=True))
    assert (found["verdict"], found["as_expected"], found["distinct"]) == ("holds", True, 495)
    assert "rule VOTE-2" in found["covered"] and any(each.startswith("guard ") for each in found["covered"])
    assert found["seconds"] > 0 and found["peak_memory"] > 10 * 2**20
    assert found.keys() <= set(CELLS.names)


def test_a_violation_comes_with_its_trace() -> None:
    found = told(cell_of(scenarios=["finding-restart-as-candidate"]))
    assert found["verdict"] == "violated" and found["as_expected"] is True
    (violated,) = found["violated"]
    trace = json_form.decode(json.loads(violated["trace"]))
    assert violated["property"] == trace.property == "NoFatal" and violated["steps"] == len(trace.steps)


def test_walks_of_a_seed_are_the_same_again() -> None:
    cell = cell_of(scenarios=["single-voter"], engines=["simulate"], walks=5, depth=20, seeds="3")
    first, second = told(cell), told(cell)
    assert first["verdict"] == "undetermined" and first["limit"] == "walks"
    assert [first[name] for name in ("distinct", "generated", "depth")] == [
        second[name] for name in ("distinct", "generated", "depth")
    ]


def test_a_limit_leaves_the_verdict_undetermined() -> None:
    found = told(cell_of({"states": 10}, scenarios=["single-voter"]))
    assert (found["verdict"], found["limit"], found["as_expected"]) == ("undetermined", "max_states", None)


@pytest.mark.slow
def test_a_cell_says_how_far_it_was_judged() -> None:
    finding = "finding-restart-as-candidate"
    found = told(cell_of(scenarios=[finding]))
    assert (found["violated"][0]["steps"], found["judged_to"]) == (4, 4)
    found = told(cell_of(scenarios=[finding], **{"keep-going": True}))
    assert found["verdict"] == "violated" and found["judged_to"] is None
    found = told(cell_of({"states": 10}, scenarios=["single-voter"]))
    assert found["judged_to"] == found["depth"] - 1
    walks = {"scenarios": [finding], "engines": ["simulate"], "depth": 20}
    found = told(cell_of(**walks))
    assert found["verdict"] == "violated" and found["judged_to"] < 100
    few = told(cell_of(walks=3, **walks | {"depth": 2}))
    assert (few["verdict"], few["judged_to"]) == ("undetermined", None)
    found = told(cell_of(**walks, **{"keep-going": True}))
    assert found["verdict"] == "violated" and found["judged_to"] is None


@pytest.mark.slow
def test_goals_that_an_end_came_before_are_not_violated() -> None:
    scenario = find("finding-restart-as-candidate")
    goals = scenario.check.model_copy(update={"goals": ("GoalValueCommitted",)})
    content = scenario.model_copy(update={"check": goals}).model_dump_json(by_alias=True)
    for keep_going, violated in ((False, ["NoFatal"]), (True, ["NoFatal", "GoalValueCommitted"])):
        cell = Cell(scenario.name, content, keep_going=keep_going)
        assert [each["property"] for each in told(cell)["violated"]] == violated


def test_bounds_that_contradict_the_scenario_make_a_cell_invalid() -> None:
    found = told(cell_of(scenarios=["flip-flop"], bounds=["network.capacity=1"]))
    assert found["verdict"] in ("holds", "invalid")
    found = told(cell_of(scenarios=["alter-quorum"], protocols=["kafka"]))
    assert found["verdict"] == "invalid" and "alter" in found["error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "verdict", "limit"),
    [
        (lambda: time.sleep(60), "undetermined", "max_seconds"),
        (lambda: bytearray(2**45), "undetermined", "max_memory"),
        (lambda: bytearray(3 * 2**30), "undetermined", "max_memory"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "undetermined", "max_memory"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "failed", None),
        (lambda: os._exit(7), "failed", None),
        (lambda: 1 // 0, "failed", None),
    ],
)
def test_whatever_a_cell_does_there_is_an_answer(
    act: Any, verdict: str, limit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "_check", lambda *given: act())
    found = told(cell_of({"seconds": 1, "memory": "1G"}, scenarios=["single-voter"]))
    assert (found["verdict"], found.get("limit")) == (verdict, limit)
    assert ("error" in found) == (verdict == "failed")


def test_what_was_told_before_the_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell_and_die(task: str) -> Iterator[explore.Found]:
        yield {"verdict": "violated"}
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(explore, "run", tell_and_die)
    assert told(cell_of(scenarios=["single-voter"]))["verdict"] == "violated"


@pytest.mark.slow
def test_a_counterexample_that_cannot_be_told_leaves_the_mutant_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*given: Any, **named: Any) -> Any:
        raise ValueError("no such log")

    monkeypatch.setattr(explore.json_form, "dumps", fail)
    cell = cell_of(scenarios=["finding-restart-as-candidate"])
    assert told(cell)["verdict"] == "failed"
    (mutant,) = (each for each in expand(MUTANT) if each.mutant != "none")
    found = told(replace(cell, mutant="some", mutant_content=mutant.mutant_content))
    assert found["verdict"] == "violated" and found["violated"][0]["trace"] is None
    assert found.get("error") is None


@pytest.mark.slow
def test_a_row_has_the_columns_of_the_data_set() -> None:
    cell = cell_of(scenarios=["single-voter"])
    row = run_cell(cell.task(source_digest()))
    assert row.keys() <= set(CELLS.names)
    assert (row["cell"], row["verdict"]) == (cell.id(source_digest()), "holds")


def test_executors_with_other_sources_are_refused() -> None:
    with pytest.raises(Exception, match="another version of kraftcheck"):
        run_cell(cell_of(scenarios=["single-voter"]).task("other"))
