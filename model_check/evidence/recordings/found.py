"""A place where a recording is not as expected, before it is known which step of which node shows it."""

from __future__ import annotations

from typing import NamedTuple

from kraftcheck.evidence.recordings.fields import Json


class Found(NamedTuple):
    """``field`` has the value ``found`` where ``expected`` was expected; ``None`` stands for an absent one.

    ``shown_at`` is the line that shows the value, where that is not the line of the event.
    """

    field: str
    expected: Json
    found: Json
    shown_at: int | None = None
