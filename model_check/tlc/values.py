"""Values of TLA+ in one canonical form, and as text that TLA+ reads.

TLA+ has one value where TLC prints several forms: a sequence is a function on 1..n, a record is a function on
strings, a set has no order. :func:`function` and :func:`set_of` make the canonical form; two values are equal
exactly if their :func:`text` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, Protocol, Union

from kraftcheck.engine.system import GlobalState


@dataclass(frozen=True, slots=True)
class Model:
    """A model value: equal to itself alone."""

    name: str


@dataclass(frozen=True)
class Set:
    """A set; ``members`` are in the order of their texts, each once. Made by :func:`set_of`."""

    members: tuple[Value, ...]

    @cached_property
    def text(self) -> str:
        """The set in TLA+: written once, as parts of states occur in many states."""
        return f"{{{', '.join(map(text, self.members))}}}"


@dataclass(frozen=True)
class Function:
    """A function that is no sequence; ``pairs`` are in the order of the texts of their arguments. Made by
    :func:`function`.
    """

    pairs: tuple[tuple[Value, Value], ...]

    @cached_property
    def text(self) -> str:
        """The function in TLA+, a record where all arguments can be written as fields; written once."""
        if all(isinstance(key, str) and key.isidentifier() for key, _ in self.pairs):
            return f"[{', '.join(f'{key} |-> {text(each)}' for key, each in self.pairs)}]"
        return f"({' @@ '.join(f'{text(key)} :> {text(each)}' for key, each in self.pairs)})"


#: Booleans, integers, strings, model values, sequences, sets, functions.
Value = Union[bool, int, str, Model, tuple["Value", ...], Set, Function]  # noqa: UP007

#: The values of the state variables, by the names of these.
State = Mapping[str, Value]

#: What the modules have where the checker has no value.
NONE = Model("None")


class StateForms(Protocol):
    """The states of one system in TLA+."""

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        ...


@dataclass(frozen=True, slots=True)
class InTla:
    """A kind of system in TLA+ (:attr:`kraftcheck.systems.kind.Kind.tlc`).

    ``variables``: the state variables of the modules that the checker has as well, in their order.
    ``forms``: the forms of the states of a system; raises NoFormError.
    """

    variables: tuple[str, ...]
    forms: Callable[[Any], StateForms]


class NoFormError(ValueError):
    """A state has something for which the modules of ``tla/`` have no form."""


def field(value: object) -> Value:
    """The value of a field of the reference that is ``None``, a number, a flag, a text or a constant, which
    has its name; of several ids it is their set.
    """
    if value is None:
        return NONE
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return set_of(value)
    assert isinstance(value, bool | int | str), value
    return value


def set_of(members: Iterable[Value]) -> Set:
    """The set of ``members``."""
    by_text = {text(member): member for member in members}
    return Set(tuple(by_text[key] for key in sorted(by_text)))


def function(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """The function with these arguments and values; a sequence where the arguments are 1..n.

    Raises ValueError where an argument occurs twice.
    """
    given = list(pairs)
    by_text = {text(key): (key, value) for key, value in given}
    if len(by_text) != len(given):
        raise ValueError("an argument of a function occurs twice")
    places = [by_text.get(str(place)) for place in range(1, len(by_text) + 1)]
    if all(place is not None for place in places):
        return tuple(place[1] for place in places if place is not None)
    return Function(tuple(by_text[key] for key in sorted(by_text)))


def record(**fields: Value) -> Value:
    """The record with these fields."""
    return function(fields.items())


def text(value: Value) -> str:
    """``value`` in TLA+, on one line; the operators ``:>`` and ``@@`` are those of the module TLC."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Model):
        return value.name
    if isinstance(value, tuple):
        return f"<<{', '.join(map(text, value))}>>"
    return value.text


@lru_cache(10_000)
def quoted(value: str) -> str:
    """A string in TLA+."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.replace("\n", "\\n").replace("\t", "\\t")
