"""Searches that are killed at any moment, taken up again, and compared with one that was left alone."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.checkpoint import Checkpoint
from kraftcheck.systems.scenario import find
from kraftcheck.traces.json_form import dumps


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
def test_what_a_limit_leaves_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*more: str) -> tuple[int, str]:
        command = ["check", "two-voters-restart", "--threads", "1", "--checkpoint", str(tmp_path), *more]
        status = main(command)
        return status, " ".join(capsys.readouterr().out.split())

    status, out = said("--max-states", "20000")
    assert status == 3
    assert "kept to depth 12" in out and "with a larger --max-states resumes from there" in out
    status, out = said("--max-memory", "1M")
    assert status == 3
    assert "taken up at depth 12" in out and "with a larger --max-memory resumes from there" in out
    status, out = said("--max-states", "40000", "--json")
    assert json.loads(out)["checkpoint"] == {"taken_up_at_depth": 12, "kept_to_depth": 14}
    status, out = said()
    assert status == 0
    assert "taken up at depth 14" in out and "kept" not in out and "128,985 states" in out


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("two-voters-restart", 3),
        ("finding-second-leader-of-epoch", 1),
        pytest.param("finding-second-leader-of-epoch", 4, marks=pytest.mark.nightly),
        pytest.param("two-voters-restart", 20, marks=pytest.mark.nightly),
    ],
)
def test_every_kill_has_the_same_answer(name: str, answers: int, tmp_path: Path) -> None:
    """Each of the answers after one kill at least."""
    rng = Random(name)
    begin = time.monotonic()
    expected = _answer(name, 2)
    seconds = time.monotonic() - begin
    processes = multiprocessing.get_context("fork")
    for number in range(answers):
        folder, killed = tmp_path / str(number), 0
        while not killed or rng.random() < 0.2:
            process = processes.Process(target=_answer, args=(name, rng.randint(1, 2), folder))
            process.start()
            time.sleep(rng.uniform(0.0, 1.5 * seconds))
            process.kill()
            process.join()
            killed += process.exitcode == -signal.SIGKILL
        assert _answer(name, rng.randint(1, 2), folder) == expected
