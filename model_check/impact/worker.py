"""Runs checks one after the other, in a process of its own.

``python -m kraftcheck.impact.worker`` reads lines ``{"check": ..., "threads": N, "seconds": S}`` and answers
each with its ``status`` (``passed``, ``failed``, ``undetermined``), ``why`` in sentences, and ``seconds``.
``PYTHONPATH`` decides which reference is checked. It ends when standard input does.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from kraftcheck.checking.coverage.index import SCENARIO, VECTORS
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine
from kraftcheck.support.files import CALLERS_FOLDER
from kraftcheck.support.places import root

PASSED, FAILED, UNDETERMINED = "passed", "failed", "undetermined"
_MOST_LINES = 5
#: What pytest prints of tests that fail for want of memory, room or files.
_OF_THE_MACHINE = re.compile(r"\b(MemoryError|OSError: \[Errno|out of memory|No space left)")


def main(requests: Iterable[str], answers: TextIO) -> int:
    """Answer requests; 0, or 3 where the machine does not allow it."""
    try:
        import_module("kraftcheck.engine.explorer")
    except Exception as error:
        if of_the_machine(error) is None:
            raise
        return EXIT_UNDETERMINED
    for request in requests:
        asked = json.loads(request)
        begin = time.monotonic()
        try:
            status, why = _run(asked["check"], asked)
        except Exception as error:  # A changed reference may fail in any way; that is noticed as well.
            status, why = _failure(error)
        seconds = round(time.monotonic() - begin, 1)
        print(json.dumps({"status": status, "why": why, "seconds": seconds}), file=answers, flush=True)
    return 0


def _receive(requests: SimpleQueue[str]) -> None:
    """Take requests, and kill this process and what it started when its caller is gone: a changed reference
    may run for ever.
    """
    # Without a buffer, whose lock this thread would hold when the process ends.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            requests.put(line.decode())
    with suppress(ProcessLookupError):  # Run by hand, it leads no group.
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(EXIT_UNDETERMINED)


def _failure(error: Exception) -> tuple[str, list[str]]:
    sentence = of_the_machine(error)
    if sentence is not None:
        return UNDETERMINED, [sentence]
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = "/".join(Path(where.filename).parts[-2:])
    return FAILED, [f"{type(error).__name__}: {error} ({place}, line {where.lineno})"]


def _run(name: str, asked: dict[str, Any]) -> tuple[str, list[str]]:
    kind, _, rest = name.partition(" ")
    if kind == SCENARIO:
        return _scenario(rest, asked["threads"], asked["seconds"])
    return _vectors(rest) if kind == VECTORS else _tests(rest, asked["seconds"])


def _scenario(name: str, threads: int, seconds: float) -> tuple[str, list[str]]:
    from kraftcheck.checking.run import check
    from kraftcheck.engine.system import Limits
    from kraftcheck.systems.scenario import find

    result = check(find(name), threads=threads, limits=Limits(max_seconds=seconds))
    if result.differences:
        return FAILED, list(result.differences)
    return (UNDETERMINED, [f"{result.limit} reached"]) if result.undetermined else (PASSED, [])


def _vectors(name: str) -> tuple[str, list[str]]:
    from kraftcheck.vectors import files
    from kraftcheck.vectors.vector import difference

    folder = root() / "tests" / "vectors"
    if not folder.is_dir():
        return UNDETERMINED, ["there are no vectors here, which only a checkout has"]
    for entry, members in files.read(folder):
        if entry["file"] == name:
            for number, each in enumerate(members):
                found = difference(each, f"vectors[{number}]")
                if found is not None:
                    return FAILED, [found]
    return PASSED, []


def _tests(name: str, seconds: float) -> tuple[str, list[str]]:
    if importlib.util.find_spec("pytest") is None or not (root() / name).is_file():
        return UNDETERMINED, ["tests need a checkout, and pytest: 'make install'"]
    plain = ["-q", "-x", "-p", "no:cacheprovider", "--tb=line", "--hypothesis-seed=0", "-n", "0"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    environment["TMPDIR"] = os.environ[CALLERS_FOLDER]
    command = [sys.executable, "-P", "-m", "pytest", *plain, "-m", "not slow and not nightly", name]
    try:
        done = subprocess.run(
            command,
            cwd=root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return UNDETERMINED, ["no result in time"]
    if done.returncode in (0, 5):
        return PASSED, []
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    failed = done.returncode in (1, 2) and not _OF_THE_MACHINE.search(done.stdout)
    return (FAILED if failed else UNDETERMINED), lines[:_MOST_LINES] or [
        f"pytest ended with status {done.returncode}"
    ]


if __name__ == "__main__":
    # What a changed reference prints is no answer.
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    waiting: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_receive, args=(waiting,), daemon=True).start()
    sys.exit(main(iter(waiting.get, ""), own))
