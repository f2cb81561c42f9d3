"""Ctrl-C, SIGTERM and SIGHUP end a command at once, with one sentence, and leave nothing behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.cli import main
from kraftcheck.support import signals
from tests.house.processes import NEEDS_PROC, as_usual, cpu_seconds, session, wait_for

ENDING = pytest.mark.parametrize("number", signals.ENDING, ids=lambda number: number.name)


CHECK = "check nightly-three-voters"
SIMULATE = "simulate three-voters-elect --walks 99999999"
MUTATE = "mutate --jobs 2"
INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@pytest.mark.one_in(2)
@pytest.mark.slow
@NEEDS_PROC
@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("check --threads 2 nightly-three-voters single-voter", INT),
        ("check --json nightly-three-voters single-voter", INT),
        ("graph nightly-three-voters --max-states 90000000", INT),
        (CHECK, TERM),
        (SIMULATE, HUP),
        (MUTATE, TERM),
        ("prove", HUP),
        *(
            pytest.param(words, number, marks=pytest.mark.nightly)
            for words, number in (
                (CHECK, HUP),
                (SIMULATE, TERM),
                (MUTATE, HUP),
                ("prove", TERM),
                ("prove --json", INT),
            )
        ),
    ],
)
def test_a_signal_ends_a_command(words: str, number: signal.Signals, tmp_path: Path) -> None:
    """It comes twice, as from `timeout`."""
    with subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", *words.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        preexec_fn=as_usual,
    ) as process:
        try:
            # Longer than it takes to import everything.
            assert wait_for(lambda: sum(map(cpu_seconds, [process.pid, *session(process.pid)])) > 1.5)
            process.send_signal(number)
            time.sleep(0.05)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 3
    assert list(tmp_path.iterdir()) == []
    assert [line for line in err.splitlines() if "compiling" not in line] == ["kraftcheck: interrupted."]
    assert "single-voter" not in out


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


def _in_an_argument() -> None:
    """As in a call of Z3: ctypes makes an exception of its own of what ``from_param`` raises."""

    class Argument:
        @classmethod
        def from_param(cls, value: object) -> None:
            signal.raise_signal(signal.SIGINT)

    call = ctypes.CFUNCTYPE(None)(lambda: None)
    call.argtypes = [Argument]  # type: ignore[list-item]
    call(None)


@pytest.mark.parametrize("interrupt", [lambda: signal.raise_signal(signal.SIGINT), _in_an_argument])
def test_an_interrupt_that_python_drops_comes_again(interrupt: Callable[[], None]) -> None:
    class Deleted:
        def __del__(self) -> None:
            interrupt()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), signals.ending():
            Deleted()
            began = time.monotonic()
            time.sleep(10)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 5


def test_what_a_dropped_interrupt_has_broken_is_not_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception may come before the signal comes again."""

    class Deleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def broken(arguments: list[str]) -> int:
        Deleted()
        raise KeyError(0)

    monkeypatch.setattr(main, "_run", broken)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status = main.main([])
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 3 and capsys.readouterr().err == "kraftcheck: interrupted.\n"


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
