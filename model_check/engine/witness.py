"""A system in which steps that violate a property have a target, so that all paths to a violation can be
searched.

In a search such a step is no edge, and of each property only the first violation is kept. Here the state
after it is one more state without successors, whose history names the violated properties.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from msgspec.structs import replace

from kraftcheck.engine.steps import broken_invariants
from kraftcheck.engine.system import (
    GlobalState,
    History,
    Invariant,
    Label,
    Outcome,
    PathStep,
    Recorded,
    System,
)

#: The name of the invariant that ends the search after a violating step.
ENDED = "NoStepViolatesAProperty"
LOSS = "loss"
DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Ended:
    """The history after a step that violates properties."""

    history: History
    violated: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Priced:
    """The action of an outcome, and the budgets (indices) that it spends."""

    action: Hashable
    costs: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.action)


@dataclass(frozen=True, slots=True)
class _Violates:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Open:
    """Broken by the states after a violating step."""

    name: str = ENDED

    def project(self, component: int, local: Hashable) -> Hashable:
        return None

    def project_history(self, history: History) -> Hashable:
        return isinstance(history, Ended)

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        return not history


@dataclass(frozen=True, slots=True)
class _Inner:
    """An invariant of the system, which always holds in the state after a violating step."""

    inner: Invariant

    @property
    def name(self) -> str:
        return self.inner.name

    def project(self, component: int, local: Hashable) -> Hashable:
        return self.inner.project(component, local)

    def project_history(self, history: History) -> Hashable:
        return None if isinstance(history, Ended) else (self.inner.project_history(history),)

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        if history is None:
            return True
        (projected,) = cast(tuple[Hashable], history)
        return self.inner.holds(projections, projected)


class Witnessing:
    """``system``, with the states after violating steps; actions are :class:`Priced`. Without symmetry."""

    def __init__(self, system: System) -> None:
        self.inner = system
        self.permutations: tuple[tuple[int, ...], ...] = ()
        self.properties = (*system.properties, ENDED)
        self.invariants: tuple[Invariant, ...] = (_Open(), *map(_Inner, system.invariants))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def renamed(self, permutation: int, value: Hashable) -> Hashable:
        """``value``: there is only the identity."""
        return value

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        """As in the system, with violations as labels."""
        return [_witnessed(outcome) for outcome in self.inner.deliver(component, local, message)]

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        """As in the system, with violations as labels."""
        return [_witnessed(outcome) for outcome in self.inner.actions(component, local)]

    def record(self, history: History, label: Label) -> Recorded:
        """The history after ``label``; an :class:`Ended` one if the path violated a property."""
        before, known = (history.history, history.violated) if isinstance(history, Ended) else (history, ())
        if isinstance(label, _Violates):
            return Recorded(Ended(before, _joined(known, label.names)))
        recorded = self.inner.record(before, label)
        violated = _joined(known, recorded.violations)
        after = Ended(recorded.history, violated) if violated else recorded.history
        return Recorded(after, (), recorded.goals)


def _joined(*groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def _witnessed(outcome: Outcome) -> Outcome:
    priced = replace(outcome, action=Priced(outcome.action, outcome.costs))
    if not outcome.violations:
        return priced
    return replace(priced, labels=(*outcome.labels, _Violates(outcome.violations)), violations=())


def violated_in(system: Witnessing, state: GlobalState) -> tuple[str, ...]:
    """The properties that the step to ``state`` violates or, if none, the invariants that do not hold
    there.
    """
    if isinstance(state.history, Ended):
        return state.history.violated
    return broken_invariants(cast(System, system), state)


def faults_of(step: PathStep, action: Hashable, budgets: Sequence[str], faults: frozenset[str]) -> list[str]:
    """The faults in a step, by their names: losses, copies, and units of the budgets called ``faults``."""
    found = [LOSS] if step.kind == "lose" else []
    if step.duplicate:
        found.append(DUPLICATE)
    if isinstance(action, Priced):
        found += [budgets[index] for index in action.costs if budgets[index] in faults]
    return found
