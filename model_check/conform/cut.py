"""Where inside a poll a recorded process ended.

Source: the recorder's crash points: after the log was appended to, before and after it is flushed, before
and after the quorum-state file is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference.effects import AppendBatch, Effect, Fatal, Flush, Persist

#: Each crash point: the effect that it is about, and whether that has happened.
POINTS: dict[str, tuple[type[Effect], bool]] = {
    "crash:appended": (AppendBatch, True),
    "crash:preFlush": (Flush, False),
    "crash:postFlush": (Flush, True),
    "crash:preStore": (Persist, False),
    "crash:postStore": (Persist, True),
}


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
