"""*Eventually* properties of KRaft: goals on global states, and which actions are fair.

Judged on the whole reachable graph within the bounds, in two ways (docs/engine.md): no fair behaviour within
the bounds continues forever without the goal, and from every state with room for one more election below the
bound on epochs, some path of fair steps leads to the goal within the bounds. Where epochs are relative, all
this holds of representatives, and counterexamples consist of real states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple, cast, get_args

import numpy as np

from kraftcheck.engine.edges import Mask
from kraftcheck.engine.fairness import ANY_STEP, Fairness, Lasso, Strength, Withheld
from kraftcheck.engine.graph import Graph
from kraftcheck.engine.liveness import Waiting, lassos, out_of_reach, unpaid_steps
from kraftcheck.engine.representatives import Represent, UnlikeError, real_path
from kraftcheck.engine.steps import steps
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import Message
from kraftcheck.reference.replica import QuorumState, Resigned
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import Judged, kept_open
from kraftcheck.systems.kraft import wanted as goals
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import Eventually
from kraftcheck.systems.kraft.step import Action, Also
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem


def judge(
    system: KRaftSystem, graph: Graph, wanted: Eventually, represent: Represent | None = None
) -> Judged:
    """Look for a fair behaviour that never reaches the ``wanted`` goal, or for a state from which none can.

    ``graph`` is the whole graph of ``system``, which must absorb steps outside its bounds, or that of the
    representatives that ``represent`` returns. Raises InputError if the bounds leave no room for an election
    that would be needed.
    """
    wait = _wait(system, graph, wanted)
    closed = not wait.beyond.any()
    lasso = next(_lassos(system, graph, wanted, wait, represent), None)
    if lasso is not None and lasso.withheld is not None:
        return kept_open(system, wanted.property, lasso.withheld)
    if lasso is not None:
        return Judged(wanted.property, lasso, closed=closed)
    judged = replace(_judge_reach(system, graph, wanted, wait), closed=closed)
    if represent is not None and judged.dead_end is not None:
        return replace(judged, dead_end=_really(system, graph, judged.dead_end, represent))
    return judged


def lassos_of(
    system: KRaftSystem, graph: Graph, wanted: Eventually, represent: Represent | None = None
) -> Iterator[Lasso]:
    """The fair behaviours that never reach the ``wanted`` goal: see
    :func:`~kraftcheck.engine.liveness.lassos`, and of the arguments :func:`judge`.
    """
    return _lassos(system, graph, wanted, _wait(system, graph, wanted), represent)


def _really(system: KRaftSystem, graph: Graph, found: Lasso, represent: Represent) -> Lasso:
    """``found`` with the steps of real states, whose epochs no bound limits."""
    states = [graph.state(number) for number in found.states]
    path = real_path(system.bounded(), represent, found.initial, states, found.stem + found.cycle)
    return replace(found, stem=path[: len(found.stem)], cycle=path[len(found.stem) :])


class _Wait(NamedTuple):
    """Masks: the states outside the bounds; those with the ``goal``; those in which nothing is pending any
    more; those from which on the goal is pending; and, if the property is about steps, the steps that a
    behaviour must not take forever.
    """

    beyond: Mask
    goal: Mask
    reached: Mask
    when: Mask | None
    ending: Mask | None


#: What is found for a state outside the bounds, where others have the goal (1) or not (0).
_BEYOND = 2


def _wait(system: KRaftSystem, graph: Graph, wanted: Eventually) -> _Wait:
    holds = None if wanted.goal in (goals.STAYS, goals.SETTLED) else goals.goal_of(system, wanted.goal)
    # Both at once, as a state takes longer to make than to judge.
    found = graph.over_views(
        lambda state: _BEYOND if _is_beyond(state) else holds is not None and bool(holds(state)), np.int8
    )
    beyond, goal = found == _BEYOND, found == 1
    if wanted.goal == goals.STAYS:
        return _Wait(beyond, beyond, beyond, None, goals.leadership_changes(graph))
    if wanted.goal == goals.SETTLED:
        goal = goals.settled_states(graph)
    reached = beyond | goal
    return _Wait(beyond, goal, reached, _when(system, graph, wanted, reached), None)


def _lassos(
    system: KRaftSystem, graph: Graph, wanted: Eventually, wait: _Wait, represent: Represent | None
) -> Iterator[Lasso]:
    if wanted.form == "recoverable":
        return
    classes = classes_of(system, wanted)
    budgets = budgets_of(system, wanted)
    for lasso in lassos(graph, wait.reached, classes, when=wait.when, through=wait.ending, budgets=budgets):
        yield lasso if represent is None else _really(system, graph, lasso, represent)


def _is_beyond(state: GlobalState) -> bool:
    return BEYOND in state.locals


def _when(system: KRaftSystem, graph: Graph, wanted: Eventually, reached: Mask) -> Mask | None:
    """The states from which on the goal is pending; ``None``: the initial states."""
    if wanted.form == "eventually":
        return None
    if wanted.when is None:
        return ~reached
    cause = goals.goal_of(system, wanted.when)
    return graph.mask(lambda state: not _is_beyond(state) and cause(state))


def _judge_reach(system: KRaftSystem, graph: Graph, wanted: Eventually, wait: _Wait) -> Judged:
    """For a graph without a lasso: whether the goal can be reached before the bounds are left."""
    if wait.ending is not None:
        inside = ~wait.reached
        leaving = np.unique(graph.sources[inside[graph.sources] & ~inside[graph.targets]])
        return Judged(wanted.property, open_states=len(leaving), states=int(inside.sum()))
    waiting = Waiting(graph, wait.reached, wait.when)
    classes = classes_of(system, wanted) or [ANY_STEP]
    last = graph.over_views(lambda state: _last_epoch(system, state), np.int64)
    within = last >= 0
    lost = out_of_reach(graph, wait.goal, classes) & within & (waiting.far >= 0)
    room = within & (last <= system.bounds.max_epoch)
    if (lost & room).any():
        unpaid = unpaid_steps(graph, classes, budgets_of(system, wanted), lost)
        blocked = np.zeros(graph.size, bool)
        blocked[[number for states in unpaid.values() for number in states]] = True
        lost &= out_of_reach(graph, wait.goal | blocked, classes)
        if not (lost & room).any():
            budgets = sorted(
                {each for states in unpaid.values() for some in states.values() for each in some}
            )
            return kept_open(system, wanted.property, Withheld(tuple(unpaid), tuple(budgets)))
        return Judged(wanted.property, dead_end=waiting.shortest(lost & room))
    if lost.any() and not room.any():
        raise InputError(
            f"{system.name}: bounds.max-epoch leaves no room for an election, and from {lost.sum():,} states "
            f"the bounds are left before {wanted.goal}, so nothing can be said of {wanted.property}; raise "
            "bounds.max-epoch."
        )
    return Judged(wanted.property, open_states=int(lost.sum()), states=int(within.sum()))


def _last_epoch(system: KRaftSystem, state: GlobalState) -> int:
    """The epoch of one more election, -1 outside the bounds."""
    if _is_beyond(state):
        return -1
    nodes = goals.nodes_of(state)
    return max(_next_epoch(system.identities[one].id, nodes[one]) for one in goals.running(system))


def _next_epoch(id: int, node: Node) -> int:
    """The epoch in which replica ``id`` becomes candidate next, unless it learns of a larger one.

    KafkaRaftClient.pollResigned: the end of the election timeout makes a Resigned replica Unattached in the
    next epoch. A leader that starts again is Resigned.
    """
    if node.replica is not None:
        return node.replica.epoch + (2 if isinstance(node.replica.role, Resigned) else 1)
    stored = node.disk.quorum_state or QuorumState()
    return stored.epoch + (2 if stored.leader == id else 1)


# The steps that are treated fairly: deliveries by link and kind of message, timers by replica.


_KINDS: tuple[type, ...] = get_args(Message)


def classes_of(system: KRaftSystem, wanted: Eventually) -> list[Fairness]:
    """The classes of steps that ``wanted`` asks fairness of."""
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
            for timer in system.wiring.timers[replica]:
                classes.append(_timer(replica, timer.value, strength))
            classes.append(_kind(replica, "back-off over", strength))
            classes.append(_kind(replica, "start", strength))
            if system.wiring.choice.discovery:
                classes += [_asks(replica, server, strength) for server in ids if server != replica]
    return classes


def budgets_of(system: KRaftSystem, wanted: Eventually) -> tuple[int, ...]:
    """The numbers of the budgets that these steps cost: one for each timer that expires."""
    promised = wanted.fairness.timers != "none" and "timers" in system.budget_names
    return (system.budget_names.index("timers"),) if promised else ()


def _deliveries(source: int, destination: int, kind: type, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        message = cast(InFlight, step.message)
        return (
            step.kind == "deliver"
            and isinstance(message.payload, kind)
            and (message.source, message.destination) == (source, destination)
            and not _is_fault(action)
        )

    return Fairness(f"{kind.__name__} {source}→{destination} arrives", strength, matches)


def _timer(replica: int, timer: str, strength: Strength) -> Fairness:
    over = (Also.UPDATE_VOTER_OVER,) if timer == Timer.UPDATE_VOTER.value else None

    def matches(step: PathStep, action: Hashable) -> bool:
        if not isinstance(action, Action) or action.replica != replica:
            return False
        return (action.kind, action.about, action.also) == ("timer", timer, ()) or action.also[-1:] == over

    return Fairness(f"the {timer} timer of {replica} expires", strength, matches)


def _kind(replica: int, kind: str, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        return isinstance(action, Action) and (action.kind, action.replica) == (kind, replica)

    return Fairness(f"{kind} at {replica}", strength, matches)


def _asks(replica: int, server: int, strength: Strength) -> Fairness:
    """A replica that looks for the leader asks a random server: each of the servers again and again.

    Kafka: RequestManager.findReadyBootstrapServer.
    """
    action = Action("looks for the leader", replica, f"at {server}")
    return Fairness(str(action), strength, lambda step, taken: taken == action)


def _is_fault(action: Hashable) -> bool:
    return isinstance(action, Action) and bool(action.crashes)


# A state and its representative take the same steps: a sampled check, so that the reduction does not rest on
# an unchecked assumption.


#: The check covers the first replaced states, this many, and then every so many-th.
FIRST, EVERY = 100, 500


class Watched:
    """``represent`` for the states of ``system``; a sample of the states is compared with their
    representatives.

    Raises UnlikeError where a state and its representative differ in a step.
    """

    def __init__(self, represent: Represent, system: KRaftSystem) -> None:
        self._represent, self._count = represent, 0
        self._system = system.bounded()

    def __call__(self, state: GlobalState) -> GlobalState:
        """The representative of ``state``."""
        found = self._represent(state)
        if found != state and BEYOND not in state.locals:
            self._count += 1
            if self._count <= FIRST or self._count % EVERY == 0:
                self._compare(state, found)
        return found

    def _compare(self, state: GlobalState, found: GlobalState) -> None:
        left, right = self._steps(state), self._steps(found)
        for name, _ in (left - right) | (right - left):
            raise UnlikeError(f"{name[2]} at {self._system.identities[name[1]].id} does not come to the same")

    def _steps(self, state: GlobalState) -> Counter[tuple[tuple[str, int, Hashable], GlobalState]]:
        """The possible actions in ``state`` with their components, and the representative of each
        successor.
        """
        return Counter(
            (
                (step.path.kind, step.path.component, None if step.outcome is None else step.outcome.action),
                self._represent(step.target),
            )
            for step in steps(self._system, state)
            if step.cut is None
        )
