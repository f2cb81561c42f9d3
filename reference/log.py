"""The replicated log: batches of records, where each epoch starts, appending and truncating.

Offsets count records from 0; an end offset is one past the last record. A record is identified by its
offset and the epoch of the leader that appended it. Batches are appended, fetched and truncated whole.

Source: KIP-595 (key concepts, log reconciliation); Kafka: RaftLog, KafkaRaftLog, LeaderEpochFileCache.
"""

from __future__ import annotations

from typing import TypeVar

from kraftcheck.reference.frozen import Frozen, Unbounded, replace
from kraftcheck.reference.types import (
    ApplicationValue,
    Ascending,
    ControlOffset,
    EndOffset,
    Epoch,
    FirstOffset,
    InSequence,
    KRaftLevel,
    LastEpoch,
    LogStart,
    ReplicaId,
    Size,
)
from kraftcheck.reference.voters import VoterSet

T = TypeVar("T")


class LeaderChange(Frozen):
    """The control record that opens an epoch: who leads, the voters, and who granted their vote."""

    leader: ReplicaId
    voters: Ascending[ReplicaId]
    granting_voters: Ascending[ReplicaId]


class KRaftVersion(Frozen):
    """The control record that finalizes a level of the kraft.version feature."""

    version: KRaftLevel


class Voters(Frozen):
    """The control record that carries a complete voter set."""

    voters: VoterSet


