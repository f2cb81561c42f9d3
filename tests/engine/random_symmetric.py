"""Random systems whose components are interchangeable: outcomes drawn by Hypothesis, told without numbers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from kraftcheck.engine.system import GlobalState, Loss, Network, Outcome, Recorded, Signal
from tests.engine.random_systems import clocks

LOCALS, KINDS = 3, 3
#: Whom a rule speaks of: the sender or the one last heard from, all others, or the component itself.
PARTNERS = ("other", "others", "self")


@dataclass(frozen=True)
class Rule:
    """An outcome without numbers of components."""

    name: str
    local: int
    remembers: bool
    sends: tuple[tuple[int, str], ...]
    labels: tuple[int, ...]
    costs: tuple[int, ...]
    signals: str
    consumes: bool
    repeatable: bool
    violations: tuple[str, ...]
    goals: tuple[str, ...]


class At(NamedTuple):
    """A local state: a number, and the component that it remembers (-1: none)."""

    number: int
    other: int


class Sent(NamedTuple):
    """A message."""

    kind: int
    source: int
    target: int


class Said(NamedTuple):
    """A label: what a component lets the history know."""

    number: int
    component: int


class Told(NamedTuple):
    """The history: a number for each component."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class NamedAlike:
    """Broken where two components that the history knows of are in one local state, the last of all."""

    on: bool
    name: str = "alike-bad"

    def project(self, component: int, local: Any) -> Hashable:
        return (component, local.number)

    def project_history(self, history: Hashable) -> Hashable:
        return history

    def holds(self, projections: tuple[Any, ...], history: Any) -> bool:
        named = [number for component, number in projections if history.numbers[component]]
        return not (self.on and named.count(LOCALS - 1) > 1)


@dataclass(frozen=True)
class RandomSymmetric:
    """A system whose steps depend on numbers and kinds, and on whether it remembers the sender."""

    components: int
    network: Network
    budgets: tuple[int, ...]
    delivers: dict[tuple[int, int, bool], tuple[Rule, ...]]
    acts: dict[tuple[int, bool], tuple[Rule, ...]]
    outside: int
    kind_after: tuple[int | None, ...]
    local_after: tuple[int, ...]
    clocks: tuple[int, ...]
    expiries: tuple[int | None, ...]
    bad_label: int
    invariants: tuple[Any, ...]
    permutations: tuple[tuple[int, ...], ...]
    name: str = "random symmetric"
    properties: tuple[str, ...] = ("outcome-bad", "record-bad", "alike-bad")
    goals: tuple[str, ...] = ("outcome-goal", "record-goal")
    budget_names: tuple[str, ...] = ("a", "b")

    def initial_states(self) -> list[GlobalState]:
        n = self.components
        return [GlobalState((At(0, -1),) * n, (), Told((0,) * n), self.budgets)]

    def destination(self, message: Any) -> int:
        return int(message.target)

    def deliver(self, component: int, local: Any, message: Any) -> list[Outcome]:
        rules = self.delivers[local.number, message.kind, local.other == message.source]
        return [self._outcome(rule, component, message.source) for rule in rules]

    def actions(self, component: int, local: Any) -> list[Outcome]:
        rules = self.acts[local.number, local.other >= 0]
        return [self._outcome(rule, component, local.other) for rule in rules]

    def _outcome(self, rule: Rule, component: int, other: int) -> Outcome:
        others = [c for c in range(self.components) if c != component]
        whom = {"other": [other] if other >= 0 else [], "others": others, "self": [component]}
        sends = [Sent(kind, component, target) for kind, who in rule.sends for target in whom[who]]
        signals: tuple[Signal, ...] = ()
        if rule.signals == "all":
            signals = (Signal(component),)
        elif rule.signals == "other" and other >= 0:
            signals = (Signal(component, other),)
        return Outcome(
            action=rule.name,
            local=At(rule.local, other if rule.remembers else -1),
            sends=tuple(sends),
            labels=tuple(Said(label, component) for label in rule.labels),
            costs=rule.costs,
            signals=signals,
            consumes=rule.consumes,
            repeatable=rule.repeatable,
            violations=rule.violations,
            goals=rule.goals,
        )

    def within(self, component: int, local: Any) -> bool:
        return bool(local.number != self.outside)

    def signal_message(self, signal: Signal, message: Any) -> Any:
        if message.source != signal.component or signal.destination not in (None, message.target):
            return message
        after = self.kind_after[message.kind]
        return None if after is None else message._replace(kind=after)

    def signal_local(self, signal: Signal, component: int, local: Any) -> Any:
        if local.other != signal.component or signal.destination not in (None, component):
            return local
        return At(self.local_after[local.number], -1)

    def clock(self, component: int, local: Any) -> int:
        return self.clocks[int(local.number)]

    def expiry(self, message: Any) -> int | None:
        return self.expiries[int(message.kind)]

    def renamed(self, permutation: int, value: Any) -> Any:
        at = (*self.permutations[permutation], -1)
        if isinstance(value, At):
            return value._replace(other=at[value.other])
        if isinstance(value, Sent):
            return Sent(value.kind, at[value.source], at[value.target])
        if isinstance(value, Said):
            return value._replace(component=at[value.component])
        return Told(tuple(value.numbers[at.index(c)] for c in range(self.components)))

    def record(self, history: Any, label: Any) -> Recorded:
        numbers = list(history.numbers)
        numbers[label.component] = (numbers[label.component] + label.number) % 3
        violations = ("record-bad",) if numbers.count(2) > 1 and label.number == self.bad_label else ()
        return Recorded(Told(tuple(numbers)), violations, ("record-goal",) if sum(numbers) == 3 else ())


