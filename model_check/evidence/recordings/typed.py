"""Decoded JSON of unknown origin as values of msgspec types; an error names file, line and field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any, TypeVar

import msgspec
from msgspec import inspect
from msgspec.json import schema_components

from kraftcheck.support.errors import InputError

Json = Any
T = TypeVar("T")

_WORDS = {
    "int": "an integer", "str": "a string", "bool": "true or false", "float": "a number",
    "object": "an object", "array": "a list", "null": "null",
}  # fmt: skip


def typed(data: Json, kind: type[T] | Any, where: str) -> T:
    """``data`` as a value of ``kind``, a type of msgspec. Raises InputError, which names the field."""
    try:
        found: T = converted(data, kind)
    except ValueError as error:
        raise InputError(f"{where}: {error}.") from None
    return found


def converted(data: Json, kind: Any) -> Any:
    """As :func:`typed`. Raises ValueError without the place."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_sentence(str(error), kind)) from None
    except UnicodeEncodeError:
        raise ValueError("a string has half of a surrogate pair, which is no character") from None


def _sentence(error: str, kind: Any) -> str:
    """The message of msgspec on a value that is not of ``kind``, as a sentence of kraftcheck."""
    text, _, place = error.partition(" - at `$")
    path = place.removesuffix("`").removeprefix(".").replace("[...]", ".*")
    missing = re.fullmatch(r"Object missing required field `(.+)`", text)
    if missing is not None:
        return f"field '{path}.{missing[1]}' is missing" if path else f"field '{missing[1]}' is missing"
    expected = re.fullmatch(r"Expected `(.+?)`(.*?)(?:, got `(.+)`)?", text)
    field = f"field '{path}'" if path else "the value"
    if text.startswith("Invalid enum value "):
        values = dict.fromkeys(_choices(inspect.type_info(kind), path.rpartition(".")[2]))
        found = text.removeprefix("Invalid enum value ")
        return f"{field} must be {' or '.join(map(repr, values))}, found {found}"
    if expected is None:
        wrong = re.search(r"'(.*)'", text)
        return f"{field} cannot be {wrong[0]}" if wrong else f"{field}: {text}"
    wanted = " or ".join(_WORDS.get(word, word) for word in expected[1].split(" | "))
    found = f", found {_WORDS.get(expected[3], expected[3])}" if expected[3] else ""
    return f"{field} must be {wanted}{expected[2]}{found}"


def _choices(kind: inspect.Type, name: str) -> Iterator[Json]:
    """The values of the fields ``name`` anywhere in ``kind`` that have only a few."""
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            if field.encode_name == name and isinstance(field.type, inspect.LiteralType):
                yield from field.type.values
            yield from _choices(field.type, name)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _choices(each, name)
    elif isinstance(kind, inspect.ListType):
        yield from _choices(kind.item_type, name)


def schemas_of(types: Sequence[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """The JSON Schemas of ``types``, and by name those of the types that they refer to (``#/$defs/NAME``)."""
    found, components = schema_components(types, ref_template="#/$defs/{name}")
    for each in components.values():
        if "description" in each:
            # Not all versions of msgspec remove the indentation of a docstring.
            each["description"] = cleandoc(each["description"])
    return found, components