class VoterAssignment(Frozen):
    """The control record of AlterQuorum (KIP-595): the voters once it is committed, and those wanted.

    ``target`` is ``None`` if nothing else is wanted. Both are in ascending order.
    """

    voters: Ascending[ReplicaId]
    target: Ascending[ReplicaId] | None = None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The voters that the quorum is on its way to, or has reached."""
        return self.voters if self.target is None else self.target


class Value(Frozen):
    """A record of the application; the protocol never looks inside."""

    value: ApplicationValue


Record = LeaderChange | KRaftVersion | Voters | VoterAssignment | Value


class Batch(Frozen):
    """Consecutive records appended together by the leader of ``epoch`` at ``base_offset``."""

    base_offset: FirstOffset
    epoch: Epoch
    records: InSequence[Record]

    @property
    def end_offset(self) -> int:
        return self.base_offset + len(self.records)

    @property
    def is_control(self) -> bool:
        return not isinstance(self.records[0], Value)


class EpochStart(Frozen):
    """The first offset of an epoch, as far as this log knows."""

    epoch: Epoch
    offset: FirstOffset


class EpochEnd(Unbounded):
    """The end offset of an epoch in some log: the answer to "how far do your records of it go?"."""

    epoch: LastEpoch
    offset: EndOffset


class SnapshotId(Unbounded):
    """What names a snapshot: the offset after the last record in it, and that record's epoch."""

    end_offset: EndOffset
    epoch: Epoch

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and end offset, by which snapshots are ordered."""
        return self.epoch, self.end_offset


#: The snapshot in which formatting leaves the first voter set; it is no part of a log.
BOOTSTRAP_CHECKPOINT = SnapshotId(0, 0)


class Snapshot(Frozen):
    """The committed state up to an offset: what the control records before it say, and the application's.

    ``voters`` is ``None`` under kraft.version 0. ``values`` is the application's part, into which the
    protocol never looks; ``size`` is that of the whole in bytes, at least 1.
    """

    id: SnapshotId
    voters: VoterSet | None = None
    kraft_version: KRaftLevel = 0
    values: InSequence[ApplicationValue] = ()
    size: Size = 1


class Log(Frozen):
    """A log. ``epoch_starts`` may end with an epoch of which no record has been appended yet (the leader's
    own); ``voter_sets``, ``kraft_versions`` and ``assignments`` list the control records by offset, committed
    or not. They are more than the other fields say: of what a snapshot stands for, a process that has read
    the records knows where they were, and one that has loaded the snapshot does not. A process that reads
    control records once per offset has read them up to ``read_to`` before the log was truncated; 0: no
    further than the log goes. ``voters_forgotten``: the process has lost the voter sets before those of
    ``voter_sets``, that of the bootstrap checkpoint included.

    Records before ``start_offset`` have been deleted: a snapshot stands for them. ``snapshots`` are those
    that are kept, the newest last; the bootstrap checkpoint 0-0 is none of them.
    """

    batches: InSequence[Batch] = ()
    epoch_starts: InSequence[EpochStart] = ()
    voter_sets: InSequence[tuple[ControlOffset, VoterSet]] = ()
    kraft_versions: InSequence[tuple[ControlOffset, KRaftLevel]] = ()
    start_offset: LogStart = 0
    snapshots: InSequence[Snapshot] = ()
    assignments: InSequence[tuple[ControlOffset, VoterAssignment]] = ()
    read_to: EndOffset = 0
    voters_forgotten: bool = False

    @property
    def end_offset(self) -> int:
        """One past the offset of the last record; where the log starts if it is empty."""
        return self.batches[-1].end_offset if self.batches else self.start_offset

    @property
    def last_epoch(self) -> int:
        """The latest epoch known to the log, that of a snapshot if nothing follows it; 0 for an empty one."""
        if self.epoch_starts:
            return self.epoch_starts[-1].epoch
        newest = self.snapshots[-1].id if self.snapshots else None
        return newest.epoch if newest is not None and newest.end_offset == self.end_offset else 0


def log_of(batches: tuple[Batch, ...], start_offset: int = 0, snapshots: tuple[Snapshot, ...] = ()) -> Log:
    """The log with these batches and snapshots, as it is found on disk. Raises ValueError if they do not
    form a log. What the newest snapshot says is known as of its last record (KRaftControlRecordStateMachine).
    """
    ends = [snapshot.id.end_offset for snapshot in snapshots]
    positions = [snapshot.id.position for snapshot in snapshots]
    if start_offset and start_offset not in ends:
        raise ValueError(f"the log starts at offset {start_offset} and no snapshot ends there")
    if positions != sorted(set(positions)) or min(ends, default=0) < start_offset:
        raise ValueError(f"the snapshots must end at ascending offsets from {start_offset} on, found {ends}")
    log = Log(start_offset=start_offset, snapshots=snapshots)
    if snapshots:
        # The records that the newest snapshot stands for are not read.
        log = replace(_with_control_records(log, snapshots[-1]), read_to=ends[-1])
    for batch in batches:
        if not batch.records:
            raise ValueError(f"the batch at offset {batch.base_offset} has no record")
        if batch.end_offset <= log.end_offset:
            raise ValueError(
                f"a batch starts at offset {batch.base_offset}, expected {log.end_offset} or more"
            )
        if batch.epoch < log.last_epoch:
            raise ValueError(
                f"the batch at offset {batch.base_offset} has a smaller epoch than the one before"
            )
        log = append(log, batch)
    return replace(log, read_to=0)


def has_control_effect(batch: Batch) -> bool:
    """Whether a record of ``batch`` is a voter set or a kraft.version."""
    return any(isinstance(record, Voters | KRaftVersion) for record in batch.records)


def passes_over(log: Log, batch: Batch) -> bool:
    """Whether the control records of ``batch`` have no effect: it ends where they have been read already.

    Of a batch that reaches further, all records are read (KRaftControlRecordStateMachine.maybeLoadLog).
    """
    return batch.end_offset <= log.read_to


def append(log: Log, batch: Batch) -> Log:
    """``log`` with ``batch`` at its end. Control records take effect at once, committed or not, unless
    they are passed over.
    """
    starts = log.epoch_starts
    if batch.epoch > (starts[-1].epoch if starts else 0):
        starts = _with_start(log, EpochStart(batch.epoch, batch.base_offset))
    voter_sets, kraft_versions, assignments = log.voter_sets, log.kraft_versions, log.assignments
    read = not passes_over(log, batch)
    for offset, record in enumerate(batch.records, batch.base_offset):
        if voter_sets and offset <= voter_sets[-1][0]:
            continue
        if isinstance(record, Voters) and read:
            voter_sets = (*voter_sets, (offset, record.voters))
        elif isinstance(record, KRaftVersion) and read:
            kraft_versions = (*kraft_versions, (offset, record.version))
        elif isinstance(record, VoterAssignment):
            assignments = (*assignments, (offset, record))
    batches = (*log.batches, batch)
    if not log.snapshots and not assignments and not log.read_to and not log.voters_forgotten:
        return Log(batches, starts, voter_sets, kraft_versions)
    read_to = log.read_to if batch.end_offset < log.read_to else 0
    return Log(
        batches,
        starts,
        voter_sets,
        kraft_versions,
        log.start_offset,
        log.snapshots,
        assignments,
        read_to,
        log.voters_forgotten,
    )


def start_epoch(log: Log, epoch: int) -> Log:
    """``log`` knowing that ``epoch`` starts at its end, before any record of it exists. An epoch that the log
    has records of began with the first of them (LeaderEpochFileCache.assign).
    """
    if log.epoch_starts and log.epoch_starts[-1].epoch == epoch:
        return log
    return replace(log, epoch_starts=_with_start(log, EpochStart(epoch, log.end_offset)))


def _with_start(log: Log, start: EpochStart) -> tuple[EpochStart, ...]:
    """The epoch starts and a new one; an epoch that began at the same offset has no record: forget it."""
    return (*(known for known in log.epoch_starts if known.offset < start.offset), start)


def truncate(log: Log, offset: int, *, read_again: bool = True) -> Log:
    """``log`` without the batches and epochs that reach or start beyond ``offset``.

    ``read_again``: whether the control records that take the place of the truncated ones are read.
    """
    batches = log.batches
    while batches and batches[-1].end_offset > offset:
        batches = batches[:-1]
    return Log(
        batches,
        tuple(start for start in log.epoch_starts if start.offset < offset),
        tuple(entry for entry in log.voter_sets if entry[0] < offset),
        tuple(entry for entry in log.kraft_versions if entry[0] < offset),
        log.start_offset,
        log.snapshots,
        tuple(entry for entry in log.assignments if entry[0] < offset),
        0 if read_again else _read_beyond(log, offset),
        log.voters_forgotten,
    )


def _read_beyond(log: Log, offset: int) -> int:
    """How far the control records of ``log`` have been read; 0: not beyond ``offset``."""
    read = log.read_to or log.end_offset
    return read if read > offset else 0


# Snapshots.


def _with_control_records(log: Log, snapshot: Snapshot) -> Log:
    """``log`` knowing nothing of voter sets and kraft.version but what ``snapshot`` says."""
    last = snapshot.id.end_offset - 1
    voter_sets = () if snapshot.voters is None else ((last, snapshot.voters),)
    return replace(
        log,
        voter_sets=voter_sets,
        kraft_versions=((last, snapshot.kraft_version),),
        voters_forgotten=snapshot.voters is None and snapshot.kraft_version >= 1,
    )


def with_snapshot(log: Log, snapshot: Snapshot) -> Log:
    """``log`` with one snapshot more, which may be older than others."""
    ordered = sorted((*log.snapshots, snapshot), key=lambda one: one.id.position)
    return replace(log, snapshots=tuple(ordered))


def forget_before(log: Log, offset: int) -> Log:
    """``log`` without the voter sets before ``offset`` if one begins there. That one counts as the last
    that is needed, although no record before ``offset`` has it (TreeMapLogHistory.truncateOldEntries).
    """
    if all(at != offset for at, _ in log.voter_sets):
        return log
    kept = tuple(entry for entry in log.voter_sets if entry[0] >= offset)
    return replace(log, voter_sets=kept, voters_forgotten=True)


def delete_before(log: Log, offset: int) -> Log:
    """``log`` without the records before ``offset``, the end of one of its snapshots, and without older
    snapshots. The epoch that contains ``offset`` starts there as far as the log still knows. Of what control
    records before it said, only the last is kept (KRaftControlRecordStateMachine.truncateOldEntries).
    """
    before = [start for start in log.epoch_starts if start.offset <= offset]
    kept = tuple(start for start in log.epoch_starts if start.offset > offset)
    clamped = (EpochStart(before[-1].epoch, offset),) if before else ()
    return replace(
        log,
        batches=tuple(batch for batch in log.batches if batch.end_offset > offset),
        epoch_starts=clamped + kept,
        voter_sets=_without_older(log.voter_sets, offset),
        kraft_versions=_without_older(log.kraft_versions, offset),
        start_offset=offset,
        snapshots=tuple(one for one in log.snapshots if one.id.end_offset >= offset),
    )


def _without_older(history: tuple[tuple[int, T], ...], offset: int) -> tuple[tuple[int, T], ...]:
    """The entries of ``history`` from ``offset`` on, and the one before them."""
    older = [entry for entry in history if entry[0] < offset]
    return (*older[-1:], *(entry for entry in history if entry[0] >= offset))


def reset_to(snapshot: Snapshot) -> Log:
    """The log of a replica that has loaded ``snapshot`` and has nothing else."""
    return log_of((), snapshot.id.end_offset, (snapshot,))


def loaded(log: Log, snapshot: Snapshot, *, read_again: bool) -> Log:
    """The log of a replica that has loaded ``snapshot`` in the place of ``log``.

    Without ``read_again`` it reads voter set and kraft.version from the snapshot only if it has not read the
    control records of ``log`` that far (KRaftControlRecordStateMachine.maybeLoadSnapshot). Otherwise those of
    ``log`` stay, although their records are gone.
    """
    replaced, end = reset_to(snapshot), snapshot.id.end_offset
    if read_again or (log.read_to or log.end_offset) < end:
        return replaced
    return replace(
        replaced,
        voter_sets=log.voter_sets,
        kraft_versions=log.kraft_versions,
        read_to=_read_beyond(log, end),
        voters_forgotten=log.voters_forgotten,
    )


def or_newest_snapshot(log: Log) -> Log:
    """``log`` as a process finds it: what it has lost below its newest snapshot, it takes from there."""
    if not log.snapshots:
        return log
    newest = log.snapshots[-1]
    ahead = newest.id.position > (log.last_epoch, log.end_offset)
    return reset_to(newest) if ahead else log


def _earliest_snapshot(log: Log, *, checkpoint: bool) -> SnapshotId | None:
    """The earliest snapshot that is kept. The bootstrap checkpoint, where there is one, counts as a snapshot
    until the records at its end are deleted.
    """
    if checkpoint and log.start_offset == 0:
        return BOOTSTRAP_CHECKPOINT
    return log.snapshots[0].id if log.snapshots else None


def needs_snapshot(log: Log, offset: int, epoch: int, *, checkpoint: bool = False) -> bool:
    """Whether the start of ``log`` is beyond what a fetcher that ends like this can be given records for.

    checkpoint: whether the replica has the bootstrap checkpoint.
    """
    earliest = _earliest_snapshot(log, checkpoint=checkpoint)
    if earliest is None or (log.start_offset == 0 and offset == 0):
        return False
    at_start = offset == log.start_offset and epoch != earliest.epoch
    return offset < log.start_offset or at_start or epoch < earliest.epoch


def end_offset_for_epoch(log: Log, epoch: int, *, checkpoint: bool = False) -> EpochEnd:
    """The largest epoch of ``log`` that is not larger than ``epoch``, and where it ends.

    If all epochs of its records are larger, that is ``epoch`` itself; it ends where they begin. Where
    ``epoch`` ends with the earliest snapshot, its epoch is that of the snapshot. checkpoint: whether the
    replica has the bootstrap checkpoint.

    Source: KafkaRaftLog.endOffsetForEpoch, LeaderEpochFileCache.endOffsetFor.
    """
    end = _end_of(log, epoch)
    earliest = _earliest_snapshot(log, checkpoint=checkpoint)
    if earliest is not None and end == EpochEnd(epoch, earliest.end_offset):
        return EpochEnd(earliest.epoch, earliest.end_offset)
    return end


def _end_of(log: Log, epoch: int) -> EpochEnd:
    """As :func:`end_offset_for_epoch`, by the epochs of the records alone."""
    lower_bound = epoch
    for start in log.epoch_starts:
        if start.epoch > epoch:
            return EpochEnd(lower_bound, start.offset)
        lower_bound = start.epoch
    return EpochEnd(log.last_epoch, log.end_offset)


def is_valid_position(log: Log, offset: int, epoch: int) -> bool:
    """Whether a log that ends at ``offset`` with a record of ``epoch`` is a prefix of ``log``."""
    end = end_offset_for_epoch(log, epoch)
    return offset == 0 or (end.epoch == epoch and end.offset >= offset)


def truncation_offset(log: Log, leader_end: EpochEnd) -> int:
    """How much of ``log`` may agree with a leader whose ``leader_end.epoch`` ends at that offset."""
    if leader_end.epoch == 0:
        return min(leader_end.offset, log.end_offset)
    local_end = end_offset_for_epoch(log, leader_end.epoch)
    if local_end.epoch == leader_end.epoch:
        return min(local_end.offset, leader_end.offset)
    return local_end.offset


def is_up_to_date(last_epoch: int, end_offset: int, log: Log) -> bool:
    """Whether a log that ends like this is at least as up to date as ``log``: epoch first, then offset."""
    return (last_epoch, end_offset) >= (log.last_epoch, log.end_offset)


def batches_from(log: Log, offset: int, limit: int | None) -> tuple[Batch, ...]:
    """At most ``limit`` batches of ``log`` from ``offset`` on, uncommitted ones included."""
    first = len(log.batches)
    while first and log.batches[first - 1].end_offset > offset:
        first -= 1
    found = log.batches[first:]
    return found if limit is None else found[:limit]
