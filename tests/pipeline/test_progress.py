"""A line on a terminal tells how far Spark is."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kraftcheck.pipeline import progress


class Tracker:
    """Two stages run, one of which has just ended."""

    def getActiveStageIds(self) -> list[int]:
        return [3, 4, 5]

    def getStageInfo(self, stage: int) -> SimpleNamespace | None:
        if stage == 4:
            return None
        return SimpleNamespace(stageId=stage, numTasks=1000 * stage, numCompletedTasks=stage)


def _session(tracker: Any) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def test_the_tasks_of_all_stages_that_run_are_counted() -> None:
    assert progress.line("logs", cast(Any, Tracker())) == "logs: 8 of 8,000 tasks of stage 5"
    idle = SimpleNamespace(getActiveStageIds=list)
    assert progress.line("logs", cast(Any, idle)) == "logs …"


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_told(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    asked: list[str] = []

    def noted(what: str, tracker: Any) -> str:
        asked.append(what)
        raise OSError("Spark is ending.")

    monkeypatch.setattr(progress, "line", noted)
    with progress.told(_session(Tracker()), "logs"):
        deadline = time.monotonic() + 10
        while terminal and len(asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    captured = capsys.readouterr()
    assert captured.out == "" and (len(asked) >= 2) == terminal
    assert ("logs …" in captured.err) == terminal
