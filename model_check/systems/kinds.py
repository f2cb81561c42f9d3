"""The existing kinds of systems: the one place where a kind is registered."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import cast

from kraftcheck.systems.brokers.kind import BROKERS
from kraftcheck.systems.kind import Kind
from kraftcheck.systems.kraft.kind import REPLICAS

KINDS: tuple[Kind, ...] = (REPLICAS, BROKERS)


def kind_of(value: object) -> Kind:
    """The kind that a scenario, a system, a local state, a message, a history or an effect belongs to.

    Raises TypeError for any other value.
    """
    return _kind_of(cast(Hashable, type(value)))


@cache
def _kind_of(cls: type) -> Kind:
    for kind in KINDS:
        if issubclass(cls, kind.values):
            return kind
    raise TypeError(f"{cls.__name__} belongs to no kind of system")
