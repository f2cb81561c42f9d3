"""The result of comparing a recorded step: mismatches, and differences once the step is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kraftcheck.evidence.recordings.fields import Json


class Verdict(Enum):
    """The outcome of a recorded step."""

    COMPARED = "compared"
    NOT_COVERED = "not covered"
    SKIPPED = "skipped"


class Found(NamedTuple):
    """``field`` has the value ``found`` where ``expected`` was expected; ``None`` stands for an absent one.

    ``shown_at`` is the line that shows the value, where that is not the line of the event.
    """

    field: str
    expected: Json
    found: Json
    shown_at: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A disagreement: ``expected`` is the reference's value, ``found`` is Kafka's.

    ``seq`` is the event at which they disagree, ``shown_at`` the line that shows the value where that is
    another one: a message's content stands where it arrives. ``node`` is ``None`` for the run as a whole.
    """

    run: str
    seq: int
    node: int | None
    event: str
    field: str
    expected: Json
    found: Json
    rules: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    shown_at: int | None = None
