"""The compiler and the virtual machine: found, run to their end, and ended with this process."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.support.errors import InputError
from kraftcheck.support.java import find_java, find_javac

#: The oldest Java that can run the adapter, whose class files are of this release.
OLDEST = 17
_USER = "an adapter for Kafka"
#: Lines of a program's output that are kept for a message.
_LINES = 3


class FailedError(Exception):
    """A program of the JDK has failed. ``reason``: the first error that it printed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Jdk:
    """java, javac: the programs."""

    java: str
    javac: str

    def compile(self, sources: Iterable[Path], target: Path, classpath: str, *options: str) -> None:
        """Compile ``sources`` into the folder ``target``. Raises FailedError."""
        target.mkdir(parents=True, exist_ok=True)
        listed = target / ".sources"
        listed.write_text("".join(f"{_quoted(source)}\n" for source in sources), encoding="utf-8")
        words = [self.javac, "-nowarn", "-proc:none", "--release", str(OLDEST), "-d", str(target)]
        run([*words, "-cp", classpath, *options, f"@{listed}"])
        listed.unlink()


def find() -> Jdk:
    """The JDK of this machine. Raises InputError, and MemoryError where it gets no memory."""
    # The compiler first: its package contains the virtual machine, so that one message is enough.
    javac = find_javac(_USER, OLDEST)
    return Jdk(find_java(_USER, OLDEST), javac)


def classpath(places: Iterable[Path]) -> str:
    """Places as one argument. Raises InputError for a path that Java cannot take."""
    words = [str(place) for place in places]
    for word in words:
        if os.pathsep in word:
            raise InputError(f"{word}: Java takes no path with '{os.pathsep}'; move it to another folder.")
    return os.pathsep.join(words)


def run(words: Sequence[str]) -> None:
    """Run a program to its end. An exception ends it with all its processes.

    Raises FailedError, and OSError where the program found the disk full.
    """
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output = process.communicate()[0].decode("utf-8", "replace")
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        if os.strerror(errno.ENOSPC) in output:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise FailedError(_first_error(output) or f"exit code {process.returncode}")


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line or "Exception" in line]
    symbols = [re.sub(r"\s+", " ", line) for line in lines if line.startswith("symbol:")]
    text = ", ".join([*errors[:1], *symbols[:1]] if errors else lines[:_LINES])
    return re.sub(r"^\S*/(\w+\.java:\d+)", r"\1", text)[:300]


def _quoted(path: Path) -> str:
    """A line of an argument file of javac."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
