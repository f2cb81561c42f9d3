"""One run of TLC: a process group of its own, a folder that goes away, a time limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kraftcheck.support import signals
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.support.files import TemporaryFolder
from kraftcheck.support.java import NOT_BEGUN
from kraftcheck.tlc.install import Tools
from kraftcheck.tlc.output import Listener, Said

DUMP = "states.dump"
_SILENT_LINES = 40
#: A JVM catches the signals, and ends with these statuses.
_ENDED_BY_SIGNAL = frozenset(128 + number for number in signals.ENDING)


@dataclass(frozen=True, slots=True)
class Job:
    """The input of TLC: modules by file name, the one it begins with, and the configuration.

    dump: whether it writes all distinct states (the file ``DUMP`` in the folder of the run). small: whether
    it is over so soon that the JVM should not spend time on its optimizing compiler.
    """

    modules: dict[str, str]
    root: str
    configuration: str
    workers: int = 1
    dump: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run.

    timed_out: it was ended by the time limit; trouble: why there is no answer otherwise; killed: a signal
    ended it; no_memory: the JVM could not begin; ``seconds``: wall time, with the start of the JVM.
    """

    said: Said
    seconds: float
    timed_out: bool = False
    trouble: str | None = None
    killed: bool = False
    no_memory: bool = False

    @property
    def own_seconds(self) -> float:
        """The time that TLC reports, which begins when the JVM is up."""
        return self.seconds if self.said.seconds is None else self.said.seconds


class Running:
    """The runs of TLC that are under way, so that all of them can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._ended = False

    def start(self, begin: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
        """The process that ``begin`` starts. Raises ProcessKilledError after :meth:`end`."""
        with self._lock:
            if self._ended:
                raise ProcessKilledError
            process = begin()
            self._processes.add(process)
        return process

    def done(self, process: subprocess.Popen[str]) -> None:
        """Forget a process that has ended."""
        with self._lock:
            self._processes.discard(process)

    def end(self) -> None:
        """End all processes, and start no more."""
        with self._lock:
            self._ended = True
            for process in self._processes:
                _kill(process)


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A temporary folder, which is removed however the run ends."""
    with TemporaryFolder("kraftcheck-tlc-") as folder:
        yield Path(folder)


def run(
    tools: Tools,
    job: Job,
    folder: Path,
    *,
    max_seconds: float | None = None,
    progress: Callable[[Said], None] | None = None,
    running: Running | None = None,
) -> Ran:
    """Run ``job`` in ``folder``, as one of ``running``. All its processes have ended afterwards.

    Raises InputError for a ``java`` that cannot be started, ProcessKilledError where ``running`` has ended.
    """
    running = Running() if running is None else running
    for name, text in job.modules.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "run.cfg").write_text(job.configuration, encoding="utf-8")
    began = time.monotonic()
    listener, overtime = Listener(), threading.Event()
    clock: threading.Timer | None = None
    process: subprocess.Popen[str] | None = None
    try:
        with signals.waiting():  # What is to be ended must be known first.
            process = running.start(lambda: _start(tools, _command(tools, job, folder), folder))
        if max_seconds is not None:
            clock = threading.Timer(max_seconds, _end, (process, overtime))
            clock.start()
        stray = _listen(process, listener, progress)
        status = process.wait()
    finally:
        if clock is not None:
            clock.cancel()
        if process is not None:
            _kill(process)
            process.wait()
            running.done(process)
            if process.stdout is not None:
                process.stdout.close()
        shutil.rmtree(folder / "meta", ignore_errors=True)
    seconds = time.monotonic() - began
    trouble = None if overtime.is_set() else _trouble(listener.said, status, stray)
    killed = trouble is not None and (status < 0 or status in _ENDED_BY_SIGNAL)
    no_memory = trouble is not None and any(NOT_BEGUN in line for line in stray)
    return Ran(listener.said, seconds, overtime.is_set(), trouble, killed, no_memory)


def _start(tools: Tools, command: list[str], folder: Path) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"{tools.java}: cannot be started ({error.strerror}); name another Java.") from None


def _end(process: subprocess.Popen[str], overtime: threading.Event) -> None:
    overtime.set()
    _kill(process)


def _command(tools: Tools, job: Job, folder: Path) -> list[str]:
    """TLC unpacks its standard modules into the folder for temporary files, which is ours as well."""
    command = [
        *(
            tools.java,
            "-XX:+UseParallelGC",
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={folder}",
            "-cp",
            str(tools.jar),
        ),
        *("tlc2.TLC", "-tool", "-deadlock", "-workers", str(job.workers)),
        *("-metadir", str(folder / "meta"), "-config", "run.cfg"),
    ]
    if job.small:
        command.insert(1, "-XX:TieredStopAtLevel=1")
    if job.dump:
        command += ["-dump", str(folder / DUMP)]
    return [*command, job.root]


def _listen(
    process: subprocess.Popen[str], listener: Listener, progress: Callable[[Said], None] | None
) -> list[str]:
    """Read all output of TLC; returns the last lines, for an end that TLC does not explain."""
    stray: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        if listener.line(line) and progress is not None:
            progress(listener.said)
        if not line.startswith("@!@!@"):
            stray = [*stray[-_SILENT_LINES:], line.strip()[:300]]
    return stray


def _trouble(said: Said, status: int, stray: list[str]) -> str | None:
    if said.violated is not None or (said.success and not said.errors):
        return None
    if said.errors:
        # The first message says what is wrong, later ones where TLC was.
        return " ".join(" ".join([*said.errors[:3], *_syntax_error(stray)]).split())
    last = next((line for line in reversed(stray) if line), "it said nothing")
    return f"TLC ended with status {status}: {last}"


def _syntax_error(stray: list[str]) -> list[str]:
    """The parser's text between ``*** Errors`` and the next section; it is no message of TLC."""
    begin = next((n for n, line in enumerate(stray) if line.startswith("***")), len(stray))
    section = [line for line in stray[begin + 1 :] if line]
    end = next((n for n, line in enumerate(section) if line.startswith("***")), len(section))
    return section[: min(end, 4)]


def _kill(process: subprocess.Popen[str]) -> None:
    """End the whole process group; nothing happens where it has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
