"""Properties of global states, each evaluated once per distinct projection."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any, cast

from kraftcheck.reference.log import Batch, Log
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.membership import Keys, Prefix
from kraftcheck.systems.kraft.node import Node

#: A replica, and the records of its log with their start offset.
Held = tuple[ReplicaKey, int, Prefix]


@dataclass(frozen=True, slots=True)
class StateProperty:
    """A property of global states: ``judge`` decides it from what ``of_node`` keeps of each component, by its
    number, and ``of_history`` of the past.
    """

    name: str
    of_node: Callable[[int, Node], Hashable]
    judge: Callable[[Any, Any], bool]
    of_history: Callable[[History], Hashable] = lambda history: None

    def project(self, component: int, local: Hashable) -> Hashable:
        return self.of_node(component, cast(Node, local))

    def project_history(self, history: Hashable) -> Hashable:
        return self.of_history(cast(History, history))

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        return self.judge(projections, history)


def all_invariants(voters: Keys, ids: tuple[int, ...], *, changing: bool) -> tuple[StateProperty, ...]:
    """Every property of states. ``voters``: those before any record; ``ids``: of the components;
    ``changing``: whether the voter set may change.
    """
    held = partial(_held, ids, voters, changing)
    durable = partial(_held, ids, voters, changing, durable=True)
    past = partial(_committed, voters)
    on_majority, complete = "HighWatermarkOnMajority", "LeaderCompleteness"
    return (
        StateProperty("SingleKnownLeaderPerEpoch", _known_leader, _one_leader_an_epoch),
        StateProperty("RecordIdentity", _batches, _offset_and_epoch_identify),
        StateProperty("LogMatching", _batches, _logs_match),
        StateProperty(complete, _log_of_leader, _leaders_are_complete, _last_commit),
        StateProperty("CommittedSurvivesVoterChanges", _log_of_leader, _leaders_are_complete, _last_commit),
        added_voter_holds_epoch(ids),
        StateProperty(on_majority, held, _majority_holds, past),
        StateProperty("AcknowledgedIsDurable", durable, _majority_holds, past),
        StateProperty("RemovedLeaderDoesNotCount", held, _majority_holds_for_removed, past),
    )


def never_holds(name: str) -> StateProperty:
    """A property that the first step of some replica has violated already: no state is without fault."""
    return StateProperty(name, _nothing, _never)


def _nothing(component: int, node: Node) -> None:
    return None


def _never(projections: tuple[Hashable, ...], history: Hashable) -> bool:
    return False


def _log(node: Node) -> Log:
    return node.disk.log if node.replica is None else node.replica.log


def _batches(component: int, node: Node) -> Prefix:
    return _log(node).batches


# No two replicas believe in different leaders of one epoch (S-2).


def _known_leader(component: int, node: Node) -> Hashable:
    replica = node.replica
    if replica is None or replica.quorum_state.leader is None:
        return None
    return (replica.epoch, replica.quorum_state.leader)


def _one_leader_an_epoch(beliefs: tuple[tuple[int, int] | None, ...], history: None) -> bool:
    known = {belief for belief in beliefs if belief is not None}
    return len({epoch for epoch, _ in known}) == len(known)


def _offset_and_epoch_identify(logs: tuple[Prefix, ...], history: None) -> bool:
    """Offset and epoch identify a record: two logs never hold different ones under the same (S-7)."""
    known: dict[tuple[int, int], Batch] = {}
    for log in logs:
        for batch in log:
            if known.setdefault((batch.base_offset, batch.epoch), batch) != batch:
                return False
    return True


# Two logs with a record of the same offset and epoch are equal up to it (S-10).


def _logs_match(logs: tuple[Prefix, ...], history: None) -> bool:
    return all(_match(one, other) for one, other in combinations(set(logs), 2))


def _match(one: Prefix, other: Prefix) -> bool:
    """Whether the logs are equal up to the last record that they share, from the first offset that both have
    on.
    """
    theirs = {(batch.base_offset, batch.epoch) for batch in other}
    shared = [batch.base_offset for batch in one if (batch.base_offset, batch.epoch) in theirs]
    if not shared:
        return True
    first = max(one[0].base_offset, other[0].base_offset)
    return _between(one, first, shared[-1]) == _between(other, first, shared[-1])


def _between(log: Prefix, first: int, last: int) -> Prefix:
    return tuple(batch for batch in log if first <= batch.base_offset <= last)


# Every leader of the same or a later epoch has the committed records in its log (S-12, S-25).


def _log_of_leader(component: int, node: Node) -> Hashable:
    replica = node.replica
    if replica is None or not isinstance(replica.role, Leader):
        return None
    return (replica.epoch, replica.log.start_offset, replica.log.batches)


def _last_commit(history: History) -> Hashable:
    return (history.committed_epoch, history.committed)


def _leaders_are_complete(
    leaders: tuple[tuple[int, int, Prefix] | None, ...], history: tuple[int, Prefix]
) -> bool:
    committed_epoch, committed = history
    for leader in leaders:
        if leader is not None:
            epoch, start, log = leader
            if epoch >= committed_epoch and not membership.has_all(log, start, committed):
                return False
    return True


# A majority of the voters holds the committed records: in their logs (S-19), or on their disks where power
# loss cannot take it (S-15, S-16). The voters are those of the set by which the last commit was decided. A
# voter that has lost its disk counts with the lost contents: it does not come back as that voter.


def _held(
    ids: tuple[int, ...], voters: Keys, changing: bool, component: int, node: Node, *, durable: bool = False
) -> Held | None:
    key, log = node.key(ids[component]), _log(node)
    if not changing and not membership.is_among(key, voters):
        return None
    if not durable:
        return (key, log.start_offset, log.batches)
    disk = node.disk
    flushed = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
    return (key, disk.log.start_offset, flushed)


_Committed = tuple[Prefix, Keys, tuple[Held, ...], int | None]


def _committed(voters: Keys, history: History) -> _Committed:
    """The committed records, the voters that decided so, the lost disks, and the leader that decided so."""
    gone = tuple((key, start, held) for key, held, start in history.gone)
    leader = dict(history.leaders).get(history.committed_epoch)
    return (history.committed, history.voters or voters, gone, leader)


def _majority_holds(logs: tuple[Held | None, ...], history: _Committed) -> bool:
    committed, voters, gone, _ = history
    known = [*gone, *(log for log in logs if log is not None)]
    holders = [key for key, start, log in known if membership.has_all(log, start, committed)]
    count = sum(any(membership.matches(entry, key) for key in holders) for entry in voters)
    return 2 * count > len(voters)


def _majority_holds_for_removed(logs: tuple[Held | None, ...], history: _Committed) -> bool:
    """The same for commits of a leader that is no voter (S-26)."""
    _, voters, _, leader = history
    return leader in {entry.id for entry in voters} or _majority_holds(logs, history)


def added_voter_holds_epoch(ids: tuple[int, ...]) -> StateProperty:
    """Every replica that a leader has made a voter has the record that opens the leader's epoch, or a later
    one (S-27).

    It had caught up with this leader, so that it must have that record, independent of the leader's notes.
    The property does not judge a replica on another disk, nor in a later epoch, in which it may have
    truncated the record. ``ids`` are those of the components.
    """
    return StateProperty("AddedVoterIsReady", partial(_progress, ids), _added_hold_epoch)


#: A replica, its epoch, the last one in its log, and the voters that it has added as the leader.
_Progress = tuple[ReplicaKey, int, int, tuple[ReplicaKey, ...]]


def _progress(ids: tuple[int, ...], component: int, node: Node) -> _Progress:
    log, replica, stored = _log(node), node.replica, node.disk.quorum_state
    if replica is not None:
        stored = replica.quorum_state
    leads = replica is not None and isinstance(replica.role, Leader)
    added = _added_in(replica) if replica is not None and leads else ()
    last = [each.id.epoch for each in log.snapshots[-1:]] + [each.epoch for each in log.batches[-1:]]
    epoch = 0 if stored is None else stored.epoch
    return (node.key(ids[component]), epoch, max(last, default=0), added)


def _added_in(leader: Replica) -> tuple[ReplicaKey, ...]:
    """The voters that ``leader`` has added in its epoch, in the order of its log."""
    history = membership.own_history(leader)
    own = {batch.end_offset for batch in leader.log.batches if batch.epoch == leader.epoch}
    added = (
        key
        for (_, before, _), (end, after, _) in pairwise(history)
        if end in own
        for key in membership.added(before, after)
    )
    return tuple(dict.fromkeys(added))


def _added_hold_epoch(known: tuple[_Progress, ...], history: None) -> bool:
    return not any(
        other == key and at <= epoch and last < epoch
        for _, epoch, _, added in known
        for key in added
        for other, at, last, _ in known
    )
