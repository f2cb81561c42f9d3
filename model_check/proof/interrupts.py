"""Ctrl-C in calls of the solver's library, where Python may drop it or raise another exception for it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_seen = threading.Event()


def _note(number: int, frame: FrameType | None) -> None:
    _seen.set()
    raise KeyboardInterrupt


def raise_if_seen() -> None:
    """Raise KeyboardInterrupt if it was to be raised before."""
    if _seen.is_set():
        raise KeyboardInterrupt


@contextmanager
def noticed() -> Iterator[None]:
    """Within, Ctrl-C ends in KeyboardInterrupt, in the next call of :func:`raise_if_seen` at the latest."""
    _seen.clear()
    before = signal.getsignal(signal.SIGINT)
    # Where somebody else handles the signal, or it is ignored, that stays.
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, _note)
    told = sys.unraisablehook

    def tell(problem: sys.UnraisableHookArgs) -> None:
        """Ctrl-C that Python drops, as when objects of the solver are deleted, was noted."""
        if not (_seen.is_set() and issubclass(problem.exc_type, KeyboardInterrupt)):
            told(problem)

    sys.unraisablehook = tell
    try:
        yield
    except Exception:
        raise_if_seen()
        raise
    finally:
        _seen.clear()
        sys.unraisablehook = told
        if ours:
            signal.signal(signal.SIGINT, before)
