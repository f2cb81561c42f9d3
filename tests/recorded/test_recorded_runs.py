"""The recorded runs of production Kafka against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.evidence.recordings.exceptions import (
    NUMBER_LEFT_OUT,
    OLDER_VERSION,
    UNKNOWN_FIELD,
    UNKNOWN_TOTAL,
    UNRESOLVED,
    UNSEEN_MESSAGES,
)
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import RunReport
from kraftcheck.evidence.recordings.recording import read
from kraftcheck.reference import progress
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.reference.work import Work
from tests.recorded.recorded_runs import VARIABLE, compared, recorded_runs, runs_folder

RUNS = recorded_runs()

#: Exceptions of other recordings; in these runs every field is known, and every message is shown.
NEVER = {NUMBER_LEFT_OUT, OLDER_VERSION, UNKNOWN_FIELD, UNKNOWN_TOTAL, UNRESOLVED, UNSEEN_MESSAGES}


def test_recorded_runs_are_there() -> None:
    if not RUNS:
        pytest.skip(f"recorded runs NOT RUN: none in {runs_folder()}; set {VARIABLE} to their folder")
    assert all((run / "run.json").exists() for run in RUNS)


def _total(report: RunReport) -> int:
    counters = (report.compared, report.world, report.not_covered, report.skipped)
    return sum(sum(counter.values()) for counter in counters)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_production_does_what_the_reference_says(run: Path) -> None:
    report = compared(run)
    assert report.differences == []
    assert _total(report) == report.recorded
    assert not report.not_covered and not report.skipped and report.is_whole
    assert not report.exceptions.keys() & NEVER and not report.unknown


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_production_counts_a_fetch_that_waited_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch that waits at the leader counts twice (a finding): a reference in which it does not differs."""
    count = progress.count_contact

    def count_once(work: Work, key: ReplicaKey, *, again: bool = False) -> None:
        if not again:
            count(work, key)

    monkeypatch.setattr(progress, "count_contact", count_once)
    fields = {difference.field for difference in compare(read(run)).differences}
    assert "deadlines.checkQuorum" in fields
