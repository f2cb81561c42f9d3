"""Values that differ from one of the reference in one field: sound ones and unsound ones."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from types import NoneType
from typing import Any, get_args

from kraftcheck.reference.frozen import field_types, is_frozen, replace

#: How far a number may be off.
_FAR = 9


def with_others(value: Any) -> Iterator[Any]:
    """``value``, and every value that differs from it in one field, at whatever depth."""
    yield value
    yield from dict.fromkeys(others(value))


def others(value: Any) -> Iterator[Any]:
    """Values that may stand where ``value`` does: of another number, another member, without or with one item
    more, or with another field.
    """
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, Enum):
        yield from (member for member in type(value) if member is not value)
    elif isinstance(value, int):
        yield from (each for each in (-1, 0, value - 1, value + 1, value + _FAR) if each != value)
    elif isinstance(value, str):
        yield f"another-{value}"
    elif isinstance(value, tuple):
        if value:
            yield ()
            yield (*value, value[0])
        for place, item in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in others(item))
    elif is_frozen(type(value)):
        for name, kind in field_types(type(value)).items():
            part = getattr(value, name)
            yield from (replace(value, **{name: other}) for other in others(part))
            if NoneType in get_args(kind) and part is not None:
                yield replace(value, **{name: None})
