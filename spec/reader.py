"""Reads one entry of a specification file, strictly: every key known, present and of the right type."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from kraftcheck.spec.model import SpecificationError


class Entry:
    """One table of a TOML file. Each key is taken once; `done` refuses what was not taken.

    Every method raises `SpecificationError` with a sentence that names the file and the entry.
    """

    __slots__ = ("_left", "label", "where")

    def __init__(self, where: str, kind: str, value: object, name_key: str | None = None) -> None:
        self.where = where
        self.label = kind
        if not isinstance(value, dict):
            raise self.error(f"must be a table, not {_kind(value)}")
        self._left: dict[str, object] = dict(value)
        if name_key is not None and isinstance(name := self._left.get(name_key), str):
            self.label = f"{kind} {name}"

    def error(self, problem: str) -> SpecificationError:
        """An error about this entry, to be raised by the caller."""
        return SpecificationError(f"{self.where}: {self.label}: {problem}")

    def take(self, key: str) -> object:
        """The raw value of a key that must be there."""
        if key not in self._left:
            raise self.error(f"key {key!r} is missing")
        return self._left.pop(key)

    def has(self, key: str) -> bool:
        return key in self._left

    def word(self, key: str) -> str:
        """A string on one line: an id, a name, a type."""
        value = self.take(key)
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be a string, not {_kind(value)}")
        if not value or value != value.strip() or not value.isprintable():
            raise self.error(f"{key!r} must be one line without blanks around it")
        return value

    def optional_word(self, key: str) -> str | None:
        return self.word(key) if self.has(key) else None

    def prose(self, key: str) -> str:
        """A text; line breaks and runs of blanks count as one blank."""
        value = self.take(key)
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be a text, not {_kind(value)}")
        text = " ".join(value.split())
        if not text:
            raise self.error(f"{key!r} is empty")
        if not text.isprintable():
            raise self.error(f"{key!r} holds a control character")
        return text

    def optional_prose(self, key: str) -> str | None:
        return self.prose(key) if self.has(key) else None

    def words(self, key: str) -> tuple[str, ...]:
        """A list of distinct strings; may be empty, must be there."""
        found: list[str] = []
        for value in self.items(key):
            if not isinstance(value, str):
                raise self.error(f"{key!r} must hold strings, not {_kind(value)}")
            if not value or value != value.strip() or not value.isprintable():
                raise self.error(f"{key!r} holds an empty or untrimmed string")
            if value in found:
                raise self.error(f"{key!r} lists {value!r} twice")
            found.append(value)
        return tuple(found)

    def optional_words(self, key: str) -> tuple[str, ...]:
        return self.words(key) if self.has(key) else ()

    def items(self, key: str) -> Sequence[object]:
        value = self.take(key)
        if not isinstance(value, list):
            raise self.error(f"{key!r} must be a list, not {_kind(value)}")
        return value

    def texts(self, key: str) -> Mapping[str, str]:
        """A table of texts."""
        inner = Entry(self.where, f"{self.label}: {key}", self.take(key))
        return {name: inner.prose(name) for name in tuple(inner._left)}

    def integer(self, key: str) -> int:
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{key!r} must be an integer, not {_kind(value)}")
        return value

    def optional_integer(self, key: str) -> int | None:
        return self.integer(key) if self.has(key) else None

    def flag(self, key: str) -> bool:
        value = self.take(key)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, not {_kind(value)}")
        return value

    def optional_flag(self, key: str) -> bool:
        return self.flag(key) if self.has(key) else False

    def done(self) -> None:
        """Refuses the entry if it holds a key that is not known."""
        if self._left:
            unknown = ", ".join(repr(key) for key in sorted(self._left))
            raise self.error(f"unknown key {unknown}")


def parse_file(where: str, text: str) -> Entry:
    """A whole TOML file as one entry."""
    try:
        return Entry(where, "file", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SpecificationError(f"{where}: not TOML: {error}") from error


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")
