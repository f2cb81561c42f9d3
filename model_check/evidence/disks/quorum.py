"""What the disks of a quorum say together: how far logs agree, and which records are committed at least.

A record is committed once a majority of voters has it in the epoch of its leader (KIP-595; Ongaro and
Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, section 5.4.2). The high watermark is
not on any disk, so this is a lower bound, and what is said of it holds whatever the missing disks have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kraftcheck.evidence.disks.disk import QUORUM_STATE, StoredDisk, VoterSetAt
from kraftcheck.evidence.disks.records import VoterKey
from kraftcheck.support.errors import InputError


class Fork(NamedTuple):
    """Where two logs part: both have a batch from ``offset`` on, of these epochs, and they differ."""

    offset: int
    epoch: int
    other_epoch: int


@dataclass(frozen=True, slots=True)
class Committed:
    """All records of the log of ``disk`` below the offset ``below`` are committed; ``why``: a sentence."""

    below: int
    why: str
    disk: StoredDisk | None = None

    @property
    def voters(self) -> VoterSetAt | None:
        """The voter set that is effective there; None with static voters, or if nothing is committed."""
        sets = () if self.disk is None else self.disk.voter_sets
        return max(
            (each for each in sets if each.offset < self.below), default=None, key=lambda it: it.offset
        )


@dataclass(frozen=True)
class Quorum:
    """The disks that were read."""

    disks: tuple[StoredDisk, ...]

    @cached_property
    def best(self) -> StoredDisk | None:
        """The disk whose log is the most recent: it wins every vote by log comparison."""
        return max(self.disks, key=lambda each: each.position, default=None)

    @cached_property
    def clusters(self) -> frozenset[str]:
        """The ids of clusters that the disks name."""
        return frozenset(each.meta.cluster for each in self.disks if each.meta and each.meta.cluster)

    @cached_property
    def committed(self) -> Committed:
        """The largest offset below which all records are surely committed."""
        if len(self.clusters) > 1:
            return Committed(0, "the disks are of several clusters")
        snapshots = [
            Committed(disk.snapshot.end, f"{disk.label} has a snapshot up to there", disk)
            for disk in self.disks
            if disk.snapshot is not None
        ]
        found = [*snapshots, *filter(None, map(self._committed_of, self.disks))]
        return max(found, key=lambda each: each.below, default=Committed(0, "no disk shows more"))

    @cached_property
    def later_sets(self) -> tuple[VoterSetAt, ...]:
        """The voter sets behind what is surely committed, on any disk; a leader may use them already."""
        below = self.committed.below
        found = {
            each.voters.keys: each for disk in self.disks for each in disk.voter_sets if each.offset >= below
        }
        return tuple(sorted(found.values(), key=lambda each: each.offset))

    def disk_of(self, voter: VoterKey) -> StoredDisk | None:
        """The disk of a voter; None if none was given, or several copies."""
        found = [each for each in self.disks if is_voter(each, (voter,))]
        return found[0] if len(found) == 1 else None

    def _committed_of(self, log: StoredDisk) -> Committed | None:
        """The largest such offset in the log of ``log``."""
        reach = {id(disk): _kept(disk, agreed(log, disk)[0]) for disk in self.disks if disk.has_prefix}
        for batch in reversed(log.batches):
            holders = {each for each, end in reach.items() if end >= batch.end}
            sets = list(self._sets(log, batch.end))
            reasons = [self._reason(voters, holders, batch.epoch) for voters in sets]
            if sets and all(reasons):
                return Committed(batch.end, reasons[0], log)
        return None

    def _sets(self, log: StoredDisk, end: int) -> Iterator[tuple[VoterKey, ...]]:
        """The voter sets a majority of each of which must have the records below ``end``: the effective one
        there, and those behind it in any log, which a leader may use already. Static voters: the lists of
        all nodes.
        """
        before = [each for each in log.voter_sets if each.offset < end]
        if before:
            yield before[-1].voters.keys
        elif log.kraft_version == 0:
            yield from sorted(
                {each.voters for each in self.disks if not each.voter_sets and each.voters}, key=str
            )
        behind = {each.voters.keys for disk in self.disks for each in disk.voter_sets if each.offset >= end}
        yield from sorted(behind, key=str)

    def _reason(self, voters: Sequence[VoterKey], holders: Collection[int], epoch: int) -> str:
        """Why records of ``epoch`` on the disks ``holders`` cannot be lost under ``voters``; empty: they can.

        A majority in that very epoch has not voted in a later one, so there is no later leader without the
        records. Otherwise the disks of all voters, as they were at one moment, must show that none has a
        later record and lacks these, and none can be a later leader that has yet to write its first record.
        """
        given = [self.disk_of(each) for each in voters]
        present = [each for each in given if each is not None]
        holding = [each for each in present if id(each) in holders]
        current = [each for each in holding if each.state is not None and each.state.epoch == epoch]
        most = len(voters) // 2 + 1
        if len(current) >= most:
            return f"{_nodes(current)} of {len(voters)} voters have the log up to there, in epoch {epoch}"
        others = [each for each in present if each not in holding]
        harmless = all(not each.log_is_damaged and not _may_lead_after(each, epoch) for each in others)
        if len(holding) >= most and len(present) == len(voters) and harmless:
            return (
                f"{_nodes(holding)} of {len(voters)} voters have the log up to there, no other one a later "
                "record (if no node ran while the disks were copied)"
            )
        return ""


def _kept(disk: StoredDisk, end: int) -> int:
    """How much of a log up to ``end`` is left after the next start."""
    snapshot = disk.snapshot
    return min(end, snapshot.end) if snapshot is not None and disk.empties_log else end


def _may_lead_after(disk: StoredDisk, epoch: int) -> bool:
    """Whether a disk has records of a later epoch, or may be that of a later leader."""
    state, key = disk.state, disk.key
    if disk.last_epoch > epoch or state is None or key is None:
        return True
    own = state.leader == key.id or (state.vote is not None and state.vote.id == key.id)
    return state.epoch > epoch and own


def disks_by_id(quorum: Quorum) -> dict[int, StoredDisk]:
    """The disks that have an identity, by id. Raises InputError for two disks of one id, or two clusters."""
    found: dict[int, StoredDisk] = {}
    for disk in quorum.disks:
        if disk.key is None:
            continue
        first = found.setdefault(disk.key.id, disk)
        if first is not disk:
            raise InputError(
                f"{disk.folder}: is a second disk of node {disk.key.id}, after {first.folder}; "
                "give one of them."
            )
    if len(quorum.clusters) > 1:
        raise InputError(
            f"the disks are of several clusters: {', '.join(sorted(quorum.clusters))}; give those of one."
        )
    return found


def cannot_start(disk: StoredDisk) -> str:
    """Why no process starts on ``disk``; empty where one does."""
    if any(each.file == QUORUM_STATE for each in disk.damage):
        return "its quorum-state cannot be read, so that its process exits"
    return "" if disk.has_prefix else "its log lacks the beginning, and no snapshot has it"


def is_voter(disk: StoredDisk, voters: Sequence[VoterKey]) -> bool:
    """Whether a voter set names this disk; without directory ids the node's id decides."""
    key = disk.key
    return key is not None and any(
        each.id == key.id and (each.directory is None or each.directory == key.directory) for each in voters
    )


def agreed(one: StoredDisk, other: StoredDisk) -> tuple[int, Fork | None]:
    """The offset up to which two logs are the same, and where they part, unless one is a prefix.

    What a log no longer has is in its snapshot, hence committed, and taken for the same.
    """
    theirs = {each.base: each for each in other.batches}
    begin = max(one.start, other.start)
    at = begin
    for batch in one.batches:
        if batch.base < begin:
            continue
        found = theirs.get(batch.base)
        if found is None:
            break
        if (found.epoch, found.last, found.crc) != (batch.epoch, batch.last, batch.crc):
            return batch.base, Fork(batch.base, batch.epoch, found.epoch)
        at = batch.end
    return min(at, one.end, other.end) if one.batches and other.batches else min(one.end, other.end), None


def _nodes(disks: Sequence[StoredDisk]) -> str:
    return ", ".join(sorted((each.name for each in disks), key=lambda name: (len(name), name)))
