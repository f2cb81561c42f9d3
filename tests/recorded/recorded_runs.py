"""Where the recorded runs are."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
VARIABLE = "KRAFTCHECK_RUNS"


def runs_folder() -> Path:
    """The folder of the recorded runs: from the environment, else beside the repository."""
    return Path(os.environ.get(VARIABLE, REPOSITORY / ".." / "shared" / "data" / "kafka-raft-runs"))


def recorded_runs() -> list[Path]:
    """The recorded runs that are there."""
    return sorted(path.parent for path in runs_folder().glob("run-*/trace.jsonl.gz"))
