"""Random component systems: small tables of outcomes drawn by Hypothesis."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from model_check.engine.system import Forget, GlobalState, Loss, Network, Outcome, Recorded

LOCALS = 4
MESSAGES = 4
PROPERTIES = ("outcome-bad", "record-bad", "sum-bad", "pair-bad")
GOALS = ("outcome-goal", "record-goal")


@dataclass(frozen=True)
class SumInvariant:
    """Broken where the local states add up to ``bound``; the projection forgets nothing."""

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
    name: str = "random"
    properties: tuple[str, ...] = PROPERTIES
    goals: tuple[str, ...] = GOALS
    budget_names: tuple[str, ...] = ("a", "b")

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

    def forget_message(self, forget: Forget, message: Any) -> int | None:
        if forget.destination is not None and self.destination(message) != forget.destination:
            return message
        return self.message_after[message]

    def forget_local(self, forget: Forget, component: int, local: Any) -> int:
        if forget.destination is not None and component != forget.destination:
            return local
        return self.local_after[local]

    def record(self, history: Any, label: Any) -> Recorded:
        after = (history + label) % 4
        violations = ("record-bad",) if (history, label) == (self.bad_history, 1) else ()
        return Recorded(after, violations, ("record-goal",) if after == 3 else ())


def rarely(draw: Any) -> bool:
    """True in about one of twelve draws."""
    return draw(st.integers(0, 11)) == 11


@st.composite
def outcomes(draw: Any, components: int, component: int) -> Outcome:
    """A random outcome."""
    forgets: tuple[Forget, ...] = ()
    if draw(st.integers(0, 3)) == 3:
        who = st.just(component) if draw(st.booleans()) else st.integers(0, components - 1)
        one = st.builds(Forget, who, st.one_of(st.none(), st.integers(0, components - 1)))
        forgets = tuple(draw(st.lists(one, min_size=1, max_size=2)))
    return Outcome(
        action=f"action-{draw(st.integers(0, 3))}",
        local=draw(st.integers(0, LOCALS - 1)),
        sends=tuple(draw(st.lists(st.integers(0, MESSAGES - 1), max_size=2))),
        labels=tuple(draw(st.lists(st.integers(0, 2), max_size=2))) if draw(st.booleans()) else (),
        costs=tuple(draw(st.lists(st.integers(0, 1), max_size=2))) if draw(st.booleans()) else (),
        forgets=forgets,
        consumes=draw(st.integers(0, 3)) != 3,
        violations=("outcome-bad",) if rarely(draw) else (),
        goals=("outcome-goal",) if rarely(draw) else (),
    )


@st.composite
def systems(draw: Any) -> RandomSystem:
    """A random system of one to three components."""
    components = draw(st.integers(1, 3))
    capacity = draw(st.integers(0, 4))
    network = Network(
        capacity, draw(st.sampled_from(list(Loss))), draw(st.booleans()), draw(st.sampled_from([-1, 0, 1]))
    )
    delivers, acts = {}, {}
    for component in range(components):
        few = st.lists(outcomes(components, component), max_size=2).map(tuple)
        for local in range(LOCALS):
            acts[component, local] = draw(few)
            for message in range(component, MESSAGES, components):
                delivers[component, local, message] = draw(few)
    everything = [(c, local) for c in range(components) for local in range(1, LOCALS)]
    outside = frozenset(draw(st.lists(st.sampled_from(everything), max_size=2)))
    budgets = (draw(st.integers(0, 2)), draw(st.integers(0, 3)))
    flight = st.lists(st.integers(0, MESSAGES - 1), max_size=min(2, capacity))
    initial = tuple(
        GlobalState((0,) * components, tuple(sorted(messages)), history, budgets)
        for messages, history in draw(st.lists(st.tuples(flight, st.integers(0, 1)), min_size=1, max_size=3))
    )
    return RandomSystem(
        components, network, budgets,
        (SumInvariant(draw(st.integers(1, 12))), PairInvariant(draw(st.booleans()))) if draw(st.booleans()) else (),
        delivers, acts, outside,
        tuple(draw(st.lists(st.one_of(st.none(), st.integers(0, MESSAGES - 1)), min_size=4, max_size=4))),
        tuple(draw(st.lists(st.integers(0, LOCALS - 1), min_size=4, max_size=4))),
        initial,
        draw(st.integers(0, 9)),
    )  # fmt: skip
