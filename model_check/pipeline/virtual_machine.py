"""Spark's Java virtual machine: what it prints (kept while it starts, then handed on), and its end.

Spark's own start-up lets go of a machine that is still starting when Ctrl-C comes, and that machine then
stays: here each is remembered, and ended with this process at the latest.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.spark_errors import not_of_gateway
from kraftcheck.support import signals

if TYPE_CHECKING:
    from pyspark import SparkConf

_MOST_LINES = 2_000
#: Seconds in which a machine ends after it was told to.
_PATIENCE = 10.0


class Printed:
    """The lines that a virtual machine prints.

    Until :meth:`hand_on` they are kept (in ``lines``, the last ones); then they go to standard error; after
    :meth:`leave_out` nowhere.
    """

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._ended = threading.Event()
        self._handed_on = self._left_out = False

    def read(self, descriptor: int) -> None:
        """Read all that comes from ``descriptor``."""
        rest = b""
        while content := os.read(descriptor, 1 << 16):
            *lines, rest = (rest + content).split(b"\n")
            for line in lines:
                self._line(line.decode("utf-8", "replace"))
        os.close(descriptor)
        self._ended.set()

    def _line(self, text: str) -> None:
        if self._handed_on and not self._left_out:
            print(text, file=sys.stderr, flush=True)
        elif not self._left_out:
            self.lines.append(text)

    def hand_on(self) -> None:
        """The machine runs: what it has printed says nothing, what it prints from now on goes on."""
        self._handed_on = True

    def leave_out(self) -> None:
        """All is over: what comes now is of the end itself."""
        self._left_out = True

    def until_end(self) -> list[str]:
        """The lines kept; where the machine has ended all of them."""
        self._ended.wait(1.0)
        return list(self.lines)


class _Machine(subprocess.Popen[bytes]):
    """The process of a virtual machine, with all that it starts in a group of its own."""

    def __init__(self, *words: Any, **options: Any) -> None:
        with signals.waiting():
            super().__init__(*words, **options, process_group=0)
            _running.append(self)

    def end(self, *, starting: bool) -> None:
        """End it, and wait for that. One that is up ends in good order once nobody can write to it."""
        with suppress(OSError):
            if self.stdin is not None:
                self.stdin.close()
        if starting or not self._ends():
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(OSError):
                    os.killpg(self.pid, number)
                if self._ends():
                    return

    def _ends(self) -> bool:
        try:
            self.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return False
        return True


_running: list[_Machine] = []


def end_machines(*, starting: bool = False) -> None:
    """End the virtual machines of this process. Signals wait meanwhile: it does not take long."""
    with signals.waiting():
        while _running:
            _running.pop().end(starting=starting)


@atexit.register
def _at_exit() -> None:
    # Py4J tells the machine even then what Python needs no longer, and logs that it is gone.
    logging.getLogger().addFilter(not_of_gateway)
    end_machines()


def start(conf: SparkConf, printed: Printed) -> Any:
    """A gateway to a new virtual machine that has the settings of ``conf``. Raises PySparkException."""
    from pyspark import java_gateway

    receive, send = os.pipe()
    threading.Thread(target=printed.read, args=(receive,), name="printed-by-spark", daemon=True).start()
    # Its process is a local variable there, which nobody has where the function does not return.
    usual, java_gateway.Popen = java_gateway.Popen, _Machine
    try:
        # Standard output is for what the pipeline says.
        return java_gateway.launch_gateway(conf, {"stdout": send, "stderr": send})
    except BaseException:
        end_machines(starting=True)
        raise
    finally:
        java_gateway.Popen = usual
        os.close(send)
