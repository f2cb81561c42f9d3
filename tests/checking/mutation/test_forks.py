"""Jobs in forked processes, and the servers that fork them: whatever happens, there is an answer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation import server as servers
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.support import forks
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import TemporaryFolder
from kraftcheck.support.forks import End, Ended


@pytest.fixture
def caller() -> Iterator[int]:
    """What a server listens to, open at its other end."""
    receive, send = os.pipe()
    yield receive
    os.close(receive)
    os.close(send)


def raising(error: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def test_what_was_found_and_how_it_ended(caller: int) -> None:
    ended = forks.fork(lambda: iter([1, {"two": [2]}]), caller, 60)
    assert (ended.found, ended.end, ended.why) == ([1, {"two": [2]}], End.DONE, "")
    assert ended.seconds > 0 and ended.peak_memory > 1 << 20
    assert ended.limit is None and ended.error is None


@pytest.mark.parametrize(
    ("work", "end", "why"),
    [
        (raising(InputError("no such scenario")), End.INPUT, "no such scenario"),
        (raising(KeyError("a\nb")), End.FAILED, r"KeyError: 'a\nb' (mutation/test_forks.py, line "),
        (lambda: os._exit(7), End.FAILED, "its process ended with status 7"),
        (lambda: sys.exit("no"), End.FAILED, "its process ended with status 1"),
        (raising(OSError(errno.ENOSPC, "No space left")), End.MACHINE, "No space left"),
        (raising(MemoryError()), End.MEMORY, "out of memory"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), End.MEMORY, "signal 9; was memory short?"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), End.MACHINE, "signal 15"),
        (lambda: sys.exit(3), End.MEMORY, "was memory short?"),
    ],
)
def test_work_that_fails_says_why(work: Any, end: End, why: str, caller: int) -> None:
    ended = forks.fork(work, caller, 60)
    assert ended.end is end and why in ended.why
    assert (ended.error or ended.limit) == ended.why
    assert (ended.error is None) == (end in (End.MACHINE, End.MEMORY))


def test_a_process_that_takes_too_long_is_killed_and_what_it_found_is_kept(caller: int) -> None:
    def work() -> Iterator[int]:
        yield 1
        time.sleep(60)

    ended = forks.fork(work, caller, 0.2)
    assert (ended.found, ended.end, ended.limit) == ([1], End.TIME, "no result in time")


def test_nothing_goes_on_for_a_caller_that_has_ended() -> None:
    receive, send = os.pipe()
    os.close(send)
    begin = time.monotonic()
    forks.fork(lambda: time.sleep(60), receive, 60)
    os.close(receive)
    assert time.monotonic() - begin < 30


def test_what_a_killed_process_leaves_behind_is_removed(caller: int) -> None:
    def work() -> Iterator[str]:
        yield TemporaryFolder().name
        os.kill(os.getpid(), signal.SIGKILL)

    (name,) = forks.fork(work, caller, 60).found
    assert "kraftcheck-" in name and not Path(name).exists()


# Servers.

ECHO = "import sys\nfor line in sys.stdin: print('{\"found\": [1]}', flush=True)\n"
DEAF = f"import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{ECHO}time.sleep(60)\n"
#: Its first process ends when it is asked.
DIES_ONCE = f"import os, pathlib\np = pathlib.Path('sign')\nif not p.exists(): p.touch(); os._exit(3)\n{ECHO}"
JOB = Job("", {}, 1.0)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Makes servers run another program."""

    def becomes(text: str) -> None:
        (tmp_path / "other.py").write_text(text, encoding="utf-8")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(servers, "_MODULE", "other")
    monkeypatch.setattr(servers, "_END_SECONDS", 0.2)
    return becomes


@pytest.mark.slow
def test_a_server_that_heeds_nothing_is_ended(program: Callable[[str], None]) -> None:
    program(DEAF)
    with Server() as server:
        assert server.run(JOB) == Ended([1])
        begin = time.monotonic()
    assert time.monotonic() - begin < 10
    assert server.run(JOB).limit == "interrupted"


def test_a_server_that_is_gone_is_replaced(program: Callable[[str], None]) -> None:
    program(DIES_ONCE)
    with Server() as server:
        assert server.run(JOB) == Ended([1])
    program("import sys; sys.exit(3)")
    with Server() as server:
        assert server.run(JOB).limit == "its server ended, 2 times; was memory short?"


PROBE = """
import os, pathlib, time
from kraftcheck.reference.voters import majority as early
def voters(of):
    from kraftcheck.reference.voters import majority
    yield majority(of)
    yield early(of)
def forever(sign):
    pathlib.Path(sign).write_text(str(os.getpid()))
    time.sleep(60)
"""


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(PROBE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("probe")
def test_a_server_forgets_the_changes_of_earlier_jobs() -> None:
    """They are made in place, or by another import, of the job's own module as well; a broken reference is
    not the end of the server.
    """
    module = "kraftcheck.reference.voters"
    source = patch.source_of(module, "")
    changed = source.replace("return voters // 2 + 1", "return 90")
    assert changed != source
    with Server() as server:

        def found(text: str | None) -> Ended:
            return server.run(
                Job("probe:voters", {"of": 3}, 1.0, "mine", {} if text is None else {module: text})
            )

        assert [found(each).found for each in (None, changed, f"{changed}\nX = 1\n", None)] == [
            [2, 2],
            [90, 90],
            [90, 90],
            [2, 2],
        ]
        assert (found("raise KeyError(1)").error or "").startswith(
            "KeyError: 1 (<kraftcheck.reference.voters"
        )
        assert found(None).found == [2, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("probe")
def test_a_job_ends_with_a_caller_that_is_killed(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    program = (
        "import sys; from kraftcheck.checking.mutation.server import Job, Server;"
        "Server().run(Job('probe:forever', {'sign': sys.argv[1]}, 60.0))"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(sign)]) as caller:
        while not sign.exists() or not sign.read_text():
            time.sleep(0.05)
        caller.kill()
    process, until = Path("/proc", sign.read_text()), time.monotonic() + 20
    while process.exists():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_a_server_imports_the_engine_where_it_reports_that_memory_is_short() -> None:
    code = "import sys, kraftcheck.checking.mutation.server; print('kraftcheck.engine' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
