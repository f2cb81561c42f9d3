"""``kraftcheck check --watch``: again after each change, until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.systems.scenario import shipped_files
from tests.house.processes import as_usual, wait_for

WAITING = "kraftcheck: waiting for a change"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(shipped_files()["single-voter"].read_text())
    return file


@pytest.fixture
def watching(scenario: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(
            [sys.executable, "-m", "kraftcheck", "check", "--watch", str(scenario)],
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=as_usual,
        ) as process,
    ):
        yield process
        process.kill()


@pytest.mark.slow
def test_it_checks_again_after_a_change(
    scenario: Path, watching: subprocess.Popen[str], tmp_path: Path
) -> None:
    said = tmp_path / "said"
    assert wait_for(lambda: said.read_text().count(WAITING) == 1)
    assert said.read_text().count("1 of 1 scenarios as expected") == 1

    text = scenario.read_text()
    (tmp_path / "unrelated.toml").write_text(text)
    replaced = tmp_path / "replaced"
    replaced.write_text(text.replace('verdict = "holds", states', "verdict, states"))
    replaced.rename(scenario)
    assert wait_for(lambda: said.read_text().count(WAITING) == 2)
    assert "mine.toml:" in said.read_text()

    scenario.write_text(text)
    assert wait_for(lambda: said.read_text().count(WAITING) == 3)
    assert said.read_text().count("1 of 1 scenarios as expected") == 2
    assert said.read_text().count("changed: mine.toml") == 2
    assert "unrelated" not in said.read_text()

    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 3
    assert said.read_text().endswith("kraftcheck: interrupted.\n")


def test_the_library_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert main(["check", "--watch", "single-voter"]) == 2
    assert "pip install 'kraftcheck[watch]'" in capsys.readouterr().err
