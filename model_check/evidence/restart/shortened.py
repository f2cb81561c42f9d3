"""Logs of disks, shortened to the offsets that matter: where epochs, voter sets and histories begin or end.

What all disks agree on and is committed becomes one batch with the last voter set and one more record. Behind
it, records of data between two such offsets become one record. Offsets and epochs keep their order, so that
votes, fetches and truncations compare as before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kraftcheck.evidence.disks.disk import StoredDisk
from kraftcheck.evidence.disks.quorum import Quorum, agreed
from kraftcheck.evidence.disks.records import ControlRecord, KRaftVersion, LeaderChange, VoterKey, Voters


@dataclass(frozen=True, slots=True)
class Piece:
    """Records of one epoch in a log, from ``base`` up to ``end``: of data, or the records of one control
    batch.
    """

    base: int
    end: int
    epoch: int
    control: tuple[ControlRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class ShortLog:
    """A log in which each run of records has the place and length of the shortened offsets.

    ``counts``: number of records, epoch and whether they are one batch; ``start``: where it begins, with a
    snapshot of what was before; by epoch the ``leaders``, by offset the ``versions`` of kraft.version and the
    voter ``sets``.
    """

    counts: tuple[tuple[int, int, bool], ...]
    start: int
    leaders: Mapping[int, int]
    versions: Mapping[int, int]
    sets: Mapping[int, tuple[VoterKey, ...]]


@dataclass(frozen=True)
class Shortened:
    """The logs of several disks with common offsets: ``offsets`` are those of the disks by the shortened
    ones.
    """

    pieces: Mapping[int, tuple[Piece, ...]]
    starts: Mapping[int, int]
    offsets: Mapping[int, int] = field(default_factory=dict)

    def log_of(self, disk: StoredDisk) -> ShortLog:
        """The log of one of the disks."""
        counts: list[tuple[int, int, bool]] = []
        leaders, versions, sets = dict[int, int](), dict[int, int](), dict[int, tuple[VoterKey, ...]]()
        for piece in self.pieces[id(disk)]:
            base, end = self.at(piece.base), self.at(piece.end)
            for at, each in enumerate(piece.control, base):
                if isinstance(each, LeaderChange):
                    leaders[piece.epoch] = each.leader
                elif isinstance(each, KRaftVersion):
                    versions[at] = each.level
                elif isinstance(each, Voters):
                    sets[at] = each.keys
            together = len(piece.control)
            counts += [(together, piece.epoch, True)] if together > 1 else []
            left = end - base - (together if together > 1 else 0)
            counts += [(left, piece.epoch, False)] if left else []
        return ShortLog(tuple(_merged(counts)), self.at(self.starts[id(disk)]), leaders, versions, sets)

    def at(self, offset: int) -> int:
        """The shortened offset of a place where something begins or ends."""
        return self.offsets[offset]


def shorten(quorum: Quorum, disks: Sequence[StoredDisk], marks: Iterable[int]) -> Shortened:
    """The logs of ``disks``, those of the nodes that take part; ``marks``: offsets that stay apart, too."""
    written = [each for each in disks if each.position[1] > 0]
    common = _common(quorum, written)
    starts = {id(each): _start(each) for each in disks}
    prefix = _prefix(written, common)
    pieces = {id(each): tuple(_pieces(each, written, prefix, starts)) for each in disks}
    end_of_prefix = prefix[-1].end if prefix else 0
    known = {0, *(offset for each in starts.values() for offset in [each])}
    known |= {offset for found in pieces.values() for each in found for offset in (each.base, each.end)}
    last = max(known)
    known |= {mark for mark in marks if end_of_prefix <= mark <= last}
    return Shortened(
        pieces, starts, _offsets(sorted(known), [each for found in pieces.values() for each in found])
    )


def _merged(counts: Iterable[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """Neighbouring records of one epoch, each a batch of its own, in one count."""
    open_: tuple[int, int, bool] | None = None
    for each in counts:
        if open_ is not None and not open_[2] and not each[2] and open_[1] == each[1]:
            open_ = (open_[0] + each[0], each[1], False)
            continue
        if open_ is not None:
            yield open_
        open_ = each
    if open_ is not None:
        yield open_


def _start(disk: StoredDisk) -> int:
    """Where the log begins for its next process. A log that lacks its beginning is taken to begin at the end
    of its snapshot.
    """
    found = disk.snapshot
    return found.end if found is not None and (disk.start > 0 or disk.empties_log) else 0


def _common(quorum: Quorum, written: Sequence[StoredDisk]) -> int:
    """The offset below which all logs agree and everything is committed."""
    if not written:
        return 0
    best = max(written, key=lambda each: each.position)
    ends = [min(agreed(best, each)[0], each.position[1]) for each in written]
    return min(quorum.committed.below, *ends)


def _prefix(written: Sequence[StoredDisk], common: int) -> tuple[Piece, ...]:
    """What stands for all records below ``common``: a batch with the last voter set, and one record."""
    source = next((each for each in written if _start(each) <= common), None)
    if not common or source is None:
        return ()
    epoch = _epoch_before(source, common)
    control: list[ControlRecord] = [_opening(written, epoch)]
    voters = _set_before(source, common)
    if voters is not None:
        control += [KRaftVersion(1), voters]
    if common < len(control):
        return ()
    first = Piece(0, len(control), epoch, tuple(control))
    return (first,) if common == first.end else (first, Piece(first.end, common, epoch))


def _epoch_before(disk: StoredDisk, offset: int) -> int:
    """The epoch of the last record before ``offset``."""
    before = [batch.epoch for batch in disk.batches if batch.base < offset]
    found = disk.snapshot
    return before[-1] if before else found.epoch if found is not None else 0


def _set_before(disk: StoredDisk, offset: int) -> Voters | None:
    """The last voter set of a record before ``offset``."""
    found = [each.voters for each in disk.voter_sets if 0 <= each.offset < offset]
    return found[-1] if found else None


def _opening(written: Sequence[StoredDisk], epoch: int) -> LeaderChange:
    """The record by which ``epoch`` began; where no log has it, its leader is taken to be the first voter."""
    known = {at: leader for disk in written for at, leader, _ in disk.leaders()}
    voters = [each.id for disk in written for each in disk.voters]
    return LeaderChange(known.get(epoch, min(voters, default=0)), (), ())


def _pieces(
    disk: StoredDisk, written: Sequence[StoredDisk], prefix: tuple[Piece, ...], starts: Mapping[int, int]
) -> Iterator[Piece]:
    """The log of ``disk``, with what it has deleted before its start."""
    if disk not in written:
        return
    yield from prefix
    begin, start = (prefix[-1].end if prefix else 0), starts[id(disk)]
    if start > begin:
        yield from _deleted(disk, written, begin, start, starts)
        begin = start
    yield from _own_pieces(disk, begin, None)


def _own_pieces(disk: StoredDisk, begin: int, end: int | None) -> Iterator[Piece]:
    """The pieces of the batches of ``disk`` from ``begin`` up to ``end``."""
    if disk.empties_log:
        return
    open_: Piece | None = None
    for batch in disk.batches:
        if batch.base < begin or (end is not None and batch.end > end):
            continue
        if open_ is not None and not batch.control and batch.epoch == open_.epoch:
            open_ = Piece(open_.base, batch.end, batch.epoch)
            continue
        if open_ is not None:
            yield open_
        open_ = None
        if batch.control:
            yield Piece(batch.base, batch.end, batch.epoch, batch.control)
        else:
            open_ = Piece(batch.base, batch.end, batch.epoch)
    if open_ is not None:
        yield open_


def _deleted(
    disk: StoredDisk, written: Sequence[StoredDisk], begin: int, start: int, starts: Mapping[int, int]
) -> Iterator[Piece]:
    """The records that a log has deleted: those of another disk that has them, or what a snapshot tells."""
    for other in written:
        if starts[id(other)] <= begin and other.end >= start and agreed(disk, other)[0] >= start:
            yield from _own_pieces(other, begin, start)
            return
    snapshot = disk.snapshot
    assert snapshot is not None
    control: list[ControlRecord] = [_opening(written, snapshot.epoch)]
    voters = disk.voter_sets[0].voters if disk.voter_sets and disk.voter_sets[0].offset < start else None
    if voters is not None:
        control += [KRaftVersion(1), voters]
    first = min(begin + len(control), start)
    yield Piece(begin, first, snapshot.epoch, tuple(control[: first - begin]))
    if first < start:
        yield Piece(first, start, snapshot.epoch)


def _offsets(cuts: Sequence[int], pieces: Collection[Piece]) -> dict[int, int]:
    """The shortened offset of each of ``cuts``. Records of a control batch keep their number."""
    inside = set[int]()
    for piece in pieces:
        if piece.control:
            first, last = bisect_left(cuts, piece.base), bisect_left(cuts, piece.end)
            inside |= set(range(first, last))
    offsets, at = {cuts[0]: 0}, 0
    for number, (one, other) in enumerate(pairwise(cuts)):
        at += other - one if number in inside else 1
        offsets[other] = at
    return offsets
