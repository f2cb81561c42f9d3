"""Running checks in order until one fails, with the reference as it is or with other sources of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from kraftcheck.checking.coverage.functions import PACKAGE
from kraftcheck.impact.worker import FAILED, UNDETERMINED
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.files import CALLERS_FOLDER, TemporaryFolder
from kraftcheck.support.forks import interpreter
from kraftcheck.support.line_process import LineProcess, NoAnswerError
from kraftcheck.support.places import REFERENCE, folder_of

#: What a check may take beyond its time limit: imports, compilation, one level of a search.
GRACE_SECONDS = 60.0


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
        return asdict(self)


def run(
    checks: Sequence[str], threads: int, timeout: float, changed: Mapping[str, str] | None = None
) -> Iterator[Ran]:
    """Run ``checks`` in their order up to the first that fails, with ``timeout`` seconds for each; a process
    that gives no result is replaced by another.

    changed: sources that replace those of the reference, by file; the files themselves stay as they are.
    Raises MemoryError where a process cannot begin.
    """
    waiting = iter(checks)
    with _environment(changed or {}) as environment:
        command, _ = interpreter("kraftcheck.impact.worker")
        check = next(waiting, None)
        while check is not None:
            with LineProcess(command, timeout + GRACE_SECONDS, environment) as process:
                is_there = True
                while check is not None and is_there:
                    ran, is_there = _ask(process, check, threads, timeout)
                    yield ran
                    if ran.status == FAILED:
                        return
                    check = next(waiting, None)


def _ask(process: LineProcess, check: str, threads: int, timeout: float) -> tuple[Ran, bool]:
    """What a check came to, and whether the process is there for another one."""
    begin = time.monotonic()
    try:
        asked = {"check": check, "threads": threads, "seconds": timeout}
        data = json.loads(process.exchange(json.dumps(asked)))
        return Ran(check, data["status"], tuple(data["why"]), data["seconds"]), True
    except NoAnswerError as error:
        if error.code == EXIT_UNDETERMINED:
            raise MemoryError from None
        status = UNDETERMINED
        if error.code is None:
            why = "no result in time"
        elif error.code < 0:
            why = f"its process ended with signal {-error.code}"
        else:
            status = FAILED
            why = error.errors[-1] if error.errors else f"its process ended with status {error.code}"
    return Ran(check, status, (why,), round(time.monotonic() - begin, 1)), False


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
