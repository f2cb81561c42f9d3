"""The engine's machine code, loaded before processes are forked; and the base of small systems."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import GlobalState, Invariant, Loss, Network, Outcome, Recorded, Signal


def prepare() -> None:
    """Load the machine code of the engine, and compile it if there is none yet."""
    explore(_Ping(), threads=1)


class Plain:
    """A system that does nothing: the base of small ones, whose messages are tuples that begin with their
    destination.
    """

    name = "plain"
    components = 1
    network = Network(0, Loss.NEVER)
    budgets: tuple[int, ...] = ()
    budget_names: tuple[str, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    properties: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    permutations: tuple[tuple[int, ...], ...] = ()

    def initial_states(self) -> Sequence[GlobalState]:
        return [GlobalState((0,) * self.components, (), 0, self.budgets)]

    def destination(self, message: Any) -> int:
        return int(message[0])

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        return ()

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        return ()

    def within(self, component: int, local: Any) -> bool:
        return True

    def signal_message(self, signal: Signal, message: Any) -> Any:
        return message

    def signal_local(self, signal: Signal, component: int, local: Any) -> Any:
        return local

    def clock(self, component: int, local: Any) -> int:
        return 0

    def expiry(self, message: Any) -> int | None:
        return None

    def renamed(self, permutation: int, value: Any) -> Any:
        return value

    def record(self, history: Any, label: Any) -> Recorded:
        return Recorded(history)


class _Counted:
    """An invariant that holds."""

    name = "counted"

    def project(self, component: int, local: Any) -> Hashable:
        return bool(local >= 0)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Any, ...], history: Hashable) -> bool:
        return all(projections)


class _Ping(Plain):
    """Two nodes that send each other a number until one has reached 2: a system that uses all kernels."""

    name = "ping"
    components = 2
    network = Network(2, Loss.WHEN_FULL)
    budgets = (1,)
    budget_names = ("restarts",)
    invariants = (_Counted(),)
    properties = ("counted", "never")
    goals = ("reached",)

    def within(self, component: int, local: Any) -> bool:
        return bool(local <= 2)

    def actions(self, component: int, local: Any) -> list[Outcome]:
        restart = Outcome("restart", 0, costs=(0,), signals=(Signal(component),))
        return [Outcome("ping", local, ((1 - component, local + 1),)), restart]

    def deliver(self, component: int, local: Any, message: Any) -> list[Outcome]:
        goals = ("reached",) if message[1] > 1 else ()
        return [Outcome("receive", message[1], labels=(message[1],), goals=goals)]

    def signal_message(self, signal: Signal, message: Any) -> Any:
        return None if message[0] == signal.component else message

    def record(self, history: Any, label: Any) -> Recorded:
        return Recorded(history | 1 << label)
