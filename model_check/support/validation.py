"""Validates the content of a file by a pydantic model; its errors name the keys and lines of the file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, TypeVar, cast, get_args

from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable
from kraftcheck.support.toml_text import Place, explain, line_of, lines_of

M = TypeVar("M", bound=BaseModel)

#: At most so many mistakes of a file are reported.
MOST = 10
#: For at most so many mistakes a similar name is searched, which takes a ms each.
_MOST_GUESSED = 200
#: At most so many keys of a table are listed where one is unknown.
_MOST_KEYS = 20

MAX_DOTS = 100
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known key",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "string_type": "should be a text",
    "int_type": "should be a whole number",
    "bool_type": "should be true or false",
}
_LISTS = ("tuple_type", "list_type")
#: The message for a value that may have several types, by the last part of its place.
_TYPES = {"str": "string_type", "bool": "bool_type", "int": "int_type"}


def parse_toml(text: str, where: str, hint: str) -> dict[str, Any]:
    """The data of the TOML file ``where`` with this ``text``; ``hint``: what to do. Raises InputError."""
    # Time and stack of the parser grow with the square of the parts of a key, and a key stands in one line.
    for number, content in enumerate(text.split("\n"), 1):
        if content.count(".") > MAX_DOTS:
            raise InputError(f"{where}: line {number} has more than {MAX_DOTS} dots; {hint}.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line, said = explain(text, str(error))
        raise InputError(_sentence(f"{_at(where, line)}: {said}", hint)) from None


def read_toml(kind: type[M], text: str, where: str, hint: str) -> M:
    """The TOML file ``where`` with this ``text`` as a ``kind``. Raises InputError (:func:`validated`)."""
    return validated(kind, parse_toml(text, where, hint), where, hint, text)


def validated(kind: type[M], data: object, where: str, hint: str, text: str = "") -> M:
    """``data`` of the file ``where`` as a ``kind``; ``text``: its TOML, from which errors have lines.

    Raises InputError: a sentence for each mistake, each in a line.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found = _problems(error, kind)
    lines = lines_of(text)
    found.sort(key=lambda each: line_of(lines, each[0]) or 0)
    reported = [f"{_at(where, line_of(lines, place))}: {said}" for place, said in found]
    if len(reported) == 1:
        raise InputError(_sentence(reported[0], hint))
    more = [f"{where}: and {len(reported) - MOST} more"] if len(reported) > MOST else []
    listed = [_sentence(each) for each in (*reported[:MOST], *more)]
    raise InputError("\n".join([f"{where}: {len(reported)} mistakes; {hint}.", *listed]))


def refusal(message: str, where: str, hint: str, text: str = "") -> InputError:
    """The error of the file ``where`` that says ``message``, which begins with a key, with its line in
    ``text``.
    """
    key = message.partition(":")[0].partition(",")[0]
    return InputError(_sentence(f"{place_of(key, where, text)}: {message}", hint))


def place_of(key: str, where: str, text: str) -> str:
    """The file ``where``, and the line of ``key`` ("network.cut") if it has one in the TOML ``text``."""
    return _at(where, line_of(lines_of(text), tuple(key.split("."))) if text else None)


def problem(error: ValidationError, kind: type[BaseModel] | None = None) -> str:
    """The key of the first thing that is wrong, what that is, and how many more there are.

    With ``kind``, what the data should be, keys that it has are named in place of one that it has not.
    """
    found = _problems(error, kind)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0][1]}{more}"


def spelled(pattern: str, form: str) -> AfterValidator:
    """The form of a text, as a regular expression and in words, with an example."""

    def require(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"'{printable(text[:60])}' is not {form}")
        return text

    return AfterValidator(require)


def _at(where: str, line: int | None) -> str:
    return where if line is None else f"{where}:{line}"


def _sentence(said: str, hint: str = "") -> str:
    """``said``, and what to do: a question is answered in a sentence of its own."""
    if not said.endswith("?"):
        return f"{said}; {hint}." if hint else f"{said}."
    return f"{said} {hint[:1].upper()}{hint[1:]}." if hint else said


def _problems(error: ValidationError, kind: type[BaseModel] | None) -> list[tuple[Place, str]]:
    """The place of each thing that is wrong, and what that is."""
    found: dict[Place, str] = {}
    errors = error.errors()
    places = [each["loc"] for each in errors]
    meant: set[Place] = set()
    missing: dict[Place, str] = {}
    for each in errors:
        place = each["loc"]
        # A list of which no entry is right is also said to be too short.
        if each["type"] == "too_short" and any(p[: len(place)] == place != p for p in places):
            continue
        if place and each["type"] == _TYPES.get(str(place[-1])):
            found.setdefault(place[:-1], "should be a text, a whole number, true or false")
        elif each["type"] == "extra_forbidden" and kind is not None:
            guessed = len(found) < _MOST_GUESSED
            near, said = _unknown(kind, place) if guessed else ("", _WORDS["extra_forbidden"])
            meant |= {(*place[:-1], near)}
            found.setdefault(place, said)
        elif each["type"] == "missing":
            missing[place] = _WORDS["missing"] + _example(kind, place)
        else:
            found.setdefault(place, _in_words(each))
    # A misspelled key is not reported as missing too.
    reported = {place: said for place, said in missing.items() if place not in meant} | found
    return [(place, f"{_key(place)}: {said}") for place, said in reported.items()]


