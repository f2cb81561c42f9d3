"""The values of a search for behaviours that never reach a goal: fairness classes, and the behaviours found.

:mod:`kraftcheck.engine.liveness` searches; these values need nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kraftcheck.engine.system import PathStep


class Strength(Enum):
    """The strength of a fairness class."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Fairness:
    """A class of steps that is treated fairly; ``matches`` gets a step and its action."""

    name: str
    strength: Strength
    matches: Callable[[PathStep, Hashable], bool]


@dataclass(frozen=True, slots=True)
class Withheld:
    """Fair steps that only spent budgets prevent: the names of their classes and the numbers of the
    budgets.
    """

    classes: tuple[str, ...]
    budgets: tuple[int, ...]


class UnpaidStep(NamedTuple):
    """A step that only spent budgets prevent, and its action; ``missing``: these budgets (indices)."""

    step: PathStep
    action: Hashable
    missing: tuple[int, ...]


#: The class of all steps.
ANY_STEP = Fairness("any step", Strength.WEAK, lambda step, action: True)


@dataclass(frozen=True, slots=True)
class Lasso:
    """A behaviour that never reaches the goal: ``stem``, then ``cycle`` forever.

    An empty cycle means that the behaviour stays in the last state of the stem. ``initial`` is the index
    of the initial state; ``states`` are the graph's state numbers along stem and cycle, first and last
    included; ``labels`` those of the labels of its steps. ``withheld``: the behaviour is fair only because
    budgets are spent; with larger ones these steps would be owed.
    """

    initial: int
    stem: tuple[PathStep, ...]
    cycle: tuple[PathStep, ...]
    states: tuple[int, ...]
    labels: tuple[int, ...] = ()
    withheld: Withheld | None = None
