"""KRaft as a system for the engine: nodes that run the reference, a network, faults with budgets,
properties.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from kraftcheck.engine.system import GlobalState, Invariant, Network, Outcome, Recorded, Signal, SymmetryError
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Send
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    Request,
    Response,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Follower, Leader, Replica, Resigned
from kraftcheck.reference.types import INT32
from kraftcheck.reference.versions import refusal as refusal_of
from kraftcheck.systems.kraft import clock as clocks
from kraftcheck.systems.kraft import description_checks, invariants, late_reads, rebuilding
from kraftcheck.systems.kraft import history as histories
from kraftcheck.systems.kraft.environment import Offer, offers
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.labels import Label
from kraftcheck.systems.kraft.membership import Keys
from kraftcheck.systems.kraft.network import NOBODY_WAITS, InFlight, after_forgetting, clock, expiry
from kraftcheck.systems.kraft.node import OWN_MEMBERSHIP, Ended, Node
from kraftcheck.systems.kraft.rebuilding import Ids
from kraftcheck.systems.kraft.step import Action, Also, Step
from kraftcheck.systems.kraft.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Bounds:
    """State constraints: successors outside them are pruned, counted and reported."""

    max_epoch: int


#: Why the replicas of a leader that resigns are not interchangeable.
SUCCESSORS = "a leader that resigns names its successors in order of id where their logs are equally long"

#: The kind of the action of a request that goes to an address at which its receiver does not listen.
NOT_REACHED = "not reached"

#: A node that has left the bounds, where ``absorbs`` keeps such steps.
BEYOND = Node(None, Disk(), Ended.OUTSIDE)


@dataclass(eq=False)
class KRaftSystem:
    """A quorum of replicas as a :class:`kraftcheck.engine.system.System`.

    hosts: per component the machine with its process; nodes: per component the initial node. ``voters``: the
    true voter set before any record, of which committed records need a majority. ``broken_at_start``: the
    properties that the replicas violated by their first steps. With ``absorbs`` a step outside the bounds is
    not pruned but leads to a node that takes no more steps: for *eventually* properties a step that the
    bounds hide must still count as possible.
    """

    name: str
    hosts: tuple[Host, ...]
    nodes: tuple[Node, ...]
    wiring: Wiring
    network: Network
    bounds: Bounds
    budget_sizes: Mapping[str, int]
    properties: tuple[str, ...]
    goals: tuple[str, ...]
    voters: Keys
    initial_messages: tuple[InFlight, ...] = ()
    initial_history: History = field(default_factory=History)
    broken_at_start: frozenset[str] = frozenset()
    absorbs: bool = False

    #: Where a search begins, how much it may spend, of what the engine keeps account, and what it looks for.
    #: The wiring has what else there is of budgets and of the network.
    NO_ANSWER_DEPENDS_ON: ClassVar[frozenset[str]] = frozenset(
        {
            *("name", "nodes", "initial_messages", "initial_history"),
            *("budgets", "budget_sizes", "network", "goals"),
        }
    )

    def __post_init__(self) -> None:
        self.components = len(self.hosts)
        self.identities = tuple(host.identity for host in self.hosts)
        self.protocols = tuple(host.protocol for host in self.hosts)
        self.budgets, self.budget_names = tuple(self.budget_sizes.values()), tuple(self.budget_sizes)
        self.permutations: tuple[tuple[int, ...], ...] = ()
        self._renamings: tuple[Ids, ...] = ()
        self._judged = frozenset(self.properties)
        changing = self.wiring.origin is not None
        judged = invariants.all_invariants(self.voters, self.places, changing=changing)
        self.invariants: tuple[Invariant, ...] = tuple(
            invariant
            for invariant in (*judged, *map(invariants.never_holds, sorted(self.broken_at_start)))
            if invariant.name in self._judged
        )

    def bounded(self, max_epoch: int = INT32) -> KRaftSystem:
        """The same system with another bound on epochs; by default none that a run reaches."""
        other = copy.copy(self)
        other.bounds = Bounds(max_epoch)
        other.hosts = tuple(host.bounded(max_epoch) for host in self.hosts)
        return other

    @property
    def places(self) -> tuple[int, ...]:
        """The ids of the replicas."""
        return tuple(identity.id for identity in self.identities)

    def initial_states(self) -> Sequence[GlobalState]:
        """One initial state: the nodes, messages and history that the scenario gives."""
        return [
            GlobalState(
                self.nodes,
                tuple(sorted(self.initial_messages, key=repr)),
                self.initial_history,
                self.budgets,
            )
        ]

    def destination(self, message: Hashable) -> int:
        """The component of the replica that ``message`` is addressed to."""
        return self.wiring.component(cast(InFlight, message).destination)

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        """The possible results when a message arrives; none while the process does not run."""
        steps = self.deliver_steps(component, cast(Node, local), cast(InFlight, message))
        return [self.judge(component, step.outcome) for step in steps]

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        """Timers, input, administration and faults."""
        steps = self.action_steps(component, cast(Node, local))
        return [self.judge(component, step.outcome) for step in steps]

    def deliver_steps(self, component: int, node: Node, message: InFlight) -> list[Step]:
        """As :meth:`deliver`, each outcome with its part in a trace."""
        if node.replica is None:
            return []
        if message.address is not None and message.address not in self.wiring.listens_at(node.replica):
            return _carried_over([_unreachable(node, node.replica.id, message)], node)
        correlation = None if message.answerable else NOBODY_WAITS
        event: Event
        if message.is_request:
            event = RequestReceived(message.source, cast(Request, message.payload), correlation)
        else:
            event = ResponseReceived(message.source, cast(Response, message.payload))
        kind = type(message.payload).__name__
        action = Action(kind, node.replica.id, f"from {message.source}")
        steps = self._steps(component, node, event, action, ())
        if message.is_request and (costs := self.wiring.price("duplicates")) is not None:
            steps += [_duplicated(step, message, costs) for step in steps]
        return _carried_over(steps, node)

    def action_steps(self, component: int, node: Node) -> list[Step]:
        """As :meth:`actions`, each outcome with its part in a trace."""
        host = self.hosts[component]
        if node.replica is None:
            found = [] if node.died is not None else [*host.restart(node)]
        else:
            offered = offers(self.wiring, host.protocol, node.replica, node.timers)
            found = [step for offer in offered for step in self.offered(component, node, offer)]
            found += [*host.crash(node), *host.move(node), *self._ticks(node, host.identity.id)]
        if node.died is None:
            found += [*host.wipe(node), *host.restore(node)]
        return [*_carried_over(found, node), *late_reads.read(node)]

    def _ticks(self, node: Node, replica_id: int) -> Iterator[Step]:
        """Time passes at replicas that read the clock, which are the leaders; the clock may be set back."""
        costs, clock, choice = self.wiring.price("ticks"), node.clock, self.wiring.choice
        leads = node.replica is not None and isinstance(node.replica.role, Leader)
        if costs is None or clock is None or not leads:
            return
        readings = [clock.now + choice.tick]
        if choice.clock == "any" and clock.now > 0:
            readings.append(clock.now - choice.tick)
        for now in readings:
            action = Action("clock", replica_id, f"shows {now}")
            moved = replace(node, clock=replace(clock, now=now))
            yield Step(Outcome(action, moved, costs=costs), None, 0)

    def offered(self, component: int, node: Node, offer: Offer) -> list[Step]:
        """The possible results of an event that the environment offers to a running replica."""
        action = Action(offer.kind, self.identities[component].id, offer.about)
        return self._steps(component, node, offer.event, action, offer.costs)

    def unjudged(self) -> KRaftSystem:
        """The same system without safety properties: no step and no state violates anything."""
        other = copy.copy(self)
        other.properties, other.goals, other.invariants, other._judged = (), (), (), frozenset()
        other.hosts = tuple(host.unjudged() for host in self.hosts)
        return other

    def renaming(self, renamings: Sequence[Ids]) -> KRaftSystem:
        """The same system up to these permutations of replicas, the identity first."""
        other = copy.copy(self)
        component = self.wiring.component
        other._renamings = tuple(renamings)
        other.permutations = tuple(tuple(component(ids[each]) for each in self.places) for ids in renamings)
        return other

    def begin(self, state: GlobalState) -> None:
        """Begin in ``state``."""
        self.nodes = tuple(cast(Node, local) for local in state.locals)
        self.initial_messages = cast(tuple[InFlight, ...], state.messages)
        self.initial_history = cast(History, state.history)

    def _steps(
        self, component: int, node: Node, event: Event, action: Action, costs: tuple[int, ...]
    ) -> list[Step]:
        assert node.replica is not None
        host = self.hosts[component]
        now = None if node.clock is None else node.clock.now
        if now is not None and isinstance(event, RequestReceived | ResponseReceived | Poll):
            event = replace(event, now=now)
        timers = node.timers
        if timers is not None and isinstance(event, Poll):
            timers = timers.with_expired(event.expired)
            event = replace(event, expired=timers.expired)
        execution = host.execute(node.replica, event, now=now, timers=timers)
        found = list(host.steps(node, event, execution, action, costs))
        allowed = Timer.UPDATE_VOTER in self.wiring.timers[node.replica.id]
        armed = node.replica.describes_itself
        if timers is None and allowed and armed and isinstance(execution.replica.role, Follower):
            # Between two steps a follower always awaits an answer of its leader, so that the timer matters
            # only in the poll after such an answer.
            overdue = host.execute(node.replica, event, (Timer.UPDATE_VOTER,), now)
            if any(isinstance(e, Send) and isinstance(e.request, OWN_MEMBERSHIP) for e in overdue.effects):
                paid = (*costs, *(self.wiring.price("timers") or ()))
                later = action.with_also(Also.UPDATE_VOTER_OVER)
                found += host.steps(node, event, overdue, later, paid)
        if self.wiring.choice.late_reads:
            found += [other for step in found for other in late_reads.postponed(step, node)]
        if node.clock is not None or description_checks.is_asked(event):
            return [_described(host.protocol, node, event, step) for step in found]
        return found

    def judge(self, component: int, outcome: Outcome) -> Outcome:
        """``outcome`` with the violations that this scenario judges. Raises SymmetryError where a step
        distinguishes replicas that are interchangeable.
        """
        if self._renamings:
            _require_no_order(self.places[component], cast(Node, outcome.local).replica)
        if self.absorbs and not self.within(component, outcome.local):
            return Outcome(outcome.action, BEYOND, costs=outcome.costs)
        kept = tuple(name for name in outcome.violations if name in self._judged)
        if kept == outcome.violations:
            return outcome
        return replace(outcome, violations=kept)

    def within(self, component: int, local: Hashable) -> bool:
        """Whether the replica's epoch is within the bound."""
        node = cast(Node, local)
        return node.replica is None or node.replica.epoch <= self.bounds.max_epoch

    def signal_message(self, signal: Signal, message: Hashable) -> Hashable | None:
        """See :func:`kraftcheck.systems.kraft.network.after_forgetting`."""
        forgetful, peer = self._ids(signal)
        return after_forgetting(cast(InFlight, message), forgetful, peer, self.wiring.forgotten_stay)

    def signal_local(self, signal: Signal, component: int, local: Hashable) -> Hashable:
        """A replica drops its later answers to a replica that has forgotten the requests."""
        node = cast(Node, local)
        if node.replica is None:
            return local
        forgetful, peer = self._ids(signal)
        node = late_reads.forgotten(node, forgetful, peer, self.places[component])
        assert node.replica is not None
        role = node.replica.role
        change = role.change if isinstance(role, Leader) else None
        if not node.replica.parked and change is None:
            return node
        if peer not in (None, node.replica.id):
            return node
        return _with_abandoned_change(_with_abandoned_fetches(node, forgetful), forgetful)

    def _ids(self, signal: Signal) -> tuple[int, int | None]:
        peer = None if signal.destination is None else self.identities[signal.destination].id
        return self.identities[signal.component].id, peer

    def clock(self, component: int, local: Hashable) -> int:
        """See :func:`kraftcheck.systems.kraft.network.clock`."""
        node = cast(Node, local)
        stored = node.disk.quorum_state if node.replica is None else node.replica.quorum_state
        return 0 if stored is None else clock(stored)

    def expiry(self, message: Hashable) -> int | None:
        """See :func:`kraftcheck.systems.kraft.network.expiry`."""
        return None if self.wiring.price("wipes") is not None else expiry(cast(InFlight, message))

    def renamed(self, permutation: int, value: Hashable) -> Hashable:
        """``value`` (a node, message, label or history) under a permutation, given by its number."""
        return cast(Hashable, rebuilding.renamed(value, self._renamings[permutation]))

    def record(self, history: Hashable, label: Hashable) -> Recorded:
        """See :func:`kraftcheck.systems.kraft.history.record`."""
        recorded = histories.record(cast(History, history), cast(Label, label))
        kept = tuple(name for name in recorded.violations if name in self._judged)
        return Recorded(recorded.history, kept, recorded.goals)