def _key(place: Sequence[int | str]) -> str:
    return printable(".".join(str(part)[:60] for part in place)) or "the file"


def _unknown(kind: type[BaseModel], place: Place) -> tuple[str, str]:
    """The message for an unknown key of a table, with the similar key if there is one."""
    key, known = str(place[-1]), _keys(kind, place[:-1])
    if near := did_you_mean(key, known):
        return near.split("'")[1], f"{_WORDS['extra_forbidden']}{near}"
    plain = key.replace("_", "-").lower()
    if len(place) > 1 and plain in _keys(kind, ()):
        return "", "is not a key of this table, but of the file; write it above the first [table]"
    tables = [name for name in _keys(kind, ()) if (name,) != place[:-1] and plain in _keys(kind, (name,))]
    if tables:
        return "", f"is not a known key here, but one of {' or '.join(f'[{name}]' for name in tables)}"
    listed = f"; known are {', '.join(known)}" if 0 < len(known) <= _MOST_KEYS else ""
    return "", f"{_WORDS['extra_forbidden']}{listed}"


def _keys(kind: Any, place: Place) -> list[str]:
    """The keys that a table at ``place`` of a ``kind`` has, as files write them; none if that is unknown."""
    table = _table_at(kind, place)
    return [] if table is None else [field.alias or name for name, field in table.model_fields.items()]


def _table_at(kind: Any, place: Place) -> type[BaseModel] | None:
    for part in place:
        if isinstance(part, int) or kind is None:
            continue
        fields = kind.model_fields.items()
        kind = next(
            (table_in(field.annotation) for name, field in fields if part in (name, field.alias)), None
        )
    return cast(type[BaseModel] | None, kind)


def _example(kind: type[BaseModel] | None, place: Place) -> str:
    """An example of a key that is missing at ``place`` of a ``kind``."""
    table = _table_at(kind, place[:-1])
    for name, field in table.model_fields.items() if table is not None else ():
        if place[-1] in (name, field.alias) and field.examples:
            example = field.examples[0]
            written = f'"{example}"' if isinstance(example, str) and example[:1] != "{" else example
            return f"; for example {place[-1]} = {written}"
    return ""


def table_in(annotation: Any) -> type[BaseModel] | None:
    """The only model that ``annotation`` mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = {model for each in get_args(annotation) if (model := table_in(each)) is not None}
    return found.pop() if len(found) == 1 else None


def _in_words(error: ErrorDetails) -> str:
    given, kind = error["input"], error["type"]
    if kind in _LISTS:
        return f"should be a list{_as_list(given, _key(error['loc']))}"
    if kind in ("dict_type", "model_type") and isinstance(given, list):
        return f"should be a table; write [{_key(error['loc'])}] with one bracket on each side"
    if kind in ("bool_type", "int_type") and isinstance(given, str):
        return f"{_WORDS[kind]}, without quotes"
    if kind == "string_type" and isinstance(given, bool | int | float):
        return f'{_WORDS[kind]}, in double quotes: "{str(given).lower()[:40]}"'
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == "string_pattern_mismatch":
        return f"{str(given)[:60]!r} does not have the form that this key expects"
    if kind == "literal_error":
        allowed = error["ctx"]["expected"]
        words = re.findall(r"'([^']*)'", allowed)
        return f"should be {allowed}{did_you_mean(given, words)}"
    if kind == "too_short":
        least = error["ctx"]["min_length"]
        return f"should have at least {least} {'entry' if least == 1 else 'entries'}"
    if kind == "too_long":
        return f"should have at most {error['ctx']['max_length']} entries"
    said = error["msg"]
    if kind == "value_error":
        return printable(said.removeprefix("Value error, "))
    said = said.removeprefix("Input ").removeprefix("String ")
    return printable(said[:1].lower() + said[1:])


def _as_list(given: object, key: str) -> str:
    """The given value as a list."""
    if isinstance(given, dict):
        return f" of tables; write [[{key}]] with two brackets on each side"
    if isinstance(given, str):
        return f', such as ["{printable(given[:60])}"]'
    return f", such as [{given}]" if type(given) is int and abs(given) < 10**9 else ""
