"""Work in a process of its own, forked from one that has imported and compiled what all of it needs."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from kraftcheck.support import signals
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import is_out_of_memory, of_the_machine
from kraftcheck.support.files import CALLERS_FOLDER, TemporaryFolder
from kraftcheck.support.printable import printable

_POLL_SECONDS = 1.0
_DIED = "its process ended with signal {}; was memory short?"


class End(Enum):
    """How work ended.

    DONE: it is complete. INPUT: it raised InputError. FAILED: it raised another exception, or exited with a
    status. TIME: its time was over. MEMORY: memory was short, or the process was killed. MACHINE: the disk or
    a file failed, or a signal asked the process to end.
    """

    DONE = "done"
    INPUT = "input"
    FAILED = "failed"
    TIME = "time"
    MEMORY = "memory"
    MACHINE = "machine"


class Ended(msgspec.Struct, frozen=True):
    """What work found, as JSON data, how it ended and ``why``; ``peak_memory``: bytes; ``seconds``: from its
    beginning to its end.
    """

    found: list[Any]
    end: End = End.DONE
    why: str = ""
    peak_memory: int = 0
    seconds: float = 0.0

    @property
    def limit(self) -> str | None:
        """Why the work came to no result, which says nothing about the work itself."""
        return self.why if self.end in (End.TIME, End.MEMORY, End.MACHINE) else None

    @property
    def error(self) -> str | None:
        """Why the work failed."""
        return self.why if self.end in (End.INPUT, End.FAILED) else None


def interpreter(module: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs ``module`` of this package in an interpreter of its own, and its environment."""
    return [sys.executable, "-P", "-m", module, *arguments], dict(os.environ)


def fork(work: Callable[[], Iterable[Any]], caller: int, seconds: float) -> Ended:
    """Do ``work``, which yields what it finds, in a process of its own; it has ``seconds`` for it.

    The process is killed when they are over, and when the file descriptor ``caller`` is closed at its other
    end. What it found before its end is kept.
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
    # A line that did not end is left out.
    lines = [msgspec.json.decode(line) for line in sent.split(b"\n")[:-1]]
    found = [line["found"] for line in lines if "found" in line]
    end, why = End.TIME, "no result in time"
    if lines and "end" in lines[-1]:
        end, why = End(lines[-1]["end"]), lines[-1]["why"]
    elif in_time:
        end, why = _by_status(os.waitstatus_to_exitcode(ended))
    unit = 1 if sys.platform == "darwin" else 1024
    return Ended(found, end, why, usage.ru_maxrss * unit, time.monotonic() - begin)


def _by_status(status: int) -> tuple[End, str]:
    """How a process ended that did not say it, by its exit status (negative: a signal)."""
    if -status in signals.ENDING:
        return End.MACHINE, _DIED.format(-status)
    if status < 0:
        # Libraries in C++ abort where they get no memory, and the system kills processes that take too much.
        return End.MEMORY, _DIED.format(-status)
    if status == EXIT_UNDETERMINED:
        return End.MEMORY, "its process came to no result; was memory short?"
    return (End.FAILED, f"its process ended with status {status}") if status else (End.DONE, "")


def _work_and_exit(work: Callable[[], Iterable[Any]], send: int) -> NoReturn:
    status = 1
    # A search for garbage would copy the memory that this process shares with the one that forked it: none is
    # begun, and one that a library asks for passes over what is there now.
    gc.disable()
    gc.freeze()
    for number in signals.ENDING:
        signal.signal(number, signal.SIG_DFL)
    try:
        with os.fdopen(send, "wb") as stream:
            try:
                for each in work():
                    _write(stream, {"found": each})
            except Exception as error:  # Work on a mutant may fail in any way.
                end, why = _of(error)
                _write(stream, {"end": end, "why": why})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except Exception as error:
        if of_the_machine(error) is not None:
            status = EXIT_UNDETERMINED
    finally:
        # The process that forked this one continues: nothing of it is cleaned up here.
        os._exit(status)


def _write(stream: Any, line: dict[str, Any]) -> None:
    stream.write(msgspec.json.encode(line) + b"\n")
    stream.flush()


def _of(error: Exception) -> tuple[End, str]:
    sentence = of_the_machine(error)
    if sentence is not None:
        return (End.MEMORY if is_out_of_memory(error) else End.MACHINE), sentence
    if isinstance(error, InputError):
        return End.INPUT, str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = "/".join(Path(where.filename).parts[-2:])
    return End.FAILED, printable(f"{type(error).__name__}: {error} ({place}, line {where.lineno})")


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
