"""Random component systems: small tables of outcomes drawn by Hypothesis."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from kraftcheck.engine.system import GlobalState, Loss, Network, Outcome, Recorded, Signal

LOCALS = 4
MESSAGES = 4
PROPERTIES = ("outcome-bad", "record-bad", "sum-bad", "pair-bad")
GOALS = ("outcome-goal", "record-goal")


@dataclass(frozen=True)
class SumInvariant:
    """Broken where the local states add up to ``bound``; the projection signals nothing."""

    bound: int
    name: str = "sum-bad"

    def project(self, component: int, local: Hashable) -> Hashable:
        return local

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Any, ...], history: Hashable) -> bool:
        return sum(projections) != self.bound


@dataclass(frozen=True)
class PairInvariant:
    """Broken where the first and the last component and the history are all odd: a coarse projection."""

    on: bool
    name: str = "pair-bad"

    def project(self, component: int, local: Any) -> Hashable:
        return local % 2

    def project_history(self, history: Any) -> Hashable:
        return history % 2

    def holds(self, projections: tuple[Any, ...], history: Any) -> bool:
        return not (self.on and projections[0] and projections[-1] and history)


@dataclass(frozen=True)
class RandomSystem:
    """A system given by tables; messages are numbers, message m goes to component m % components."""

    components: int
    network: Network
    budgets: tuple[int, ...]
    invariants: tuple[Any, ...]
    delivers: dict[tuple[int, int, int], tuple[Outcome, ...]]
    acts: dict[tuple[int, int], tuple[Outcome, ...]]
    outside: frozenset[tuple[int, int]]
    message_after: tuple[int | None, ...]
    local_after: tuple[int, ...]
    initial: tuple[GlobalState, ...]
    bad_history: int
    clocks: tuple[int, ...]
    expiries: tuple[int | None, ...]
    name: str = "random"
    properties: tuple[str, ...] = PROPERTIES
    goals: tuple[str, ...] = GOALS
    budget_names: tuple[str, ...] = ("a", "b")
    permutations: tuple[tuple[int, ...], ...] = ()

    def initial_states(self) -> tuple[GlobalState, ...]:
        return self.initial

    def destination(self, message: Any) -> int:
        return message % self.components

    def deliver(self, component: int, local: Any, message: Any) -> tuple[Outcome, ...]:
        return self.delivers.get((component, local, message), ())

    def actions(self, component: int, local: Any) -> tuple[Outcome, ...]:
        return self.acts.get((component, local), ())

    def within(self, component: int, local: Any) -> bool:
        return (component, local) not in self.outside

    def signal_message(self, signal: Signal, message: Any) -> int | None:
        if signal.destination is not None and self.destination(message) != signal.destination:
            return message
        return self.message_after[message]

    def signal_local(self, signal: Signal, component: int, local: Any) -> int:
        if signal.destination is not None and component != signal.destination:
            return local
        return self.local_after[local]

    def clock(self, component: int, local: Any) -> int:
        return self.clocks[local]

    def expiry(self, message: Any) -> int | None:
        return self.expiries[message]

    def renamed(self, permutation: int, value: Any) -> Any:
        return value

    def record(self, history: Any, label: Any) -> Recorded:
        # The order of labels matters.
        after = (2 * history + label) % 4
        violations = ("record-bad",) if (history, label) == (self.bad_history, 1) else ()
        return Recorded(after, violations, ("record-goal",) if after == 3 else ())


def _outcome(rng: Random, components: int, component: int, bad: float) -> Outcome:
    signals: tuple[Signal, ...] = ()
    if rng.random() < 0.25:
        signals = tuple(
            Signal(
                component if rng.random() < 0.7 else rng.randrange(components),
                rng.choice([None, rng.randrange(components)]),
            )
            for _ in range(rng.randint(1, 2))
        )
    action, local = rng.randrange(4), rng.randrange(LOCALS)
    return Outcome(
        action=f"action-{action}",
        local=local,
        sends=tuple(rng.randrange(MESSAGES) for _ in range(rng.choice([0, 0, 1, 1, 2]))),
        labels=tuple(rng.randrange(3) for _ in range(rng.choice([0, 0, 1, 2]))),
        costs=tuple(rng.randrange(2) for _ in range(rng.choice([0, 0, 0, 1, 2]))),
        signals=signals,
        consumes=rng.random() < 0.75,
        repeatable=(action, local) != (0, 1),
        violations=("outcome-bad",) if rng.random() < bad else (),
        goals=("outcome-goal",) if rng.random() < 0.05 else (),
    )


def clocks(local_after: tuple[int, ...]) -> tuple[int, ...]:
    """Clocks that no signal turns back: one for all local states that signals lead to one another."""
    found = list(range(len(local_after)))
    for _ in local_after:
        for local, after in enumerate(local_after):
            found[local] = found[after] = min(found[local], found[after])
    return tuple(found)


def random_system(seed: int) -> RandomSystem:
    """The random system number ``seed``, of one to three components; most have 10 to 1,000 states."""
    rng = Random(seed)
    components = rng.randint(1, 3)
    capacity = rng.randint(0, 4)
    bad = rng.choice([0.0, 0.0, 0.05])
    network = Network(capacity, rng.choice(list(Loss)), rng.random() < 0.5, rng.choice([-1, 0, 1]))
    delivers, acts = {}, {}
    for component in range(components):
        for local in range(LOCALS):
            several = [_outcome(rng, components, component, bad) for _ in range(rng.choice([0, 1, 1, 2]))]
            acts[component, local] = tuple(several)
            for message in range(component, MESSAGES, components):
                several = [_outcome(rng, components, component, bad) for _ in range(rng.choice([0, 1, 1, 2]))]
                delivers[component, local, message] = tuple(several)
    corner = [(c, local) for c in range(components) for local in range(1, LOCALS)]
    budgets = (rng.randint(0, 2), rng.randint(0, 2))
    initial = tuple(
        GlobalState(
            (0,) * components,
            tuple(sorted(rng.randrange(MESSAGES) for _ in range(rng.randint(0, min(2, capacity))))),
            rng.randrange(2),
            budgets,
        )
        for _ in range(rng.randint(1, 3))
    )
    invariants = (SumInvariant(rng.randint(4, 9)), PairInvariant(rng.random() < 0.5))
    local_after = tuple(rng.randrange(LOCALS) if rng.random() < 0.5 else n for n in range(LOCALS))
    expires = rng.random() < 0.5
    return RandomSystem(
        components, network, budgets, invariants if rng.random() < 0.5 else (), delivers, acts,
        frozenset(rng.sample(corner, rng.choice([0, 0, 1, 2]))),
        tuple(rng.choice([None, *range(MESSAGES)]) for _ in range(MESSAGES)),
        local_after,
        initial,
        rng.randrange(9),
        tuple(clock % 4 for clock in clocks(local_after)),
        tuple(rng.choice([None, 1, 2, 3]) if expires else None for _ in range(MESSAGES)),
    )  # fmt: skip


def systems() -> st.SearchStrategy[RandomSystem]:
    """Random systems, by their number."""
    return st.integers(0, 2**32 - 1).map(random_system)
