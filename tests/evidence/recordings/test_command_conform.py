"""``kraftcheck conform``: runs, folders of runs, exit status, files, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings.recording import find_runs
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.switches import preset_of
from tests.evidence.recordings.small_recording import small_recording, write


@pytest.mark.slow
def test_a_folder_stands_for_the_runs_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "some" / "run-1", small_recording())
    write(tmp_path / "run-2", small_recording())
    assert main(["conform", str(tmp_path)]) == 0
    assert "2 runs" in capsys.readouterr().out


def test_a_run_named_twice_is_compared_once(tmp_path: Path) -> None:
    run = write(tmp_path / "run-1", small_recording())
    assert find_runs([run, tmp_path, run]) == [run]


def test_a_folder_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert "there is no recorded run" in captured.err and captured.out == ""


@pytest.mark.slow
def test_a_run_that_is_not_whole_is_not_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "run-1", small_recording())
    (tmp_path / "run-2").mkdir()
    assert main(["conform", str(tmp_path)]) == 2
    assert "run-2" in capsys.readouterr().err


@pytest.mark.parametrize("name", ("file", "run.json", "trace.jsonl.gz"))
def test_a_file_in_place_of_a_folder_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, small_recording())
    (tmp_path / "file").write_text("no run")
    assert main(["conform", str(tmp_path / name)]) == 2
    assert f"{name}: is a file; give the folder of a recorded run" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err


def test_a_name_that_no_file_system_takes_is_refused() -> None:
    with pytest.raises(InputError):
        find_runs([Path("nul\0nul"), Path("x" * 5000)])


@pytest.fixture
def run_with_a_finding(tmp_path: Path) -> Path:
    """An exception ends Kafka's process; the reference continues."""
    lines = small_recording()
    end = next(line for line in lines if line["ev"] == "end")
    end.update(reason="fatal", exception="java.lang.IllegalStateException: why")
    return write(tmp_path / "run-1", lines)


def test_findings_are_reported_apart(run_with_a_finding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(run_with_a_finding)]) == 1
    printed = capsys.readouterr().out
    assert "NoFatal (P-1)" in printed and "java.lang.IllegalStateException: why" in printed


def test_json_lists_findings_and_differences(
    run_with_a_finding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", str(run_with_a_finding), "--json"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [each["property"] for each in run["findings"]] == ["NoFatal"]
    assert run["findings"][0]["seq"] == run["differences"][0]["seq"]


def test_the_report_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run-1", small_recording())
    assert main(["conform", str(run), "--json", "-o", str(tmp_path / "report.json")]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "report.json").read_text())["format"] == "kraftcheck-conform"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run-1", small_recording())
    assert main(["conform", str(run), "-o", str(tmp_path / "no" / "report")]) == 2
    assert "-o: there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--limit", "-1"], ["--limit", "x"], ["--findings", "maybe"], ["--protocol", "raft"], []]
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write(tmp_path / "run-1", small_recording()))] if wrong else []
    assert main(["conform", *runs, *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("Apache Kafka 4.0 (Confluent 8.0.8-0-ccs)", "kafka-4.0"),
        ("Apache Kafka 3.9.1", "kafka-3.9"),
        ("Apache Kafka 9.9", "kafka-trunk"),
        ("26b251a451ce", "kafka"),
        ("reference", "kafka"),
    ],
)
def test_a_recording_is_compared_with_the_preset_of_its_release(name: str, preset: str) -> None:
    assert preset_of(name) == preset
