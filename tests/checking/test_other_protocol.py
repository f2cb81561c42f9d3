"""Scenarios under another preset: `--protocol` of check, simulate, trace show and reproduce."""

from __future__ import annotations

import json

import pytest

from kraftcheck.cli.main import main
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.other_protocol import each_under, under
from kraftcheck.systems.scenario import find

LOSER = "finding-restart-as-candidate"


def test_the_switches_that_a_scenario_sets_stay() -> None:
    before = find("finding-restart-before-write-back")
    assert isinstance(before, KRaftScenario) and before.protocol.set
    after = under(before, "kafka-4.0")
    assert (after.protocol.preset, after.protocol.set) == ("kafka-4.0", before.protocol.set)
    assert (after.asked_preset, after.expect.verdict, after.expect.states) == ("kafka-4.0", "holds", None)
    assert before.asked_preset is None and under(before, None) is before


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["check", LOSER, "--protocol", "kafka-5"], f"{LOSER}: --protocol: there is no preset 'kafka-5'"),
        (["check", "brokers-cut-off-fences", "--protocol", "kafka-4.0"], "expected one of draft, shipped"),
        (["simulate", LOSER, "--protocol", "4.0"], "there is no preset '4.0'"),
        (["trace", "show", "x.json", "--protocol", "kafka-4.0"], "--protocol: goes with --path"),
        (["reproduce", LOSER, "--protocol", "kafka-9", "--adapter", "true"], "there is no preset 'kafka-9'"),
    ],
)
def test_a_preset_that_does_not_fit(
    command: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    assert says in capsys.readouterr().err


def test_the_behaviour_of_another_preset_is_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "show", LOSER, "--protocol", "kafka-4.0", "--path", "0,0"]) == 0
    assert f"kraftcheck trace show {LOSER} --protocol kafka-4.0 --path 0,0" in " ".join(
        capsys.readouterr().out.split()
    )


def test_scenarios_that_cannot_be_built_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    alone = find("single-voter")
    built, left_out = each_under([find(LOSER), alone, find("brokers-cut-off-fences")], "kafka-3.9")
    assert [each.name for each in built] == ["single-voter"]
    assert set(left_out) == {LOSER, "brokers-cut-off-fences"}
    assert each_under([alone], None) == ([alone], {})
    assert main(["check", "brokers-cut-off-fences", "single-voter", "--protocol", "kafka-4.0"]) == 3
    shown = capsys.readouterr()
    assert "1 of 1 scenarios hold under kafka-4.0" in shown.out
    assert "left out: brokers-cut-off-fences: it cannot be built under kafka-4.0" in shown.err
    assert main(["check", LOSER, "--protocol", "kafka-3.9"]) == 2


@pytest.mark.slow
def test_a_finding_by_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", LOSER, "--protocol", "kafka-4.0", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["protocol"], found["verdict"]) == ("kafka-4.0", "violated")
    assert main(["check", LOSER, "--protocol", "kafka-4.0"]) == 1
    shown = capsys.readouterr().out
    assert "under kafka-4.0" in shown and "0 of 1 scenarios hold under kafka-4.0" in shown
    assert "expected" not in shown.split("\n")[0]
