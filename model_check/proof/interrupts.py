"""Ctrl-C in calls of the solver's library, where Python may drop it, raise another exception for it, or
would hear of it only when the call returns.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import z3

#: After this many seconds the solver is told again: what it was told between two calls does not count.
_AGAIN = 0.2

_seen = threading.Event()
_over = threading.Event()


def _note(number: int, frame: FrameType | None) -> None:
    _seen.set()
    raise KeyboardInterrupt


def raise_if_seen() -> None:
    """Raise KeyboardInterrupt if it was to be raised before."""
    if _seen.is_set():
        raise KeyboardInterrupt


@contextmanager
def noticed() -> Iterator[None]:
    """Within, Ctrl-C ends the solver's work and then in KeyboardInterrupt, in the next call of
    :func:`raise_if_seen` at the latest.

    The solver must leave the signal to Python (its parameter ``ctrl_c``).
    """
    before = signal.getsignal(signal.SIGINT)
    # Where somebody else handles the signal, or it is ignored, that stays.
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    _seen.clear()
    told = sys.unraisablehook

    def tell(problem: sys.UnraisableHookArgs) -> None:
        """Ctrl-C that Python drops, as when objects of the solver are deleted, was noted."""
        if not (_seen.is_set() and issubclass(problem.exc_type, KeyboardInterrupt)):
            told(problem)

    sys.unraisablehook = tell
    signal.signal(signal.SIGINT, _note)
    try:
        with _solver_is_told():
            yield
    except Exception:
        raise_if_seen()
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = told
        _seen.clear()


@contextmanager
def _solver_is_told() -> Iterator[None]:
    """Within, a thread hears of the signal when it comes, and tells the solver until it is heeded."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    _over.clear()

    def watch() -> None:
        while os.read(reader, 1) != bytes([signal.SIGINT]):
            if _over.is_set():
                return
        _seen.set()
        while not _over.wait(_AGAIN):
            z3.main_ctx().interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _over.set()
        with suppress(BlockingIOError):
            os.write(writer, b"\0")
        watcher.join()
        os.close(reader)
        os.close(writer)