def _require_no_order(id: int, replica: Replica | None) -> None:
    role = None if replica is None else replica.role
    if isinstance(role, Resigned) and len(role.preferred_successors) > 1:
        raise SymmetryError(f"replica {id} resigns, and {SUCCESSORS}")


def _described(protocol: Protocol, node: Node, event: Event, step: Step) -> Step:
    """``step`` with the times that the replica noted, judged by the answers to the admin client."""
    execution, before, after = step.execution, node.replica, cast(Node, step.outcome.local).replica
    if execution is None or before is None or after is None or step.restarted is not None:
        return step
    violated = description_checks.violations(protocol, before, event, execution.effects, after, node.clock)
    reached = tuple(description_checks.goals(before, event, execution.effects))
    outcome = replace(
        step.outcome,
        violations=tuple(dict.fromkeys((*step.outcome.violations, *violated))),
        goals=tuple(dict.fromkeys((*step.outcome.goals, *reached))),
    )
    if node.clock is not None:
        clock = clocks.after(node.clock, before, event, execution.effects, after)
        outcome = replace(outcome, local=replace(cast(Node, outcome.local), clock=clock))
    return replace(step, outcome=outcome)


def _duplicated(step: Step, message: InFlight, costs: tuple[int, ...]) -> Step:
    """``step``, after which a copy of the request is still in flight; no replica awaits its answer."""
    outcome = step.outcome
    copied = replace(
        outcome,
        action=cast(Action, outcome.action).with_also(Also.COPY_STAYS),
        sends=(*outcome.sends, replace(message, answerable=False)),
        costs=(*outcome.costs, *costs),
    )
    return replace(step, outcome=copied)


