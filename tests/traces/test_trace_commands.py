"""The commands trace and simulate."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.site.counterexamples import pinned
from kraftcheck.systems.scenario import find
from kraftcheck.traces import json_form, markdown, program, terminal
from kraftcheck.traces.build import behaviour
from kraftcheck.traces.view import permalink
from tests.traces.trace_samples import POWER_LOSS, UNSTABLE, counterexample

SCENARIO = """
name = "power-loss"
about = "A quorum of one loses what it committed."
replicas = { voters = [1], initial-leader = 1 }
network = { capacity = 2 }
environment = { timers = [] }
budgets = { appends = 1, crashes = 1 }
bounds = { max-epoch = 3 }
expect = { verdict = "violated", violates = ["StateMachineSafety"] }
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    file = tmp_path / "power-loss.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return str(file)


@pytest.fixture
def trace_file(tmp_path: Path) -> str:
    file = tmp_path / "trace.json"
    file.write_text(json_form.dumps(counterexample(UNSTABLE)), encoding="utf-8")
    return str(file)


@pytest.mark.slow
def test_show(trace_file: str, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    trace = counterexample(UNSTABLE)
    views = {
        "--json": json_form.dumps(trace),
        "--markdown": markdown.render(trace),
        "--pytest": program.source(trace),
    }
    for option, expected in views.items():
        assert main(["trace", "show", trace_file, option]) == 0
        assert capsys.readouterr() == (expected, "")
    assert main(["trace", "show", trace_file]) == 0
    assert capsys.readouterr().out == terminal.transcript(trace, 100)


def test_show_a_path(scenario_file: str, capsys: Any) -> None:
    path = ",".join(map(str, counterexample(POWER_LOSS).path))
    assert main(["trace", "show", scenario_file, "--path", path, "--json"]) == 0
    assert json_form.loads(capsys.readouterr().out) == counterexample(POWER_LOSS)


@pytest.mark.parametrize(
    "arguments",
    [["--path", "0,999"], ["--path", "x"], ["--path", "0,,1"], ["--path", "٣"], ["--path", "1" * 50], []],
)
def test_show_refuses(scenario_file: str, capsys: Any, arguments: list[str]) -> None:
    assert main(["trace", "show", scenario_file, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.endswith(".\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["split-votes", "flip-flop-before-kip-996"])
def test_a_permalink_shows_a_cycle_again(name: str, capsys: Any) -> None:
    (pin,) = pinned()[name]
    trace = behaviour(find(name), None, pin.path, pin.property, pin.loop)
    assert trace.loop == pin.loop is not None
    # The second one was found up to the number of past elections, and needs more epochs than allowed.
    assert (trace.scenario == find(name)) == (name == "split-votes")
    assert permalink(trace).startswith(f"{name} --path ")
    assert main(["trace", "show", *permalink(trace).split(), "--json"]) == 0
    assert json_form.loads(capsys.readouterr().out) == trace


def test_a_permalink_shows_a_dead_end_again(capsys: Any) -> None:
    chosen = find("split-votes")
    trace = behaviour(chosen, None, (0, 2), "LeaderEventuallyElected")
    assert trace.dead_end
    assert main(["trace", "show", *permalink(trace).split(), "--json"]) == 0
    assert json_form.loads(capsys.readouterr().out) == trace


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--path 0,2 --violates LeaderEventuallyElected --loop 1", "--path: the cycle does not lead back"),
        ("--path 0,2 --violates LeaderEventuallyElected --loop 3", "--loop: expected at most 2"),
        ("--path 0,999 --violates LeaderEventuallyElected", "--path: step 2: there is no option 999"),
        ("--path 0,2 --violates SingleLeaderPerEpoch", "expected LeaderEventuallyElected"),
        ("--path 0,2 --loop 1", "--loop: goes with --violates"),
        ("--violates LeaderEventuallyElected", "is a scenario; give --path"),
    ],
)
def test_a_cycle_that_is_none_is_refused(arguments: str, says: str, capsys: Any) -> None:
    assert main(["trace", "show", "split-votes", *arguments.split()]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


@pytest.mark.slow
def test_replay(trace_file: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    assert main(["trace", "replay", trace_file]) == 0
    assert "takes all" in capsys.readouterr().out
    data = json.loads(Path(trace_file).read_text(encoding="utf-8"))
    data["steps"][1]["runs"][0]["rules"] = []
    stale = tmp_path / "stale.json"
    stale.write_text(json.dumps(data), encoding="utf-8")
    assert main(["trace", "replay", str(stale)]) == 1
    assert "step 2, runs[0].rules[0]: recorded nothing, now PREVOTE" in capsys.readouterr().out
    assert main(["trace", "replay", str(stale), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["difference"]["step"] == 2
    assert main(["trace", "show", str(stale)]) == 0
    assert "does not take this behaviour (step 2" in capsys.readouterr().err
    assert main(["trace", "show", str(stale), "--pytest"]) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(data)))
    assert main(["trace", "replay", "-"]) == 1


def test_replay_refuses(tmp_path: Path, capsys: Any) -> None:
    assert main(["trace", "replay", str(tmp_path / "missing.json")]) == 2
    assert main(["trace", "show", "three-voters-elect"]) == 2
    assert "is a scenario" in capsys.readouterr().err


def test_simulate(scenario_file: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["simulate", scenario_file, "--seed", "3", "-v"]) == 0
    first = capsys.readouterr().out
    assert "as expected" in first and "Violated: StateMachineSafety" in first
    assert main(["simulate", scenario_file, "--seed", "3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert json_form.decode(data["violations"][0]["trace"]).property == "StateMachineSafety"
    unexpected = tmp_path / "holds.toml"
    text = SCENARIO.replace('"violated", violates = ["StateMachineSafety"]', '"holds"')
    unexpected.write_text(text, encoding="utf-8")
    assert main(["simulate", str(unexpected)]) == 1
    assert "DIFFERS" in capsys.readouterr().out
    assert main(["simulate", "three-voters-elect", "--walks", "2", "--depth", "3"]) == 3
    assert "walks prove nothing" in capsys.readouterr().out
    assert main(["simulate", str(unexpected), "--walks", "0"]) == 2
