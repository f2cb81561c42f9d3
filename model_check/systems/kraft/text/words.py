"""The words of the short text form: one head word, then flags and ``key=value`` pairs in any order.

Every error names the word, what was expected in its place, and an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from kraftcheck.reference.log import EpochEnd
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

T = TypeVar("T")
D = TypeVar("D")

INT32, INT64 = 2**31 - 1, 2**63 - 1
NONE = "none"


class NoShortForm(InputError):
    """A value that the short form cannot express; its JSON form can."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What may follow a head word: the keys with an example value each, and the flags."""

    keys: Mapping[str, str]
    flags: tuple[str, ...] = ()


class Words:
    """The words of one text after its head, Raises InputError for any that is not known."""

    def __init__(self, what: str, head: str, words: Iterable[str], grammar: Grammar) -> None:
        self.what = what
        self._grammar = grammar
        self._values: dict[str, str] = {}
        known = (*grammar.keys, *grammar.flags)
        for word in words:
            key, equals, value = word.partition("=")
            if key in self._values:
                self.refuse(word, f"{key!r} only once")
            if equals and key in grammar.keys and value:
                self._values[key] = value
            elif not equals and key in grammar.flags:
                self._values[key] = ""
            elif key in grammar.keys:
                self.refuse(word, f"a value after {key!r}", f"{key}={grammar.keys[key]}")
            elif key in grammar.flags:
                self.refuse(word, f"{key!r} without a value", key)
            else:
                raise InputError(
                    f"{what}: {show(word)} is not a word of {head!r}, which knows "
                    f"{', '.join(known) or 'none'}{did_you_mean(key, known) or '.'}"
                )

    def refuse(self, word: str, expected: str, example: str | None = None) -> NoReturn:
        """Raise the error for ``word``."""
        hint = f", for example {example!r}" if example else ""
        raise InputError(f"{self.what}: {show(word)}: expected {expected}{hint}.")

    def has(self, key: str) -> bool:
        return key in self._values

    def read(self, key: str, parse: Callable[[str], T | None], default: D, expected: str) -> T | D:
        """The value of ``key`` as ``parse`` reads it (``None``: it cannot), or ``default`` without one."""
        text = self._values.get(key)
        if text is None:
            return default
        value = parse(text)
        if value is None:
            self.refuse(f"{key}={text}", expected, f"{key}={self._grammar.keys[key]}")
        return value

    def text(self, key: str, default: str) -> str:
        return self._values.get(key, default)

    def optional_text(self, key: str) -> str | None:
        return self._values.get(key)

    def number(self, key: str, default: int, low: int = 0, high: int = INT32) -> int:
        expected = f"a whole number from {low} to {high}"
        return self.read(key, lambda text: number(text, low, high), default, expected)

    def optional_number(
        self, key: str, default: int | None = None, low: int = 0, high: int = INT32
    ) -> int | None:
        """A number, or ``none``."""
        if self._values.get(key) == NONE:
            return None
        return default if key not in self._values else self.number(key, 0, low, high)

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        expected = "whole numbers separated by commas, or 'none'"
        return self.read(
            key, lambda text: items(text, lambda part: number(part, 0, INT32)), default, expected
        )

    def key(self, key: str, default: ReplicaKey | None) -> ReplicaKey | None:
        """A replica key: ``2``, with its directory ``2/dir``, or ``none``."""
        if self._values.get(key) == NONE:
            return None
        expected = "a replica id, alone or with its directory"
        return self.read(key, replica_key, default, expected)

    def replica_keys(self, key: str, default: tuple[ReplicaKey, ...]) -> tuple[ReplicaKey, ...]:
        expected = "replica ids separated by commas, each alone or with its directory, or 'none'"
        return self.read(key, lambda text: items(text, replica_key), default, expected)

    def endpoints(self, key: str, default: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        expected = "endpoints separated by commas, or 'none'"
        return self.read(key, lambda text: items(text, endpoint), default, expected)

    def position(self, key: str, default: EpochEnd | None) -> EpochEnd | None:
        """The end of a log, ``offset@epoch``."""
        expected = "an end offset and the epoch of the last record before it"
        return self.read(key, position, default, expected)

    def member(self, key: str, options: Mapping[str, T], default: D) -> T | D:
        """One of some named values."""
        expected = f"one of {', '.join(options)}"
        return self.read(key, options.get, default, expected)


def split(what: str, text: str, heads: Mapping[str, Grammar], example: str) -> tuple[str, list[str]]:
    """The head word of a text and the words after it. Raises InputError for an unknown head."""
    words = text.split()
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise InputError(f"{what}: {show(word)}: expected Unicode text, for example {example!r}.")
    if not words:
        raise InputError(f"{what}: the text is empty; expected, for example, {example!r}.")
    if words[0] not in heads:
        hint = did_you_mean(words[0], heads) or f"; for example {example!r}."
        raise InputError(f"{what}: {show(words[0])}: expected one of {', '.join(heads)}{hint}")
    return words[0], words[1:]


def show(word: str) -> str:
    """A word as errors quote it: printable and not too long."""
    shown = ascii(word)
    return shown if len(shown) <= 50 else f"{shown[:46]}...'"


# The syntax of values. Each parser returns None for what it cannot read.


def number(text: str, low: int = 0, high: int = INT32) -> int | None:
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if low <= value <= high else None


def items(text: str, parse: Callable[[str], T | None]) -> tuple[T, ...] | None:
    """Items separated by commas; ``none`` for no item."""
    if text == NONE:
        return ()
    found = [parse(part) for part in text.split(",")]
    values = tuple(value for value in found if value is not None)
    return values if len(values) == len(found) else None


def replica_key(text: str) -> ReplicaKey | None:
    replica, slash, directory = text.partition("/")
    replica_id = number(replica, -INT32 - 1)
    if replica_id is None or bool(slash) != bool(directory):
        return None
    return ReplicaKey(replica_id, directory or None)


def endpoint(text: str) -> Endpoint | None:
    match = re.fullmatch(r"([^:,\s]+)://([^:,\s]+):([0-9]{1,5})", text)
    if match is None or int(match[3]) > 65535:
        return None
    return Endpoint(match[1], match[2], int(match[3]))


def position(text: str) -> EpochEnd | None:
    offset, _, epoch = text.partition("@")
    values = number(offset, -INT64 - 1, INT64), number(epoch, -INT32 - 1)
    return None if values[0] is None or values[1] is None else EpochEnd(values[1], values[0])


# Printing.


def print_key(key: ReplicaKey) -> str:
    return str(key.id) if key.directory is None else f"{key.id}/{key.directory}"


def print_keys(keys: Iterable[ReplicaKey]) -> str:
    return ",".join(map(print_key, keys)) or NONE


def print_numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)) or NONE


def print_endpoints(endpoints: Iterable[Endpoint]) -> str:
    return ",".join(f"{each.name}://{each.host}:{each.port}" for each in endpoints) or NONE


def print_position(end: EpochEnd) -> str:
    return f"{end.offset}@{end.epoch}"
