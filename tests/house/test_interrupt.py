"""Ctrl-C, SIGTERM and SIGHUP end a command at once, with one sentence, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.support import signals

ENDING = pytest.mark.parametrize("number", signals.ENDING, ids=lambda number: number.name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--threads", "2", "nightly-three-voters", "single-voter"],
        ["check", "--json", "nightly-three-voters", "single-voter"],
        ["graph", "nightly-three-voters", "--max-states", "90000000"],
        ["prove", "--json"],
    ],
    ids=lambda arguments: arguments[0] + arguments[1],
)
def test_ctrl_c_ends_an_exploration(arguments: list[str], tmp_path: Path) -> None:
    out, err = ended(arguments, signal.SIGINT, tmp_path)
    assert err == ["kraftcheck: interrupted."]
    assert "single-voter" not in out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "words",
    [
        "check nightly-three-voters",
        "simulate three-voters-elect --walks 99999999",
        "mutate --jobs 2",
        "prove",
    ],
)
def test_other_signals_do_the_same(words: str, number: signal.Signals, tmp_path: Path) -> None:
    _, err = ended(words.split(), number, tmp_path)
    assert err == ["kraftcheck: interrupted."]


def ended(arguments: list[str], number: signal.Signals, temporary: Path) -> tuple[str, list[str]]:
    """What a command prints that gets a signal, twice as from `timeout`: it ends with status 3."""
    with subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=as_usual,
    ) as process:
        time.sleep(3)
        assert process.poll() is None
        process.send_signal(number)
        time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert list(temporary.iterdir()) == []
    return out, [line for line in err.splitlines() if "compiling" not in line]


def as_usual() -> None:
    """A shell that runs tests in the background has signals ignored, which processes inherit."""
    for number in signals.ENDING:
        signal.signal(number, signal.SIG_DFL)


@ENDING
def test_a_signal_is_an_interrupt_once(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(number, signal.default_int_handler)
    try:
        with signals.ending() as ending:
            assert not ending.seen
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            signal.raise_signal(number)  # The same one, by another way.
            assert ending.seen
            monkeypatch.setattr(signals, "SAME_SECONDS", -1.0)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


@ENDING
def test_an_ignored_signal_stays_ignored(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with signals.ending() as ending:
            signal.raise_signal(number)
        assert not ending.seen and signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.slow
def test_an_interrupt_that_python_drops_comes_again() -> None:
    class Deleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), signals.ending():
            Deleted()
            time.sleep(10)
    finally:
        signal.signal(signal.SIGINT, before)


@ENDING
def test_a_signal_that_comes_while_the_command_is_imported(number: signal.Signals) -> None:
    """No code of the command can hear it yet, so it waits."""
    code = f"""
import importlib.abc, os, sys
import kraftcheck.__main__

class Signals(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "kraftcheck.cli.main":
            os.kill(os.getpid(), {int(number)})

sys.meta_path.insert(0, Signals())
sys.argv = ["kraftcheck", "rules"]
kraftcheck.__main__.script()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=as_usual)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "kraftcheck: interrupted.\n")


def test_what_an_interrupt_leaves_half_made_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    class HalfMade:
        def __del__(self) -> None:
            raise AttributeError("no attribute")

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), signals.ending():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                HalfMade()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == ""
