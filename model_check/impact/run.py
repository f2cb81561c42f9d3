"""Running checks in order until one fails, with the reference as it is or with other sources of it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kraftcheck.checking.coverage.functions import PACKAGE
from kraftcheck.impact.worker import FAILED, UNDETERMINED
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.files import CALLERS_FOLDER, TemporaryFolder
from kraftcheck.support.forks import interpreter
from kraftcheck.support.places import REFERENCE, folder_of

#: What a check may take beyond its time limit: imports, compilation, one level of a search.
GRACE_SECONDS = 60.0
_MOST_ERRORS = 1 << 16


@dataclass(frozen=True, slots=True)
class Ran:
    """What a check came to: ``status`` as :mod:`kraftcheck.impact.worker` has it, ``why`` in
    sentences.
    """

    check: str
    status: str
    why: tuple[str, ...]
    seconds: float

    def as_data(self) -> dict[str, object]:
        """The same as JSON data."""
        return {"check": self.check, "status": self.status, "why": list(self.why), "seconds": self.seconds}


def run(
    checks: Sequence[str], threads: int, timeout: float, changed: Mapping[str, str] | None = None
) -> Iterator[Ran]:
    """Run ``checks`` in their order up to the first that fails, with ``timeout`` seconds for each.

    changed: sources that replace those of the reference, by file; the files themselves stay as they are.
    """
    with _environment(changed or {}) as environment:
        waiting = list(checks)
        while waiting:
            for each in _of_one_process(tuple(waiting), threads, timeout, environment):
                waiting.remove(each.check)
                yield each
                if each.status == FAILED:
                    return


def _of_one_process(
    checks: Sequence[str], threads: int, timeout: float, environment: dict[str, str]
) -> Iterator[Ran]:
    """What a process finds until it ends; it is ended where a check takes too long. At least one check.

    Raises MemoryError where it cannot begin.
    """
    command, _ = interpreter("kraftcheck.impact.worker")
    errors = tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        # So that what it starts in turn ends with it.
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        asked = {"checks": checks, "threads": threads, "seconds": timeout}
        with suppress(BrokenPipeError):  # How it ended is reported below.
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()  # It stays open: where this process is killed, the other one ends too.
        begin, answered = time.monotonic(), 0
        for line in _lines(process.stdout.fileno(), timeout + GRACE_SECONDS):
            if line is None:
                yield Ran(
                    checks[answered], UNDETERMINED, ("no result in time",), round(time.monotonic() - begin, 1)
                )
                return
            data = json.loads(line)
            yield Ran(data["check"], data["status"], tuple(data["why"]), data["seconds"])
            begin, answered = time.monotonic(), answered + 1
            if data["status"] == FAILED:
                return
        if answered < len(checks):
            if process.wait() == EXIT_UNDETERMINED:
                raise MemoryError
            seconds = round(time.monotonic() - begin, 1)
            yield Ran(checks[answered], *_how_it_ended(process.wait(), errors), seconds)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        errors.close()


def _how_it_ended(status: int, errors: IO[bytes]) -> tuple[str, tuple[str, ...]]:
    if status < 0:
        return UNDETERMINED, (f"its process ended with signal {-status}",)
    errors.seek(0)
    lines = errors.read(_MOST_ERRORS).decode("utf-8", "replace").strip().splitlines()
    return FAILED, (lines[-1] if lines else f"its process ended with status {status}",)


def _lines(descriptor: int, seconds: float) -> Iterator[bytes | None]:
    """The lines that a process writes; ``None`` where none comes for so many seconds."""
    content = b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], seconds)
        if not ready:
            yield None
            return
        more = os.read(descriptor, 1 << 16)
        if not more:
            return
        *whole, content = (content + more).split(b"\n")
        yield from whole


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of processes that import the reference with ``changed`` sources."""
    _, environment = interpreter("kraftcheck.impact.worker")
    with TemporaryFolder() as folder:
        if changed:
            _overlay(Path(folder, "kraftcheck"), changed)
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, environment.get("PYTHONPATH"))))
        yield environment | {CALLERS_FOLDER: folder}


def _overlay(own: Path, changed: Mapping[str, str]) -> None:
    """Make ``own`` a package ``kraftcheck`` with ``changed`` sources of the reference; all other modules are
    imported from where they are.
    """
    original = folder_of("kraftcheck")
    shutil.copytree(folder_of(REFERENCE), own / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    begin = (original / "__init__.py").read_text(encoding="utf-8")
    (own / "__init__.py").write_text(f"{begin}\n__path__.append({str(original)!r})\n", encoding="utf-8")
    for file, source in changed.items():
        (own / file).write_text(source, encoding="utf-8")
