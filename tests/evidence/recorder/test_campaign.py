"""The command ``record``: campaigns, alone and side by side, interrupted and taken up again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.cli.commands import record as command
from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.recorder.campaign import RESULTS, Made
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps
from kraftcheck.evidence.recorder.writing import files_of, is_whole
from tests.evidence.adapters.in_process import InProcess
from tests.evidence.recorder.test_recorder import SMALL
from tests.house.test_outputs import valid


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kraftcheck.evidence.adapters.started.AdapterProcess", lambda *_: InProcess(ReferenceAdapter())
    )


def recorded(
    monkeypatch: pytest.MonkeyPatch, interrupted_at: int = 99, differs: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Recordings without a cluster; the names of those that are made."""
    made: list[str] = []

    def make(recorder: object, name: str, planned: Schedule, protocol: object) -> Made:
        if len(made) == interrupted_at:
            raise KeyboardInterrupt
        made.append(name)
        if protocol is None:
            return Made(files_of(name, [{"seq": 0}]), None, 1)
        if not differs(name):
            return Made(None, Compared(name, 1, rules={"VOTE-1": 2}), 1)
        return Made(files_of(name, [{"seq": 0}]), Compared(name, 1, kind="recv: leo", seq=0, time=5), 1)

    monkeypatch.setattr(command, "make", make)
    return made


def run(*words: object) -> int:
    return main(["record", "--adapter", "reference", "--jobs", "1", *map(str, words)])


@pytest.mark.parametrize("compares", [[], ["--compare", "--shrink", "0"]])
def test_an_interrupted_campaign_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compares: list[str]
) -> None:
    campaign = ["--count", 4, "--profile", "steady", "-o", tmp_path / "runs", *compares]
    names = [f"run-steady-{seed}" for seed in range(4)]
    with monkeypatch.context() as patch:
        first = recorded(patch, interrupted_at=2)
        assert run(*campaign) == 3
    assert first == names[:2]
    assert sorted(path.name for path in (tmp_path / "runs").glob("*run*")) == names[:2]
    rest = recorded(monkeypatch)
    assert run(*campaign) == bool(compares)
    assert rest == names[2:]
    assert all(is_whole(tmp_path / "runs" / name) for name in names)


def test_a_recording_that_differed_and_is_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = recorded(monkeypatch, differs=lambda name: name.endswith("1"))
    campaign = ["--count", 3, "--profile", "lossy", "-o", tmp_path, "--compare", "--shrink", "0", "--json"]
    assert run(*campaign) == 1
    data = valid(capsys.readouterr().out, "record")
    assert data["rules"] == {"VOTE-1": 4}
    assert [(each["kind"], each["runs"]) for each in data["kinds"]] == [("recv: leo", ["run-lossy-1"])]
    made.clear()
    shutil.rmtree(tmp_path / "run-lossy-1")
    assert run(*campaign) == 1
    assert made == ["run-lossy-1"]


def test_results_of_another_plan_are_not_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(monkeypatch, differs=lambda _: False)
    assert run("-o", tmp_path, "--compare") == 0
    assert run("-o", tmp_path, "--compare", "--seconds", "20") == 2
    assert f"{tmp_path / RESULTS}: has the results of another" in capsys.readouterr().err


@pytest.mark.slow
def test_a_schedule_is_recorded_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.json").write_text(dumps(SMALL))
    assert run("-o", tmp_path, "--compare", "--schedule", tmp_path / "s.json", "--json") == 0
    data = valid(capsys.readouterr().out, "record")
    assert data["runs"][0]["whole"] and len(data["rules"]) > 50


@pytest.mark.slow
def test_ctrl_c_ends_a_campaign_and_its_adapters(tmp_path: Path) -> None:
    adapter = f"{sys.executable} -X mark={tmp_path} -m kraftcheck.evidence.adapters.adapter"
    words = ["--adapter", adapter, "--jobs", "2", "--count", "40", "--seconds", "15"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", "record", *words, "-o", str(tmp_path / "runs")],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 240
    while not list(tmp_path.glob("runs/run-*")) and time.monotonic() < end:
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 3 and "interrupted" in errors
    complete = list((tmp_path / "runs").iterdir())
    assert complete and all(is_whole(folder) for folder in complete)
    time.sleep(2)
    assert (
        str(tmp_path)
        not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    )
    assert json.loads((complete[0] / "run.json").read_text())["events"] > 100
