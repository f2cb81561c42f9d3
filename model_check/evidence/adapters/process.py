"""An adapter's process: kraftcheck writes one JSON line and reads one back. The adapter cannot hang or harm
kraftcheck.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable

#: The longest line that is read, and the part of standard error that is kept.
MAX_LINE_BYTES = 16 * 2**20
MAX_ERROR_BYTES = 4096

#: The time that an adapter may take to end by itself, in seconds.
GRACE_SECONDS = 1.0
#: The time for what it wrote before its end to arrive, in seconds.
_LATE_SECONDS = 0.5


class AdapterError(InputError):
    """The adapter breaks the protocol, or has ended: no verdict about the replica.

    what: its action, a predicate such as ``gave no answer``; last_words: the end of its standard error,
    printed after the place. Neither contains characters that a terminal takes for a command.
    """

    def __init__(self, what: str, last_words: str = "") -> None:
        self.what, self.last_words = printable(what), printable(last_words)
        super().__init__(self.what + self.last_words)

    def placed(self, place: str) -> AdapterError:
        """The same as a sentence that names the place in the run."""
        return AdapterError(f"the adapter {self.what}, {place}{self.last_words}.")


class AdapterProcess:
    """A running adapter, in a process group of its own. Leaving the context ends all of it.

    A thread for each of its streams reads and writes, so that neither side can block the other. Raises
    InputError if ``command`` (split as a shell would, but not run by one) cannot be started.
    """

    def __init__(self, command: str, timeout: float) -> None:
        self.timeout = timeout
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"--adapter: the command cannot be split into words ({error}).") from None
        if not words:
            raise InputError("--adapter: the command is empty; give the program that answers.")
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"--adapter: {words[0]!r} cannot be run ({reason}); check the command."
            ) from None
        # Lines with their line breaks; the last one, without, is the end of a stream.
        self._questions: SimpleQueue[bytes] = SimpleQueue()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._errors = bytearray()
        self._threads = [Thread(target=work, daemon=True) for work in (self._write, self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> AdapterProcess:
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
        """Send a line and wait for the line that answers it. Raises AdapterError."""
        while not self._answers.empty():
            unasked = self._answers.get()
            if unasked.strip():
                raise AdapterError(f"sent a line that no question asked for: {_shown(unasked)}")
            if not unasked:
                raise AdapterError(self._why_it_ended(), self._last_words())
        self._questions.put(line.encode() + b"\n")
        try:
            answer = self._answers.get(timeout=self.timeout)
        except Empty:
            raise AdapterError(f"gave no answer within {self.timeout:g} s", self._last_words()) from None
        if len(answer) > MAX_LINE_BYTES:
            raise AdapterError(f"sent more than {MAX_LINE_BYTES >> 20} MiB without a line break")
        if not answer.endswith(b"\n"):
            raise AdapterError(self._why_it_ended(), self._last_words())
        try:
            return answer.removesuffix(b"\n").decode()
        except UnicodeDecodeError:
            raise AdapterError(f"sent a line that is not UTF-8: {_shown(answer)}") from None

    # The end.

    def _why_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LATE_SECONDS)
            self._threads[-1].join(_LATE_SECONDS)
        code = self._process.poll()
        if code is None:
            return "closed its output"
        return f"was ended by signal {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"

    def _last_words(self) -> str:
        lines = self._errors.decode(errors="replace").strip().splitlines()[-3:]
        shown = " / ".join(line.strip()[:200] for line in lines if line.strip())
        return f"; the end of its standard error: {shown}" if shown else ""

    def end(self) -> None:
        """Ask the adapter to end, and end its whole process group if it does not."""
        self._questions.put(b'{"type": "exit"}\n')
        self._questions.put(b"")
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for thread in self._threads:
                thread.join(_LATE_SECONDS)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _shown(data: bytes | bytearray) -> str:
    """The first line that is not blank, in quotes; characters that only look blank appear as escapes."""
    text = bytes(data).strip()[:200].decode(errors="replace")
    lines = text.strip().splitlines()
    shown = printable(lines[0]) if lines else ascii(text)[1:-1]
    return f"'{shown}'" if len(shown) < 80 else f"'{shown[:77]}...'"
