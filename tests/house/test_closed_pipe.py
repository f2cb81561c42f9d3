"""Where the reader closes the pipe early, the exit status says so and no message does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kraftcheck.support.exit_codes import EXIT_BROKEN_PIPE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("step candidate shutdown", "1"), ("simulate single-voter --walks 3", ""), ("rules --help", "")],
)
def test_the_reader_closes_the_pipe(words: str, unbuffered: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", *words.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == EXIT_BROKEN_PIPE
