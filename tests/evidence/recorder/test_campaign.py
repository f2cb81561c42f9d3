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
from typing import Any

import msgspec
import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.recorder import workers
from kraftcheck.evidence.recorder.campaign import Made
from kraftcheck.evidence.recorder.results import RESULTS, Results
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps
from kraftcheck.evidence.recorder.writing import files_of, is_whole
from kraftcheck.support.errors import InputError
from tests.evidence.adapters.in_process import InProcess
from tests.evidence.recorder.short_campaign import record
from tests.evidence.recorder.test_recorder import SMALL
from tests.house.test_outputs import valid


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kraftcheck.evidence.adapters.started.AdapterProcess", lambda *_: InProcess(ReferenceAdapter())
    )


#: What an adapter says of a process that makes itself a voter, where its release knows none.
REFUSED = "no process of this release makes itself a voter"


def recorded(
    monkeypatch: pytest.MonkeyPatch, interrupted_at: int = 99, differs: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Recordings without a cluster; the names of those that are made."""
    made: list[str] = []

    def make(recorder: object, name: str, planned: Schedule, protocol: object) -> Made:
        if len(made) == interrupted_at:
            raise KeyboardInterrupt
        if planned.cluster.auto_join:
            return Made(refused=REFUSED)
        made.append(name)
        if protocol is None:
            return Made(files_of(name, [{"seq": 0}]), None, 1)
        if not differs(name):
            return Made(None, Compared(name, 1, rules={"VOTE-1": 2}), 1)
        return Made(files_of(name, [{"seq": 0}]), Compared(name, 1, kind="recv: leo", seq=0, time=5), 1)

    monkeypatch.setattr(workers, "make", make)
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


@pytest.mark.parametrize("compares", [[], ["--compare", "--shrink", "0"]])
def test_a_cluster_that_the_implementation_has_not_is_left_out_with_a_notice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    compares: list[str],
) -> None:
    made = recorded(monkeypatch, differs=lambda _: False)
    both = ["--profile", "auto-join", "--profile", "steady", "--count", "4", "-o", tmp_path, *compares]
    for new in (2, 0):
        assert run(*both) == 0
        assert f"2 left out: {REFUSED}" in capsys.readouterr().out
        assert len(made) == new
        made.clear()
    assert run(*both, "--json") == 0
    assert valid(capsys.readouterr().out, "record")["refused"] == {REFUSED: 2}


def test_a_campaign_of_nothing_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(monkeypatch)
    assert run("--profile", "auto-join", "--count", "2", "-o", tmp_path) == 2
    assert f"reference: nothing can be recorded: {REFUSED}; choose" in capsys.readouterr().err


def test_a_line_that_was_not_written_to_its_end_is_removed(tmp_path: Path) -> None:
    path, made_by = tmp_path / RESULTS, {"adapter": "some"}
    results = Results(path, made_by)
    for run in ("a", "b"):
        results.add(Compared(run, 1, kind="k", rules={"VOTE-1": 2}))
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[-1][:40])
    again = Results(path, made_by)
    assert again.by_run == results.by_run and path.read_text() == whole
    again.add(Compared("b", 5))
    assert Results(path, made_by).by_run["b"].events == 5


@pytest.mark.parametrize(("line", "wrong"), [("{}", "field 'run' is missing"), ("{", "line 2: not")])
def test_damaged_results_are_one_sentence(tmp_path: Path, line: str, wrong: str) -> None:
    path = tmp_path / RESULTS
    Results(path, {}).add(Compared("a", 1))
    path.write_text(f"{path.read_text().splitlines()[0]}\n{line}\n")
    with pytest.raises(InputError, match=wrong) as caught:
        Results(path, {})
    assert f"{path}, line 2" in str(caught.value)


@pytest.mark.slow
def test_a_campaign_that_is_killed_gives_the_same_answer_when_it_is_taken_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def campaign(folder: str) -> list[str]:
        profiles = ["--profile", "steady", "--profile", "upgrade", "--count", "4"]
        return [*profiles, "--compare", "--shrink", "0", "--json", "-o", str(tmp_path / folder)]

    def answer(folder: str) -> dict[str, Any]:
        assert record(*campaign(folder)) == 1
        data = valid(capsys.readouterr().out.replace(str(tmp_path / folder), "FOLDER"), "record")
        return {name: value for name, value in data.items() if name not in ("made", "events", "elapsed")}

    process = subprocess.Popen(
        [sys.executable, "-m", "tests.evidence.recorder.short_campaign", *campaign("killed")],
        stderr=subprocess.DEVNULL,
    )
    results, end = tmp_path / "killed" / RESULTS, time.monotonic() + 240
    while process.poll() is None and time.monotonic() < end:
        if results.is_file() and results.read_bytes().count(b"\n") > 2:
            process.kill()
        time.sleep(0.01)
    assert process.wait() == -signal.SIGKILL
    found = {each.run for each in map(parsed, results.read_text().splitlines()[1:])}
    assert 2 <= len(found) < 4
    expected = answer("whole")
    assert answer("killed") == expected
    assert len(expected["kinds"]) == 1 and len(expected["kinds"][0]["runs"]) == 2
    assert files_in(tmp_path / "killed") == files_in(tmp_path / "whole")


def parsed(line: str) -> Compared:
    return msgspec.json.decode(line, type=Compared)


def files_in(folder: Path) -> dict[str, bytes]:
    """The content of each file below ``folder``, but for the order of lines."""
    return {
        str(path.relative_to(folder)): b"\n".join(sorted(path.read_bytes().splitlines()))
        for path in folder.rglob("*")
        if path.is_file()
    }


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
