"""Typed access to decoded JSON of unknown origin: every failure names the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.recordings.typed import Json as Json
from kraftcheck.evidence.recordings.typed import typed as typed
from kraftcheck.support.errors import InputError

_NAMES = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a fraction"}


class Fields:
    """A JSON object and its place, for instance ``trace.jsonl.gz, line 12``.

    Not a dataclass: a recording has millions of them, and a frozen one takes thrice as long to build.
    """

    __slots__ = ("values", "where")

    def __init__(self, values: dict[str, Json], where: str) -> None:
        self.values = values
        self.where = where

    @staticmethod
    def of(value: Json, where: str) -> Fields:
        """``value`` as an object. Raises InputError for any other value."""
        if type(value) is not dict:
            raise InputError(f"{where}: expected a JSON object, found {_name(value)}.")
        return Fields(value, where)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __repr__(self) -> str:
        return f"Fields({self.values!r}, {self.where!r})"

    def value(self, key: str) -> Json:
        """A field of any type, ``null`` included."""
        if key not in self.values:
            raise InputError(f"{self.where}: field '{key}' is missing.")
        return self.values[key]

    def number(self, key: str, default: int | None = None) -> int:
        """An integer field; ``default`` makes it optional."""
        found = self.values.get(key, default)
        if type(found) is not int:
            raise self._wrong(key, "an integer")
        return found

    def text(self, key: str, default: str | None = None) -> str:
        """A string field."""
        found = self.values.get(key, default)
        if type(found) is not str:
            raise self._wrong(key, "a string")
        return found

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A boolean field."""
        found = self.values.get(key, default)
        if type(found) is not bool:
            raise self._wrong(key, "true or false")
        return found

    def items(self, key: str, default: list[Json] | None = None) -> list[Json]:
        """A list field."""
        found = self.values.get(key, default)
        if type(found) is not list:
            raise self._wrong(key, "a list")
        return found

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of integers."""
        found = self.items(key)
        if any(type(value) is not int for value in found):
            raise InputError(f"{self.where}: field '{key}' must be a list of integers.")
        return tuple(found)

    def inner(self, key: str) -> Fields:
        """A field that is an object."""
        found = self.values.get(key)
        if type(found) is not dict:
            raise self._wrong(key, "an object")
        return Fields(found, self.where)

    def objects(self, key: str, default: list[Json] | None = None) -> Iterator[Fields]:
        """A field that is a list of objects."""
        for value in self.items(key, default):
            if type(value) is not dict:
                raise InputError(f"{self.where}: field '{key}' must be a list of objects.")
            yield Fields(value, self.where)

    def only(self, key: str) -> Fields:
        """The single object in a list field."""
        found = list(self.objects(key))
        if len(found) != 1:
            raise InputError(f"{self.where}: field '{key}' must hold one element, found {len(found)}.")
        return found[0]

    def _wrong(self, key: str, expected: str) -> InputError:
        if key not in self.values:
            return InputError(f"{self.where}: field '{key}' is missing.")
        return InputError(f"{self.where}: field '{key}' must be {expected}, found {_name(self.values[key])}.")


def _name(value: Json) -> str:
    return "null" if value is None else _NAMES.get(type(value), str(value).lower())
