"""*Eventually* properties of KRaft: goals on global states, and which actions are fair.

Judged on the whole reachable graph within the bounds, in two ways:

* No fair behaviour within the bounds continues forever without the goal. A step outside the bound on epochs
  leads to an absorbing state that ends the behaviour: the step remains possible, so that fairness may ask for
  it.
* From every state with room for one more election below the bound on epochs, some path of fair steps leads to
  the goal without leaving the bounds. An election takes the next epoch; after a resignation it takes two, as
  a Resigned replica skips the next epoch before it becomes candidate in the one after.

The states without that room from which the goal can only lie outside the bound are open; they are counted.
The network must be large enough to hold every message. Where epochs are relative
(:mod:`kraftcheck.systems.kraft.relative`) all this holds of representatives, and counterexamples consist of
real states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kraftcheck.engine.edges import Mask
from kraftcheck.engine.graph import Graph
from kraftcheck.engine.liveness import (
    ANY_STEP,
    Lasso,
    Waiting,
    Withheld,
    lassos,
    out_of_reach,
    unpaid_steps,
)
from kraftcheck.engine.representatives import Represent, real_path
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.replica import QuorumState, Resigned
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import Judged, kept_open
from kraftcheck.systems.kraft import fairness as fair
from kraftcheck.systems.kraft import wanted as goals
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import Eventually
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem


def judge(
    system: KRaftSystem, graph: Graph, wanted: Eventually, represent: Represent | None = None
) -> Judged:
    """Look for a fair behaviour that never reaches the ``wanted`` goal, or for a state from which none can.

    ``graph`` is the whole graph of ``system``, which must absorb steps outside its bounds, or that of the
    representatives that ``represent`` returns. Raises InputError if the bounds leave no room for an election
    that would be needed.
    """
    closed = not graph.mask(_is_beyond).any()
    wait = _wait(system, graph, wanted)
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
    """Masks: the states with the ``goal``; those in which nothing is pending any more; those from which on
    the goal is pending; and, if the property is about steps, the steps that a behaviour must not take
    forever.
    """

    goal: Mask
    reached: Mask
    when: Mask | None
    ending: Mask | None


def _wait(system: KRaftSystem, graph: Graph, wanted: Eventually) -> _Wait:
    beyond = graph.mask(_is_beyond)
    if wanted.goal == goals.STAYS:
        return _Wait(beyond, beyond, None, goals.leadership_changes(graph))
    if wanted.goal == goals.SETTLED:
        goal = goals.settled_states(graph)
    else:
        holds = goals.goal_of(system, wanted.goal)
        goal = graph.mask(lambda state: not _is_beyond(state) and holds(state))
    reached = beyond | goal
    return _Wait(goal, reached, _when(system, graph, wanted, reached), None)


def _lassos(
    system: KRaftSystem, graph: Graph, wanted: Eventually, wait: _Wait, represent: Represent | None
) -> Iterator[Lasso]:
    if wanted.form == "recoverable":
        return
    classes = fair.classes_of(system, wanted)
    budgets = fair.budgets_of(system, wanted)
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
    classes = fair.classes_of(system, wanted) or [ANY_STEP]
    last = graph.over_views(lambda state: _last_epoch(system, state), np.int64)
    within = last >= 0
    lost = out_of_reach(graph, wait.goal, classes) & within & (waiting.far >= 0)
    room = within & (last <= system.bounds.max_epoch)
    if (lost & room).any():
        unpaid = unpaid_steps(graph, classes, fair.budgets_of(system, wanted), lost)
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
