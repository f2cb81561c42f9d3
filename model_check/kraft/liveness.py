"""*Eventually* properties of KRaft: goals on global states, and which actions are fair.

Judged on the whole reachable graph within the bounds, in two ways:

* No fair behaviour within the bounds goes on for ever without the goal. A step beyond the bound on epochs
  leads to an absorbing state that ends the behaviour: the step remains possible, so that fairness may ask
  for it.
* From every state with room for one more election below the bound on epochs, some path of fair steps leads to
  the goal without leaving the bounds. An election takes the next epoch; after a resignation it takes two, as
  a Resigned replica gives up the next epoch before it stands for the one after.

The states without that room from which the goal, if anywhere, lies beyond the bound are open; they are
counted. The network must be large enough to hold every message.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from model_check.engine.cycles import Strength
from model_check.engine.edges import Mask
from model_check.engine.graph import Graph
from model_check.engine.liveness import (
    ANY_STEP,
    Fairness,
    Lasso,
    check_eventually,
    out_of_reach,
    shortest_stem,
)
from model_check.engine.system import GlobalState, PathStep
from model_check.errors import InputError
from model_check.kraft import assignments, membership
from model_check.kraft import history as histories
from model_check.kraft.history import History
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.kraft.step import Action
from model_check.kraft.system import BEYOND, KRaftSystem
from model_check.scenario import Eventually
from reference.log import Log, Value
from reference.messages import Message
from reference.replica import Follower, Leader, QuorumState, Replica, Resigned, Role


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one *eventually* property.

    Of a violation: its ``lasso``; or ``dead_end``, the steps to a state with room for one more election, from
    which the goal is out of reach within the bounds. ``open_states`` of ``states`` are without
    that room, and the goal lies beyond the bounds from there, if anywhere.
    """

    name: str
    lasso: Lasso | None = None
    dead_end: tuple[PathStep, ...] | None = None
    open_states: int = 0
    states: int = 0

    @property
    def holds(self) -> bool:
        return self.lasso is None and self.dead_end is None

    @property
    def stem(self) -> int:
        """Steps before the cycle, or to the dead end; 0 if the property holds."""
        return len(self.lasso.stem if self.lasso is not None else self.dead_end or ())

    @property
    def cycle(self) -> int:
        """Steps of the cycle; 0 if there is none."""
        return 0 if self.lasso is None else len(self.lasso.cycle)


def _nodes(state: GlobalState) -> list[Node]:
    return [cast(Node, local) for local in state.locals]


def _replicas(state: GlobalState) -> list[Replica]:
    return [node.replica for node in _nodes(state) if node.replica is not None]


def _logs(state: GlobalState) -> list[Log]:
    """The log of every replica; of a process that does not run, what its disk holds."""
    return [node.disk.log if node.replica is None else node.replica.log for node in _nodes(state)]


def _has_leader(state: GlobalState) -> bool:
    return any(isinstance(replica.role, Leader) for replica in _replicas(state))


def _nobody_leads_epoch_1(state: GlobalState) -> bool:
    return not any(isinstance(replica.role, Leader) and replica.epoch == 1 for replica in _replicas(state))


def _all_follow_one_leader(state: GlobalState) -> bool:
    replicas = _replicas(state)
    leaders = {replica.quorum_state.leader for replica in replicas}
    settled = all(isinstance(replica.role, Leader | Follower) for replica in replicas)
    return settled and len(leaders) == 1 and len({replica.epoch for replica in replicas}) == 1


def _history(state: GlobalState) -> History:
    return cast(History, state.history)


def _no_outdated_voter(state: GlobalState) -> bool:
    """L-7: whoever takes itself for a voter is one by the last committed voter set."""
    sets = histories.committed_sets(_history(state))
    outside = (replica for replica in _replicas(state) if replica.is_voter and sets)
    return all(membership.is_among(replica.key, sets[-1].keys) for replica in outside)


def _no_leader_outside_voters(state: GlobalState) -> bool:
    """L-8: a leader whose own removal is in its log leads no longer."""
    return all(replica.is_voter for replica in _replicas(state) if isinstance(replica.role, Leader))


def _no_change_pending(state: GlobalState) -> bool:
    """L-10: every voter set in a log is committed."""
    committed = _history(state).committed
    return all(
        batch in committed for log in _logs(state) for batch in log.batches if membership.has_voters(batch)
    )


def _no_alteration_pending(state: GlobalState) -> bool:
    """L-10, where voters change by AlterQuorum: nothing is wanted by now, in any log, and nobody waits."""
    committed = _history(state).committed
    known = assignments.assignments_of(committed)
    waiting = any(
        replica.role.alterations for replica in _replicas(state) if isinstance(replica.role, Leader)
    )
    undecided = (
        batch
        for log in _logs(state)
        for batch in log.batches
        if assignments.is_in(batch) and batch not in committed
    )
    return not waiting and not any(undecided) and not (known and known[-1][1].target is not None)


