"""Immutable values: the base of everything that a step takes and gives.

They are structs of msgspec (https://jcristharif.com/msgspec), whose fields are declared as those of a
dataclass are. Building, copying, comparing and hashing them runs in C, and a checker does little else.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
import typing
from typing import Any, TypeVar, cast, dataclass_transform

from msgspec import NODEFAULT, Struct, structs

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
class Frozen(Struct, frozen=True, cache_hash=True):
    """A value: equal to another if the class and all fields are equal, hashable if its fields are.

    Assigning to a field raises AttributeError.
    """


class Unbounded(Frozen):
    """A value whose numbers may be outside the ranges of their types (:mod:`kraftcheck.reference.types`).

    A peer, a client or a state machine chose them, or they follow from such numbers. What a replica does
    about them is part of the protocol.
    """


def replace(value: T, **changes: Any) -> T:
    """A copy of ``value``, a struct or a dataclass, with some fields changed.

    Raises TypeError for a field that there is not.
    """
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    copy: T = dataclasses.replace(cast(Any, value), **changes)
    return copy


def declared_types(kind: type[Frozen]) -> dict[str, Any]:
    """The fields of a class of values in their order, with all that their declared types say."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def field_types(kind: type[Frozen]) -> dict[str, Any]:
    """The fields of a class of values in their order, with their types as a type checker sees them."""
    return {name: _plain(declared) for name, declared in declared_types(kind).items()}


def options_of(declared: Any) -> tuple[Any, ...]:
    """The members of a union; any other type is its own only member."""
    is_union = isinstance(declared, types.UnionType) or typing.get_origin(declared) is typing.Union
    return typing.get_args(declared) if is_union else (declared,)


def marks_of(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """A declared type without what it is annotated with, and that."""
    if typing.get_origin(declared) is typing.Annotated:
        return declared.__origin__, declared.__metadata__
    return declared, ()


def _plain(declared: Any) -> Any:
    kind, _ = marks_of(declared)
    if typing.get_origin(kind) is tuple:
        items = tuple(each if each is Ellipsis else _plain(each) for each in typing.get_args(kind))
        return cast(Any, tuple)[items]
    options = options_of(kind)
    return kind if len(options) == 1 else functools.reduce(operator.or_, map(_plain, options))


def field_defaults(kind: type[Frozen]) -> dict[str, Any]:
    """The defaults of those fields of a class of values that have one."""
    return {each.name: each.default for each in structs.fields(kind) if each.default is not NODEFAULT}


def is_frozen(kind: Any) -> bool:
    """Whether ``kind`` is a class of values."""
    return isinstance(kind, type) and issubclass(kind, Frozen) and kind not in (Frozen, Unbounded)
