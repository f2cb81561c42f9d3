"""Recorded runs on Spark give what ``kraftcheck conform`` says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import Difference
from kraftcheck.evidence.recordings.properties.finding import Finding
from kraftcheck.evidence.recordings.properties.judge import Remark, judge
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.evidence.recordings.report import RunResult
from kraftcheck.pipeline.datasets import Column
from kraftcheck.pipeline.runs import results
from kraftcheck.pipeline.runs.rows import from_rows, to_row
from tests.evidence.recordings.small_recording import eventful_recording, small_recording, write


def test_rows_say_all_that_the_report_does() -> None:
    recording = recording_of(list(eventful_recording()))
    result = RunResult(compare(recording), judge(recording))
    result.report.differences += [
        Difference("lines", 9, None, "final", "counts", {"a": [1, None]}, None),
        Difference("lines", 5, 1, "tick", "epoch", 1, 4, ("VOTE-10",), ("4 tick: -",), shown_at=9),
    ]
    result.judgement.findings += [
        Finding("lines", "NoFatal", 7, 90, (1, 2), "the process ends", False, "a cause", "finding-x"),
        Finding("lines", "NoFatal", 7, 90, (1,), "starts as Candidate", hazard=True),
    ]
    result.judgement.unexplained.append(Remark("lines", None, "two leaders"))
    row = to_row(result)
    again = from_rows(row, row["differences"][::-1], row["findings"][::-1], row["rules"])
    assert again == result


@pytest.mark.spark
def test_what_conform_says_is_said(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = small_recording()
    at = next(n for n, line in enumerate(changed) if line["ev"] == "tick" and line["s"]["state"] == "Leader")
    changed[at]["s"]["epoch"] += 7
    write(tmp_path / "some" / "run-1", small_recording())
    write(tmp_path / "run-2", changed)
    assert main(["conform", str(tmp_path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    out = tmp_path / "out"
    assert main(["pipeline", "runs", str(tmp_path), "-o", str(out), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    by_name = [sorted(each.pop("runs"), key=json.dumps) for each in (said, told)]
    assert by_name[0] == by_name[1] and said == told
    assert sum(len(run["differences"]) for run in by_name[1]) > 0
    assert main(["pipeline", "runs", str(tmp_path), "-o", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.spark
def test_what_is_no_run_is_named(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "runs" / "run-1", small_recording())
    write(tmp_path / "runs" / "run-2", small_recording())
    (tmp_path / "runs" / "run-2" / "run.json").unlink()
    assert main(["pipeline", "runs", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert "1 run," in captured.out and "run-2/run.json: cannot be read" in captured.err
    (tmp_path / "empty").mkdir()
    assert main(["pipeline", "runs", str(tmp_path / "empty"), "-o", str(tmp_path / "more")]) == 2
    assert "there is no recorded run" in capsys.readouterr().err


@pytest.mark.spark
def test_a_path_that_spark_takes_for_a_pattern_is_refused(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "some" / "run-1", small_recording())
    write(tmp_path / "in[1]" / "run-1", small_recording())
    write(tmp_path / "below" / "run-[1]", small_recording())
    for runs, out in (("some", "out[1]"), ("in[1]", "out"), ("below", "out")):
        assert main(["pipeline", "runs", str(tmp_path / runs), "-o", str(tmp_path / out)]) == 2
        err = capsys.readouterr().err
        assert "Spark takes the '[' for a wildcard" in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.spark
def test_nothing_half_written_is_left(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "runs" / "run-1", small_recording())
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(results, "FINDINGS", replace(results.FINDINGS, columns=(Column("none", "int", ""),)))
        assert main(["pipeline", "runs", str(tmp_path / "runs"), "-o", str(out)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("kraftcheck: Spark could not do it: ")
    assert captured.err.count("\n") == 1 and not out.exists()
    assert main(["pipeline", "runs", str(tmp_path / "runs"), "-o", str(out)]) == 0


@pytest.mark.spark
def test_a_file_system_that_nobody_knows(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, out in (("nosuch://a/b", str(tmp_path / "out")), (str(tmp_path), "nosuch://a/b")):
        assert main(["pipeline", "runs", folder, "-o", out]) == 2
        err = capsys.readouterr().err
        assert err.startswith("kraftcheck: nosuch://a/b") and "No FileSystem" in err and err.count("\n") == 1
