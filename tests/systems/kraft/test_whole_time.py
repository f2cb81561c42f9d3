"""Limits, Ctrl-C, progress and the time that is told cover all that is done with a scenario."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from kraftcheck.checking import counterexamples, eventually
from kraftcheck.checking.results import progress_line
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.system import Limits
from kraftcheck.engine.watch import INTERRUPTED, IncompleteGraphError, Progress, Watch
from kraftcheck.systems.kraft import liveness
from kraftcheck.systems.kraft.kind import KRaftLiveness
from kraftcheck.systems.scenario import shipped
from tests.systems.kraft.small import changed


def slowly(seconds: float, inner: Any) -> Any:
    """``inner``, after ``seconds``."""

    def wrapped(*arguments: Any, **named: Any) -> Any:
        time.sleep(seconds)
        return inner(*arguments, **named)

    return wrapped


@pytest.mark.slow
def test_the_time_that_is_told_is_that_of_all_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventually, "collect_graph", slowly(0.3, eventually.collect_graph))
    begin = time.monotonic()
    result = check(changed("ping-pong"))
    passed = time.monotonic() - begin
    assert result.exploration.seconds + 0.3 <= result.seconds <= passed
    told = result.seconds
    time.sleep(0.05)
    assert result.seconds == told


@pytest.mark.slow
def test_what_is_asked_of_the_result_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterexamples, "collect_layers", slowly(0.3, counterexamples.collect_layers))
    result = check(shipped()["scenario-a-granting-by-log"])
    before = result.seconds
    result.traces()
    assert result.seconds >= before + 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "most"), [("max_seconds", 1.4), ("max_memory", 10**12)])
def test_a_limit_ends_the_judging(limit: str, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """However quick the exploration and the graph were."""
    check(changed("ping-pong"))
    monkeypatch.setattr(KRaftLiveness, "judge", staticmethod(slowly(1.5, liveness.judge)))
    if limit == "max_memory":
        monkeypatch.setattr("kraftcheck.engine.watch.resident_bytes", lambda: 10**13)
        most = int(most)
    result = check(changed("ping-pong"), limits=Limits(**{limit: most}))  # type: ignore[arg-type]
    assert result.undetermined and not result.differences
    assert (result.liveness, result.limit) == (None, limit)


def test_ctrl_c_while_properties_are_judged_leaves_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KRaftLiveness, "judge", staticmethod(interrupted))
    result = check(changed("ping-pong"), report_interrupt=True)
    assert (result.liveness, result.limit) == (None, INTERRUPTED)
    assert result.exploration.distinct and result.undetermined


def test_ctrl_c_while_causes_are_looked_for_leaves_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kraftcheck.checking.violations.causes_of", interrupted)
    assert main(["check", "scenario-a-granting-by-log", "--causes", "2", "--threads", "1"]) == 3
    out = capsys.readouterr()
    assert "violated: ReturningReplicaDeposesNobody in 5 steps" in out.out
    assert "interrupted" in out.err


def test_the_watch_counts_what_runs_and_raises_what_is_used_up() -> None:
    told: list[Progress] = []
    watch = Watch(Limits(max_seconds=0.05, max_states=7), told.append)
    assert watch.seconds == 0 and watch.rest(max_states=100).max_states == 7
    with watch.running(), watch.running():
        watch("waits")
        time.sleep(0.06)
        with pytest.raises(IncompleteGraphError) as raised:
            watch("waits")
    assert raised.value.limit == "max_seconds"
    stopped = watch.seconds
    assert stopped >= 0.06 and watch.rest().max_seconds == 0
    time.sleep(0.01)
    assert watch.seconds == stopped


@pytest.mark.slow
def test_progress_names_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftcheck.engine.explorer.PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr("kraftcheck.engine.watch.PROGRESS_SECONDS", 0.0)
    told: list[Progress] = []
    result = check(changed("ping-pong"), progress=told.append)
    lines = [progress_line(each) for each in told]
    assert any(line.startswith("level ") for line in lines)
    assert any(line.startswith("eventually properties: level ") for line in lines)
    assert any(line.startswith("LeaderEventuallyElected: looks ") for line in lines)
    seconds = [each.seconds for each in told]
    assert seconds == sorted(seconds) and seconds[-1] <= result.seconds


@pytest.mark.slow
def test_the_total_is_that_of_all_scenarios(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(eventually, "collect_graph", slowly(0.3, eventually.collect_graph))
    assert main(["check", "ping-pong", "--threads", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["seconds"] >= data["seconds_exploring"] + 0.3
