"""Signals that end a command, in calls of the solver's library: Python may drop them there, raise another
exception for them, or hear of them only when the call returns.
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

from kraftcheck.support.signals import ENDING, Ending

#: After this many seconds the solver is told again: what it was told between two calls does not count.
_AGAIN = 0.2

_seen = threading.Event()
_over = threading.Event()


def raise_if_seen() -> None:
    """Raise KeyboardInterrupt if it was to be raised before."""
    if _seen.is_set():
        raise KeyboardInterrupt


@contextmanager
def noticed() -> Iterator[None]:
    """Within, Ctrl-C and its like end the solver's work and then in KeyboardInterrupt, in the next call of
    :func:`raise_if_seen` at the latest.

    The solver must leave the signal to Python (its parameter ``ctrl_c``).
    """
    handlers = {number: signal.getsignal(number) for number in ENDING}
    # A signal that is ignored, or handled by other code, stays so.
    before = {
        number: handler
        for number, handler in handlers.items()
        if handler is signal.default_int_handler or isinstance(handler, Ending)
    }
    if not before or threading.current_thread() is not threading.main_thread():
        yield
        return
    _seen.clear()
    told = sys.unraisablehook

    def tell(problem: sys.UnraisableHookArgs) -> None:
        """Ctrl-C that Python drops, as when objects of the solver are deleted, was noted."""
        if not (_seen.is_set() and issubclass(problem.exc_type, KeyboardInterrupt)):
            told(problem)

    def note(number: int, frame: FrameType | None) -> None:
        _seen.set()
        handler = before[signal.Signals(number)]
        assert callable(handler)
        handler(number, frame)

    sys.unraisablehook = tell
    for number in before:
        signal.signal(number, note)
    try:
        with _solver_is_told():
            yield
    except Exception:
        raise_if_seen()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = told
        _seen.clear()


@contextmanager
def _solver_is_told() -> Iterator[None]:
    """Within, a thread hears of the signal when it comes, and tells the solver until it is heeded."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    _over.clear()

    def watch() -> None:
        while os.read(reader, 1)[0] not in ENDING:
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
