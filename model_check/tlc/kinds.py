"""What the comparison with TLC has to know of a kind of system: its state variables and forms of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kraftcheck.engine.system import GlobalState
from kraftcheck.systems.kinds import model_of
from kraftcheck.systems.kraft.model import KRAFT
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.model import ModelSystem
from kraftcheck.tlc.broker_forms import BrokerForms
from kraftcheck.tlc.forms import Forms
from kraftcheck.tlc.values import State


class StateForms(Protocol):
    """The states of one system in TLA+."""

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """``variables``: the state variables of the modules that the checker has as well, in their order.
    ``forms``: the forms of the states of a system; raises NoFormError.
    """

    variables: tuple[str, ...]
    forms: Callable[[Any], StateForms]


_REPLICAS = Kind(("replica", "disk", "network", "history", "budget"), Forms)
_BROKERS = Kind(("control", "machine", "time", "network", "history", "budget"), BrokerForms)


def kind_of(value: object) -> Kind:
    """The kind that a scenario or a system belongs to."""
    return _REPLICAS if model_of(value) is KRAFT else _BROKERS


def ended(system: ModelSystem, state: GlobalState) -> frozenset[int]:
    """The replicas whose process died in the step that led to ``state``."""
    locals_ = zip(system.places, state.locals, strict=True)
    return frozenset(
        place
        for place, local in locals_
        if isinstance(place, int) and isinstance(local, Node) and local.died is not None
    )
