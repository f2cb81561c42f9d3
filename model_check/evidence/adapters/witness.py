"""Shortest behaviours for all coverage targets of the replicas of a scenario, found by the engine.

The system offers each outcome twice: as it is, and once more as a step that violates a property whose name is
the coverage target. The search for violations then gives a shortest path to each such name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple, cast

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits, Outcome, PathStep
from kraftcheck.evidence.adapters.situation import situation
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem

#: Names of coverage targets.
Describe = Callable[[int, Node, Step], str]


def target(component: int, node: Node, step: Step) -> str:
    """The coverage target of a step: the parts of it that traces are to cover.

    The event and its comparison with the state of the replica, the role before and after, the rules that
    decided and the kinds of effects in order; of a crash the effect it follows, and the same of the start
    after it.
    """
    execution, restarted = step.execution, step.restarted
    action = cast(Any, step.outcome.action)
    parts = [action.kind]
    if execution is not None:
        before = "none" if node.replica is None else role_name(node.replica.role)
        parts.append(before)
        if restarted is None:
            parts += execution.rules
            parts += [type(effect).__name__ for effect in execution.effects]
            parts += [situation(node.replica, event) for event in execution.events[:1] if node.replica]
            parts.append(role_name(execution.replica.role))
        else:
            parts.append(type(execution.effects[step.completed - 1]).__name__)
    if restarted is not None:
        parts += ["loses power" if step.loses_power else "crashes", *restarted.rules]
        parts.append(role_name(restarted.replica.role))
    for cut in step.cut:
        parts.append(f"{type(cut.execution.effects[cut.completed - 1]).__name__} of the start")
        parts.append("loses power" if cut.loses_power else "crashes")
    return " ".join(parts)


class _Witnessing:
    """A system that also offers, for each coverage target that is not known yet, a step that violates it."""

    def __init__(self, system: KRaftSystem, describe: Describe, known: frozenset[str]) -> None:
        self._system = copy(system)
        for name in ("deliver_steps", "action_steps"):
            # Each question is put once for the outcomes and once for the coverage targets.
            setattr(self._system, name, lru_cache(maxsize=1)(getattr(system, name)))
        self._describe = describe
        self._known = known
        self.targets: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    @property
    def properties(self) -> frozenset[str]:
        return frozenset(self.targets).union(self._system.properties)

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        node = cast(Node, local)
        steps = self._system.deliver_steps(component, node, cast(InFlight, message))
        return self._offers(component, node, steps, self._system.deliver(component, local, message))

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        node = cast(Node, local)
        steps = self._system.action_steps(component, node)
        return self._offers(component, node, steps, self._system.actions(component, local))

    def _offers(
        self, component: int, node: Node, steps: Sequence[Step], outcomes: Sequence[Outcome]
    ) -> list[Outcome]:
        """Each outcome, followed by a copy that violates its coverage target if that is new."""
        found = []
        for step, outcome in zip(steps, outcomes, strict=True):
            name = self._describe(component, node, step)
            violated: tuple[str, ...] = ()
            if name not in self._known:
                self.targets.add(name)
                violated = (name,)
            found += [outcome, replace(outcome, violations=violated)]
        return found


class Witness(NamedTuple):
    """A shortest behaviour at whose end a replica reaches a coverage target for the first time."""

    target: str
    path: tuple[PathStep, ...]


def witnesses(
    system: KRaftSystem, known: frozenset[str], max_states: int, describe: Describe = target
) -> tuple[tuple[Witness, ...], bool]:
    """A witness for each coverage target that ``system`` reaches and that is not ``known``, and whether the
    search was complete: with at most ``max_states`` states it may not be. An interrupt ends it:
    KeyboardInterrupt.
    """
    offering = _Witnessing(system, describe, known)
    found = explore(offering, keep_going=True, limits=Limits(max_states=max_states))  # type: ignore[arg-type]
    shown = (
        Witness(each.property, tuple(replace(step, choice=step.choice // 2) for step in each.path))
        for each in found.violations
        if each.property in offering.targets
    )
    return tuple(shown), found.limit is None
