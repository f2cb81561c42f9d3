"""The short form: a value as one line of text, and the value that a text stands for.

One engine serves replicas and brokers. A :class:`Form` is the table of the words of one class; most of it
follows from the declared types of the class, in a :class:`Style`. The grammar: ``docs/short-form.md``.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

from kraftcheck.reference.frozen import field_defaults, field_types, is_frozen
from kraftcheck.support.closest import did_you_mean
from kraftcheck.systems.syntax import (
    NONE,
    TEXT,
    Mismatch,
    Syntax,
    fixed,
    listed,
    members,
    misfit,
    number,
    optional,
    reads_as,
    shown,
    split,
    switch,
)

#: The default of a required word.
REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a form: ``key=value``.

    ``fields`` are the fields of the class that it gives: of several the value is a tuple. ``default`` is the
    value without the word, or a function of the other fields and of the subject of the form. ``always``:
    print the word even where the value is the default, or a function of the fields that decides it.
    ``is_first``: as the first word the value may stand alone. Without a ``syntax`` the declared type of the
    field decides.
    """

    key: str
    fields: tuple[str, ...] = ()
    syntax: Syntax | None = None
    default: Any = REQUIRED
    always: bool | Callable[[Mapping[str, Any]], bool] = False
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The words of a class by key, in the order in which they are printed."""

    name: str
    words: Mapping[str, Word]


@dataclass(frozen=True, eq=False)
class Style:
    """The notation of declared types where kinds of systems differ.

    ``commas``: lists of single words are printed with commas and not in brackets; ``flags``: switches that
    are on are printed as the key alone; ``special``: the syntax of single types, for classes before the
    form of their fields; ``member``: the word for a member of an enumeration; ``derived``: fields of a class
    that follow from others, and are printed only where they do not.
    """

    commas: bool
    flags: bool
    member: Callable[[Enum], str]
    special: Mapping[Any, Syntax] = field(default_factory=dict)
    derived: Mapping[type, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = field(default_factory=dict)


# Words.


def head_and_words(text: str, forms: Mapping[str, Any], example: str) -> tuple[str, list[str]]:
    """The name with which a text begins and its other words; the parentheses around them may be left out.
    Raises Mismatch; ``example`` is a text that would fit.
    """
    words = split(text)
    if not words:
        raise Mismatch(f"a name and fields, for example '{example}'", "nothing")
    head, opening, inner = words[0].partition("(")
    if head not in forms:
        raise Mismatch(_names(forms), shown(words[0]), did_you_mean(head, forms))
    if not opening:
        return head, words[1:]
    if len(words) > 1:
        raise Mismatch("nothing after the value", shown(words[1]))
    return head, split(inner[:-1])


def read_words(form: Form, words: Iterable[str]) -> dict[str, Any]:
    """The fields that the words of a text give. Raises Mismatch."""
    found: dict[str, Any] = {}
    for position, text in enumerate(words):
        key, equals, value = text.partition("=")
        if not equals and position == 0 and key not in form.words:
            first = next((each.key for each in form.words.values() if each.is_first), key)
            key, equals, value = (first, "=", text) if first != key else (key, "", "")
        if key not in form.words:
            fields = f"one of its fields, {', '.join(form.words)}" if form.words else "no field"
            raise Mismatch(fields, shown(text), did_you_mean(key, form.words))
        word = form.words[key]
        if word.fields[0] in found:
            raise Mismatch("each field once", f"'{key}' twice")
        syntax = _syntax(word)
        example = syntax.example and f"{key}={syntax.example}"
        try:
            if not equals and not syntax.is_flag:
                raise Mismatch(f"a value after '{key}'", shown(text))
            given = syntax.read(value if equals else "yes")
        except Mismatch as error:
            raise error.within(f".{key}", example) from None
        found.update(zip(word.fields, given if len(word.fields) > 1 else (given,), strict=True))
    return found


class Fields(dict[str, Any]):
    """The fields that a text gives, and on demand the defaults of the others; ``about`` is the subject of the
    form. A required field that is missing raises Mismatch.
    """

    def __init__(self, form: Form, given: Mapping[str, Any], about: Any = None) -> None:
        super().__init__(given)
        self._form, self._about = form, about

    def __missing__(self, name: str) -> Any:
        word = next(each for each in self._form.words.values() if name in each.fields)
        value = default_of(word, self, self._about)
        if value is REQUIRED:
            syntax = _syntax(word)
            hint = f"; for example '{word.key}={syntax.example}'." if syntax.example else ""
            article = "an" if self._form.name[0] in "aeiou" else "a"
            wanted = f"{article} {self._form.name} with the field '{word.key}', which has no default"
            raise Mismatch(wanted, hint=hint)
        self.update(zip(word.fields, value if len(word.fields) > 1 else (value,), strict=True))
        return self[name]

    def all(self) -> dict[str, Any]:
        """Every field of the form."""
        return {name: self[name] for word in self._form.words.values() for name in word.fields}


def default_of(word: Word, fields: Mapping[str, Any], about: Any = None) -> Any:
    """The value that a word has if a text lacks it."""
    return word.default(fields, about) if callable(word.default) else word.default


def show_words(form: Form, fields: Mapping[str, Any], style: Style, about: Any = None) -> list[str]:
    """The words that give ``fields``: those that differ from their defaults, or are always printed."""
    words = []
    for word in form.words.values():
        values = tuple(fields[name] for name in word.fields)
        value = values if len(values) > 1 else values[0]
        always = word.always(fields) if callable(word.always) else word.always
        if not always and default_of(word, fields, about) == value:
            continue
        syntax = _syntax(word)
        text = syntax.show(value)
        if word.is_first:
            words.append(text)
        elif style.flags and syntax.is_flag and text == "yes":
            words.append(word.key)
        else:
            words.append(f"{word.key}={text}")
    return words


def _syntax(word: Word) -> Syntax:
    assert word.syntax is not None
    return word.syntax


# Classes.


def name_of(kind: type) -> str:
    """The name of a class in the short form: ``VoteRequest`` is ``vote-request``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower()


