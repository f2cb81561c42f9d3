"""Where the recorded runs are."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import RunReport
from kraftcheck.evidence.recordings.recording import read

REPOSITORY = Path(__file__).resolve().parents[2]
VARIABLE = "KRAFTCHECK_RUNS"


def runs_folder() -> Path:
    """The folder of the recorded runs: from the environment, else beside the repository."""
    return Path(os.environ.get(VARIABLE, REPOSITORY / ".." / "shared" / "data" / "kafka-raft-runs"))


def recorded_runs() -> list[Path]:
    """The recorded runs that are there."""
    return sorted(path.parent for path in runs_folder().glob("run-*/trace.jsonl.gz"))


@cache
def compared(run: Path) -> RunReport:
    """A run compared with the reference, once for all who ask; not to be changed."""
    return compare(read(run))
