"""Signals that end a command: Ctrl-C, and SIGTERM and SIGHUP, which do the same."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: `timeout` and shells signal a process and its group: within so many seconds that is one signal.
SAME_SECONDS = 1.0
_AGAIN_SECONDS = 0.05


class Ending:
    """The handler of the signals: it raises KeyboardInterrupt. ``seen``: whether one has arrived."""

    def __init__(self) -> None:
        self.seen = False
        self._last: float | None = None
        self._number = signal.SIGINT

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        before, self._last = self._last, time.monotonic()
        self._number = signal.Signals(number)
        if before is None or self._last - before > SAME_SECONDS:
            raise KeyboardInterrupt

    def dropped(self) -> None:
        """Python has dropped the exception, in a destructor for example: the signal comes again."""
        self._last = None
        main = threading.main_thread().ident
        # To the thread itself: it may wait for something, which only a real signal ends.
        threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, [main, self._number]).start()


@contextmanager
def ending() -> Iterator[Ending]:
    """Within, the signals raise KeyboardInterrupt in the main thread.

    A signal that is ignored before, or handled by other code, stays so.
    """
    handler = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield handler
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in ENDING if signal.getsignal(number) in usual}
    previous = sys.unraisablehook

    def report(problem: sys.UnraisableHookArgs) -> None:
        # In the conversion of an argument, ctypes makes an ArgumentError of it, with its name in the text.
        if KeyboardInterrupt.__name__ in f"{problem.exc_type} {problem.exc_value}":
            handler.dropped()
        elif not handler.seen:  # An interrupted object cannot always be deleted.
            previous(problem)

    sys.unraisablehook = report
    try:
        for number in before:
            signal.signal(number, handler)
        # One that came while this was imported has waited.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        yield handler
    finally:
        sys.unraisablehook = previous
        for each, usual_handler in before.items():
            signal.signal(each, usual_handler)


@contextmanager
def waiting() -> Iterator[None]:
    """Within, the signals wait for the end of the context; it should not take long."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for each in came[:1]:
            signal.raise_signal(each)


def ignore() -> None:
    """Heed the signals no more: this process ends anyway, or another one ends it."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
