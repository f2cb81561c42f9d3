"""Properties of global states, each evaluated once per distinct projection."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import cast

from model_check.kraft import names
from model_check.kraft.history import History
from model_check.kraft.node import Node
from reference.log import Batch
from reference.replica import Leader

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


def _log(local: Hashable) -> _Prefix:
    node = cast(Node, local)
    return node.disk.log.batches if node.replica is None else node.replica.log.batches


@dataclass(frozen=True, slots=True)
class RecordIdentity:
    """Offset and epoch identify a record: two logs never hold different ones under the same (S-7)."""

    name: str = names.RECORD_IDENTITY

    def project(self, component: int, local: Hashable) -> Hashable:
        return _log(local)

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
        return _log(local)

    def project_history(self, history: Hashable) -> Hashable:
        return None

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        logs = set(cast(tuple[_Prefix, ...], projections))
        return all(_match(one, other) for one, other in combinations(logs, 2))


def _match(one: _Prefix, other: _Prefix) -> bool:
    for index in range(min(len(one), len(other)) - 1, -1, -1):
        mine, theirs = one[index], other[index]
        if (mine.base_offset, mine.epoch) == (theirs.base_offset, theirs.epoch):
            return one[: index + 1] == other[: index + 1]
    return True


@dataclass(frozen=True, slots=True)
class LeaderCompleteness:
    """What was committed is in the log of every leader of the same or a later epoch (S-12)."""

    name: str = names.LEADER_COMPLETENESS

    def project(self, component: int, local: Hashable) -> Hashable:
        replica = cast(Node, local).replica
        if replica is None or not isinstance(replica.role, Leader):
            return None
        return (replica.epoch, replica.log.batches)

    def project_history(self, history: Hashable) -> Hashable:
        known = cast(History, history)
        return (known.committed_epoch, known.committed)

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        committed_epoch, committed = cast(tuple[int, _Prefix], history)
        for leader in projections:
            if leader is not None:
                epoch, log = cast(tuple[int, _Prefix], leader)
                if epoch >= committed_epoch and log[: len(committed)] != committed:
                    return False
        return True


@dataclass(frozen=True, slots=True)
class CommittedOnMajority:
    """A majority of the voters holds what was committed: in their logs (S-19), or on their disks where
    power loss cannot take it (S-15, S-16).
    """

    name: str
    voters: tuple[bool, ...]
    durable: bool

    def project(self, component: int, local: Hashable) -> Hashable:
        if not self.voters[component]:
            return None
        if not self.durable:
            return _log(local)
        disk = cast(Node, local).disk
        return tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)

    def project_history(self, history: Hashable) -> Hashable:
        return cast(History, history).committed

    def holds(self, projections: tuple[Hashable, ...], history: Hashable) -> bool:
        committed = cast(_Prefix, history)
        logs = [cast(_Prefix, log) for log in projections if log is not None]
        holders = sum(log[: len(committed)] == committed for log in logs)
        return 2 * holders > len(logs)
