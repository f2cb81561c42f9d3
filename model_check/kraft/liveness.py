"""*Eventually* properties of KRaft: goals on global states, and which actions are fair.

Judged on the whole reachable graph within the bounds, in two ways:

* No fair behaviour within the bounds goes on for ever without the goal. A step beyond the bound on epochs
  leads to an absorbing state that ends the behaviour: the step remains possible, so that fairness may ask
  for it.
* From every state with room for one more election below the bound on epochs, some path of fair steps leads to
  the goal without leaving the bounds. An election takes the next epoch; after a resignation it takes two, as
  a Resigned replica gives up the next epoch before it stands for the one after.

The states without that room from which the goal, if anywhere, lies beyond the bound are open; they are
counted. The network must be large enough to hold every message. Where epochs are relative
(:mod:`model_check.kraft.relative`) all this is said of representatives, and counterexamples are told of real
states.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model_check.engine.edges import Mask
from model_check.engine.graph import Graph
from model_check.engine.liveness import (
    ANY_STEP,
    Fairness,
    Lasso,
    Waiting,
    check_ends,
    check_eventually,
    out_of_reach,
)
from model_check.engine.representatives import Represent, real_path
from model_check.engine.system import GlobalState
from model_check.errors import InputError
from model_check.kraft import fairness as fair
from model_check.kraft import wanted as goals
from model_check.kraft.node import Node
from model_check.kraft.system import BEYOND, Bounds, KRaftSystem
from model_check.scenario import Eventually
from reference.frozen import replace
from reference.replica import QuorumState, Resigned


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one *eventually* property.

    Of a violation: its ``lasso``; or ``dead_end``, the way to a state with room for one more election, from
    which the goal is out of reach within the bounds. ``open_states`` of ``states`` are without
    that room, and the goal lies beyond the bounds from there, if anywhere. ``closed``: no step leads beyond
    the bounds, so that with relative epochs what is said holds for any number of elections.
    """

    name: str
    lasso: Lasso | None = None
    dead_end: Lasso | None = None
    open_states: int = 0
    states: int = 0
    closed: bool = False

    @property
    def holds(self) -> bool:
        return self.lasso is None and self.dead_end is None

    @property
    def stem(self) -> int:
        """Steps before the cycle, or to the dead end; 0 if the property holds."""
        found = self.lasso or self.dead_end
        return 0 if found is None else len(found.stem)

    @property
    def cycle(self) -> int:
        """Steps of the cycle; 0 if there is none."""
        return 0 if self.lasso is None else len(self.lasso.cycle)


def judge(
    system: KRaftSystem, graph: Graph, wanted: Eventually, represent: Represent | None = None
) -> Judged:
    """Look for a fair behaviour that never does what is ``wanted``, or for a state from which nothing can.

    ``graph`` is the whole graph of ``system``, which must absorb steps beyond its bounds, or that of what
    ``represent`` makes of its states. Raises InputError if the network is too small, or the bounds leave no
    room for an election that would be needed.
    """
    assert graph.exploration is not None
    if graph.exploration.constrained.get("capacity"):
        raise InputError(
            f"{system.name}: network.capacity cuts steps, and an eventually property needs them all; "
            "make it larger."
        )
    closed = not graph.mask(_is_beyond).any()
    judged = replace(_judge(system, graph, wanted), closed=closed)
    if represent is None:
        return judged
    if judged.lasso is not None:
        return replace(judged, lasso=_really(system, graph, judged.lasso, represent))
    if judged.dead_end is not None:
        return replace(judged, dead_end=_really(system, graph, judged.dead_end, represent))
    return judged


def _really(system: KRaftSystem, graph: Graph, found: Lasso, represent: Represent) -> Lasso:
    """``found`` with the steps that real states take, whose epochs no bound holds back."""
    unbounded = copy.copy(system)
    unbounded.bounds = Bounds(2**31)
    states = [graph.state(number) for number in found.states]
    path = real_path(unbounded, represent, found.initial, states, found.stem + found.cycle)
    return replace(found, stem=path[: len(found.stem)], cycle=path[len(found.stem) :])


