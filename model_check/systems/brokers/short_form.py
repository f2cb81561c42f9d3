"""The short form of the values of the reference of brokers: its text, and the value that a text stands for.

A value is its name and the fields that differ from their defaults::

    controller(active=1 durable=store())
    broker id=1 incarnation=1 controller=1 fenced=no
    request-received node=1 source=process(broker=1 incarnation=1)
        request=metadata-heartbeat-request(broker=1 incarnation=1 target=active)

Names of classes and fields are those of ``reference/brokers`` with "-" for capitals and "_"; a list is in
brackets, ``[1 2]``; yes, no and none are what they say. A text that is no plain word is in double quotes, as
in JSON. The outermost parentheses may be left out.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.frozen import field_defaults, field_types, is_frozen
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.text import error_name

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\[\]()]|[^\s\[\]()="]+=?)')
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_NUMBER = re.compile(r"-?[0-9]{1,30}")
_SWITCHES: Mapping[str, bool] = {"yes": True, "no": False}
_NOTHING = "none"
_MOST_NESTED = 20

# Writing.


def describe(value: Any, *, draft: bool = False) -> str:
    """A value in the short form, its outermost parentheses left out: it parses back to the same value. In the
    ``draft`` error codes have the names of KIP-343.
    """
    return " ".join([name_of(type(value)), *_fields(value, draft)])


def fields_text(value: Any, *, draft: bool = False) -> str:
    """The fields of a value in the short form, without its name; see :func:`describe`."""
    return " ".join(_fields(value, draft))


def _fields(value: Any, draft: bool) -> list[str]:
    defaults = field_defaults(type(value))
    return [
        f"{name.replace('_', '-')}={_text(getattr(value, name), draft)}"
        for name in field_types(type(value))
        if name not in defaults or defaults[name] != getattr(value, name)
    ]


def _text(value: Any, draft: bool) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, BrokerErrorCode):
        return error_name(value, draft=draft)
    if isinstance(value, Enum):
        return _word_of(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value)
    if isinstance(value, tuple):
        return f"[{' '.join(_text(each, draft) for each in value)}]"
    return f"{name_of(type(value))}({' '.join(_fields(value, draft))})"


def _word_of(member: Enum) -> str:
    """States are in small letters here, error codes in capitals."""
    if isinstance(member.value, str):
        return member.value
    return member.name.lower() if isinstance(member, BrokerState) else member.name


# Reading.


def parse(text: str, kind: Any, where: str) -> Json:
    """What ``text`` says of a value of type ``kind``, a union of classes, as data for
    :func:`kraftcheck.support.codec.decode`. Raises InputError.
    """
    reader = _Reader(_tokens(text, where), where)
    return reader.whole(kind)


def _tokens(text: str, where: str) -> list[str]:
    tokens, at, text = [], 0, text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            rest = text[at:].lstrip()
            raise _refusal(where, f"a name, a field, a list or a text in quotes, found {_show(rest)}")
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        raise _refusal(where, "a name and fields, for example 'broker id=1 incarnation=1', found nothing")
    return tokens


class _Reader:
    """Reads tokens from the first to the last, each as what the declared type of its place allows."""

    def __init__(self, tokens: list[str], where: str) -> None:
        if tokens[1:2] != ["("]:
            tokens = [tokens[0], "(", *tokens[1:], ")"]
        self.tokens = tokens
        self.where = where
        self.at = 0
        self.depth = 0

    def whole(self, kind: Any) -> Json:
        value = self._object(_options(kind), self.where)
        if self.at < len(self.tokens):
            raise _refusal(self.where, f"nothing after the value, found {_show(self.tokens[self.at])}")
        return value

    def _next(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self, expected: str, place: str) -> str:
        token = self._next()
        if token is None:
            raise _refusal(place, f"{expected}, found the end of the text")
        self.at += 1
        return token

    def _value(self, kind: Any, place: str) -> Json:
        options = _options(kind)
        token = self._take("a value", place)
        if token == "[":
            return self._list(options, place)
        if self._next() == "(":
            self.at -= 1
            return self._object(options, place)
        if token in ("]", ")", "(") or token.endswith("="):
            raise _refusal(place, f"{_expected(options)}, found {_show(token)}")
        return _scalar(token, options, place)

    def _list(self, options: tuple[Any, ...], place: str) -> Json:
        kinds = [option for option in options if typing.get_origin(option) is tuple]
        if not kinds:
            raise _refusal(place, f"{_expected(options)}, found a list")
        (item, *_) = typing.get_args(kinds[0])
        items: list[Json] = []
        while self._next() not in ("]", None):
            items.append(self._value(item, f"{place}[{len(items)}]"))
        self._take("']' where the list ends", place)
        return items

    def _object(self, options: tuple[Any, ...], place: str) -> Json:
        name = self._take("a name", place)
        known = {name_of(option): option for option in options if is_frozen(option)}
        if name not in known:
            wanted = ", ".join(known) if len(known) > 2 else _expected(options)
            raise _refusal(place, f"{wanted}, found {_show(name)}{did_you_mean(name, known)}")
        cls = known[name]
        self.at += 1
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise _refusal(place, "a value that is not nested so deeply")
        found = self._fields(cls, place)
        self.depth -= 1
        return {"type": cls.__name__, **found}

    def _fields(self, cls: Any, place: str) -> dict[str, Json]:
        declared = field_types(cls)
        known = {name.replace("_", "-"): name for name in declared}
        found: dict[str, Json] = {}
        while self._next() != ")":
            token = self._take("')' where its fields end", place)
            if not token.endswith("=") or len(token) < 2:
                raise _refusal(place, f"a field and its value, as in 'id=1', found {_show(token)}")
            key = token[:-1].replace("_", "-")
            if key not in known:
                fields = f"one of its fields, {', '.join(known)}" if known else "no field"
                raise _refusal(place, f"{fields}, found {_show(key)}{did_you_mean(key, known)}")
            if known[key] in found:
                raise _refusal(place, f"each field once, found '{key}' twice")
            found[known[key]] = self._value(declared[known[key]], f"{place}.{key}")
        self.at += 1
        for key, name in known.items():
            if name not in found and name not in field_defaults(cls):
                raise _refusal(place, f"a {name_of(cls)} with the field '{key}', which has no default")
        return found


def _scalar(token: str, options: tuple[Any, ...], place: str) -> Json:
    if token.startswith('"'):
        if str not in options:
            raise _refusal(place, f"{_expected(options)}, found a text in quotes")
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            raise _refusal(place, f"a text in quotes as in JSON, found {_show(token)}") from None
    if token == _NOTHING and types.NoneType in options:
        return None
    if bool in options and token in _SWITCHES:
        return _SWITCHES[token]
    if int in options and _NUMBER.fullmatch(token):
        return int(token)
    for option in options:
        if isinstance(option, type) and issubclass(option, Enum):
            words = _words(option)
            if (word := token.upper().replace("-", "_")) in words:
                return words[word]
    if str in options:
        return token
    raise _refusal(place, f"{_expected(options)}, found {_show(token)}")


@cache
def _words(kind: type[Enum]) -> Mapping[str, str]:
    """The words for the members, all in capitals, and how :mod:`kraftcheck.support.codec` writes each."""
    return {
        name: member.value if isinstance(member.value, str) else member.name
        for name, member in kind.__members__.items()
    }


def name_of(kind: type) -> str:
    """The name of a class in the short form."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower()


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)


# Errors.


def _expected(options: tuple[Any, ...]) -> str:
    words = {bool: "yes or no", int: "a whole number", str: "a text", types.NoneType: _NOTHING}
    parts = []
    for option in options:
        if option in words:
            parts.append(words[option])
        elif typing.get_origin(option) is tuple:
            parts.append("a list in brackets")
        elif is_frozen(option):
            parts.append(f"{name_of(option)}(...)")
        else:
            parts.append("one of " + ", ".join(dict.fromkeys(map(_word_of, option))))
    return " or ".join(parts)


def _show(text: str) -> str:
    return "'" + "".join(each if each.isprintable() else "?" for each in text[:40]) + "'"


def _refusal(where: str, expected: str) -> InputError:
    ending = "" if expected.endswith("?") else "."
    return InputError(f"{where}: expected {expected}{ending}")
