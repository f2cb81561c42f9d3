"""A made-up protocol with the shape of a real one, to test the engine on.

Nodes elect leaders epoch by epoch and copy numbered entries; a fault budget restarts them. It stands for
no protocol; its states look like a protocol's: few components with thousands of local states, several
messages in flight, a history, budgets.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from kraftcheck.engine.system import GlobalState, Loss, Network, Outcome, Plain, Recorded, Signal


@dataclass(frozen=True, slots=True)
class Node:
    """A node: ``votes`` counts ballots as a bit mask; ``acked`` the last entry each other node has."""

    epoch: int = 0
    role: str = "idle"
    voted: int = -1
    votes: int = 0
    log: int = 0
    acked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Packet:
    """A message; ``value`` is an answer or a log position."""

    kind: str
    source: int
    target: int
    epoch: int
    value: int


@dataclass(frozen=True, slots=True)
class OneLeader:
    """No two nodes lead the same epoch at the same time."""

    name: str = "one-leader"

    def project(self, component: int, local: Any) -> Hashable:
        return (local.role == "lead", local.epoch if local.role == "lead" else 0)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Any, ...], history: Hashable) -> bool:
        leaders = [epoch for leads, epoch in projections if leads]
        return len(leaders) == len(set(leaders))


@dataclass(frozen=True, slots=True)
class LeadersKnown:
    """Every leader is in the history."""

    name: str = "leaders-known"

    def project(self, component: int, local: Any) -> Hashable:
        return local.epoch if local.role == "lead" else 0

    def project_history(self, history: Hashable) -> Hashable:
        return history

    def holds(self, projections: tuple[Any, ...], history: Any) -> bool:
        return all(not epoch or (epoch, c) in history for c, epoch in enumerate(projections))


class Synthetic(Plain):
    """The system. ``epochs``, ``entries``: bounds; ``restarts``: a budget; ``capacity``: messages.

    ``symmetry``: whether it says that its nodes are interchangeable.
    """

    def __init__(
        self,
        nodes: int = 3,
        epochs: int = 2,
        entries: int = 2,
        restarts: int = 1,
        capacity: int = 6,
        symmetry: bool = False,
    ) -> None:
        self.name = "synthetic"
        self.components = nodes
        self.network = Network(capacity, Loss.WHEN_FULL)
        self.epochs, self.entries = epochs, entries
        self.budgets = (restarts, entries)
        self.budget_names = ("restarts", "appends")
        self.permutations = tuple(permutations(range(nodes))) if symmetry else ()
        self.invariants = (OneLeader(), LeadersKnown())
        self.properties = ("one-leader", "leaders-known", "two-leaders-ever")
        self.goals = ("a leader", "all have all")

    def initial_states(self) -> list[GlobalState]:
        return [GlobalState((Node(),) * self.components, (), (), self.budgets)]

    def destination(self, message: Any) -> int:
        return int(message.target)

    def within(self, component: int, local: Any) -> bool:
        return bool(local.epoch <= self.epochs)

    def _others(self, component: int) -> list[int]:
        return [c for c in range(self.components) if c != component]

    def actions(self, component: int, local: Any) -> list[Outcome]:
        outcomes = [Outcome("restart", Node(local.epoch, "idle", local.voted, 0, local.log),
                            costs=(0,), signals=(Signal(component),))]  # fmt: skip
        if local.role != "lead":
            epoch = local.epoch + 1
            asks = tuple(Packet("vote?", component, c, epoch, local.log) for c in self._others(component))
            node = Node(epoch, "stand", component, 1 << component, local.log)
            outcomes.append(Outcome("stand", node, asks, signals=(Signal(component),)))
        else:
            if local.log < self.entries:
                outcomes.append(Outcome("append", replace(local, log=local.log + 1), costs=(1,)))
            for c in self._others(component):
                if local.acked[c] < local.log:
                    packet = Packet("copy", component, c, local.epoch, local.acked[c] + 1)
                    sent = (*local.acked[:c], local.acked[c] + 1, *local.acked[c + 1 :])
                    outcomes.append(Outcome("copy", replace(local, acked=sent), (packet,)))
        return outcomes

    def deliver(self, component: int, local: Any, message: Any) -> list[Outcome]:
        if message.epoch < local.epoch:
            return [Outcome("stale", local)]
        if message.epoch > local.epoch:
            local = Node(message.epoch, "idle", -1, 0, local.log)
        return [getattr(self, "_" + message.kind.rstrip("?"))(component, local, message)]

    def _vote(self, component: int, local: Node, message: Packet) -> Outcome:
        grants = local.voted in (-1, message.source) and message.value >= local.log
        answer = Packet("ballot", component, message.source, local.epoch, int(grants))
        after = replace(local, voted=message.source) if grants else local
        return Outcome("vote", after, (answer,))

    def _ballot(self, component: int, local: Node, message: Packet) -> Outcome:
        if local.role != "stand" or not message.value:
            return Outcome("ballot ignored", local)
        votes = local.votes | 1 << message.source
        if 2 * votes.bit_count() <= self.components:
            return Outcome("ballot", replace(local, votes=votes))
        leader = replace(local, role="lead", votes=0, acked=(0,) * self.components)
        return Outcome("lead", leader, labels=((local.epoch, component),), goals=("a leader",))

    def _copy(self, component: int, local: Node, message: Packet) -> Outcome:
        log = message.value if message.value == local.log + 1 else local.log
        goals = ("all have all",) if log == self.entries else ()
        answer = Packet("copied", component, message.source, local.epoch, log)
        return Outcome("copied", replace(local, log=log), (answer,), goals=goals)

    def _copied(self, component: int, local: Node, message: Packet) -> Outcome:
        if local.role != "lead":
            return Outcome("ack ignored", local)
        acked = (*local.acked[: message.source], message.value, *local.acked[message.source + 1 :])
        return Outcome("ack", replace(local, acked=acked))

    def signal_message(self, signal: Signal, message: Any) -> Any:
        if message.kind in ("ballot", "copied") and message.target == signal.component:
            return None
        if message.kind == "vote?" and message.source == signal.component:
            return replace(message, value=0)
        return message

    def renamed(self, permutation: int, value: Any) -> Any:
        """``value`` with every node's number replaced."""
        at = self.permutations[permutation]
        if isinstance(value, Packet):
            return replace(value, source=at[value.source], target=at[value.target])
        if isinstance(value, Node):
            votes = sum(1 << at[c] for c in range(self.components) if value.votes >> c & 1)
            acked = [0] * len(value.acked)
            for c, entry in enumerate(value.acked):
                acked[at[c]] = entry
            voted = at[value.voted] if value.voted >= 0 else -1
            return replace(value, voted=voted, votes=votes, acked=tuple(acked))
        if value and isinstance(value[0], tuple):
            return tuple(sorted((epoch, at[c]) for epoch, c in value))
        return (value[0], at[value[1]]) if value else value

    def record(self, history: Any, label: Any) -> Recorded:
        violations = ("two-leaders-ever",) if any(epoch == label[0] for epoch, _ in history) else ()
        return Recorded(tuple(sorted({*history, label})), violations)
