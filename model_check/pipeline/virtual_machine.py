"""Spark's Java virtual machine, and what it prints: kept while it starts, then handed on."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkConf

_MOST_LINES = 2_000


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


def start(conf: SparkConf, printed: Printed) -> Any:
    """A gateway to a new virtual machine that has the settings of ``conf``. Raises PySparkException."""
    from pyspark.java_gateway import launch_gateway

    receive, send = os.pipe()
    threading.Thread(target=printed.read, args=(receive,), name="printed-by-spark", daemon=True).start()
    try:
        # Standard output is for what the pipeline says.
        return launch_gateway(conf, {"stdout": send, "stderr": send})
    finally:
        os.close(send)
