"""The number that a process draws for a random time. Where the adapter can, the driver chooses it."""

from __future__ import annotations

import zlib
from enum import Enum

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.config import Span, Times, span
from kraftcheck.reference.effects import Duration, SuccessorBackoff
from kraftcheck.reference.frozen import replace


class Draw(Enum):
    """Which number of its range every random time of a process is."""

    LARGEST = "largest"
    SMALLEST = "smallest"


def draw_of(sequence: str) -> Draw:
    """The draw of the processes of the sequence of this name: about half of the names have each."""
    return Draw.SMALLEST if zlib.crc32(sequence.encode()) % 2 else Draw.LARGEST


def read_draw(name: Json) -> Draw | None:
    """The draw of this name; ``None`` if there is none."""
    return next((each for each in Draw if each.value == name), None)


def drawn_span(times: Times, duration: Duration | SuccessorBackoff, draw: Draw | None) -> Span | None:
    """As :func:`kraftcheck.reference.config.span`, with the one number that ``draw`` gives.

    That is known of the election timeout. The range of a back-off after a lost election is that of several
    releases together, so that the largest number of one release need not be its end.
    """
    lasts = span(times, duration)
    if lasts is None or draw is None or duration is not Duration.ELECTION_TIMEOUT:
        return lasts
    exact = lasts.high if draw is Draw.LARGEST else lasts.low
    return replace(lasts, low=exact, high=exact)
