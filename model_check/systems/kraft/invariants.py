"""Properties of global states, each evaluated once per distinct projection."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import cast

from kraftcheck.reference.log import Batch, Log
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership, names
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.membership import Keys
from kraftcheck.systems.kraft.node import Node

_Prefix = tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class SingleKnownLeader:
    """No two replicas believe in different leaders of one epoch (S-2)."""

    name: str = names.SINGLE_KNOWN_LEADER

    def project(self, component: int, local: Hashable) -> Hashable:
        replica = cast(Node, local).replica
        if replica is None or replica.quorum_state.leader is None:
            return None
        return (replica.epoch, replica.quorum_state.leader)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        beliefs = {cast(tuple[int, int], belief) for belief in projections if belief is not None}
        return len({epoch for epoch, _ in beliefs}) == len(beliefs)


@dataclass(frozen=True, slots=True)
class NeverHolds:
    """A property that the first step of some replica has violated already: no state is without fault."""

    name: str

    def project(self, component: int, local: Hashable) -> Hashable:
        return None

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        return False


def _log(local: Hashable) -> Log:
    node = cast(Node, local)
    return node.disk.log if node.replica is None else node.replica.log


def _batches(local: Hashable) -> _Prefix:
    return _log(local).batches


@dataclass(frozen=True, slots=True)
class RecordIdentity:
    """Offset and epoch identify a record: two logs never hold different ones under the same (S-7)."""

    name: str = names.RECORD_IDENTITY

    def project(self, component: int, local: Hashable) -> Hashable:
        return _batches(local)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        known: dict[tuple[int, int], Batch] = {}
        for log in cast(tuple[_Prefix, ...], projections):
            for batch in log:
                if known.setdefault((batch.base_offset, batch.epoch), batch) != batch:
                    return False
        return True


@dataclass(frozen=True, slots=True)
class LogMatching:
    """Two logs with a record of the same offset and epoch are equal up to it (S-10)."""

    name: str = names.LOG_MATCHING

    def project(self, component: int, local: Hashable) -> Hashable:
        return _batches(local)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        logs = set(cast(tuple[_Prefix, ...], projections))
        return all(_match(one, other) for one, other in combinations(logs, 2))


def _match(one: _Prefix, other: _Prefix) -> bool:
    """Whether the logs are equal up to the last record that they share, from the first offset that both have
    on.
    """
    theirs = {(batch.base_offset, batch.epoch) for batch in other}
    shared = [batch.base_offset for batch in one if (batch.base_offset, batch.epoch) in theirs]
    if not shared:
        return True
    first = max(one[0].base_offset, other[0].base_offset)
    return _between(one, first, shared[-1]) == _between(other, first, shared[-1])


def _between(log: _Prefix, first: int, last: int) -> _Prefix:
    return tuple(batch for batch in log if first <= batch.base_offset <= last)


@dataclass(frozen=True, slots=True)
class LeaderCompleteness:
    """Every leader of the same or a later epoch has the committed records in its log (S-12, S-25)."""

    name: str = names.LEADER_COMPLETENESS

    def project(self, component: int, local: Hashable) -> Hashable:
        replica = cast(Node, local).replica
        if replica is None or not isinstance(replica.role, Leader):
            return None
        return (replica.epoch, replica.log.start_offset, replica.log.batches)

    def project_history(self, history: Hashable) -> Hashable:
        known = cast(History, history)
        return (known.committed_epoch, known.committed)

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        committed_epoch, committed = cast(tuple[int, _Prefix], history)
        for leader in projections:
            if leader is not None:
                epoch, start, log = cast(tuple[int, int, _Prefix], leader)
                if epoch >= committed_epoch and not membership.has_all(log, start, committed):
                    return False
        return True


@dataclass(frozen=True, slots=True)
class CommittedOnMajority:
    """A majority of the voters holds the committed records: in their logs (S-19), or on their disks where
    power loss cannot take it (S-15, S-16).

    The voters are those of the set by which the last commit was decided, ``voters`` where the set never
    changes. A voter that has lost its disk counts with the lost contents: it does not come back as that
    voter. ``ids`` are those of the components; with ``removed`` only commits of a leader that is no voter are
    judged (S-26).
    """

    name: str
    voters: Keys
    ids: tuple[int, ...]
    durable: bool = False
    removed: bool = False
    changing: bool = False

    def project(self, component: int, local: Hashable) -> Hashable:
        node, log = cast(Node, local), _log(local)
        key = node.key(self.ids[component])
        if not self.changing and not membership.is_among(key, self.voters):
            return None
        if not self.durable:
            return (key, log.start_offset, log.batches)
        disk = node.disk
        flushed = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
        return (key, disk.log.start_offset, flushed)

    def project_history(self, history: Hashable) -> Hashable:
        known = cast(History, history)
        gone = tuple((key, start, held) for key, held, start in known.gone)
        leader = dict(known.leaders).get(known.committed_epoch)
        return (known.committed, known.voters or self.voters, gone, leader)

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        committed, voters, gone, leader = cast(tuple[_Prefix, Keys, tuple[_Held, ...], int | None], history)
        if self.removed and leader in {entry.id for entry in voters}:
            return True
        logs = [*gone, *(cast(_Held, log) for log in projections if log is not None)]
        holders = [key for key, start, log in logs if membership.has_all(log, start, committed)]
        count = sum(any(membership.matches(entry, key) for key in holders) for entry in voters)
        return 2 * count > len(voters)


#: A replica, and the records of its log with their start offset.
_Held = tuple[ReplicaKey, int, _Prefix]


@dataclass(frozen=True, slots=True)
class AddedVoterHoldsEpoch:
    """Every replica that a leader has made a voter has the record that opens the leader's epoch, or a later
    one (S-27).

    It had caught up with this leader, so that it must have that record, independent of the leader's notes.
    The property does not judge a replica on another disk, nor in a later epoch, in which it may have
    truncated the record. ``ids`` are those of the components.
    """

    ids: tuple[int, ...]
    name: str = names.ADDED_VOTER_IS_READY

    def project(self, component: int, local: Hashable) -> Hashable:
        node, log = cast(Node, local), _log(local)
        replica, stored = node.replica, node.disk.quorum_state
        if replica is not None:
            stored = replica.quorum_state
        added: frozenset[ReplicaKey] = frozenset()
        if replica is not None and isinstance(replica.role, Leader):
            added = _added_in(replica)
        last = [each.id.epoch for each in log.snapshots[-1:]] + [each.epoch for each in log.batches[-1:]]
        epoch = 0 if stored is None else stored.epoch
        return (node.key(self.ids[component]), epoch, max(last, default=0), added)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        known = cast(tuple[_Progress, ...], projections)
        return not any(
            other == key and at <= epoch and last < epoch
            for _, epoch, _, added in known
            for key in added
            for other, at, last, _ in known
        )


#: A replica, its epoch, the last one in its log, and the voters that it has added as the leader.
_Progress = tuple[ReplicaKey, int, int, frozenset[ReplicaKey]]


def _added_in(leader: Replica) -> frozenset[ReplicaKey]:
    """The voters that ``leader`` has added in its epoch."""
    history = membership.history_of(membership.own_origin(leader), leader.log)
    own = {batch.end_offset for batch in leader.log.batches if batch.epoch == leader.epoch}
    return frozenset(
        key
        for (_, before, _), (end, after, _) in pairwise(history)
        if end in own
        for key in membership.added(before, after)
    )
