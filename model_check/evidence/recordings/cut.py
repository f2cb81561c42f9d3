"""Where inside a poll a line of a recording stands, and where a process ended.

Source: the recorder's crash points: after the log was appended to, before and after it is flushed, before
and after the quorum-state file is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.recording import Event
from kraftcheck.reference.effects import AppendBatch, Effect, Fatal, Flush, Persist

#: Each crash point: the effect that it is about, and whether that has happened.
POINTS: dict[str, tuple[type[Effect], bool]] = {
    "crash:appended": (AppendBatch, True),
    "crash:preFlush": (Flush, False),
    "crash:postFlush": (Flush, True),
    "crash:preStore": (Persist, False),
    "crash:postStore": (Persist, True),
}


def is_second_half(event: Event, last: Json) -> bool:
    """Whether a ``tick`` shows the second half of a poll: its wait is over and no message came.

    The recorder writes a line for each half of a poll that has a visible effect. In the second half the
    state machine is served, and a timer may have expired on which the next poll acts. ``last`` is the state
    that the node showed before, ``None`` if there is none.
    """
    assert event.state is not None
    if event.sent or event.log or event.persisted or last is None:
        return False
    now = event.state.values
    deadlines, before = event.state.inner("deadlines").values, last["deadlines"]
    if now.keys() != last.keys() or deadlines.keys() != before.keys():
        return False
    if any(now[key] != last[key] for key in now if key != "deadlines"):
        return False
    return all(value in (-1, before[name]) for name, value in deadlines.items())


def fits(reason: str, effects: Sequence[Effect], count: int) -> bool:
    """Whether a process that ends for ``reason`` may have done the first ``count`` of ``effects``."""
    if reason == "fatal":
        return count < len(effects) and isinstance(effects[count], Fatal)
    if reason in POINTS:
        kind, has_happened = POINTS[reason]
        if has_happened:
            return count > 0 and isinstance(effects[count - 1], kind)
        return count < len(effects) and isinstance(effects[count], kind)
    return count == 0
