"""The messages of TLC while it runs (``-tool``), parsed.

A message is enclosed by ``@!@!@STARTMSG code:severity @!@!@`` and ``@!@!@ENDMSG code @!@!@``
(tlc2.output.MP, tlc2.output.EC).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_START = re.compile(r"@!@!@STARTMSG (-?\d{1,6}):(\d{1,2}) @!@!@", re.ASCII)
_END = re.compile(r"@!@!@ENDMSG -?\d{1,6} @!@!@", re.ASCII)
_COUNTS = re.compile(r"([\d,]{1,30}) states generated.*?([\d,]{1,30}) distinct states found", re.ASCII)
_LEFT = re.compile(r"([\d,]{1,30}) states left on queue", re.ASCII)
_LEVEL = re.compile(r"Progress\((\d{1,9})\)", re.ASCII)
_DEPTH = re.compile(r"search is (\d{1,9})", re.ASCII)
_INVARIANT = re.compile(r"Invariant (\S{1,200}) is violated")
_MILLISECONDS = re.compile(r"Finished in (\d{1,12})ms", re.ASCII)
_INITIAL = re.compile(r"(\d[\d,]{0,30}) distinct states? generated", re.ASCII)

_VERSION, _INITIAL_STATES, _SUCCESS, _PROGRESS, _STATISTICS, _DEPTH_IS, _FINISHED = (
    2262, 2190, 2193, 2200, 2199, 2194, 2186,
)  # fmt: skip
_VIOLATED_INITIALLY, _VIOLATED, _STATE = 2107, 2110, 2217
#: The message that comes together with a violation.
_BEHAVIOUR_FOLLOWS = 2121
_ERRORS = ("1", "2")
_LONGEST_ERROR = 2_000


@dataclass(slots=True)
class Said:
    """The reports of TLC so far.

    generated: states generated, initial ones included; distinct: different ones; left: those not looked at;
    depth: levels of the complete search, that of the initial states included; violated: the invariant that
    does not hold, and ``behaviour``, how many states lead to it; success: the search is complete and nothing
    is violated; errors: why there is no answer; seconds: the time that TLC took since the JVM was up.
    """

    version: str = ""
    generated: int = 0
    distinct: int = 0
    left: int | None = None
    depth: int | None = None
    level: int = 0
    violated: str | None = None
    behaviour: int = 0
    success: bool = False
    errors: list[str] = field(default_factory=list)
    seconds: float | None = None

    @property
    def progress(self) -> str:
        """The progress of the search."""
        if not self.distinct:
            return "reads the modules"
        left = "" if self.left is None else f", {self.left:,} left"
        return f"level {self.level}, {self.distinct:,} distinct states of {self.generated:,} generated{left}"


class Listener:
    """Reads the lines that TLC prints into ``said``."""

    def __init__(self) -> None:
        self.said = Said()
        self._code: int | None = None
        self._severity = ""
        self._lines: list[str] = []

    def line(self, line: str) -> bool:
        """Take a line; whether it ended a message."""
        if self._code is None:
            start = _START.match(line)
            if start is not None:
                self._code, self._severity, self._lines = int(start[1]), start[2], []
            return False
        if _END.match(line) is None:
            if sum(map(len, self._lines)) < 100_000:
                self._lines.append(line)
            return False
        self._message(self._code, "".join(self._lines).strip())
        self._code = None
        return True

    def _message(self, code: int, text: str) -> None:
        said = self.said
        if code in (_VIOLATED, _VIOLATED_INITIALLY):
            match = _INVARIANT.search(text)
            said.violated = match[1] if match else "an invariant"
            said.behaviour = max(said.behaviour, int(code == _VIOLATED_INITIALLY))
        elif code == _STATE:
            said.behaviour += 1
        elif code == _SUCCESS:
            said.success = True
        elif code == _VERSION:
            said.version = text.splitlines()[0][:80] if text else ""
        elif code == _INITIAL_STATES:
            match = _INITIAL.search(text)
            said.generated = said.distinct = _number(match[1]) if match else 0
        elif code in (_PROGRESS, _STATISTICS):
            self._count(text)
        elif code == _DEPTH_IS:
            match = _DEPTH.search(text)
            said.depth = int(match[1]) if match else None
        elif code == _FINISHED:
            match = _MILLISECONDS.search(text)
            said.seconds = int(match[1]) / 1000 if match else None
        elif self._severity in _ERRORS and code != _BEHAVIOUR_FOLLOWS:
            said.errors.append(text[:_LONGEST_ERROR])

    def _count(self, text: str) -> None:
        counts, left, level = _COUNTS.search(text), _LEFT.search(text), _LEVEL.search(text)
        if counts is not None:
            self.said.generated, self.said.distinct = _number(counts[1]), _number(counts[2])
        if left is not None:
            self.said.left = _number(left[1])
        if level is not None:
            self.said.level = int(level[1])


def _number(digits: str) -> int:
    return int(digits.replace(",", "") or 0)
