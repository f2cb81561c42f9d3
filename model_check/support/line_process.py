"""A process that answers each line with a line. It can neither hang nor harm the one that asks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from queue import Empty, Queue, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

from kraftcheck.support.printable import printable

#: The longest line that is read, and the part of standard error that is kept.
MAX_LINE_BYTES = 16 * 2**20
MAX_ERROR_BYTES = 4096

#: The time that a process may take to end by itself, in seconds.
GRACE_SECONDS = 1.0
#: The time for what it wrote before its end to arrive, in seconds.
_LATE_SECONDS = 0.5
_POLL_SECONDS = 0.01


class NoAnswerError(Exception):
    """No answer came, or no readable one.

    what: the reason, a predicate such as ``gave no answer``; code: the exit code of a process that ended,
    negative for a signal; errors: the last lines of its standard error.
    """

    def __init__(self, what: str, code: int | None = None, errors: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what, self.code, self.errors = what, code, errors


class LineProcess:
    """A running process, in a group of its own. Leaving the context ends all of it.

    A thread for each of its streams reads and writes, so that neither side can block the other. timeout:
    seconds for an answer; farewell: a line that asks the process to end; without one it is killed. Raises
    OSError or ValueError if ``command`` cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        timeout: float,
        environment: Mapping[str, str] | None = None,
        farewell: str = "",
    ) -> None:
        self.timeout, self._farewell = timeout, farewell
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
        )
        # Lines with their line breaks; the last one, without, is the end of a stream.
        self._questions: SimpleQueue[bytes] = SimpleQueue()
        # Bounded: a process that writes without end waits.
        self._answers: Queue[bytes] = Queue(maxsize=2)
        self._errors = bytearray()
        self._threads = [Thread(target=work, daemon=True) for work in (self._write, self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    # Threads.

    def _write(self) -> None:
        assert self._process.stdin is not None
        # A process that has ended takes no more: the end of its output shows it.
        with contextlib.suppress(OSError), self._process.stdin as stream:
            while question := self._questions.get():
                stream.write(question)
                stream.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            line = b"\n"
            while line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES + 1)
                self._answers.put(line)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while data := stream.read1():  # type: ignore[attr-defined]
                self._errors = (self._errors + data)[-MAX_ERROR_BYTES:]

    # Talking.

    def exchange(self, line: str) -> str:
        """Send a line and wait for the line that answers it. Raises NoAnswerError."""
        deadline = time.monotonic() + self.timeout
        while not self._answers.empty() and time.monotonic() < deadline:
            unasked = self._answers.get()
            if unasked.strip():
                raise NoAnswerError(f"sent a line that no question asked for: {shown(unasked)}")
            if not unasked:
                raise self._ended()
        self._questions.put(line.encode() + b"\n")
        try:
            answer = self._answers.get(timeout=self.timeout)
        except Empty:
            what = f"gave no answer within {self.timeout:g} s"
            raise NoAnswerError(what, errors=self._last_errors()) from None
        if len(answer) > MAX_LINE_BYTES:
            raise NoAnswerError(f"sent more than {MAX_LINE_BYTES >> 20} MiB without a line break")
        if not answer.endswith(b"\n"):
            raise self._ended()
        try:
            return answer.removesuffix(b"\n").decode()
        except UnicodeDecodeError:
            raise NoAnswerError(f"sent a line that is not UTF-8: {shown(answer)}") from None

    # The end.

    def _ended(self) -> NoAnswerError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LATE_SECONDS)
            self._threads[-1].join(_LATE_SECONDS)
        code = self._process.poll()
        if code is None:
            what = "closed its output"
        else:
            what = (
                f"was ended by signal {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
            )
        return NoAnswerError(what, code, self._last_errors())

    def _last_errors(self) -> list[str]:
        return self._errors.decode(errors="replace").strip().splitlines()[-3:]

    def end(self) -> None:
        """End the process and its whole group, by the farewell or else by force."""
        if self._farewell:
            self._questions.put(self._farewell.encode() + b"\n")
        self._questions.put(b"")
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS if self._farewell else 0)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for thread in self._threads:
                while thread.is_alive() and not self._answers.empty():
                    self._answers.get()
                    thread.join(_POLL_SECONDS)
                thread.join(_LATE_SECONDS)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def shown(data: bytes | bytearray) -> str:
    """The first line that is not blank, in quotes; characters that only look blank appear as escapes."""
    text = bytes(data).strip()[:200].decode(errors="replace")
    lines = text.strip().splitlines()
    shown = printable(lines[0]) if lines else ascii(text)[1:-1]
    return f"'{shown}'" if len(shown) < 80 else f"'{shown[:77]}...'"
