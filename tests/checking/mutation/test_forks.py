"""Processes that are forked for a request, and the servers that do it."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from kraftcheck.support import forks


@pytest.fixture
def caller() -> Iterator[int]:
    """What a server listens to, open at its other end."""
    receive, send = os.pipe()
    yield receive
    os.close(receive)
    os.close(send)


def test_what_was_written_and_how_it_ended(caller: int) -> None:
    def work(stream: TextIO) -> None:
        print("one", file=stream)
        print("two", file=stream)
        stream.write("half a line")
        sys.exit(3)

    ended = forks.fork(work, caller, 60)
    assert (ended.lines, ended.in_time, ended.status) == (["one", "two"], True, 3)
    assert ended.seconds > 0 and ended.peak_memory > 1 << 20


def test_an_error_is_no_success(caller: int) -> None:
    ended = forks.fork(lambda stream: sys.exit("no"), caller, 60)
    assert ended.status == 1


def test_a_process_that_takes_too_long_is_killed(caller: int) -> None:
    ended = forks.fork(lambda stream: time.sleep(60), caller, 0.1)
    assert (ended.in_time, ended.status) == (False, -signal.SIGKILL)


def test_nothing_goes_on_when_nobody_waits() -> None:
    receive, send = os.pipe()
    os.close(send)
    ended = forks.fork(lambda stream: time.sleep(60), receive, 60)
    os.close(receive)
    assert (ended.in_time, ended.status) == (False, -signal.SIGKILL)


def test_a_process_that_is_killed_says_so(caller: int) -> None:
    ended = forks.fork(lambda stream: os.kill(os.getpid(), signal.SIGKILL), caller, 60)
    assert (ended.in_time, ended.status) == (True, -signal.SIGKILL)


def test_work_that_lacks_memory_or_room_is_not_wrong(caller: int) -> None:
    def work(stream: TextIO) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert forks.fork(work, caller, 60).status == 3


def test_a_server_that_heeds_nothing_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(forks, "_GRACE_SECONDS", 0.2)
    (tmp_path / "deaf.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('{}', flush=True)\n"
        "while True:\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = forks.Server("deaf")
    assert server.ask("") == {}
    begin = time.monotonic()
    server.close()
    assert time.monotonic() - begin < 10
    assert server.ask("") is None


def test_what_a_killed_process_leaves_behind_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "leaves.py").write_text(
        "import os\nfrom kraftcheck.support.files import TemporaryFolder\n"
        "kept = TemporaryFolder()\nprint(kept.name, flush=True)\nos.kill(os.getpid(), 9)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = forks.run("leaves")
    assert done.returncode == -9
    assert "kraftcheck-" in done.stdout and not Path(done.stdout.strip()).exists()