def _all_caught_up(state: GlobalState) -> bool:
    """L-12: every replica has what is committed, be it on the disk of a process that does not run."""
    committed = _history(state).committed
    return all(membership.has_all(log.batches, log.start_offset, committed) for log in _logs(state))


def _high_watermark_known(state: GlobalState) -> bool:
    """L-12: every replica runs and knows what the leader, which there is, knows to be committed."""
    replicas = _replicas(state)
    leaders = [replica for replica in replicas if isinstance(replica.role, Leader)]
    newest = max(leaders, key=lambda leader: leader.epoch, default=None)
    if newest is None or newest.high_watermark is None or len(replicas) < len(state.locals):
        return False
    return all(replica.high_watermark == newest.high_watermark for replica in replicas)


def _no_stale_leader(state: GlobalState) -> bool:
    """L-4: nobody leads an older epoch than the newest that has had a leader, of which observers know."""
    newest = max((epoch for epoch, _ in _history(state).leaders), default=0)
    outdated = (replica for replica in _replicas(state) if replica.epoch < newest)
    if any(isinstance(replica.role, Leader) for replica in outdated):
        return False
    observers = (replica for replica in _replicas(state) if not replica.is_voter)
    return all(each.epoch >= newest and each.quorum_state.leader is not None for each in observers)


def _no_append_waits(state: GlobalState) -> bool:
    """L-11: no leader has a client's record of its own epoch that is not committed; who leads no more has
    told its clients so (RESIGN-2).
    """
    return not any(_keeps_waiting(replica.role, replica) for replica in _replicas(state))


def _keeps_waiting(role: Role, replica: Replica) -> bool:
    if not isinstance(role, Leader):
        return False
    known = replica.high_watermark or 0
    late = (batch for batch in replica.log.batches if batch.epoch == replica.epoch)
    appended = any(batch.end_offset > known and membership.values_of((batch,)) for batch in late)
    return appended or any(isinstance(record, Value) for records in role.pending for record in records)


_KINDS: tuple[type, ...] = get_args(Message)

#: The goal that is not seen in a state alone: some replica leads, and no step from here on changes who does.
SETTLED = "leadership-settled"

GOALS: dict[str, Callable[[GlobalState], bool]] = {
    "a-leader": _has_leader,
    "no-leader-of-epoch-1": _nobody_leads_epoch_1,
    "all-follow-one-leader": _all_follow_one_leader,
    "no-outdated-voter": _no_outdated_voter,
    "no-leader-outside-voters": _no_leader_outside_voters,
    "no-change-pending": _no_change_pending,
    "no-alteration-pending": _no_alteration_pending,
    "all-caught-up": _all_caught_up,
    "high-watermark-known": _high_watermark_known,
    "no-stale-leader": _no_stale_leader,
    "no-append-waits": _no_append_waits,
}


def judge(system: KRaftSystem, graph: Graph, wanted: Eventually) -> Judged:
    """Look for a fair behaviour that, from some state on, never reaches the goal, or for a state that cannot.

    ``graph`` is the whole graph of ``system``, which must absorb steps beyond its bounds. Raises InputError
    if the network is too small, or the bounds leave no room for an election that would be needed.
    """
    assert graph.exploration is not None
    if graph.exploration.constrained.get("capacity"):
        raise InputError(
            f"{system.name}: network.capacity cuts steps, and an eventually property needs them all; "
            "make it larger."
        )
    goal = settled_states(graph).__contains__ if wanted.goal == SETTLED else _goal(system, wanted)
    fairness = _fairness(system, wanted)

    def reached(state: GlobalState) -> bool:
        return BEYOND in state.locals or goal(state)

    lasso = check_eventually(graph, reached, fairness, when=lambda state: not reached(state))
    if lasso is not None:
        return Judged(wanted.property, lasso)
    return _judge_reach(system, graph, wanted, goal, fairness)


def _running(system: KRaftSystem) -> list[int]:
    """The components that the scenario has not stopped for the whole run."""
    return [number for number, node in enumerate(system.nodes) if node.died is None]


def _goal(system: KRaftSystem, wanted: Eventually) -> Callable[[GlobalState], bool]:
    """The goal, of all replicas but those that the scenario has stopped for the whole run."""
    part = _running(system)

    def holds(state: GlobalState) -> bool:
        return GOALS[wanted.goal](replace(state, locals=tuple(state.locals[number] for number in part)))

    return holds


def settled_states(graph: Graph) -> frozenset[GlobalState]:
    """L-6: the states in which somebody leads, and whatever happens from there on, fair or not, nobody else
    comes to lead, nor nobody. A step beyond the bounds counts as a change.
    """
    states = [graph.state(number) for number in range(graph.size)]
    known: dict[Hashable, int] = {}
    who = np.array([known.setdefault(_leadership(state), len(known)) for state in states], np.int64)
    changes = np.zeros(graph.size, bool)
    changes[graph.sources[who[graph.sources] != who[graph.targets]]] = True
    lasting = out_of_reach(graph, changes, [ANY_STEP])
    found = (states[number] for number in np.flatnonzero(lasting))
    return frozenset(state for state in found if _has_leader(state) and BEYOND not in state.locals)


