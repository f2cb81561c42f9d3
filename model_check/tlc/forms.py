"""States in TLA+ by tables of their classes; :mod:`.replicas` and :mod:`.brokers` have the tables.

``tla/README.md`` says which values of the reference the modules have, and in which form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kraftcheck.tlc.values import NONE, NoFormError, Value, fields, function

#: The value of a field: of a value of the reference, with the codec for its parts.
Made = Callable[[Any, "Codec"], Value]


@dataclass(frozen=True, slots=True)
class Form:
    """The values of a class as records. ``names``: the fields that have simple values, by their names in the
    reference; ``made``: the other ones, by their names in the modules; ``tag``: the field that has the name
    of the class. ``inside``: a field, a value or a tuple of one, whose own fields become fields of the
    record. ``refused``: by the reason which values have no form.
    """

    names: str = ""
    made: Mapping[str, Made] = field(default_factory=dict)
    tag: str = ""
    inside: str = ""
    refused: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)


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
        found |= fields(value, form.names) | {name: made(value, self) for name, made in form.made.items()}
        if not form.inside:
            return found
        inner = getattr(value, form.inside)
        if isinstance(inner, tuple):
            (inner,) = inner
        return found | self.fields(inner, "a {} is in flight")


def part(name: str, unknown: str = "there is a {}") -> Made:
    """The field ``name``, a value with a form of its own, ``None`` or a tuple of such values."""
    return lambda value, codec: codec.value(getattr(value, name), unknown)


def by(key: str, name: str) -> Made:
    """The field ``name``, a tuple of values, as a function of their fields ``key``; it is no part of them."""
    return lambda value, codec: function(
        (getattr(each, key), codec.value(each)) for each in getattr(value, name)
    )


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
