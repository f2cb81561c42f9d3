"""Standard input, output and error: closed ones, full ones, and what goes to standard error."""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TextIO, TypeVar

from kraftcheck.support.errors import InputError

T = TypeVar("T")

#: In errors of writing it, the name of the file.
STANDARD_OUTPUT = "standard output"

#: Seconds between progress messages where there is no terminal.
EVERY_SECONDS = 10.0


class _Output(io.TextIOWrapper):
    """Standard output, whose errors say that they are of it."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(
            stream.buffer,
            stream.encoding,
            stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        self._stream = stream  # Were it deleted, it would close what both write to.

    def write(self, text: str) -> int:
        """Raises OSError."""
        with _named():
            return super().write(text)

    def flush(self) -> None:
        """Raises OSError."""
        with _named():
            super().flush()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = STANDARD_OUTPUT
        raise


def make_ready() -> None:
    """Let every standard stream be one. Raises InputError where standard output is closed.

    Otherwise a file that is opened later could get the number of a closed stream, and with it the output.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        number = ("stdin", "stdout", "stderr").index(name)
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if name != "stdin":  # Commands that read standard input say that it is closed.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Where the terminal cannot show a character, a replacement is better than no report.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if type(sys.stdout) is io.TextIOWrapper:
        sys.stdout = _Output(sys.stdout)
    if "stdout" in closed:
        raise InputError("standard output is closed; give it a file, a pipe or /dev/null.")


def give_up(stream: TextIO) -> None:
    """Let what ``stream`` still holds, and gets, go nowhere: the interpreter would fail on it as it ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def say(line: str) -> None:
    """Print ``line`` on standard error, if that takes it."""
    try:
        print(f"{line}\n", end="", file=sys.stderr, flush=True)  # As one: other processes say things too.
    except OSError:
        give_up(sys.stderr)


class _Messages(logging.Handler):
    """Prints log records on standard error, in the form of all messages."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show ``record``."""
        say(f"kraftcheck: {record.getMessage()}")


@contextmanager
def messages_shown() -> Iterator[None]:
    """Within, what this package logs is shown, a line each, on standard error."""
    logger, handler = logging.getLogger("kraftcheck"), _Messages(logging.INFO)
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def status(*, quiet: bool = False) -> AbstractContextManager[Callable[[str], None]]:
    """:func:`progress` on a terminal alone."""
    return progress(quiet=quiet or not sys.stderr.isatty())


def counted(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """``items``, with a line on a terminal that says how many of ``total`` have come."""
    with status() as tell:
        tell(f"0 of {total} {what}")
        for done, item in enumerate(items, 1):
            yield item
            tell(f"{done} of {total} {what}")


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that shows the progress: by a status line on a terminal, elsewhere a line now and then."""
    if sys.stderr.isatty() and not quiet:
        from kraftcheck.support.terminal import Console

        with Console(stderr=True, markup=False).status("") as status:
            yield status.update
        return
    last = time.monotonic()

    def write(text: str) -> None:
        nonlocal last
        if not quiet and time.monotonic() - last > EVERY_SECONDS:
            last = time.monotonic()
            say(f"kraftcheck: {text}")

    yield write
