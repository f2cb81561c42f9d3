"""Typed access to decoded JSON of unknown origin: every failure names the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from model_check.errors import InputError

Json = Any


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and where it was found, for instance ``trace.jsonl.gz, line 12``."""

    values: dict[str, Json]
    where: str

    @staticmethod
    def of(value: Json, where: str) -> Fields:
        """``value`` as an object. Raises InputError if it is something else."""
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected a JSON object, found {_name(value)}.")
        return Fields(value, where)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def value(self, key: str) -> Json:
        """A field of any type, ``null`` included."""
        if key not in self.values:
            raise InputError(f"{self.where}: field '{key}' is missing.")
        return self.values[key]

    def number(self, key: str, default: int | None = None) -> int:
        """An integer field; ``default`` makes it optional."""
        return cast(int, self._get(key, int, "an integer", default))

    def text(self, key: str, default: str | None = None) -> str:
        """A string field."""
        return cast(str, self._get(key, str, "a string", default))

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A boolean field."""
        return cast(bool, self._get(key, bool, "true or false", default))

    def items(self, key: str, default: list[Json] | None = None) -> list[Json]:
        """A list field."""
        return cast("list[Json]", self._get(key, list, "a list", default))

    def numbers(self, key: str) -> tuple[int, ...]:
        """A list of integers."""
        found = self.items(key)
        if any(not _is(value, int) for value in found):
            raise InputError(f"{self.where}: field '{key}' must be a list of integers.")
        return tuple(found)

    def inner(self, key: str) -> Fields:
        """A field that is an object."""
        return Fields(self._get(key, dict, "an object", None), self.where)

    def objects(self, key: str, default: list[Json] | None = None) -> Iterator[Fields]:
        """A field that is a list of objects."""
        for value in self.items(key, default):
            if not isinstance(value, dict):
                raise InputError(f"{self.where}: field '{key}' must be a list of objects.")
            yield Fields(value, self.where)

    def only(self, key: str) -> Fields:
        """The single object in a list field."""
        found = list(self.objects(key))
        if len(found) != 1:
            raise InputError(f"{self.where}: field '{key}' must hold one element, found {len(found)}.")
        return found[0]

    def _get(self, key: str, kind: type, expected: str, default: Json) -> Json:
        value = self.values.get(key, default) if default is not None else self.values.get(key)
        if key not in self.values and default is None:
            raise InputError(f"{self.where}: field '{key}' is missing.")
        if not _is(value, kind):
            raise InputError(f"{self.where}: field '{key}' must be {expected}, found {_name(value)}.")
        return value


def _is(value: Json, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _name(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a fraction"}
    return "null" if value is None else names.get(type(value), str(value).lower())
