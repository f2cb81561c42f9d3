"""The histories of several nodes as one, by the times that they print."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import IO, Final

import numpy as np

from kraftcheck.evidence.logs.layout import Layout

#: Units of a moment: year, month, day, hour, minute, second, fraction (ms where the pattern prints ms).
_UNITS: Final = (10_000, 13, 32, 24, 60, 61, 1000)


class MergedHistory:
    """Lines of text in a file, given node by node and given back in the order of their times.

    Lines of one node keep their order, also where its clock was set back; of lines of one time, the one that
    was added first comes first. Memory: 16 bytes a line.
    """

    def __init__(self, file: IO[bytes], layouts: Sequence[Layout]) -> None:
        self._file, self._layouts = file, layouts
        self._moments, self._places = array("q"), array("q")
        self._latest: dict[int, int] = {}
        self._end = 0

    def add(self, node: int, time: str, text: str) -> None:
        """A line of ``node``, which prints ``time``."""
        moment = max(self._moment(time.encode()), self._latest.get(node, 0))
        self._latest[node] = moment
        self._moments.append(moment)
        self._places.append(self._end)
        self._end += self._file.write(f"{text}\n".encode())

    def __iter__(self) -> Iterator[str]:
        for place in np.argsort(np.array(self._moments, np.int64), kind="stable"):
            self._file.seek(self._places[place])
            yield self._file.readline().decode()

    def _moment(self, time: bytes) -> int:
        for layout in self._layouts:
            if layout.date.fullmatch(time):
                moment = 0
                for value, unit in zip(layout.moment(time), _UNITS, strict=True):
                    moment = moment * unit + min(value, unit - 1)
                return moment
        return 0