def _leadership(state: GlobalState) -> Hashable:
    """Who leads or has led in which epoch; ``None`` beyond the bounds."""
    if BEYOND in state.locals:
        return None
    leading = tuple((each.epoch, each.id) for each in _replicas(state) if isinstance(each.role, Leader))
    return _history(state).leaders, leading


def _judge_reach(
    system: KRaftSystem,
    graph: Graph,
    wanted: Eventually,
    goal: Callable[[GlobalState], bool],
    fairness: list[Fairness],
) -> Judged:
    """Where there is no lasso: whether the goal can be reached before the bounds are left."""
    last, goals = _survey(system, graph, goal)
    within = last >= 0
    lost = out_of_reach(graph, goals, fairness) & within
    room = within & (last <= system.bounds.max_epoch)
    if (lost & room).any():
        return Judged(wanted.property, dead_end=shortest_stem(graph, lost & room))
    if lost.any() and not room.any():
        raise InputError(
            f"{system.name}: bounds.max-epoch leaves no room for an election, and from {lost.sum():,} states "
            f"the bounds are left before {wanted.goal}, so nothing can be said of {wanted.property}; raise "
            "bounds.max-epoch."
        )
    return Judged(wanted.property, open_states=int(lost.sum()), states=int(within.sum()))


def _survey(
    system: KRaftSystem, graph: Graph, goal: Callable[[GlobalState], bool]
) -> tuple[NDArray[np.int64], Mask]:
    """(the epoch of one more election in each state, -1 beyond the bounds; which states are goals)."""
    part = _running(system)
    last, goals = np.full(graph.size, -1, np.int64), np.zeros(graph.size, bool)
    for number in range(graph.size):
        state = graph.state(number)
        if BEYOND not in state.locals:
            nodes = _nodes(state)
            last[number] = max(_next_epoch(system.identities[one].id, nodes[one]) for one in part)
            goals[number] = goal(state)
    return last, goals


def _next_epoch(id: int, node: Node) -> int:
    """The epoch in which replica ``id`` stands for election next, unless it learns of a larger one.

    KafkaRaftClient.pollResigned: the end of the election timeout makes a Resigned replica Unattached in the
    next epoch. A leader that starts again is Resigned.
    """
    if node.replica is not None:
        return node.replica.epoch + (2 if isinstance(node.replica.role, Resigned) else 1)
    stored = node.disk.quorum_state or QuorumState()
    return stored.epoch + (2 if stored.leader == id else 1)


def _fairness(system: KRaftSystem, wanted: Eventually) -> list[Fairness]:
    classes: list[Fairness] = []
    ids = [identity.id for identity in system.identities]
    if wanted.fairness.deliveries != "none":
        strength = Strength(wanted.fairness.deliveries)
        for source in ids:
            for destination in ids:
                if (source, destination) not in system.wiring.cut:
                    classes += [_deliveries(source, destination, kind, strength) for kind in _KINDS]
    if wanted.fairness.timers != "none":
        strength = Strength(wanted.fairness.timers)
        for replica in ids:
            for timer in system.environment.timers[replica]:
                classes.append(_timer(replica, timer.value, strength))
            classes.append(_kind(replica, "back-off over", strength))
            classes.append(_kind(replica, "start", strength))
            if system.environment.discovery:
                classes += [_asks(replica, server, strength) for server in ids if server != replica]
    return classes


def _deliveries(source: int, destination: int, kind: type, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        message = cast(InFlight, step.message)
        return (
            step.kind == "deliver"
            and not _is_fault(action)
            and (message.source, message.destination) == (source, destination)
            and isinstance(message.payload, kind)
        )

    return Fairness(f"{kind.__name__} {source}→{destination} arrives", strength, matches)


def _timer(replica: int, timer: str, strength: Strength) -> Fairness:
    over = f"{timer} timer over"

    def matches(step: PathStep, action: Hashable) -> bool:
        if not isinstance(action, Action) or action.replica != replica:
            return False
        return (action.kind, action.detail) == ("timer", timer) or action.detail.endswith(over)

    return Fairness(f"the {timer} timer of {replica} expires", strength, matches)


def _kind(replica: int, kind: str, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        return isinstance(action, Action) and (action.kind, action.replica) == (kind, replica)

    return Fairness(f"{kind} at {replica}", strength, matches)


def _asks(replica: int, server: int, strength: Strength) -> Fairness:
    """Whom a replica asks that looks for the leader is random: each of the servers again and again.

    Kafka: RequestManager.findReadyBootstrapServer.
    """
    action = Action("looks for the leader", replica, f"at {server}")
    return Fairness(str(action), strength, lambda step, taken: taken == action)


def _is_fault(action: Hashable) -> bool:
    return isinstance(action, Action) and ("crashes" in action.detail or "loses power" in action.detail)
