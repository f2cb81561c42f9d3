"""Checks, as jobs of :mod:`kraftcheck.checking.mutation.server`.

Each yields the ``status`` and the sentences ``why`` of a :class:`kraftcheck.impact.run.Ran`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from kraftcheck.checking.run import check
from kraftcheck.engine.system import Limits
from kraftcheck.impact.run import FAILED, PASSED, UNDETERMINED
from kraftcheck.support.files import CALLERS_FOLDER
from kraftcheck.support.places import root
from kraftcheck.systems.scenario import find
from kraftcheck.vectors import files
from kraftcheck.vectors.vector import difference

_MOST_LINES = 5
#: What pytest prints of tests that fail for want of memory, room or files.
_OF_THE_MACHINE = re.compile(r"\b(MemoryError|OSError: \[Errno|out of memory|No space left)")

Came = dict[str, Any]


def scenario(name: str, threads: int, seconds: float) -> Iterator[Came]:
    """Explore a scenario."""
    result = check(find(name), threads=threads, limits=Limits(max_seconds=seconds))
    if result.differences:
        yield _came(FAILED, *result.differences)
    else:
        yield _came(UNDETERMINED, f"{result.limit} reached") if result.undetermined else _came(PASSED)


def _came(status: str, *why: str) -> Came:
    return {"status": status, "why": why}


def vectors(name: str, **_: float) -> Iterator[Came]:
    """Compare the vectors of a file with the reference."""
    folder = root() / "tests" / "vectors"
    if not folder.is_dir():
        yield _came(UNDETERMINED, "there are no vectors here, which only a checkout has")
        return
    differences = (
        difference(each, f"vectors[{number}]")
        for entry, members in files.read(folder)
        if entry["file"] == name
        for number, each in enumerate(members)
    )
    found = next(filter(None, differences), None)
    yield _came(PASSED) if found is None else _came(FAILED, found)


def prepare_tests() -> None:
    """Import what all tests use and no change of the reference concerns."""
    for name in ("pytest", "hypothesis.strategies"):
        with suppress(ImportError):
            importlib.import_module(name)


def test(name: str, marks: str = "not slow and not nightly", **_: float) -> Iterator[Came]:
    """Run a file of tests, or one of them; those with certain ``marks`` (empty: all)."""
    if importlib.util.find_spec("pytest") is None or not (root() / name.partition("::")[0]).is_file():
        yield _came(UNDETERMINED, "tests need a checkout, and pytest: 'make install'")
        return
    import pytest

    os.environ.pop("PYTEST_ADDOPTS", None)
    os.chdir(root())
    tempfile.tempdir = os.environ[CALLERS_FOLDER]
    null = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(null, output)
    plain = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
    seen = _Failures()
    status = pytest.main([*plain, "-m", marks, name], plugins=[seen])
    if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        yield _came(PASSED)
        return
    failed = status in (1, 2) and not _OF_THE_MACHINE.search("\n".join(seen.texts))
    lines = seen.lines[:_MOST_LINES] or [f"pytest ended with status {int(status)}"]
    yield _came(FAILED if failed else UNDETERMINED, *lines)


class _Failures:
    """A plugin of pytest: the tests and modules that fail, a line each, and the texts of their errors."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.texts: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            what = report.longreprtext if crash is None else crash.message
            self.lines.append(f"FAILED {report.nodeid} - {what.partition(chr(10))[0]}")
            self.texts.append(report.longreprtext)

    def pytest_collectreport(self, report: Any) -> None:
        """A module or folder."""
        if report.failed:
            self.lines.append(f"ERROR {report.nodeid}")
            self.texts.append(report.longreprtext)
