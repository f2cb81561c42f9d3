"""The abstraction of a node: a replica in the terms of the proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.proof.refinement.formulas import OWN
from kraftcheck.reference.log import Log, Voters
from kraftcheck.reference.replica import Follower, QuorumState
from kraftcheck.systems.kraft.node import Node

#: Offset and epoch of a record; offsets are the reference's plus 1.
Record = tuple[int, int]
#: The record of epoch 0 with which every log begins.
START: Record = (0, 0)
#: The role of a node without process.
NO_PROCESS = "Unattached"


@dataclass(frozen=True, slots=True)
class ProofReplica:
    """A replica in the terms of the proof.

    Replicas are numbers of components. ``voted``, ``leader``: the replicas that the quorum-state file names;
    ``holds``, ``unflushed``: the log on disk; ``role``, ``fetching``: of the process; ``covered``: the offset
    up to which the replica knows records to be committed, ``None`` if it knows none.
    """

    epoch: int = 0
    role: str = NO_PROCESS
    voted: frozenset[int] = frozenset()
    leader: frozenset[int] = frozenset()
    holds: frozenset[Record] = frozenset({START})
    unflushed: frozenset[int] = frozenset()
    fetching: bool = False
    covered: int | None = None

    @property
    def end(self) -> Record:
        """The last record of the log."""
        return max(self.holds)

    @property
    def flushed(self) -> bool:
        """Whether all of the log is durable."""
        return not self.unflushed


#: The names of the fields of :class:`ProofReplica` that are symbols of the proof.
SYMBOLS = tuple(OWN)


class NotAbstract(Exception):
    """A node is in a state that the abstraction does not know; the argument is the reason."""


def records_of(log: Log) -> Iterator[Record]:
    """Offset and epoch of each record of ``log``."""
    for batch in log.batches:
        for offset in range(batch.base_offset, batch.end_offset):
            yield offset + 1, batch.epoch


def voter_sets_of(log: Log, start: frozenset[int]) -> dict[Record, frozenset[int]]:
    """The records of ``log`` that change the voters, with the ids of the voters.

    ``start`` are those of the start. A record with the same voters again is like any other record.
    """
    found = {START: start}
    voters = start
    for batch in log.batches:
        for offset, record in enumerate(batch.records, batch.base_offset):
            if isinstance(record, Voters) and frozenset(record.voters.ids) != voters:
                voters = frozenset(record.voters.ids)
                found[offset + 1, batch.epoch] = voters
    return found


def _said_by(stored: QuorumState) -> tuple[int, int | None, int | None]:
    """Epoch, leader and vote; a file of version 0 does not name the disk of the replica that got the vote."""
    return stored.epoch, stored.leader, None if stored.voted is None else stored.voted.id


def abstraction_of(node: Node, component_of: dict[int, int]) -> ProofReplica:
    """The part of ``node`` in the proof's structures; ``component_of``: components by replica id.

    Raises NotAbstract for snapshots, and where a process acts on state that it has not persisted.
    """
    stored, log = node.disk.quorum_state or QuorumState(), node.disk.log
    if log.start_offset or log.snapshots:
        raise NotAbstract("the proof knows of no snapshots")
    replica = node.replica
    role, fetching, covered = NO_PROCESS, False, None
    if replica is not None:
        if _said_by(replica.quorum_state) != _said_by(stored):
            raise NotAbstract("epoch, vote or leader of the process are not those of its file")
        if replica.log.batches != log.batches:
            raise NotAbstract("the log of the process is not that of its disk")
        role, covered = type(replica.role).__name__, replica.high_watermark
        fetching = isinstance(replica.role, Follower) and replica.role.has_fetched
    return ProofReplica(
        stored.epoch,
        role,
        frozenset() if stored.voted is None else frozenset({component_of[stored.voted.id]}),
        frozenset() if stored.leader is None else frozenset({component_of[stored.leader]}),
        frozenset({START, *records_of(log)}),
        frozenset(offset for offset, _ in records_of(log) if offset > node.disk.flushed),
        fetching,
        covered,
    )
