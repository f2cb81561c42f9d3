"""An adapter's process: kraftcheck writes one JSON line and reads one back. The adapter cannot hang or harm
kraftcheck.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from types import TracebackType
from typing import IO

from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable

#: The longest line that is read, and the part of standard error that is kept.
MAX_LINE_BYTES = 16 * 2**20
MAX_ERROR_BYTES = 4096

#: The time that an adapter may take to end by itself, in seconds.
GRACE_SECONDS = 1.0
_CHUNK = 65536


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

    Raises InputError if ``command`` (split as a shell would, but not run by one) cannot be started.
    """

    def __init__(self, command: str, timeout: float) -> None:
        self.timeout = timeout
        self._out, self._err = bytearray(), bytearray()
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"--adapter: the command cannot be split into words ({error}).") from None
        if not words:
            raise InputError("--adapter: the command is empty; give the program that answers.")
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"--adapter: {words[0]!r} cannot be run ({reason}); check the command."
            ) from None
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)
        assert self._process.stdin is not None
        self._stdin: IO[bytes] = self._process.stdin
        os.set_blocking(self._stdin.fileno(), False)

    def __enter__(self) -> AdapterProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    # Talking.

    def exchange(self, line: str) -> str:
        """Send a line and wait for the line that answers it. Raises AdapterError."""
        if self._out.strip():
            raise AdapterError(f"sent a line that no question asked for: {_shown(self._out)}")
        self._out.clear()
        unsent = line.encode() + b"\n"
        deadline = time.monotonic() + self.timeout
        if unsent:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            return self._wait(unsent, deadline)
        finally:
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._stdin)

    def _wait(self, unsent: bytes, deadline: float) -> str:
        while True:
            end = self._out.find(b"\n")
            if end >= 0:
                return self._take(end)
            if len(self._out) > MAX_LINE_BYTES:
                raise AdapterError(f"sent more than {MAX_LINE_BYTES >> 20} MiB without a line break")
            left = deadline - time.monotonic()
            if left <= 0:
                raise AdapterError(f"gave no answer within {self.timeout:g} s", self._last_words())
            for key, _ in self._selector.select(left):
                if key.fileobj is self._stdin:
                    unsent = self._write(unsent)
                elif not self._read(key.fileobj) and key.fileobj is self._process.stdout:
                    raise AdapterError(self._why_it_ended(), self._last_words())

    def _take(self, end: int) -> str:
        line, rest = bytes(self._out[:end]), self._out[end + 1 :]
        self._out = bytearray(rest)
        try:
            return line.decode()
        except UnicodeDecodeError:
            raise AdapterError(f"sent a line that is not UTF-8: {_shown(line)}") from None

    def _write(self, unsent: bytes) -> bytes:
        try:
            unsent = unsent[os.write(self._stdin.fileno(), unsent[:_CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            unsent = b""  # it has ended, or will: the end of its output shows it
        if not unsent:
            self._selector.unregister(self._stdin)
        return unsent

    def _read(self, stream: object) -> bool:
        """Read the available data; whether the stream continues."""
        is_answer = stream is self._process.stdout
        try:
            data = os.read(stream.fileno(), _CHUNK)  # type: ignore[attr-defined]
        except BlockingIOError:
            return True
        if not data:
            self._selector.unregister(stream)  # type: ignore[arg-type]
            return False
        if is_answer:
            self._out += data
        else:
            self._err = (self._err + data)[-MAX_ERROR_BYTES:]
        return True

    # The end.

    def _why_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self._drain_errors()
        code = self._process.poll()
        if code is None:
            how = "closed its output"
        elif code < 0:
            how = f"was ended by signal {_signal_name(-code)}"
        else:
            how = f"ended with exit code {code}"
        return how

    def _drain_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with contextlib.suppress(OSError):
            while data := os.read(stderr.fileno(), _CHUNK):
                self._err = (self._err + data)[-MAX_ERROR_BYTES:]

    def _last_words(self) -> str:
        lines = self._err.decode(errors="replace").strip().splitlines()[-3:]
        shown = " / ".join(line.strip()[:200] for line in lines if line.strip())
        return f"; the end of its standard error: {shown}" if shown else ""

    def end(self) -> None:
        """Ask the adapter to end, and end its whole process group if it does not."""
        try:
            if self._process.poll() is None:
                with contextlib.suppress(OSError):
                    os.write(self._stdin.fileno(), b'{"type": "exit"}\n')
                with contextlib.suppress(OSError):
                    self._stdin.close()
                self._wait_for_end(GRACE_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._selector.close()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _wait_for_end(self, seconds: float) -> None:
        """Wait and read the rest of its output, so that it does not block on writing."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            if not self._selector.get_map():
                time.sleep(0.01)
                continue
            for key, _ in self._selector.select(0.05):
                self._read(key.fileobj)
                self._out.clear()


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
