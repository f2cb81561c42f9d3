"""Immutable values: the base of everything that a step takes and gives.

They are structs of msgspec (https://jcristharif.com/msgspec), whose fields are declared as those of a
dataclass are. Building, copying, comparing and hashing them runs in C, and a checker does little else.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast, dataclass_transform, get_type_hints

from msgspec import NODEFAULT, Struct, structs

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
class Frozen(Struct, frozen=True, cache_hash=True):
    """A value: equal to another if the class and all fields are equal, hashable if its fields are.

    Assigning to a field raises AttributeError.
    """


def replace(value: T, **changes: Any) -> T:
    """A copy of ``value``, which may be a dataclass as well, with some fields changed.

    Raises TypeError for a field that there is not.
    """
    if isinstance(value, Frozen):
        return structs.replace(value, **changes)
    copy: T = dataclasses.replace(cast(Any, value), **changes)
    return copy


def field_types(kind: type[Frozen]) -> dict[str, Any]:
    """The fields of a class of values in their order, with their declared types."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind.__struct_fields__}


def field_defaults(kind: type[Frozen]) -> dict[str, Any]:
    """The defaults of those fields of a class of values that have one."""
    return {each.name: each.default for each in structs.fields(kind) if each.default is not NODEFAULT}


def is_frozen(kind: Any) -> bool:
    """Whether ``kind`` is a class of values."""
    return isinstance(kind, type) and issubclass(kind, Frozen) and kind is not Frozen
