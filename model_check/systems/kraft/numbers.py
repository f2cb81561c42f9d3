"""Epochs and offsets in states, messages and histories, by the types of what holds them.

Relative epochs (:mod:`kraftcheck.systems.kraft.relative`) need to know of every number in a state whether it
is an epoch or an offset. Nothing is guessed: the tables below say so for each name of a field; a field or a
type that they do not know raises TypeError.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from kraftcheck.reference.messages import HIGH_WATERMARK_NOT_SUPPORTED
from kraftcheck.systems.kraft.rebuilding import Rebuild, Rebuilding


class Kind(Enum):
    """What a number is: the ``EPOCH`` of a replica, message or batch; that of the ``END`` of a log, or of an
    epoch in it; an offset that is the ``START`` of records; one up to which somebody has them (``POSITION``).
    """

    EPOCH = "epoch"
    END = "epoch of a log's end"
    START = "start"
    POSITION = "position"


#: "leaders.0" is what stands first in each tuple of ``leaders``; "EpochEnd.epoch" a field of that class.
_KINDS = {
    "epoch": Kind.EPOCH, "committed_epoch": Kind.EPOCH, "leaders.0": Kind.EPOCH, "votes.1": Kind.EPOCH,
    "last_epoch": Kind.END, "EpochEnd.epoch": Kind.END,
    "base_offset": Kind.START, "epoch_start_offset": Kind.START, "EpochStart.offset": Kind.START,
    "offset": Kind.POSITION, "end_offset": Kind.POSITION, "leader_end_offset": Kind.POSITION,
    "flushed": Kind.POSITION, "high_watermark": Kind.POSITION,
}  # fmt: skip
#: Numbers that are neither; and parts of a state that are empty where epochs may be relative.
_OTHERS = frozenset({
    "id", "leader", "node", "source", "destination", "voter", "candidate", "voters", "granted", "rejected",
    "granting_voters", "contacts", "unacknowledged", "value", "values", "leaders.1", "votes.0", "correlation",
    "next_correlation", "max_wait_ms", "timeout_ms", "last_fetch_time", "last_caught_up_time", "port",
    "log_start_offset", "start_offset", "assignment_offset", "version", "min_kraft_version", "target",
    "max_kraft_version", "bootstrap_kraft_version",
})  # fmt: skip
_EMPTY = frozenset({
    "snapshots", "voter_sets", "kraft_versions", "assignments", "replaced", "clock", "fetching_snapshot",
    "snapshot", "change", "alterations", "origin", "gone", "gone_votes",
})  # fmt: skip

Change = Callable[[Kind, int], int]


class _Numbers(Rebuilding[Change]):
    unknown = "no epochs and offsets are known in"

    def of_field(self, owner: str, name: str, hint: Any) -> Rebuild[Change] | None:
        own = f"{owner}.{name}"
        return self.of_type(own if own in _KINDS else name, hint)

    def of_type(self, name: str, hint: Any) -> Rebuild[Change] | None:
        if name in _EMPTY:
            return lambda value, change: _empty(name, value)
        return super().of_type(name, hint)

    def of_value(self, name: str, hint: Any) -> Rebuild[Change] | None:
        if hint is int:
            kind = _KINDS.get(name)
            if (kind is None) == (name not in _OTHERS):
                raise TypeError(f"{name}: it is not known whether this number is an epoch or an offset")
            if kind is None:
                return None
            return lambda value, change: (
                value if value == HIGH_WATERMARK_NOT_SUPPORTED else change(kind, value)
            )
        if hint in (bool, str) or (isinstance(hint, type) and issubclass(hint, Enum)):
            return None
        raise TypeError(f"{name}: {self.unknown} {hint}")


_NUMBERS = _Numbers()


def changed(value: Any, change: Change) -> Any:
    """``value``, of a class of the reference or of this package, with each epoch and offset as ``change``
    says. Raises TypeError for a type, or a field, of which it is not known what it holds.
    """
    return _NUMBERS.rebuilt(value, change)


def _empty(name: str, value: Any) -> Any:
    if value:
        raise TypeError(f"{name}: epochs and offsets in it are not known")
    return value
