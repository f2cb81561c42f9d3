"""The run without faults that brings a quorum to the leader of ``replicas.initial-leader``.

The run is a behaviour of a scenario of its own (:func:`scenario_of`), so that a violation in it is a
counterexample like any other. The leader-to-be asks for votes, every message arrives in the order in which it
was sent, and replicas that look for a leader find it. The run ends when every replica has all committed
records and knows that they are; before Kafka 4.1 a fetch that waits is not answered for that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kraftcheck.engine.steps import apply_outcome, broken_invariants, initial_states, without_expired
from kraftcheck.engine.system import GlobalState, Outcome, PathStep, Violation
from kraftcheck.reference.protocol import FetchHighWatermark
from kraftcheck.reference.replica import Follower, Leader
from kraftcheck.systems.kind import INITIAL_PREFIX as SUFFIX
from kraftcheck.systems.kind import BrokenInitialPrefix as BrokenInitialPrefix
from kraftcheck.systems.kraft.consistency import FROM_LEADER_ON
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem

_MAX_STEPS = 500
_CAPACITY = 12

_MAX_NAME = 61

#: Faults do not happen in the run, and its timer costs nothing.
_NO_FAULTS = {
    "crashes": 0, "restores": 0, "moves": 0, "duplicates": 0, "timeouts": 0, "shutdowns": 0, "timers": None,
}  # fmt: skip


def scenario_of(scenario: KRaftScenario) -> KRaftScenario:
    """The scenario of which the run is a behaviour: no faults, one timer, and leaders are found.

    It asks about the properties that ``scenario`` asks about, except those about a leader in office.
    """
    leader = scenario.replicas.initial_leader
    about = f"The run without faults that brings the scenario {scenario.name} to its leader {leader}."
    timers = {"timers": (), "timers_at": {str(leader): ("election",)}, "timely": False}
    asked = scenario.check.without if scenario.check.initial_prefix else ()
    check = {"without": (*asked, *FROM_LEADER_ON), "goals": (), "eventually": ()}
    changed = {
        "name": scenario.name[: _MAX_NAME - len(SUFFIX)] + SUFFIX,
        "about": about,
        "tags": (),
        "replicas": scenario.replicas.model_copy(update={"initial_leader": None, "fresh": ()}),
        "network": scenario.network.model_copy(update={"capacity": _CAPACITY}),
        "environment": scenario.environment.model_copy(update={**timers, "discovery": True}),
        # The remaining budgets are not spent; they decide which kinds a replica has and which part of the
        # past is kept.
        "budgets": scenario.budgets.model_copy(update=_NO_FAULTS),
        "check": scenario.check.model_copy(update=check),
    }
    return scenario.model_copy(update=changed)


class InitialPrefix:
    """The run on ``system``: its current state, its steps, and the properties that it has violated.

    ``messages`` are those in flight in the order in which they were sent; ``taking_part`` the components of
    the replicas that take steps.
    """

    def __init__(self, system: KRaftSystem, taking_part: Sequence[int], *, judged: bool) -> None:
        self.system = system
        self.taking_part = tuple(taking_part)
        self.state = initial_states(system)[0]
        self.messages = [cast(InFlight, message) for message in self.state.messages]
        self.path: tuple[PathStep, ...] = ()
        self.judged = judged
        self.violated = broken_invariants(system, self.state) if judged else ()

    def run(self, leader: int) -> bool:
        """Whether the run is complete, with ``leader`` leading all participants.

        It ends early where it violates a property.
        """
        for _ in range(_MAX_STEPS):
            if self.violated or self._is_settled(leader):
                return not self.violated
            if not (self._elect(leader) or self._discover(leader) or self._deliver()):
                return self._is_settled(leader, unaware=not self._tells_high_watermark)
        return False

    @property
    def _tells_high_watermark(self) -> bool:
        """Whether the leader answers a fetch that waits when the high watermark moves, on each replica."""
        tells = FetchHighWatermark.REPORTED
        return all(protocol.fetch_high_watermark is tells for protocol in self.system.protocols)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The properties that the last step has violated."""
        return tuple(Violation(name, len(self.path), self.path) for name in self.violated)

    def _node(self, component: int) -> Node:
        return cast(Node, self.state.locals[component])

    def _is_settled(self, leader: int, *, unaware: bool = False) -> bool:
        """``unaware``: also if followers have all records and do not know that these are committed."""
        node = self._node(leader).replica
        if node is None or not isinstance(node.role, Leader) or node.high_watermark != node.log.end_offset:
            return False
        for component in self.taking_part:
            replica = self._node(component).replica
            if replica is None:
                return False
            has_all = unaware and replica.log.end_offset == node.high_watermark
            if replica.high_watermark != node.high_watermark and not has_all:
                return False
            if component != leader and not isinstance(replica.role, Follower):
                return False
        return all(message.is_request for message in self.messages)

    def _elect(self, leader: int) -> bool:
        replica = self._node(leader).replica
        if self.messages or replica is None or replica.quorum_state.leader is not None:
            return False
        return self._act(leader, "timer", "election")

    def _discover(self, leader: int) -> bool:
        leads = self._node(leader).replica
        if leads is None or not isinstance(leads.role, Leader):
            return False
        for component in self.taking_part:
            replica = self._node(component).replica
            if replica is None or replica.is_voter or replica.connections:
                continue
            known = (leader, *self.taking_part)
            if not isinstance(replica.role, Follower) and any(self._ask(component, one) for one in known):
                return True
        return False

    def _ask(self, component: int, other: int) -> bool:
        """Whether ``component`` has sent a request to ``other``, which knows the leader."""
        asked = self._node(other).replica
        if asked is None or asked.quorum_state.leader is None:
            return False
        return self._act(component, "looks for the leader", f"at {asked.id}")

    def _act(self, component: int, kind: str, about: str) -> bool:
        for choice, outcome in enumerate(self.system.actions(component, self._node(component))):
            action = cast(Action, outcome.action)
            if (action.kind, action.about, action.also) == (kind, about, ()):
                return self._apply(PathStep("act", component, None, choice), outcome)
        return False

    def _deliver(self) -> bool:
        for message in self.messages:
            component = self.system.destination(message)
            if component in self.taking_part:
                outcomes = self.system.deliver(component, self._node(component), message)
                if outcomes:
                    return self._apply(PathStep("deliver", component, message, 0), outcomes[0])
        return False

    def _apply(self, path: PathStep, outcome: Outcome) -> bool:
        """Whether the step was within the bounds."""
        step = apply_outcome(self.system, self.state, path, outcome, outcome.costs)
        if step is None or step.cut is not None:
            return False
        left = list(self.messages)
        if path.message is not None:
            left.remove(cast(InFlight, path.message))
        for signal in outcome.signals:
            mapped = [self.system.signal_message(signal, message) for message in left]
            left = [cast(InFlight, message) for message in mapped if message is not None]
        left += cast(tuple[InFlight, ...], outcome.sends)
        self.messages = cast(list[InFlight], without_expired(self.system, step.target.locals, left))
        self.state, self.path = step.target, (*self.path, path)
        if self.judged:
            self.violated = step.violations or broken_invariants(self.system, step.target)
        return True


def beginning(system: KRaftSystem, reached: GlobalState, fresh: Sequence[int]) -> GlobalState:
    """The initial state of ``system``: the state that its run has ``reached``, but the ``fresh`` replicas
    (components) in their state at the start.
    """
    (own,) = initial_states(system)
    ids = {system.identities[component].id for component in fresh}
    locals_ = tuple(own.locals[c] if c in fresh else local for c, local in enumerate(reached.locals))
    messages = [message for message in reached.messages if cast(InFlight, message).source not in ids]
    messages += [message for message in own.messages if cast(InFlight, message).source in ids]
    return GlobalState(locals_, tuple(sorted(messages, key=repr)), reached.history, own.budgets)
