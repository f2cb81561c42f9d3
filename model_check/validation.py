"""What is in a file, held against a pydantic model; what is wrong with it is said in words of the file."""

from __future__ import annotations

import tomllib
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from model_check.errors import InputError
from model_check.printable import printable

M = TypeVar("M", bound=BaseModel)

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
        raise InputError(f"{where}: {problem(error)}; {hint}.") from None


def problem(error: ValidationError) -> str:
    """The key of the first thing that is wrong, what that is, and how many more there are."""
    first = error.errors()[0]
    key = printable(".".join(str(part)[:60] for part in first["loc"])) or "the file"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {_in_words(first)}{more}"


def _in_words(error: ErrorDetails) -> str:
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