def form(name: str, kind: Any, style: Style, *words: Word) -> Form:
    """The form of a class from its words: the rest follows from the class."""
    declared, defaults = field_types(kind), field_defaults(kind)
    found = {}
    for word in words:
        names = word.fields or (word.key.replace("-", "_"),)
        default = defaults.get(names[0], REQUIRED) if word.default is REQUIRED else word.default
        syntax = word.syntax or syntax_of(style, declared[names[0]])
        found[word.key] = Word(word.key, names, syntax, default, word.always, word.is_first)
    return Form(name, found)


@cache
def form_of(style: Style, kind: Any) -> Form:
    """The form of a class that its fields give: a word for each."""
    keys = (name.replace("_", "-") for name in field_types(kind))
    return form(name_of(kind), kind, style, *(Word(key) for key in keys))


def parse(text: str, kind: Any, style: Style, where: str, example: str) -> Any:
    """The value of a class, or of one of a union of classes, that ``text`` gives field by field. Raises
    InputError; ``where`` names the value, ``example`` is a text that would fit.
    """
    kinds = _classes(kind)
    try:
        head, words = head_and_words(text, kinds, example)
        return read_object(style, kinds[head], words)
    except Mismatch as error:
        raise error.error(where) from None


def describe(value: Any, style: Style) -> str:
    """A value field by field, its outermost parentheses left out: it parses back to the same value."""
    return " ".join([name_of(type(value)), *fields_of(value, style)])


def fields_of(value: Any, style: Style) -> list[str]:
    """The words of a value, without its name."""
    kind: Any = type(value)
    words = form_of(style, kind)
    fields = {name: getattr(value, name) for word in words.words.values() for name in word.fields}
    if (derived := style.derived.get(kind)) is None:
        return show_words(words, fields, style)
    implied = derived(fields)
    usual = {key: _with_default(word, implied) for key, word in words.words.items()}
    return show_words(Form(words.name, usual), fields, style)


def _with_default(word: Word, implied: Mapping[str, Any]) -> Word:
    return Word(word.key, word.fields, word.syntax, implied.get(word.fields[0], word.default))


def read_object(style: Style, kind: Any, words: Iterable[str]) -> Any:
    """The value of a class that words give. Raises Mismatch."""
    wanted = form_of(style, kind)
    fields = Fields(wanted, read_words(wanted, words))
    derived = style.derived.get(kind)
    try:
        return kind(**(fields.all() if derived is None else {**derived(fields), **fields}))
    except ValueError as error:
        raise Mismatch(f"a {wanted.name} that there can be: {error}") from None


def _classes(kind: Any) -> dict[str, type[Any]]:
    return {name_of(option): option for option in _options(kind) if is_frozen(option)}


# The syntax of declared types.


@cache
def syntax_of(style: Style, kind: Any) -> Syntax:
    """The notation of values of a declared type in ``style``."""
    options = tuple(each for each in _options(kind) if each is not types.NoneType)
    if kind in style.special and not is_frozen(kind):
        return style.special[kind]
    if len(options) < len(_options(kind)):
        return optional(syntax_of(style, options[0] if len(options) == 1 else typing.Union[options]))  # noqa: UP007
    if typing.get_origin(kind) is tuple:
        items = typing.get_args(kind)
        if items[1:] == (Ellipsis,):
            return listed(syntax_of(style, items[0]), commas=style.commas)
        return fixed(tuple(syntax_of(style, item) for item in items))
    if kind is bool:
        return switch()
    if kind is int:
        return number()
    if kind is str:
        return TEXT
    if isinstance(kind, type) and issubclass(kind, Enum):
        return members(kind, style.member)
    return _objects(style, options)


def _options(kind: Any) -> tuple[Any, ...]:
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)


def _objects(style: Style, options: tuple[Any, ...]) -> Syntax:
    """Values of some classes: their name and fields in parentheses, or the special syntax of the class."""
    kinds = _classes(typing.Union[options])  # noqa: UP007
    special = style.special.get(options[0]) if len(options) == 1 else None
    forms = " or ".join(f"{name}(...)" for name in kinds) if len(kinds) <= 2 else ", ".join(kinds)
    expected = special.expected if special else forms

    def read(text: str) -> Any:
        name, opening, inner = text.partition("(")
        if not opening and special is not None:
            return special.read(text)
        if not opening or text[0] in '["' or not inner.endswith(")"):
            misfit(expected, text)
        if name not in kinds:
            raise Mismatch(expected, shown(name), did_you_mean(name, kinds))
        return read_object(style, kinds[name], split(inner[:-1]))

    def show(value: Any) -> str:
        if special is not None and reads_as(special, text := special.show(value), value) and text != NONE:
            return text
        return f"{name_of(type(value))}({' '.join(fields_of(value, style))})"

    plural, example = (special.plural, special.example) if special else ("", "")
    return Syntax(expected, read, show, plural, example)


def _names(forms: Mapping[str, Any]) -> str:
    return f"{', '.join(forms)}" if len(forms) > 2 else " or ".join(f"{name}(...)" for name in forms)
