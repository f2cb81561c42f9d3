"""The kinds of systems that there are, and which of them something belongs to."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import cast

from kraftcheck.systems.brokers.model import BROKERS
from kraftcheck.systems.kraft.model import KRAFT
from kraftcheck.systems.model import Model

MODELS: tuple[Model, ...] = (KRAFT, BROKERS)


def model_of(value: object) -> Model:
    """The model that a scenario, a system, a local state, a message, a history or an effect belongs to.

    Raises TypeError for anything else.
    """
    return _model_of(cast(Hashable, type(value)))


@cache
def _model_of(cls: type) -> Model:
    for model in MODELS:
        if issubclass(cls, model.values):
            return model
    raise TypeError(f"{cls.__name__} belongs to no kind of system")
