"""Work in processes of its own, forked from one that has imported and compiled what all of it needs.

A server is a process that answers requests, a line of text each, with a line of JSON, and forks one process
for each. It ends when its input does, and with it what it has forked.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from kraftcheck.support import signals
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine
from kraftcheck.support.files import CALLERS_FOLDER, TemporaryFolder
from kraftcheck.support.streams import say

_POLL_SECONDS = 1.0
_GRACE_SECONDS = 5.0


def interpreter(module: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs ``module`` of this package in an interpreter of its own, and its environment."""
    return [sys.executable, "-P", "-m", module, *arguments], dict(os.environ)


def run(module: str, *arguments: str, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``module`` in an interpreter of its own to its end. Raises subprocess.TimeoutExpired.

    Where it is not awaited, it gets SIGTERM before it is killed, so that it leaves nothing behind.
    """
    command, environment = interpreter(module, *arguments)
    with TemporaryFolder() as folder:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment | {CALLERS_FOLDER: folder},
        )
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_GRACE_SECONDS)
            _end(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> None:
    """End ``process``, whatever it does: a library may be in a loop that heeds no signal but SIGKILL."""
    for end in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
            return
        end()
    process.wait()


class Server:
    """A server, seen from the process that asks it: ``module`` run with ``arguments``."""

    def __init__(self, module: str, *arguments: str) -> None:
        command, environment = interpreter(module, *arguments)
        # A forked process explores on one thread; threads of libraries would not survive a fork.
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, request: str) -> dict[str, Any] | None:
        """The answer to ``request``; ``None``: the server has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(request, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except (OSError, ValueError):  # It has ended, or was closed.
            return None
        found: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return found

    def close(self) -> None:
        """End the server, and what it does for a request; another thread may wait for the answer."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        _end(self._process)


# -- in the server ------------------------------------------------------------------------------


def serve(get_ready: Callable[[], Callable[[str, int], dict[str, Any]]]) -> int:
    """Answer the lines of standard input until there are no more; 0, or 3 where the machine ends that.

    ``get_ready`` is called first, and returns the function that answers: it is given a line and what to hand
    to :func:`fork` as its ``caller``. What they print goes to standard error.
    """
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError), signals.ending():
            answer = get_ready()
            for line in sys.stdin:
                print(json.dumps(answer(line, sys.stdin.fileno())), file=replies, flush=True)
    except Exception as error:
        sentence = of_the_machine(error)
        if sentence is None:
            raise
        say(f"kraftcheck: {sentence}")
        return EXIT_UNDETERMINED
    return 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a forked process ended.

    ``lines``: what it wrote, without a line that it did not end; ``in_time``: whether it ended by itself;
    ``status``: its exit status, negative: the signal that ended it; ``peak_memory``: bytes; ``seconds``: from
    its beginning to its end.
    """

    lines: list[str]
    in_time: bool
    status: int
    peak_memory: int
    seconds: float


def fork(work: Callable[[TextIO], None], caller: int, seconds: float) -> Ended:
    """Do ``work`` in a process of its own, which has ``seconds`` for it and writes to a stream.

    It is killed when they are over, and when the file descriptor ``caller`` is closed at its other end.
    """
    begin = time.monotonic()
    receive, send = os.pipe()
    with TemporaryFolder() as folder:
        with signals.waiting():
            child = os.fork()
            if child == 0:
                os.close(receive)
                os.environ[CALLERS_FOLDER] = folder
                _work_and_exit(work, send)
        os.close(send)
        in_time = False
        try:
            sent, in_time = _listen(receive, caller, begin + seconds)
        finally:
            os.close(receive)
            if not in_time:
                os.kill(child, signal.SIGKILL)
            _, ended, usage = os.wait4(child, 0)
    lines = sent.decode("utf-8", "replace").split("\n")[:-1]
    unit = 1 if sys.platform == "darwin" else 1024
    status = os.waitstatus_to_exitcode(ended)
    return Ended(lines, in_time, status, usage.ru_maxrss * unit, time.monotonic() - begin)


def _work_and_exit(work: Callable[[TextIO], None], send: int) -> NoReturn:
    status = 1
    for number in signals.ENDING:
        signal.signal(number, signal.SIG_DFL)
    try:
        with os.fdopen(send, "w", encoding="utf-8") as stream:
            work(stream)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except Exception as error:
        if of_the_machine(error) is not None:
            status = EXIT_UNDETERMINED
    finally:
        # The server continues: nothing of it is cleaned up here.
        os._exit(status)


def _listen(receive: int, caller: int, deadline: float) -> tuple[bytes, bool]:
    """All that is written to ``receive``, and whether the writer ended before ``deadline``."""
    sent = bytearray()
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([receive, caller], [], [], min(left, _POLL_SECONDS))
        if receive in ready:
            content = os.read(receive, 1 << 16)
            if not content:
                return bytes(sent), True
            sent += content
        elif caller in ready:
            break  # Nothing is asked before the answer: the caller has ended.
    return bytes(sent), False
