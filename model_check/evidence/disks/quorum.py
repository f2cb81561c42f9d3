"""What the disks of a quorum say together: how far logs agree, and which records are committed at least.

A record is committed once a majority of voters has it in the epoch of its leader (KIP-595; Ongaro and
Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, section 5.4.2). The high watermark is
not on any disk, so this is a lower bound, and what is said of it holds whatever the missing disks have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kraftcheck.evidence.disks.disk import StoredDisk, VoterSetAt
from kraftcheck.evidence.disks.records import VoterKey


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
    """The disks that were read, one for each node."""

    disks: tuple[StoredDisk, ...]

    @cached_property
    def best(self) -> StoredDisk | None:
        """The disk whose log is the most recent: it wins every vote by log comparison."""
        return max(self.disks, key=lambda each: (each.last_epoch, each.end), default=None)

    @cached_property
    def committed(self) -> Committed:
        """The largest offset below which all records are surely committed."""
        snapshots = [
            Committed(disk.snapshot.end, f"node {disk.name} has a snapshot up to there", disk)
            for disk in self.disks
            if disk.snapshot is not None
        ]
        found = [*snapshots, *filter(None, map(self._committed_of, self.disks))]
        return max(found, key=lambda each: each.below, default=Committed(0, "no disk shows more"))

    def _committed_of(self, log: StoredDisk) -> Committed | None:
        """The largest such offset in the log of ``log``."""
        reach = {id(disk): agreed(log, disk)[0] for disk in self.disks}
        for batch in reversed(log.batches):
            holders = [each for each in self.disks if reach[id(each)] >= batch.end]
            sets = list(self._sets(log, batch.end))
            reasons = [self._reason(voters, holders, batch.epoch) for voters in sets]
            if sets and all(reasons):
                return Committed(batch.end, reasons[0], log)
        return None

    def _sets(self, log: StoredDisk, end: int) -> Iterator[tuple[VoterKey, ...]]:
        """The voter sets a majority of each of which must have the records below ``end``: the effective one
        there, and those behind it in any log, which a leader may use already.
        """
        before = [each for each in log.voter_sets if each.offset < end]
        if before:
            yield before[-1].voters.keys
        elif log.kraft_version == 0 and log.voters:
            yield log.voters
        behind = {each.voters.keys for disk in self.disks for each in disk.voter_sets if each.offset >= end}
        yield from sorted(behind, key=str)

    def _reason(self, voters: Sequence[VoterKey], holders: list[StoredDisk], epoch: int) -> str:
        """Why records of ``epoch`` that ``holders`` have cannot be lost under ``voters``; empty: they can.

        A majority in that very epoch has not voted in a later one, so there is no later leader without the
        records. Otherwise the disks of all voters must show that none has a later record and lacks these.
        """
        holding = [each for each in holders if is_voter(each, voters)]
        current = [each for each in holding if each.state is not None and each.state.epoch == epoch]
        most = len(voters) // 2 + 1
        if len(current) >= most:
            return f"{_nodes(current)} of {len(voters)} voters have the log up to there, in epoch {epoch}"
        present = [each for each in self.disks if is_voter(each, voters)]
        known = len(present) == len(voters) and not any(each.log_is_damaged for each in present)
        later = [each for each in present if each not in holding and each.last_epoch > epoch]
        if len(holding) >= most and known and not later:
            return f"{_nodes(holding)} of {len(voters)} voters have the log up to there, none a later epoch"
        return ""


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
