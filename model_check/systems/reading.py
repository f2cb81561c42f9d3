"""The parts of readers of trace files: each names the place of data that does not belong there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from kraftcheck.reference.types import INT32
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import Place

MAX_ITEMS = 100_000

T = TypeVar("T")
Reader = Callable[[Json, str], T]


def keys(data: Json, where: str, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    """The values of an object that has exactly the keys of ``readers``."""
    if not isinstance(data, dict):
        refuse(where, "an object", show(data))
    for key in data:
        if key not in readers:
            refuse(where, f"only the keys {', '.join(readers)}", json.dumps(key[:40]))
    for key in readers:
        if key not in data:
            refuse(where, f"the key {key!r}", "none")
    return {key: read(data[key], f"{where}.{key}") for key, read in readers.items()}


def items(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """An array."""

    def read_items(data: Json, where: str) -> tuple[T, ...]:
        if not isinstance(data, list):
            refuse(where, "an array", show(data))
        if len(data) > MAX_ITEMS:
            refuse(where, f"at most {MAX_ITEMS:,} items", f"{len(data):,}")
        return tuple(read(item, f"{where}[{index}]") for index, item in enumerate(data))

    return read_items


def optional(read: Reader[T]) -> Reader[T | None]:
    """``null``, or a value that ``read`` reads."""
    return lambda data, where: None if data is None else read(data, where)


def value(kind: Any) -> Reader[Any]:
    """A value of the reference."""
    return lambda data, where: codec.decode(data, kind, where)


def text(data: Json, where: str) -> str:
    """A text."""
    return codec.decode(data, str, where)


def flag(data: Json, where: str) -> bool:
    """Yes or no."""
    return codec.decode(data, bool, where)


def number(data: Json, where: str) -> int:
    """A number that is not negative."""
    found = codec.decode(data, int, where)
    if not 0 <= found <= INT32:
        refuse(where, f"a number from 0 to {INT32}", str(found))
    return found


def word(allowed: tuple[str, ...]) -> Reader[str]:
    """One of the words ``allowed``."""

    def read_word(data: Json, where: str) -> str:
        if not isinstance(data, str) or data not in allowed:
            refuse(where, f"one of {', '.join(allowed)}", show(data))
        return data

    return read_word


def refuse(where: str, expected: str, found: str) -> NoReturn:
    """Raise the InputError for data that does not belong in the place ``where``."""
    raise InputError(f"{where}: expected {expected}, found {found}.")


def show(data: object) -> str:
    """The data that was found, in a few words."""
    if isinstance(data, dict | list):
        return "an object" if isinstance(data, dict) else "an array"
    told = json.dumps(data) if not isinstance(data, int) or abs(data) < 10**30 else "a huge number"
    return told if len(told) < 60 else told[:57] + "..."


def place(data: Json, where: str) -> Place:
    """The name of a component."""
    return text(data, where) if isinstance(data, str) else number(data, where)
