"""The voters and the committed records, read from the records of logs alone.

The properties are judged with this, and not with the reference's interpretation of the same records.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Log, Snapshot, Value, Voters
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import Ascending, InSequence, KRaftLevel
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.support.remembering import remembered

Keys = Ascending[ReplicaKey]
Prefix = InSequence[Batch]

#: The logs, at most, of which is kept what the properties of a step ask for again and again. Neighbouring
#: steps have the same few.
KEPT = 4096


class Origin(Frozen):
    """The effective set and version before any record: those of the configuration or of the checkpoint
    0-0.
    """

    voters: VoterSet
    kraft_version: KRaftLevel


def own_origin(replica: Replica) -> Origin:
    """The effective set and version for ``replica`` before any record."""
    return Origin(replica.bootstrap_voters, replica.bootstrap_kraft_version)


def own_history(replica: Replica) -> tuple[tuple[int, VoterSet, int], ...]:
    """The voter sets in the log of ``replica`` (:func:`history_of`)."""
    return history_of(own_origin(replica), replica.log)


def matches(entry: ReplicaKey, key: ReplicaKey) -> bool:
    """Whether ``key`` is the voter called ``entry``, whose directory need not be known."""
    return entry.id == key.id and entry.directory in (None, key.directory)


def is_among(key: ReplicaKey, entries: Keys) -> bool:
    """Whether ``key`` is one of the voters ``entries``."""
    return any(matches(entry, key) for entry in entries)


def same_voter(one: ReplicaKey, other: ReplicaKey) -> bool:
    """Whether two sets mean one voter; a directory that one of them does not name makes no difference."""
    return one.id == other.id and (None in (one.directory, other.directory) or one == other)


def added(before: VoterSet, after: VoterSet) -> Keys:
    """The keys of ``after`` that are no voters in ``before``."""
    return tuple(key for key in after.keys if not any(same_voter(key, known) for known in before.keys))


def removed(before: VoterSet, after: VoterSet) -> Keys:
    """The keys of ``before`` that are no voters in ``after``."""
    return added(after, before)


@remembered(KEPT)
def history_of(origin: Origin, log: Log) -> tuple[tuple[int, VoterSet, int], ...]:
    """The voter sets of ``log`` with the effective kraft.version, each with the number of records before it.

    The first is that of the snapshot with which the log begins, or else ``origin``.
    """
    voters, version = origin.voters, origin.kraft_version
    base = _first_snapshot(log)
    if base is not None:
        voters, version = base.voters or voters, base.kraft_version
    found = [(log.start_offset, voters, version)]
    for batch in log.batches:
        version = version_after(batch, version)
        found += [(batch.end_offset, each, version) for each in sets_in(batch)]
    return tuple(found)


def _first_snapshot(log: Log) -> Snapshot | None:
    if log.start_offset == 0:
        return None
    return next((one for one in log.snapshots if one.id.end_offset == log.start_offset), None)


def lacks_snapshot(log: Log) -> bool:
    """Whether records before the start of ``log`` have been deleted, and no snapshot stands for them."""
    return log.start_offset > 0 and _first_snapshot(log) is None


def version_after(batch: Batch, version: int) -> int:
    """The kraft.version after ``batch``, which was ``version`` before."""
    return next((e.version for e in reversed(batch.records) if isinstance(e, KRaftVersion)), version)


def sets_in(batch: Batch) -> list[VoterSet]:
    """The voter sets that a batch carries."""
    return [entry.voters for entry in batch.records if isinstance(entry, Voters)]


def newest(origin: Origin, log: Log) -> VoterSet:
    """The newest voter set of ``log``, committed or not."""
    return history_of(origin, log)[-1][1]


def own_voters(replica: Replica) -> VoterSet:
    """The newest voter set in the log of ``replica``, committed or not."""
    return own_history(replica)[-1][1]


def has_voters(batch: Batch) -> bool:
    """Whether a batch carries a voter set."""
    return any(isinstance(entry, Voters) for entry in batch.records)


def opens_epoch(batch: Batch) -> bool:
    """Whether a batch is the first of its epoch."""
    return isinstance(batch.records[0], LeaderChange)


def values_of(batches: Iterable[Batch]) -> tuple[int, ...]:
    """The application's records, in order."""
    return tuple(entry.value for batch in batches for entry in batch.records if isinstance(entry, Value))


def end_of(prefix: Prefix, start: int = 0) -> int:
    """The end offset of a prefix that begins at ``start``."""
    return prefix[-1].end_offset if prefix else start


def from_offset(prefix: Prefix, start: int) -> Prefix:
    """``prefix`` without the records before ``start``."""
    return prefix if start == 0 else tuple(batch for batch in prefix if batch.base_offset >= start)


@remembered(KEPT)
def has_gap(log: Log) -> bool:
    """Whether records are missing between the start of ``log`` and its end, or are there twice."""
    ends = (log.start_offset, *(batch.end_offset for batch in log.batches))
    return any(batch.base_offset != end for batch, end in zip(log.batches, ends, strict=False))


def has_all(batches: Prefix, start: int, committed: Prefix) -> bool:
    """Whether a log that begins at ``start`` has all of ``committed``; a snapshot replaces the rest."""
    wanted = from_offset(committed, start)
    return batches[: len(wanted)] == wanted
