"""Immutable values rebuilt with other numbers and texts in them, found by the types of their fields.

What is done to which field is up to subclasses; a field of which they do not know it raises TypeError.
"""

from __future__ import annotations

import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar, cast

from kraftcheck.reference.frozen import field_types, is_frozen

A = TypeVar("A")
#: Makes another value of a value, as the second argument says.
Rebuild = Callable[[Any, A], Any]


class Rebuilding(ABC, Generic[A]):
    """How values of each type are rebuilt. ``A`` is what says so in a call, such as new numbers for old.

    ``None`` in the place of a :data:`Rebuild`: there is nothing to change.
    """

    #: What an error says of a type that is not known.
    unknown: str

    def __init__(self) -> None:
        """What is found out about a class is kept."""
        self._known: Callable[[Any], Rebuild[A] | None] = cache(self._of_values)

    def rebuilt(self, value: Any, how: A) -> Any:
        """``value`` of a class of values, changed as ``how`` says. Raises TypeError for what is not known."""
        rebuild = self._known(type(value))
        return value if rebuild is None else rebuild(value, how)

    def of_class(self, cls: Any) -> Rebuild[A] | None:
        """How values of a class are changed. Raises TypeError."""
        return self._known(cls)

    @abstractmethod
    def of_value(self, name: str, hint: Any) -> Rebuild[A] | None:
        """How a number, a text or the like in the field ``name`` is changed. Raises TypeError."""

    def of_sequence(self, name: str, inner: Rebuild[A]) -> Rebuild[A]:
        """How a tuple of any length is changed each part of which ``inner`` changes. Raises TypeError."""
        return lambda value, how: tuple([inner(each, how) for each in value])

    def of_field(self, owner: str, name: str, hint: Any) -> Rebuild[A] | None:
        """How the field ``name`` of the class ``owner`` is changed."""
        return self.of_type(name, hint)

    def of_type(self, name: str, hint: Any) -> Rebuild[A] | None:
        """How what is called ``name`` and has the type ``hint`` is changed."""
        union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        options = [one for one in (typing.get_args(hint) if union else (hint,)) if one is not type(None)]
        if all(is_frozen(one) for one in options):
            if all(self._known(one) is None for one in options):
                return None
            return lambda value, how: None if value is None else self.rebuilt(value, how)
        if len(options) != 1:
            raise TypeError(f"{name}: {self.unknown} {hint}")
        rebuild = self._of_part(name, options[0])
        if rebuild is None or not union:
            return rebuild
        return lambda value, how: None if value is None else rebuild(value, how)

    def _of_values(self, cls: Any) -> Rebuild[A] | None:
        called = cls.__name__
        if not is_frozen(cls):
            raise TypeError(f"{self.unknown} values of type {called}")
        make = cast(Callable[..., Any], cls)
        fields = [(name, self.of_field(called, name, hint)) for name, hint in field_types(cls).items()]
        if all(rebuild is None for _, rebuild in fields):
            return None

        def rebuild_all(value: Any, how: A) -> Any:
            return make(*[
                getattr(value, name) if each is None else each(getattr(value, name), how)
                for name, each in fields
            ])  # fmt: skip

        return rebuild_all

    def _of_part(self, name: str, hint: Any) -> Rebuild[A] | None:
        if typing.get_origin(hint) is not tuple:
            return self.of_value(name, hint)
        arguments = typing.get_args(hint)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            inner = self.of_type(name, arguments[0])
            return None if inner is None else self.of_sequence(name, inner)
        parts = [self.of_type(f"{name}.{place}", each) for place, each in enumerate(arguments)]
        if all(part is None for part in parts):
            return None
        return lambda value, how: tuple(
            each if part is None else part(each, how) for part, each in zip(parts, value, strict=True)
        )
