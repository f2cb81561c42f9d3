"""JSON forms of values in trace files: each writes a value as data, and reads it back strictly.

Reading names the place of data that does not belong there. The forms of single classes are made of those of
their parts, so that a file is described once for both directions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from kraftcheck.reference.types import INT32
from kraftcheck.support import codec
from kraftcheck.support.codec import Json, show
from kraftcheck.support.errors import InputError

MAX_ITEMS = 100_000


@dataclass(frozen=True, slots=True)
class Form:
    """``write`` gives the data of a value, ``read`` the value of data at a place in the file. ``read`` raises
    InputError.
    """

    write: Callable[[Any], Json]
    read: Callable[[Json, str], Any]


def of_type(kind: Any) -> Form:
    """The values of a declared type: those of the reference, texts and switches."""
    return Form(lambda value: codec.encode(value, kind), lambda data, where: codec.decode(data, kind, where))


def _same(value: Any) -> Any:
    return value


def _number(data: Json, where: str) -> int:
    found: int = codec.decode(data, int, where)
    if not 0 <= found <= INT32:
        refuse(where, f"a number from 0 to {INT32}", str(found))
    return found


TEXT, FLAG = of_type(str), of_type(bool)
#: A number that is not negative.
NUMBER = Form(_same, _number)
#: The name of a component.
PLACE = Form(_same, lambda data, where: (TEXT if isinstance(data, str) else NUMBER).read(data, where))


def word(*allowed: str) -> Form:
    """One of the words ``allowed``."""

    def read_word(data: Json, where: str) -> Json:
        if not isinstance(data, str) or data not in allowed:
            refuse(where, f"one of {', '.join(allowed)}", show(data))
        return data

    return Form(_same, read_word)


def optional(form: Form) -> Form:
    """``null``, or a value of ``form``."""
    return Form(
        lambda value: None if value is None else form.write(value),
        lambda data, where: None if data is None else form.read(data, where),
    )


def items(form: Form) -> Form:
    """An array, of which each item has this form; a tuple."""

    def read_items(data: Json, where: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            refuse(where, "an array", show(data))
        if len(data) > MAX_ITEMS:
            refuse(where, f"at most {MAX_ITEMS:,} items", f"{len(data):,}")
        return tuple(form.read(item, f"{where}[{index}]") for index, item in enumerate(data))

    return Form(lambda values: [form.write(value) for value in values], read_items)


def row(**forms: Form) -> Form:
    """An object with exactly these keys; a tuple of their values."""

    def write(values: tuple[Any, ...]) -> Json:
        return {key: form.write(value) for (key, form), value in zip(forms.items(), values, strict=True)}

    return Form(write, lambda data, where: tuple(keys(data, where, forms).values()))


def fields(make: Callable[..., Any], **forms: Form) -> Form:
    """An object with exactly these keys; a value of the class ``make`` with these fields."""

    def write(value: Any) -> Json:
        return {key: form.write(getattr(value, key)) for key, form in forms.items()}

    return Form(write, lambda data, where: make(**keys(data, where, forms)))


def keys(data: Json, where: str, forms: Mapping[str, Form]) -> dict[str, Any]:
    """The values of an object that has exactly the keys of ``forms``. Raises InputError."""
    if not isinstance(data, dict):
        refuse(where, "an object", show(data))
    for key in data:
        if key not in forms:
            refuse(where, f"only the keys {', '.join(forms)}", json.dumps(key[:40]))
    for key in forms:
        if key not in data:
            refuse(where, f"the key {key!r}", "none")
    return {key: form.read(data[key], f"{where}.{key}") for key, form in forms.items()}


def refuse(where: str, expected: str, found: str) -> NoReturn:
    """Raise the InputError for data that does not belong in the place ``where``."""
    raise InputError(f"{where}: expected {expected}, found {found}.")
