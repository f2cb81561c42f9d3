"""What is in a file, held against a pydantic model; what is wrong with it is said in words of the file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from model_check.errors import InputError
from model_check.printable import printable

M = TypeVar("M", bound=BaseModel)

MAX_DOTS = 100
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known key",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "string_type": "should be a text",
    "int_type": "should be a whole number",
    "bool_type": "should be true or false",
}


def parse_toml(text: str, where: str, hint: str) -> dict[str, Any]:
    """What the TOML file ``where`` with this ``text`` says; ``hint`` is what to do. Raises InputError."""
    # Time and stack of the parser grow with the square of the parts of a key, and a key stands in one line.
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise InputError(f"{where}: line {number} has more than {MAX_DOTS} dots; {hint}.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        damage = str(error).partition("; use sys.")[0]
        raise InputError(f"{where}: not a TOML file ({damage}); {hint}.") from None


def validated(kind: type[M], data: object, where: str, hint: str) -> M:
    """``data`` of the file ``where`` as a ``kind``. Raises InputError."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{where}: {problem(error, kind)}; {hint}.") from None


def problem(error: ValidationError, kind: type[BaseModel] | None = None) -> str:
    """The key of the first thing that is wrong, what that is, and how many more there are.

    With ``kind``, what the data should be, keys that it has are named in place of one that it has not.
    """
    # A list of which no entry is right is also said to be too short.
    places = [each["loc"] for each in error.errors()]
    errors = [
        each
        for each in error.errors()
        if each["type"] != "too_short"
        or not any(place[: len(each["loc"])] == each["loc"] != place for place in places)
    ]
    first = errors[0]
    key = printable(".".join(str(part)[:60] for part in first["loc"])) or "the file"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    known = _keys(kind, first["loc"][:-1]) if first["type"] == "extra_forbidden" else []
    named = f"; known are {', '.join(known)}" if known else ""
    return f"{key}: {_in_words(first)}{named}{more}"


def _keys(kind: Any, place: Sequence[int | str]) -> list[str]:
    """The keys that a table at ``place`` of a ``kind`` has, as files write them; none if that is unknown."""
    for part in place:
        if isinstance(part, int) or kind is None:
            continue
        fields = kind.model_fields.items()
        kind = next((_table(field.annotation) for name, field in fields if part in (name, field.alias)), None)
    return [] if kind is None else [field.alias or name for name, field in kind.model_fields.items()]


def _table(annotation: Any) -> type[BaseModel] | None:
    """The only model that ``annotation`` mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = {model for each in get_args(annotation) if (model := _table(each)) is not None}
    return found.pop() if len(found) == 1 else None


def _in_words(error: ErrorDetails) -> str:
    if error["type"] in ("tuple_type", "list_type") and isinstance(error["input"], str):
        return f'should be a list, such as ["{error["input"][:60]}"]'
    if error["type"] in _WORDS:
        return _WORDS[error["type"]]
    if error["type"] == "string_pattern_mismatch":
        return f"{str(error['input'])[:60]!r} does not have the form that this key expects"
    if error["type"] == "too_short":
        least = error["ctx"]["min_length"]
        return f"should have at least {least} {'entry' if least == 1 else 'entries'}"
    if error["type"] == "too_long":
        return f"should have at most {error['ctx']['max_length']} entries"
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    return said[:1].lower() + said[1:]
