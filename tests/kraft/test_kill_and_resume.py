"""Searches that are killed at any moment, taken up again, and compared with one that was left alone."""

from __future__ import annotations

import multiprocessing
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from model_check.engine.checkpoint import Checkpoint
from model_check.run import check
from model_check.scenario import find
from model_check.trace.json_form import dumps

KILLS = 20


def _answer(name: str, threads: int, folder: Path | None = None) -> dict[str, Any]:
    """Everything that a check says, but for time and memory."""
    scenario = find(name)
    checkpoint = None if folder is None else Checkpoint(folder, name, every=0.0)
    try:
        result = check(scenario, threads=threads, checkpoint=checkpoint)
    finally:
        if checkpoint is not None:
            checkpoint.close()
    found = result.exploration
    return {
        "verdict": result.verdict,
        "levels": found.levels,
        "generated": found.generated,
        "constrained": found.constrained,
        "deadlocks": found.deadlocks,
        "goals": (found.reached_goals, found.missing_goals),
        "calls": found.calls,
        "traces": [dumps(trace) for trace in result.traces()],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-voters-restart", "finding-second-leader-of-epoch"])
def test_twenty_kills_twenty_answers(name: str, tmp_path: Path) -> None:
    rng = Random(name)
    begin = time.monotonic()
    expected = _answer(name, 2)
    seconds = time.monotonic() - begin
    processes = multiprocessing.get_context("fork")
    killed = 0
    while killed < KILLS:
        folder = tmp_path / str(killed)
        for _ in range(rng.randint(1, 3)):
            process = processes.Process(target=_answer, args=(name, rng.randint(1, 2), folder))
            process.start()
            time.sleep(rng.uniform(0.0, 1.5 * seconds))
            process.kill()
            process.join()
            killed += process.exitcode == -signal.SIGKILL
        assert _answer(name, rng.randint(1, 2), folder) == expected
