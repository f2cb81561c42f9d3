"""The engine's machine code, loaded before processes are forked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Loss, Network, Outcome, Plain, Recorded, Signal


def prepare() -> None:
    """Load the machine code of the engine, and compile it if there is none yet."""
    explore(_Ping(), threads=1)


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
