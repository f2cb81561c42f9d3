"""States in TLA+ by tables of their classes; :mod:`.replicas` and :mod:`.brokers` have the tables.

``tla/README.md`` says which values of the reference the modules have, and in which form.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kraftcheck.tlc.values import NONE, NoFormError, Value, field, function

#: The value of a field: of a value of the reference, with the codec for its parts.
Made = Callable[[Any, "Codec"], Value]


@dataclass(frozen=True, slots=True)
class Form:
    """The values of a class as records. ``names``: fields, in the notation below; ``made``: the other ones;
    ``tag``: the field that has the name of the class. ``inside``: a field, a value or a tuple of one, whose
    own fields become fields of the record. ``refused``: by the reason which values have no form. ``unknown``:
    the reason where a part has a class without form.

    ``base=base_offset`` is the field ``base`` of the modules, with the value of ``base_offset``; ``voted.id``
    is that of a part; ``end_offset`` alone is ``endOffset``. ``log*`` is a value with a form of its own, or a
    tuple of such; ``partitions?`` the only one of a tuple, if any. ``pairs()`` is a function of pairs;
    ``observers[id]`` one of the values by their ids, ``visible[broker].life`` one of their fields ``life``.
    """

    names: str = ""
    made: Mapping[str, Made] = dataclasses.field(default_factory=dict)
    tag: str = ""
    inside: str = ""
    refused: Mapping[str, Callable[[Any], object]] = dataclasses.field(default_factory=dict)
    unknown: str = "there is a {}"


_NAME = re.compile(r"(?:(\w+)=)?([\w.]+?)(?:(\*|\?|\(\))|\[(\w+)\](?:\.(\w+))?)?", re.ASCII)


@cache
def _parsed(names: str) -> tuple[tuple[str, str, str, str, str], ...]:
    """Of each name in ``names``: the field of the modules, the path, its kind, key and part."""
    found = []
    for text in names.split():
        match = _NAME.fullmatch(text)
        assert match is not None, text
        target, path, kind, key, part = match.groups(default="")
        first, *others = path.split("_")
        found.append((target or first + "".join(map(str.capitalize, others)), path, kind, key, part))
    return tuple(found)


class Codec:
    """Values of the reference in TLA+, by the forms of their classes."""

    def __init__(self, forms: Mapping[type, Form]) -> None:
        self._forms = forms
        self._known: dict[Hashable, Value] = {}

    def value(self, value: Any, unknown: str = "there is a {}") -> Value:
        """``value``, ``None`` or a tuple of values. Raises NoFormError; ``unknown`` says so of a class that
        has no form.
        """
        if value is None:
            return NONE
        if isinstance(value, tuple):
            return tuple(self.value(each, unknown) for each in value)
        return function(self.fields(value, unknown).items())

    def known(self, value: Any) -> Value:
        """The same; equal values are translated once."""
        if value not in self._known:
            self._known[value] = self.value(value)
        return self._known[value]

    def fields(self, value: Any, unknown: str = "there is a {}") -> dict[str, Value]:
        """The fields of the record that ``value`` is. Raises NoFormError."""
        form = self._forms.get(type(value))
        if form is None:
            raise NoFormError(unknown.format(type(value).__name__))
        for reason, applies in form.refused.items():
            if applies(value):
                raise NoFormError(reason)
        found: dict[str, Value] = {form.tag: type(value).__name__} if form.tag else {}
        for target, *name in _parsed(form.names):
            found[target] = self._field(value, form.unknown, *name)
        found |= {name: made(value, self) for name, made in form.made.items()}
        if not form.inside:
            return found
        inner = getattr(value, form.inside)
        if isinstance(inner, tuple):
            (inner,) = inner
        return found | self.fields(inner, "a {} is in flight")

    def _field(self, value: Any, unknown: str, path: str, kind: str, key: str, part: str) -> Value:
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        if kind == "*":
            return self.value(value, unknown)
        if kind == "?":
            (only,) = value or (None,)
            return self.value(only)
        if kind == "()":
            return function(value)
        if key:
            return function(
                (getattr(each, key), field(getattr(each, part)) if part else self.value(each))
                for each in value
            )
        return field(value)


def network(codec: Codec, messages: Iterable[Any]) -> Value:
    """Messages in flight as a bag."""
    return function((codec.known(message), count) for message, count in Counter(messages).items())


def budget(left: Mapping[str, int], names: Mapping[str, str], unbounded: Iterable[str]) -> Value:
    """The budgets of the modules, ``names`` by theirs: what is left of the checker's, ``NONE`` where
    ``unbounded``, 0 where a scenario does not have it.
    """
    return function((name, NONE if own in unbounded else left.get(own, 0)) for name, own in names.items())


def require_budgets(known: Iterable[str], names: Mapping[str, str], module: str) -> None:
    """Raise NoFormError for a budget that ``module`` does not have."""
    unknown = sorted({*known} - {*names.values()})
    if unknown:
        raise NoFormError(f"{module} no budget for {', '.join(unknown)}")
