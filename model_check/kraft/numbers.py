"""Epochs and offsets in states, messages and histories, by the types of what holds them.

Relative epochs (:mod:`model_check.kraft.relative`) need to know of every number in a state whether it is an
epoch or an offset. Nothing is guessed: the tables below say so for each name of a field; a field or a type
that they do not know raises TypeError.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, cast

from reference.frozen import field_types, is_frozen
from reference.messages import HIGH_WATERMARK_NOT_SUPPORTED


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
_Rebuild = Callable[[Any, Change], Any]


def changed(value: Any, change: Change) -> Any:
    """``value``, of a class of the reference or of this package, with each epoch and offset as ``change``
    says. Raises TypeError for a type, or a field, of which it is not known what it holds.
    """
    cls: Any = type(value)
    rebuild = _of_class(cls)
    return value if rebuild is None else rebuild(value, change)


@cache
def _of_class(cls: Any) -> _Rebuild | None:
    """How values of a class are changed; ``None``: no epoch or offset is in them."""
    name = cls.__name__
    if not is_frozen(cls):
        raise TypeError(f"no epochs and offsets are known in values of type {name}")
    make = cast(Callable[..., Any], cls)
    fields = []
    for field, hint in field_types(cls).items():
        own = f"{name}.{field}"
        fields.append((field, _of_type(own if own in _KINDS else field, hint)))
    if all(each is None for _, each in fields):
        return None

    def rebuild(value: Any, change: Change) -> Any:
        return make(*[
            getattr(value, name) if each is None else each(getattr(value, name), change)
            for name, each in fields
        ])  # fmt: skip

    return rebuild


def _of_type(name: str, hint: Any) -> _Rebuild | None:
    """How what is called ``name`` and has the type ``hint`` is changed."""
    if name in _EMPTY:
        return lambda value, change: _empty(name, value)
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    options = [one for one in (typing.get_args(hint) if union else (hint,)) if one is not type(None)]
    if all(is_frozen(one) for one in options):
        if all(_of_class(one) is None for one in options):
            return None
        return lambda value, each: None if value is None else changed(value, each)
    if len(options) != 1:
        raise TypeError(f"{name}: no epochs and offsets are known in {hint}")
    rebuild = _of_part(name, options[0])
    if rebuild is None or not union:
        return rebuild
    return lambda value, each: None if value is None else rebuild(value, each)


def _empty(name: str, value: Any) -> Any:
    if value:
        raise TypeError(f"{name}: epochs and offsets in it are not known")
    return value


def _of_part(name: str, hint: Any) -> _Rebuild | None:
    if typing.get_origin(hint) is tuple:
        return _of_tuple(name, typing.get_args(hint))
    if hint is int:
        kind = _KINDS.get(name)
        if (kind is None) == (name not in _OTHERS):
            raise TypeError(f"{name}: it is not known whether this number is an epoch or an offset")
        if kind is None:
            return None
        return lambda value, change: value if value == HIGH_WATERMARK_NOT_SUPPORTED else change(kind, value)
    if hint in (bool, str) or (isinstance(hint, type) and issubclass(hint, Enum)):
        return None
    raise TypeError(f"{name}: no epochs and offsets are known in {hint}")


def _of_tuple(name: str, arguments: tuple[Any, ...]) -> _Rebuild | None:
    if len(arguments) != 2 or arguments[1] is not Ellipsis:
        parts = [_of_type(f"{name}.{place}", each) for place, each in enumerate(arguments)]
        if all(part is None for part in parts):
            return None
        return lambda value, change: tuple(
            each if part is None else part(each, change) for part, each in zip(parts, value, strict=True)
        )
    inner = _of_type(name, arguments[0])
    if inner is None:
        return None
    return lambda value, change: tuple([inner(each, change) for each in value])
