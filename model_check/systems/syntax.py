"""The syntax of single values in the short form: reading it, showing it, and errors about it.

The grammar: ``docs/short-form.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from kraftcheck.reference.types import INT64
from kraftcheck.support.errors import InputError

NONE = "none"

_PIECE = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[\[\]()]|[^\s"\[\]()]+')
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_WORD = re.compile(r'[^\s"\[\]()]+')
_IN_COMMAS = re.compile(r'[^\s,"\[\]()]+')
_CLOSING = {"(": ")", "[": "]"}
_ENDS = {")": "')' where its fields end", "]": "']' where the list ends"}


class Mismatch(Exception):
    """A text that does not fit: the expected text, the one that was found, and the path to the place."""

    def __init__(self, expected: str, found: str = "", hint: str = "", path: str = "") -> None:
        super().__init__(expected)
        self.expected, self.found, self.hint, self.path = expected, found, hint, path

    def within(self, path: str, example: str = "") -> Mismatch:
        """The same as seen one level further out; ``example``: a word that would fit."""
        hint = self.hint or (f"; for example '{example}'." if example else "")
        return Mismatch(self.expected, self.found, hint, path + self.path)

    def error(self, where: str) -> InputError:
        """The error sentence; ``where`` names the whole value."""
        found = f", found {self.found}" if self.found else ""
        return InputError(f"{where}{self.path}: expected {self.expected}{found}{self.hint or '.'}")


@dataclass(frozen=True, slots=True)
class Syntax:
    """The notation of the values of one type.

    ``read`` gives the value of a text and raises Mismatch; ``show`` gives the text of a value. ``expected``
    and ``plural`` name one value and several in errors; ``example``: the text of a value. ``is_flag``: the
    word ``key`` alone stands for ``key=yes``.
    """

    expected: str
    read: Callable[[str], Any]
    show: Callable[[Any], str]
    plural: str = ""
    example: str = ""
    is_flag: bool = False


def split(text: str) -> list[str]:
    """The words of a text: blanks separate them outside quotes, brackets and parentheses. Raises Mismatch."""
    words, word, opened, at = [], "", list[str](), 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise Mismatch("a name, a field, a list or a text in quotes", shown(text[at:]))
        token, at = piece[0], piece.end()
        if token in _ENDS:
            if not opened:
                raise Mismatch("nothing after the value", shown(token))
            if (closing := _CLOSING[opened.pop()]) != token:
                raise Mismatch(_ENDS[closing], shown(token))
        elif token in _CLOSING:
            opened.append(token)
        if not token.isspace():
            word += token
        elif opened:
            word += " "
        elif word:
            words.append(word)
            word = ""
    if opened:
        raise Mismatch(_ENDS[_CLOSING[opened[-1]]], "the end of the text")
    words += [word] if word else []
    for each in words:
        if any("\ud800" <= letter <= "\udfff" for letter in each):
            raise Mismatch("Unicode text", shown(each))
    return words


# Syntaxes.


def one_word(
    expected: str, read: Callable[[str], Any], show: Callable[[Any], str], plural: str, example: str = ""
) -> Syntax:
    """A syntax of single words; ``read`` gives ``None`` for an invalid text."""

    def read_word(text: str) -> Any:
        value = read(text)
        return misfit(expected, text) if value is None else value

    return Syntax(expected, read_word, show, plural, example)


def number(low: int = -INT64 - 1, high: int = INT64, example: str = "") -> Syntax:
    """Whole numbers of a range."""
    bounded = f"from {low} to {high}"
    wide = (low, high) == (-INT64 - 1, INT64)
    expected = "a whole number" if wide else f"a whole number {bounded}"

    def read(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,30}", text):
            misfit(expected, text)
        value = int(text)
        return value if low <= value <= high else misfit(f"a number {bounded}", text)

    return Syntax(expected, read, str, "whole numbers", example)


def switch(*, inverted: bool = False) -> Syntax:
    """``yes`` or ``no``; ``inverted``: the word means the opposite of the field."""
    words = {"yes": not inverted, "no": inverted}

    def read(text: str) -> bool:
        return words[text] if text in words else misfit("yes or no", text)

    return Syntax("yes or no", read, lambda value: "yes" if value is not inverted else "no", is_flag=True)


def optional(syntax: Syntax) -> Syntax:
    """A value, or ``none``."""
    expected = f"{syntax.expected} or {NONE}"

    def read(text: str) -> Any:
        if text == NONE:
            return None
        try:
            return syntax.read(text)
        except Mismatch as error:
            raise Mismatch(
                expected if error.expected == syntax.expected else error.expected,
                error.found,
                error.hint,
                error.path,
            ) from None

    def show(value: Any) -> str:
        if value is None:
            return NONE
        text = syntax.show(value)
        if text == NONE:
            return "[]" if isinstance(value, tuple) else json.dumps(text)
        return text

    return Syntax(expected, read, show, syntax.plural, syntax.example)


def listed(item: Syntax, *, commas: bool, example: str = "") -> Syntax:
    """Items in brackets, or separated by commas where they are single words; ``none`` and ``[]`` are
    empty.
    """
    expected = f"{item.plural} separated by commas or in brackets" if item.plural else "a list in brackets"

    def read(text: str) -> tuple[Any, ...]:
        if text == NONE:
            return ()
        if text.startswith("[") and text.endswith("]"):
            parts = split(text[1:-1])
        elif item.plural and text:
            parts = text.split(",")
        else:
            misfit(expected, text)
        return tuple(_read_item(item, part, index) for index, part in enumerate(parts))

    def show(values: tuple[Any, ...]) -> str:
        texts = [item.show(value) for value in values]
        if commas and item.plural and all(map(_IN_COMMAS.fullmatch, texts)) and texts != [NONE]:
            return ",".join(texts) or NONE
        return f"[{' '.join(texts)}]"

    return Syntax(expected, read, show, example=example)


def fixed(items: tuple[Syntax, ...]) -> Syntax:
    """A list of so many items, each of its own type."""
    expected = f"a list of {len(items)} in brackets"

    def read(text: str) -> tuple[Any, ...]:
        parts = split(text[1:-1]) if text.startswith("[") and text.endswith("]") else []
        if len(parts) != len(items):
            misfit(expected, text)
        return tuple(
            _read_item(item, part, index) for index, (item, part) in enumerate(zip(items, parts, strict=True))
        )

    def show(values: tuple[Any, ...]) -> str:
        return f"[{' '.join(item.show(value) for item, value in zip(items, values, strict=True))}]"

    return Syntax(expected, read, show)


def _read_item(item: Syntax, text: str, index: int) -> Any:
    try:
        return item.read(text)
    except Mismatch as error:
        raise error.within(f"[{index}]") from None


def _read_text(text: str) -> str:
    if not text.startswith('"'):
        return misfit("a text", text) if not text or set(text) & set('[]()"') else text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        misfit("a text in quotes as in JSON", text)


TEXT = Syntax(
    "a text", _read_text, lambda text: text if _PLAIN.fullmatch(text) else json.dumps(text), "texts", "name"
)


def members(kind: type[Enum], member: Callable[[Enum], str]) -> Syntax:
    words = {_plain(name): each for name, each in kind.__members__.items()}
    names = tuple(dict.fromkeys(map(member, kind)))
    expected = f"one of {', '.join(names)}"
    return one_word(
        expected, lambda text: words.get(_plain(text)), member, f"some of {', '.join(names)}", names[-1]
    )


def _plain(text: str) -> str:
    return text.upper().replace("-", "_")


def reads_as(syntax: Syntax, text: str, value: Any) -> bool:
    try:
        return _WORD.fullmatch(text) is not None and bool(syntax.read(text) == value)
    except Mismatch:
        return False


# Errors.


def misfit(expected: str, text: str) -> NoReturn:
    """Raise the Mismatch of an unexpected text."""
    if text.startswith('"'):
        raise Mismatch(expected, "a text in quotes")
    if text.startswith("[") and text.endswith("]"):
        raise Mismatch(expected, "a list")
    raise Mismatch(expected, shown(text) if text else "nothing")


def shown(text: str) -> str:
    """A text as errors quote it: printable and not too long."""
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return f"'{printable}'" if len(printable) <= 48 else f"'{printable[:45]}...'"
