"""The goals of *eventually* properties: goals on global states, and on the changes of leadership."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, cast

import numpy as np

from kraftcheck.engine.fairness import ANY_STEP
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log, Value
from kraftcheck.reference.replica import Follower, Leader, Replica, Role
from kraftcheck.systems.kraft import assignments, membership
from kraftcheck.systems.kraft import history as histories
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem

if TYPE_CHECKING:
    from kraftcheck.engine.edges import Mask
    from kraftcheck.engine.graph import Graph


def nodes_of(state: GlobalState) -> list[Node]:
    """The nodes, none of which is outside the bounds."""
    return [cast(Node, local) for local in state.locals]


def _replicas(state: GlobalState) -> list[Replica]:
    return [node.replica for node in nodes_of(state) if node.replica is not None]


def _logs(state: GlobalState) -> list[Log]:
    """The log of every replica; of a process that does not run, the log on its disk."""
    return [node.disk.log if node.replica is None else node.replica.log for node in nodes_of(state)]


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
    """L-7: every replica that takes itself for a voter is one by the last committed voter set."""
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
    """L-10, where voters change by AlterQuorum: every assignment in a log is committed, the last one has no
    target, and no client waits.
    """
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
    """L-12: every replica has the committed records, be it on the disk of a process that does not run."""
    committed = _history(state).committed
    return all(membership.has_all(log.batches, log.start_offset, committed) for log in _logs(state))


def _high_watermark_known(state: GlobalState) -> bool:
    """L-12: a leader exists, every replica runs, and all have the leader's high watermark."""
    replicas = _replicas(state)
    leaders = [replica for replica in replicas if isinstance(replica.role, Leader)]
    newest = max(leaders, key=lambda leader: leader.epoch, default=None)
    if newest is None or newest.high_watermark is None or len(replicas) < len(state.locals):
        return False
    return all(replica.high_watermark == newest.high_watermark for replica in replicas)


def _no_stale_leader(state: GlobalState) -> bool:
    """L-4: no replica leads an older epoch than the newest that has had a leader, and observers know that
    epoch.
    """
    newest = max((epoch for epoch, _ in _history(state).leaders), default=0)
    outdated = (replica for replica in _replicas(state) if replica.epoch < newest)
    if any(isinstance(replica.role, Leader) for replica in outdated):
        return False
    observers = (replica for replica in _replicas(state) if not replica.is_voter)
    return all(each.epoch >= newest and each.quorum_state.leader is not None for each in observers)


def _no_append_waits(state: GlobalState) -> bool:
    """L-11: no leader has a client's record of its own epoch that is not committed; a former leader has
    reported to its clients that it leads no more (RESIGN-2).
    """
    return not any(_keeps_waiting(replica.role, replica) for replica in _replicas(state))


def _keeps_waiting(role: Role, replica: Replica) -> bool:
    if not isinstance(role, Leader):
        return False
    known = replica.high_watermark or 0
    late = (batch for batch in replica.log.batches if batch.epoch == replica.epoch)
    appended = any(batch.end_offset > known and membership.values_of((batch,)) for batch in late)
    return appended or any(isinstance(record, Value) for records in role.pending for record in records)


def _all_described(state: GlobalState) -> bool:
    """L-19: there is a leader, and it knows the description of each of its voters: its own, those that voters
    have reported to it, or those of the voter set in the log.
    """
    leaders = [each for each in _replicas(state) if isinstance(each.role, Leader)]
    newest = max(leaders, key=lambda leader: leader.epoch, default=None)
    if newest is None or newest.kraft_version >= 1:
        return newest is not None
    assert isinstance(newest.role, Leader)
    known = {newest.id, *(entry.key.id for entry in newest.role.reported)}
    return known >= set(newest.voters.ids)


#: The goal that no single state shows: some replica leads, and no step from here on changes the leader.
SETTLED = "leadership-settled"
#: The goal that is not a state: the last change of the leader.
STAYS = "leadership-stays"

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
    "all-described": _all_described,
}


def running(system: KRaftSystem) -> list[int]:
    """The components that the scenario has not stopped for the whole run."""
    return [number for number, node in enumerate(system.nodes) if node.died is None]


def goal_of(system: KRaftSystem, name: str) -> Callable[[GlobalState], bool]:
    """The goal ``name``, of all replicas but those that the scenario has stopped for the whole run."""
    part = running(system)

    def holds(state: GlobalState) -> bool:
        return GOALS[name](replace(state, locals=tuple(state.locals[number] for number in part)))

    return holds


def leadership_changes(graph: Graph) -> Mask:
    """The edges that change the leader, or take a step outside the bounds."""
    known: dict[Hashable, int] = {}
    count = int(max(graph.size - 1, graph.ends.max(initial=0))) + 1
    who = np.array(
        [known.setdefault(_leadership(graph.state(n)), len(known)) for n in range(count)], np.int64
    )
    changes: Mask = who[graph.sources] != who[graph.ends]
    return changes


def settled_states(graph: Graph) -> Mask:
    """L-6: the states in which a replica leads, and from which no step, fair or not, ever changes that: no
    other replica becomes leader, and the leader does not resign. A step outside the bounds counts as a
    change.
    """
    from kraftcheck.engine.liveness import out_of_reach  # It loads the engine.

    changes = np.zeros(graph.size, bool)
    changes[graph.sources[leadership_changes(graph)]] = True
    lasting = out_of_reach(graph, changes, [ANY_STEP])
    return lasting & graph.mask(lambda state: BEYOND not in state.locals and _has_leader(state))


def _leadership(state: GlobalState) -> Hashable:
    """The leaders of all epochs, past and present; ``None`` outside the bounds."""
    if BEYOND in state.locals:
        return None
    leading = tuple((each.epoch, each.id) for each in _replicas(state) if isinstance(each.role, Leader))
    return _history(state).leaders, leading
