"""How a quorum comes to begin with a leader (``replicas.led-by``): by a run of the reference without faults.

The leader-to-be asks for votes, every message arrives in the order in which it was sent, and replicas that
look for a leader find it. The run ends when everybody has all that is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from model_check.engine.system import GlobalState, Outcome
from model_check.kraft import environment
from model_check.kraft.history import History, Label, record
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.kraft.system import KRaftSystem
from reference.events import Poll, Timer
from reference.replica import Follower, Leader

_MAX_STEPS = 500


class Prelude:
    """The run: nodes, messages in the order in which they were sent, and the history so far."""

    def __init__(self, system: KRaftSystem, taking_part: Sequence[int]) -> None:
        state = system.initial_states()[0]
        self.system = system
        self.taking_part = tuple(taking_part)
        self.nodes = [cast(Node, local) for local in state.locals]
        self.messages = [cast(InFlight, message) for message in state.messages]
        self.history = cast(History, state.history)
        self._violations: set[str] = set()

    def run(self, leader: int) -> bool:
        """Whether the run has come to its end with ``leader`` leading everybody who takes part."""
        for _ in range(_MAX_STEPS):
            if self._is_settled(leader):
                return True
            if not (self._elect(leader) or self._discover(leader) or self._deliver()):
                return False
        return False

    def state(self) -> GlobalState:
        """Where the run has come to."""
        messages = tuple(sorted(self.messages, key=repr))
        return GlobalState(tuple(self.nodes), messages, self.history, self.system.budgets)

    @property
    def violations(self) -> tuple[str, ...]:
        """What the run violated of the properties that the scenario asks about."""
        return tuple(sorted(self._violations.intersection(self.system.properties)))

    def _is_settled(self, leader: int) -> bool:
        node = self.nodes[leader].replica
        if node is None or not isinstance(node.role, Leader) or node.high_watermark != node.log.end_offset:
            return False
        for component in self.taking_part:
            replica = self.nodes[component].replica
            if replica is None or replica.high_watermark != node.high_watermark:
                return False
            if component != leader and not isinstance(replica.role, Follower):
                return False
        return all(message.is_request for message in self.messages)

    def _elect(self, leader: int) -> bool:
        node = self.nodes[leader]
        if self.messages or node.replica is None or node.replica.quorum_state.leader is not None:
            return False
        self._apply(leader, self._polled(leader, Poll((Timer.ELECTION,))))
        return True

    def _deliver(self) -> bool:
        for message in self.messages:
            component = self.system.destination(message)
            outcomes = self.system.deliver(component, self.nodes[component], message)
            if component in self.taking_part and outcomes:
                self.messages.remove(message)
                self._apply(component, outcomes[0])
                return True
        return False

    def _discover(self, leader: int) -> bool:
        target, leads = self.system.identities[leader].id, self.nodes[leader].replica
        if leads is None or not isinstance(leads.role, Leader):
            return False
        for component in self.taking_part:
            replica = self.nodes[component].replica
            if replica is None or replica.is_voter or replica.connections:
                continue
            if not isinstance(replica.role, Follower):
                self._apply(component, self._polled(component, Poll((), target)))
                return True
        return False

    def _polled(self, component: int, event: Poll) -> Outcome:
        offer = environment.Offer("poll", "", event)
        return self.system.offered(component, self.nodes[component], offer)[0].outcome

    def _apply(self, component: int, outcome: Outcome) -> None:
        self.nodes[component] = cast(Node, outcome.local)
        for forget in outcome.forgets:
            mapped = [self.system.forget_message(forget, message) for message in self.messages]
            self.messages = [cast(InFlight, message) for message in mapped if message is not None]
        self.messages += cast(tuple[InFlight, ...], outcome.sends)
        self._violations.update(outcome.violations)
        for label in outcome.labels:
            recorded = record(self.history, cast(Label, label))
            self._violations.update(recorded.violations)
            self.history = cast(History, recorded.history)
