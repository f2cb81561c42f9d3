"""Immutable values rebuilt with other numbers and texts in them, by the declared types of their fields.

:mod:`kraftcheck.reference.types` has the types; subclasses decide how a number or text of each type changes.
"""

from __future__ import annotations

import re
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar, cast

from kraftcheck.reference.frozen import declared_types, is_frozen, marks_of, options_of
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import HIGH_WATERMARK_NOT_SUPPORTED
from kraftcheck.reference.replica import AddingVoter, AlteringQuorum, RemovingVoter, UpdatingVoter
from kraftcheck.reference.types import Meaning, Order
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.membership import Origin

A = TypeVar("A")
#: Builds a new value from a value and the second argument.
Rebuild = Callable[[Any, A], Any]


class Rebuilding(ABC, Generic[A]):
    """The methods that rebuild values of each type. ``A`` is the type of the argument of a call, such as new
    numbers for old ones.

    ``None`` in the place of a :data:`Rebuild`: there is nothing to change.
    """

    def __init__(self) -> None:
        """The results for a class are kept."""
        self._known: Callable[[Any], Rebuild[A] | None] = cache(self._of_fields)

    def rebuilt(self, value: Any, how: A) -> Any:
        """``value`` of a class of values, changed by ``how``. Raises TypeError for any other value, and for a
        type without a stated meaning.
        """
        rebuild = self._known(type(value))
        return value if rebuild is None else rebuild(value, how)

    def of_class(self, cls: Any) -> Rebuild[A] | None:
        """The method that changes values of a class. Raises TypeError."""
        return self._known(cls)

    @abstractmethod
    def of_meaning(self, meaning: Meaning) -> Rebuild[A] | None:
        """The change of a number or text that stands for this."""

    def in_order(self, order: Order, inner: Rebuild[A]) -> Rebuild[A]:
        """The method that changes a tuple of any length, each part by ``inner``."""
        return lambda value, how: tuple([inner(each, how) for each in value])

    def of_type(self, field: str, declared: Any) -> Rebuild[A] | None:
        """The method that changes the value of a field (``Batch.epoch``) of a declared type. Raises
        TypeError.
        """
        options = [option for option in options_of(declared) if option is not type(None)]
        if all(is_frozen(option) for option in options):
            return self._of_classes(options)
        changes = [(is_frozen(option), self._of_option(field, option)) for option in options]
        if all(change is None for _, change in changes):
            return None
        if len(options) == 1:
            ((_, only),) = changes
            assert only is not None
            return only if options_of(declared) == (declared,) else _unless_none(only)
        if any(change is not None for of_class, change in changes if not of_class):
            raise TypeError(f"{field}: it is not known which of {declared} a value is")
        return lambda value, how: self.rebuilt(value, how) if is_frozen(type(value)) else value

    def _of_classes(self, classes: list[Any]) -> Rebuild[A] | None:
        if all(self._known(each) is None for each in classes):
            return None
        return lambda value, how: None if value is None else self.rebuilt(value, how)

    def _of_option(self, field: str, declared: Any) -> Rebuild[A] | None:
        kind, marks = marks_of(declared)
        meaning = next((mark for mark in marks if isinstance(mark, Meaning)), None)
        if is_frozen(kind):
            return self._known(kind)
        if typing.get_origin(kind) is tuple:
            return self._of_tuple(
                field, kind, next((mark for mark in marks if isinstance(mark, Order)), None)
            )
        if meaning is not None:
            return self.of_meaning(meaning)
        if kind is bool or (isinstance(kind, type) and issubclass(kind, Enum)):
            return None
        raise TypeError(f"{field}: its type {kind} does not say what it means (kraftcheck.reference.types)")

    def _of_tuple(self, field: str, kind: Any, order: Order | None) -> Rebuild[A] | None:
        arguments = typing.get_args(kind)
        if arguments[-1] is Ellipsis:
            if order is None:
                raise TypeError(f"{field}: its type does not say in which order it is kept")
            inner = self.of_type(field, arguments[0])
            return None if inner is None else self.in_order(order, inner)
        parts = [self.of_type(field, each) for each in arguments]
        if all(part is None for part in parts):
            return None
        return lambda value, how: tuple(
            each if part is None else part(each, how) for part, each in zip(parts, value, strict=True)
        )

    def _of_fields(self, cls: Any) -> Rebuild[A] | None:
        if not is_frozen(cls):
            raise TypeError(f"the type {cls.__name__} does not say what its values mean")
        make = cast(Callable[..., Any], cls)
        declared = declared_types(cls).items()
        fields = [(name, self.of_type(f"{cls.__name__}.{name}", each)) for name, each in declared]
        if all(rebuild is None for _, rebuild in fields):
            return None

        def rebuild_all(value: Any, how: A) -> Any:
            return make(*[
                getattr(value, name) if each is None else each(getattr(value, name), how)
                for name, each in fields
            ])  # fmt: skip

        return rebuild_all