def _rule(rng: Random, bad: float) -> Rule:
    action, local = rng.randrange(3), rng.randrange(LOCALS)
    return Rule(
        name=f"action-{action}",
        local=local,
        remembers=rng.random() < 0.5,
        sends=tuple((rng.randrange(KINDS), rng.choice(PARTNERS)) for _ in range(rng.choice([0, 0, 1, 1, 2]))),
        labels=tuple(rng.randrange(3) for _ in range(rng.choice([0, 0, 0, 1, 2]))),
        costs=tuple(rng.randrange(2) for _ in range(rng.choice([0, 0, 1, 2]))),
        signals=rng.choice(["none", "none", "all", "other"]),
        consumes=rng.random() < 0.8,
        repeatable=(action, local) != (0, 1),
        violations=("outcome-bad",) if rng.random() < bad else (),
        goals=("outcome-goal",) if rng.random() < 0.1 else (),
    )


def random_symmetric(seed: int) -> RandomSymmetric:
    """The random system number ``seed``, of two or three components; most have 10 to 5,000 states."""
    rng = Random(seed)
    components = rng.choice([2, 3, 3])
    bad = rng.choice([0.0, 0.0, 0.05])
    capacity = rng.randint(0, 3)
    network = Network(capacity, rng.choice(list(Loss)), rng.random() < 0.5, rng.choice([-1, 0, 1]))
    local_after = tuple(rng.randrange(LOCALS) if rng.random() < 0.5 else n for n in range(LOCALS))
    whole = [tuple(one) for one in permutations(range(components))]
    kept = rng.choice([whole, whole, [one for one in whole if one[0] == 0]])
    rotations = [tuple((c + by) % components for c in range(components)) for by in range(components)]

    def rules() -> tuple[Rule, ...]:
        return tuple(_rule(rng, bad) for _ in range(rng.choice([0, 1, 1, 2])))

    return RandomSymmetric(
        components=components,
        network=network,
        budgets=(rng.randint(0, 2), rng.randint(0, 2)),
        delivers={(n, kind, known): rules() for n in range(LOCALS) for kind in range(KINDS)
                  for known in (False, True)},
        acts={(n, known): rules() for n in range(LOCALS) for known in (False, True)},
        outside=rng.choice([-1, -1, LOCALS - 1]),
        kind_after=tuple(rng.choice([None, *range(KINDS)]) for _ in range(KINDS)),
        local_after=local_after,
        clocks=clocks(local_after),
        expiries=tuple(rng.choice([None, None, 1, 2]) for _ in range(KINDS)),
        bad_label=rng.randrange(6),
        invariants=(NamedAlike(rng.random() < 0.5),),
        permutations=tuple(rng.choice([kept, kept, rotations])),
    )  # fmt: skip


def systems() -> st.SearchStrategy[RandomSymmetric]:
    """Random systems, by their number."""
    return st.integers(0, 2**32 - 1).map(random_symmetric)
