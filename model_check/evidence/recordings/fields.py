"""Typed access to the decoded JSON of adapters: every failure names the place and the field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from kraftcheck.evidence.recordings.typed import Json as Json
from kraftcheck.evidence.recordings.typed import typed as typed
from kraftcheck.support.errors import InputError

T = TypeVar("T")

_NAMES = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a fraction"}


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and its place, for instance ``answer 12``."""

    values: dict[str, Json]
    where: str

    @staticmethod
    def of(value: Json, where: str) -> Fields:
        """``value`` as an object. Raises InputError for any other value."""
        if type(value) is not dict:
            raise InputError(f"{where}: expected a JSON object, found {_name(value)}.")
        return Fields(value, where)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def value(self, key: str) -> Json:
        """A field of any type, ``null`` included."""
        if key not in self.values:
            raise InputError(f"{self.where}: field '{key}' is missing.")
        return self.values[key]

    def _get(self, key: str, kind: type[T], expected: str, default: T | None) -> T:
        found = self.values.get(key, default)
        if type(found) is not kind:
            raise self._wrong(key, expected)
        return found

    def number(self, key: str, default: int | None = None) -> int:
        """An integer field; ``default`` makes it optional."""
        return self._get(key, int, "an integer", default)

    def text(self, key: str, default: str | None = None) -> str:
        """A string field."""
        return self._get(key, str, "a string", default)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A boolean field."""
        return self._get(key, bool, "true or false", default)

    def items(self, key: str, default: list[Json] | None = None) -> list[Json]:
        """A list field."""
        return self._get(key, list, "a list", default)

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of integers."""
        found = self.items(key)
        if any(type(value) is not int for value in found):
            raise InputError(f"{self.where}: field '{key}' must be a list of integers.")
        return tuple(found)

    def inner(self, key: str) -> Fields:
        """A field that is an object."""
        return Fields(self._get(key, dict, "an object", None), self.where)

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
