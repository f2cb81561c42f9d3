"""Ctrl-C ends a command while it explores, at once and with one sentence."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest


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
def test_ctrl_c_ends_an_exploration(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "model_check", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has the signal ignored, which processes inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        time.sleep(8)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert err == "kraftcheck: interrupted.\n"
    assert "single-voter" not in out
