"""Small systems made by hand, whose state spaces can be counted on paper."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kraftcheck.engine.system import GlobalState, Loss, Network, Outcome, Plain


class Counter(Plain):
    """Counts to ``limit``, a state constraint, and reaches a goal at 3."""

    name = "counter"
    goals = ("three",)

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        return [Outcome("count", local + 1, goals=("three",) if local == 2 else ())]

    def within(self, component: int, local: Any) -> bool:
        return bool(local <= self.limit)


class Ring(Plain):
    """A token goes round ``components`` nodes as a message; a node notes how often it had it, up to 2."""

    name = "ring"
    network = Network(1, Loss.NEVER)

    def __init__(self, components: int = 4) -> None:
        self.components = components

    def initial_states(self) -> Sequence[GlobalState]:
        return [GlobalState((0,) * self.components, ((0, "token"),), 0, ())]

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        after = ((component + 1) % self.components, "token")
        return [Outcome("pass", min(local + 1, 2), (after,))]


class LossyPing(Plain):
    """Node 0 pings node 1, which answers; both may be lost, pings may arrive twice; budgets bound it."""

    name = "lossy ping"
    components = 2
    network = Network(3, Loss.ALWAYS, duplicates=True, duplicate_budget=1)
    budgets = (2, 1)
    budget_names = ("pings", "duplicates")
    goals = ("answered",)

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        return [Outcome("ping", local, ((1, "ping"),), costs=(0,))] if component == 0 else ()

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        if component == 1:
            return [Outcome("answer", local, ((0, "pong"),))]
        return [Outcome("answered", 1, goals=("answered",))]


class TurnsBack(Plain):
    """One node turns its clock back from 2 to 1, the other sends it what expires at 2: the order matters."""

    name = "turns back"
    components = 2
    network = Network(1, Loss.NEVER)

    def __init__(self, late: int) -> None:
        self.late = late

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        if local:
            return ()
        return [Outcome("act", 1, () if component == self.late else ((self.late, "note"),))]

    def clock(self, component: int, local: Any) -> int:
        return 2 - int(local) if component == self.late else 0

    def expiry(self, message: Any) -> int | None:
        return 2


class NotBoth:
    """Mutual exclusion."""

    name = "not-both"

    def project(self, component: int, local: Any) -> Hashable:
        return local == "critical"

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Any, ...], history: Hashable) -> bool:
        return sum(projections) < 2


class BadMutex(Plain):
    """Two nodes ask each other before they enter, but a node that is asking grants all the same."""

    name = "bad mutex"
    components = 2
    network = Network(4, Loss.NEVER)
    invariants = (NotBoth(),)
    properties = ("not-both",)

    def initial_states(self) -> Sequence[GlobalState]:
        return [GlobalState(("idle", "idle"), (), 0, ())]

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        if local == "idle":
            return [Outcome("ask", "asking", ((1 - component, "ask"),))]
        return [Outcome("leave", "idle")] if local == "critical" else ()

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        if message[1] == "grant":
            return [Outcome("enter", "critical")] if local == "asking" else ()
        return () if local == "critical" else [Outcome("grant", local, ((1 - component, "grant"),))]
