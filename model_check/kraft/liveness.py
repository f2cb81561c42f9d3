"""*Eventually* properties of KRaft: goals on global states, and which actions are fair.

Judged on the whole reachable graph within the bounds. A step beyond the bound on epochs leads to an absorbing
state that counts as the goal: what happens there is not covered, but the step remains possible, so that
fairness may ask for it. The network must be large enough to hold every message.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import cast, get_args

from model_check.engine.graph import Graph
from model_check.engine.liveness import Fairness, Lasso, Strength, check_eventually
from model_check.engine.system import GlobalState, PathStep
from model_check.errors import InputError
from model_check.kraft import history as histories
from model_check.kraft import membership
from model_check.kraft.history import History
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.kraft.outcomes import Action
from model_check.kraft.system import BEYOND, KRaftSystem
from model_check.scenario import Eventually
from reference.messages import Message
from reference.replica import Follower, Leader, Replica


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one *eventually* property; of a violation its lasso."""

    name: str
    lasso: Lasso | None

    @property
    def holds(self) -> bool:
        return self.lasso is None

    @property
    def stem(self) -> int:
        """Steps before the cycle; 0 if the property holds."""
        return 0 if self.lasso is None else len(self.lasso.stem)

    @property
    def cycle(self) -> int:
        """Steps of the cycle; 0 if the property holds or the behaviour stays where it is."""
        return 0 if self.lasso is None else len(self.lasso.cycle)


def _replicas(state: GlobalState) -> list[Replica]:
    nodes = (cast(Node, local) for local in state.locals)
    return [node.replica for node in nodes if node.replica is not None]


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
    logs = (replica.log.batches for replica in _replicas(state))
    return all(batch in committed for log in logs for batch in log if membership.has_voters(batch))


def _all_caught_up(state: GlobalState) -> bool:
    """L-12: every replica has what is committed."""
    committed = _history(state).committed
    logs = (replica.log for replica in _replicas(state))
    return all(membership.has_all(log.batches, log.start_offset, committed) for log in logs)


def _high_watermark_known(state: GlobalState) -> bool:
    """L-12: every replica knows what its leader knows to be committed."""
    return len({replica.high_watermark for replica in _replicas(state)}) == 1


_KINDS: tuple[type, ...] = get_args(Message)

GOALS: dict[str, Callable[[GlobalState], bool]] = {
    "a-leader": _has_leader,
    "no-leader-of-epoch-1": _nobody_leads_epoch_1,
    "all-follow-one-leader": _all_follow_one_leader,
    "no-outdated-voter": _no_outdated_voter,
    "no-leader-outside-voters": _no_leader_outside_voters,
    "no-change-pending": _no_change_pending,
    "all-caught-up": _all_caught_up,
    "high-watermark-known": _high_watermark_known,
}


def judge(system: KRaftSystem, graph: Graph, wanted: Eventually) -> Judged:
    """Look for a fair behaviour that, from some state on, never reaches the goal.

    ``graph`` is the whole graph of ``system``, which must absorb steps beyond its bounds. Raises InputError
    if the network is too small, or no state within the bounds satisfies the goal.
    """
    assert graph.exploration is not None
    if graph.exploration.constrained.get("capacity"):
        raise InputError(
            f"{system.name}: network.capacity cuts steps, and an eventually property needs them all; "
            "make it larger."
        )
    goal = GOALS[wanted.goal]

    def reached(state: GlobalState) -> bool:
        return BEYOND in state.locals or goal(state)

    lasso = check_eventually(graph, reached, _fairness(system, wanted), when=lambda state: not reached(state))
    states = (graph.state(number) for number in range(graph.size))
    if lasso is None and not any(goal(state) for state in states if BEYOND not in state.locals):
        raise InputError(
            f"{system.name}: no state within the bounds has {wanted.goal}, so nothing can be said of "
            f"{wanted.property}; raise bounds.max-epoch or budgets."
        )
    return Judged(wanted.property, lasso)


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
                classes.append(_kind(replica, "looks for the leader", strength))
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


def _is_fault(action: Hashable) -> bool:
    return isinstance(action, Action) and ("crashes" in action.detail or "loses power" in action.detail)