def _unreachable(node: Node, receiver: int, message: InFlight) -> Step:
    """``message`` goes to an address at which ``receiver`` does not listen: the sender's own network client
    reports that the connection failed, and the receiver does nothing.
    """
    refusal = refusal_of(cast(Request, message.payload), ErrorCode.BROKER_NOT_AVAILABLE)
    answer = InFlight(receiver, message.source, refusal)
    action = Action(NOT_REACHED, receiver, f"by {type(message.payload).__name__} from {message.source}")
    return Step(Outcome(action, node, sends=(answer,) if message.answerable else ()), None, 0)


def _carried_over(steps: list[Step], node: Node) -> list[Step]:
    """``steps``, none of which loses the disk next to the machine, or its clock."""
    if node.replaced is None and node.clock is None and node.unread is None:
        return steps
    stopped = None if node.clock is None else replace(node.clock, fetches=())
    found = []
    for step in steps:
        local = cast(Node, step.outcome.local)
        kept = replace(local, replaced=local.replaced or node.replaced, clock=local.clock or stopped)
        runs_on = local.replica is not None and step.restarted is None
        if node.unread is not None and runs_on:
            kept = replace(kept, unread=node.unread)
        found.append(replace(step, outcome=replace(step.outcome, local=kept)))
    return found


def _with_abandoned_fetches(node: Node, forgetful: int) -> Node:
    assert node.replica is not None
    parked = tuple(
        replace(fetch, correlation=NOBODY_WAITS) if fetch.source == forgetful else fetch
        for fetch in node.replica.parked
    )
    return replace(node, replica=replace(node.replica, parked=parked))


def _with_abandoned_change(node: Node, forgetful: int) -> Node:
    assert node.replica is not None
    role = node.replica.role
    if not isinstance(role, Leader) or role.change is None:
        return node
    if role.change.source != forgetful:
        return node
    role = replace(role, change=replace(role.change, correlation=NOBODY_WAITS))
    return replace(node, replica=replace(node.replica, role=role))
