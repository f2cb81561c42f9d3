"""Where the explorer begins, and what it says of words that name nothing."""

from __future__ import annotations

import io
import sys
from pathlib import Path as File

import pytest

from kraftcheck.cli.main import main
from kraftcheck.explorer.start import DEFAULT, start_of
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces import json_form
from tests.traces.trace_samples import UNSTABLE, counterexample


def test_a_scenario_a_path_and_the_default() -> None:
    assert start_of([]).ground.scenario.name == DEFAULT
    start = start_of(["disruptive-server"], (0, 0))
    assert start.path == (0, 0) and start.ground.scenario.name == "disruptive-server"
    assert start_of(["disruptive-server"], preset="kafka-4.0").ground.scenario.asked_preset == "kafka-4.0"


def test_a_trace_of_a_scenario_of_its_own(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = counterexample(UNSTABLE)
    file = tmp_path / "trace.json"
    file.write_text(json_form.dumps(trace), encoding="utf-8")
    assert start_of([str(file)]).path == trace.path
    monkeypatch.setattr(sys, "stdin", io.StringIO(json_form.dumps(trace)))
    found = start_of(["-"])
    assert found.ground.walk(found.path).violated == ("ReturningReplicaDeposesNobody",)


def test_replicas_in_the_short_form() -> None:
    start = start_of(["follower id=2 epoch=5 leader=1 log=3@4,2@5 fetched"])
    system = start.ground.system
    assert isinstance(system, KRaftSystem)
    replicas = [node.replica for node in system.nodes]
    assert [replica and replica.epoch for replica in replicas] == [5, 5, 5]
    assert [type(replica and replica.role).__name__ for replica in replicas] == [
        "Leader",
        "Follower",
        "Follower",
    ]
    two = start_of(["leader id=1 epoch=2 log=1@1,1@2", "follower id=2 epoch=2 leader=1 log=1@1"])
    assert two.ground.scenario.name == "explored"
    assert start_of(["candidate epoch=6 log=1@5"]).ground.walk(()).options()


@pytest.mark.parametrize(
    "words",
    [
        ["no-such-scenario"],
        ["three-voters-elect", "disruptive-server"],
        ["/dev/zero"],
        ["follower epoch=99 leader=1"],
        ["follower epoch=x"],
        ["leader epoch=3", "leader epoch=3 id=2"],
        ["leader epoch=3", "leader epoch=3"],
        ["leader epoch=2 log=1@1 hw=1"],
        ["three-voters-elect", "--path", "0,999"],
        ["three-voters-elect", "--path", "x"],
        ["three-voters-elect", "--port", "99999"],
        ["three-voters-elect", "--protocol", "kafka-0.8"],
        ["\x1b[31m"],
        ["replica"],
        ["follower", "x" * 10_000],
    ],
)
def test_words_that_name_nothing_get_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", *words]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("kraftcheck: ") and error.count("\n") == 1 and len(error) < 900


def test_a_trace_has_its_own_path(tmp_path: File) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json_form.dumps(counterexample(UNSTABLE)), encoding="utf-8")
    with pytest.raises(InputError, match="its own path"):
        start_of([str(file)], (0,))
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not a trace file"):
        start_of([str(file)])
