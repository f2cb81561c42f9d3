"""States, messages and histories with other replicas in the place of some, by the declared types of fields.

Symmetry (:mod:`kraftcheck.systems.kraft.symmetry`) needs to know of every number and every text in a state
whether it names a replica, and of every tuple whether it is kept in the order of replicas: the types say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kraftcheck.reference.types import Meaning, Order
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.rebuilding import Rebuild, Rebuilding

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
