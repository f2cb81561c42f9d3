"""The benchmark of the comparison measures whole, faultless comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.bench.lockstep import figures, simulated
from kraftcheck.evidence.recorder.writing import files_of, write_files
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import read
from tests.evidence.recordings.small_recording import small_recording, write


@pytest.mark.slow
def test_the_simulated_run_agrees_with_the_reference(tmp_path: Path) -> None:
    write_files(tmp_path / "run", files_of("run", simulated(6)))
    report = compare(read(tmp_path / "run"))
    assert report.differences == [] and not report.skipped
    assert report.recorded > 500


@pytest.mark.slow
def test_recorded_runs_are_measured_where_there_are_some(tmp_path: Path) -> None:
    run = write(tmp_path / "run", small_recording())
    assert [figure.key for figure in figures([run], rounds=1, seconds=4)] == [
        "lockstep_recorded",
        "lockstep_simulated",
    ]
    (figure,) = figures(rounds=1, seconds=4)
    assert figure.value > 0 and figure.unit == "recorded events/s"