def _judge(system: KRaftSystem, graph: Graph, wanted: Eventually) -> Judged:
    classes = fair.classes_of(system, wanted)
    if wanted.goal == goals.STAYS:
        return _judge_stays(graph, wanted, classes)
    beyond = graph.mask(_is_beyond)
    if wanted.goal == goals.SETTLED:
        goal = goals.settled_states(graph)
    else:
        holds = goals.goal_of(system, wanted.goal)
        goal = graph.mask(lambda state: not _is_beyond(state) and holds(state))
    reached = beyond | goal
    when = _when(system, graph, wanted, reached)
    if wanted.form != "recoverable":
        lasso = check_eventually(graph, reached, classes, when=when)
        if lasso is not None:
            return Judged(wanted.property, lasso)
    return _judge_reach(system, graph, wanted, goal, Waiting(graph, reached, when), classes or [ANY_STEP])


def _is_beyond(state: GlobalState) -> bool:
    return BEYOND in state.locals


def _when(system: KRaftSystem, graph: Graph, wanted: Eventually, reached: Mask) -> Mask | None:
    """From which states on the goal is waited for; ``None``: from the initial states."""
    if wanted.form == "eventually":
        return None
    if wanted.when is None:
        return ~reached
    cause = goals.goal_of(system, wanted.when)
    return graph.mask(lambda state: not _is_beyond(state) and cause(state))


def _judge_stays(graph: Graph, wanted: Eventually, classes: Sequence[Fairness]) -> Judged:
    """Whether no fair behaviour within the bounds changes for ever who leads."""
    within = ~graph.mask(_is_beyond)
    lasso = check_ends(graph, goals.leadership_changes(graph), classes, within=within)
    if lasso is not None:
        return Judged(wanted.property, lasso)
    leaving = np.unique(graph.sources[within[graph.sources] & ~within[graph.targets]])
    return Judged(wanted.property, open_states=len(leaving), states=int(within.sum()))


def _judge_reach(
    system: KRaftSystem,
    graph: Graph,
    wanted: Eventually,
    goal: Mask,
    waiting: Waiting,
    classes: Sequence[Fairness],
) -> Judged:
    """Where there is no lasso: whether the goal can be reached before the bounds are left."""
    last = graph.over_views(lambda state: _last_epoch(system, state), np.int64)
    within = last >= 0
    lost = out_of_reach(graph, goal, classes) & within & (waiting.far >= 0)
    room = within & (last <= system.bounds.max_epoch)
    if (lost & room).any():
        return Judged(wanted.property, dead_end=waiting.shortest(lost & room))
    if lost.any() and not room.any():
        raise InputError(
            f"{system.name}: bounds.max-epoch leaves no room for an election, and from {lost.sum():,} states "
            f"the bounds are left before {wanted.goal}, so nothing can be said of {wanted.property}; raise "
            "bounds.max-epoch."
        )
    return Judged(wanted.property, open_states=int(lost.sum()), states=int(within.sum()))


def _last_epoch(system: KRaftSystem, state: GlobalState) -> int:
    """The epoch of one more election, -1 beyond the bounds."""
    if _is_beyond(state):
        return -1
    nodes = goals.nodes_of(state)
    return max(_next_epoch(system.identities[one].id, nodes[one]) for one in goals.running(system))


def _next_epoch(id: int, node: Node) -> int:
    """The epoch in which replica ``id`` stands for election next, unless it learns of a larger one.

    KafkaRaftClient.pollResigned: the end of the election timeout makes a Resigned replica Unattached in the
    next epoch. A leader that starts again is Resigned.
    """
    if node.replica is not None:
        return node.replica.epoch + (2 if isinstance(node.replica.role, Resigned) else 1)
    stored = node.disk.quorum_state or QuorumState()
    return stored.epoch + (2 if stored.leader == id else 1)
