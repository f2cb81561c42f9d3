"""Epochs and offsets in states, messages and histories, by the declared types of the fields that hold them.

Relative epochs (:mod:`kraftcheck.systems.kraft.relative`) need to know of every number in a state whether it
is an epoch or an offset: the types say so. No state has an offset of a control record, a snapshot or a
directory where epochs are relative (:mod:`kraftcheck.systems.kraft.consistency`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import HIGH_WATERMARK_NOT_SUPPORTED
from kraftcheck.reference.replica import AddingVoter, AlteringQuorum, RemovingVoter, UpdatingVoter
from kraftcheck.reference.types import Meaning
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.rebuilding import Rebuild, Rebuilding

#: The meanings of epochs and of offsets that move when a batch is left out.
EPOCHS = frozenset({Meaning.EPOCH, Meaning.LAST_EPOCH})
OFFSETS = frozenset({Meaning.FIRST_OFFSET, Meaning.END_OFFSET})
#: Values of these, which no state has here.
_ABSENT = (SnapshotId, AddingVoter, RemovingVoter, UpdatingVoter, AlteringQuorum, Clock, Origin)

Change = Callable[[Meaning, int], int]


class _Numbers(Rebuilding[Change]):
    def of_meaning(self, meaning: Meaning) -> Rebuild[Change] | None:
        if meaning in EPOCHS | OFFSETS:
            return lambda value, change: (
                value if value == HIGH_WATERMARK_NOT_SUPPORTED else change(meaning, value)
            )
        if meaning is Meaning.CONTROL_OFFSET:
            return lambda value, change: value if value <= 0 else _refuse(meaning.value)
        if meaning is Meaning.DIRECTORY:
            return lambda value, change: _refuse(meaning.value)
        return None

    def _of_fields(self, cls: Any) -> Rebuild[Change] | None:
        if cls in _ABSENT:
            return lambda value, change: _refuse(f"a value of type {cls.__name__}")
        return super()._of_fields(cls)


_NUMBERS = _Numbers()


def changed(value: Any, change: Change) -> Any:
    """``value``, of a class of the reference or of this package, with each epoch and offset changed by
    ``change``. Raises TypeError for a type without a stated meaning, and for a value that no state has here.
    """
    return _NUMBERS.rebuilt(value, change)


def _refuse(found: str) -> Any:
    raise TypeError(f"{found}: no state has one where epochs are relative")
