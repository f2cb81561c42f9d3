"""What the processes of a command do, as Linux tells it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from kraftcheck.support import signals

T = TypeVar("T")

NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="reads the list of processes, which needs Linux"
)


def as_usual() -> None:
    """A shell that runs tests in the background has signals ignored, which processes inherit."""
    for number in signals.ENDING:
        signal.signal(number, signal.SIG_DFL)


def wait_for(condition: Callable[[], T], seconds: float = 60) -> T:
    """What ``condition`` gives as soon as it is true, or in the end."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def of_processes(file: str) -> Iterator[tuple[int, bytes]]:
    """Each process that runs, and what a file of its folder in /proc says."""
    # No glob: it looks at what it finds, and raises when the process has ended meanwhile.
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                content = Path("/proc", name, file).read_bytes()
            except OSError:
                continue
            yield int(name), content


def session(leader: int) -> list[int]:
    """The other processes of the session of ``leader``."""
    found = []
    for pid, stat in of_processes("stat"):
        state, _, _, number = stat.rpartition(b")")[2].split()[:4]
        if int(number) == leader and state != b"Z" and pid != leader:
            found.append(pid)
    return sorted(found)


def cpu_seconds(pid: int) -> float:
    """What a process has computed so far; 0 if there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]) / 100
    except OSError:
        return 0.0