def _unless_none(rebuild: Rebuild[A]) -> Rebuild[A]:
    return lambda value, how: None if value is None else rebuild(value, how)


# Relative epochs change epochs and offsets (:mod:`kraftcheck.systems.kraft.relative`). No state has an offset
# of a control record, a snapshot or a directory where epochs are relative.


#: The meanings of epochs and of offsets that move when a batch is left out.
EPOCHS = frozenset({Meaning.EPOCH, Meaning.LAST_EPOCH})
OFFSETS = frozenset({Meaning.FIRST_OFFSET, Meaning.END_OFFSET})
#: Values of these, which no state has here.
_ABSENT = (SnapshotId, AddingVoter, RemovingVoter, UpdatingVoter, AlteringQuorum, Clock, Origin)

Change = Callable[[Meaning, int], int]


class _Numbers(Rebuilding[Change]):
    def of_meaning(self, meaning: Meaning) -> Rebuild[Change] | None:
        if meaning in EPOCHS | OFFSETS:
            return lambda value, change: (
                value if value == HIGH_WATERMARK_NOT_SUPPORTED else change(meaning, value)
            )
        if meaning is Meaning.CONTROL_OFFSET:
            return lambda value, change: value if value <= 0 else _refuse(meaning.value)
        if meaning is Meaning.DIRECTORY:
            return lambda value, change: _refuse(meaning.value)
        return None

    def _of_fields(self, cls: Any) -> Rebuild[Change] | None:
        if cls in _ABSENT:
            return lambda value, change: _refuse(f"a value of type {cls.__name__}")
        return super()._of_fields(cls)


_NUMBERS = _Numbers()


def changed(value: Any, change: Change) -> Any:
    """``value``, of a class of the reference or of this package, with each epoch and offset changed by
    ``change``. Raises TypeError for a type without a stated meaning, and for a value that no state has here.
    """
    return _NUMBERS.rebuilt(value, change)


def _refuse(found: str) -> Any:
    raise TypeError(f"{found}: no state has one where epochs are relative")


# Symmetry puts other replicas in the place of some (:mod:`kraftcheck.systems.kraft.symmetry`).


#: The record that a leader appends is its own id (:mod:`kraftcheck.systems.kraft.environment`).
_IDS = (Meaning.NODE, Meaning.APPLICATION_VALUE)
#: Texts that belong to a replica, with the place of its id in them
#: (:mod:`kraftcheck.systems.kraft.identities`, :mod:`kraftcheck.systems.kraft.administration`).
_TEXTS = {
    Meaning.DIRECTORY: re.compile(r"(?<=^d)\d+(?=-\d+$|$)"),
    Meaning.HOST: re.compile(r"(?<=^node-)\d+$|(?<=^new-node-)\d+$"),
}

Ids = Mapping[int, int]


class _Renaming(Rebuilding[Ids]):
    def of_meaning(self, meaning: Meaning) -> Rebuild[Ids] | None:
        if meaning in _IDS:
            return lambda value, ids: ids.get(value, value)
        return _of_text(meaning, _TEXTS[meaning]) if meaning in _TEXTS else None

    def in_order(self, order: Order, inner: Rebuild[Ids]) -> Rebuild[Ids]:
        if order is Order.ASCENDING:
            return lambda value, ids: tuple(sorted([inner(each, ids) for each in value], key=_place))
        return super().in_order(order, inner)


RENAMING = _Renaming()


def renamed(value: Any, ids: Ids) -> Any:
    """``value``, of a class of the reference or of this package, with each replica replaced by ``ids``.

    Raises TypeError for a type without a stated meaning.
    """
    return RENAMING.rebuilt(value, ids)


def _of_text(meaning: Meaning, pattern: re.Pattern[str]) -> Rebuild[Ids]:
    def rename(text: str, ids: Ids) -> str:
        if not pattern.search(text):
            raise TypeError(f"{meaning.value}: '{text}' does not say which replica it belongs to")
        return pattern.sub(lambda match: str(ids.get(int(match[0]), int(match[0]))), text)

    return rename


def _place(item: Any) -> tuple[Any, ...]:
    """The sort key of a sorted tuple: ids with their directories, or the numbers in a tuple."""
    if isinstance(item, int):
        return (item,)
    if isinstance(item, ReplicaKey):
        return (item.id, item.directory or "")
    if isinstance(item, tuple):
        place: tuple[Any, ...] = ()
        for part in item:
            if not isinstance(part, int | ReplicaKey):
                break
            place += _place(part)
        return place
    if hasattr(item, "key"):
        return _place(item.key)
    return (item.node if hasattr(item, "node") else item.id,)
