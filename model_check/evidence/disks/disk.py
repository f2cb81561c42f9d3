"""What is on the disk of one node: its identity, its election state, its log and its snapshots."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from kraftcheck.evidence.disks.batches import Batch, Damage, read_batches
from kraftcheck.evidence.disks.records import (
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    VoterKey,
    Voters,
)
from kraftcheck.evidence.disks.state_files import (
    MAX_STATE_BYTES,
    EpochStart,
    MetaProperties,
    QuorumState,
    UnreadableFileError,
    leader_epochs,
    meta_properties,
    quorum_state,
)
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import opened

LOG_FOLDER: Final = "__cluster_metadata-0"
QUORUM_STATE, META_PROPERTIES, EPOCHS = "quorum-state", "meta.properties", "leader-epoch-checkpoint"
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
#: Files that Kafka has abandoned, or has not completed. It removes them when it starts.
_IGNORED = re.compile(r".*\.(deleted|part|cleaned|swap|tmp)", re.DOTALL)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileDamage:
    """Where a file of a disk is not what it should be. ``position``: in bytes; None: the whole file.
    ``base``: the first offset of the damaged batch, if known; ``what``: what is there; ``at_start``: what
    Kafka does about it when it starts; ``cuts_off``: that it removes what follows.
    """

    file: str
    position: int | None
    base: int | None
    what: str
    at_start: str
    cuts_off: bool = False

    def __str__(self) -> str:
        where = self.file if self.position is None else f"{self.file}, byte {self.position:,}"
        return f"{where}: {self.what}; {self.at_start}"


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot. ``end``: the offset behind what it contains; ``epoch``: that of the last record in it."""

    file: str
    end: int
    epoch: int
    bytes: int
    batches: tuple[Batch, ...]
    is_whole: bool


class VoterSetAt(NamedTuple):
    """A voter set and the offset of its record; -1 for that of the formatted disk, and the last offset of a
    snapshot for one that is known from there.
    """

    offset: int
    voters: Voters


@dataclass(frozen=True)
class StoredDisk:
    """The metadata log directory of a node.

    ``meta``, ``state``: None where the file is missing or unreadable. ``start``: the base offset of the first
    segment: where the log really starts is not stored, and this is where it starts after a restart.
    ``batches``: those that can be read in order; ``behind``: those that can be read behind the first damage.
    """

    folder: Path
    meta: MetaProperties | None
    state: QuorumState | None
    start: int
    batches: tuple[Batch, ...]
    behind: tuple[Batch, ...]
    snapshots: tuple[StoredSnapshot, ...]
    segments: tuple[str, ...]
    ignored: tuple[str, ...]
    damage: tuple[FileDamage, ...]

    @property
    def name(self) -> str:
        """The node's id, or the folder's name if there is none."""
        return self.folder.name if self.key is None else str(self.key.id)

    @property
    def label(self) -> str:
        """How a sentence begins that is about it."""
        return f"folder {self.name}" if self.key is None else f"node {self.name}"

    @property
    def key(self) -> VoterKey | None:
        """How a voter set would name it."""
        if self.meta is None or self.meta.node is None:
            return None
        return VoterKey(self.meta.node, self.meta.directory)

    @property
    def end(self) -> int:
        """The offset behind the last record of the log that can be read."""
        return self.batches[-1].end if self.batches else self.start

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; that of the snapshot where the log is empty behind it; else 0."""
        if self.batches:
            return self.batches[-1].epoch
        found = self.snapshot
        return found.epoch if found is not None and found.end == self.end else 0

    @property
    def snapshot(self) -> StoredSnapshot | None:
        """The latest whole snapshot."""
        return next((each for each in reversed(self.snapshots) if each.is_whole), None)

    @property
    def empties_log(self) -> bool:
        """Whether the log is replaced by the latest snapshot at the next start
        (``KafkaRaftLog.truncateToLatestSnapshot``).
        """
        found = self.snapshot
        return found is not None and (found.epoch, found.end) > (self.last_epoch, self.end)

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and end of the log as of the next start, by which votes compare it."""
        found = self.snapshot
        return (
            (found.epoch, found.end)
            if found is not None and self.empties_log
            else (self.last_epoch, self.end)
        )

    @property
    def has_prefix(self) -> bool:
        """Whether a snapshot has what is before the start of the log."""
        return self.start == 0 or (self.snapshot is not None and self.snapshot.end >= self.start)

    @property
    def log_is_damaged(self) -> bool:
        """Whether more was in the log than can be read."""
        return any(_SEGMENT.fullmatch(each.file) for each in self.damage)

    @cached_property
    def voter_sets(self) -> tuple[VoterSetAt, ...]:
        """The voter sets of the latest snapshot and of the log behind it, in order; the last one is the
        effective one (``KRaftControlRecordStateMachine``).
        """
        return tuple(VoterSetAt(at, each) for at, each in self._control() if isinstance(each, Voters))

    @property
    def kraft_version(self) -> int:
        """The effective level of kraft.version."""
        levels = [each.level for _, each in self._control() if isinstance(each, KRaftVersion)]
        return levels[-1] if levels else 0

    def _control(self) -> Iterator[tuple[int, object]]:
        found = self.snapshot
        if found is not None:
            for batch in found.batches:
                yield from ((found.end - 1, each) for each in batch.control)
        for batch in self.batches:
            if found is None or batch.base >= found.end:
                yield from ((batch.base + at, each) for at, each in enumerate(batch.control))

    @property
    def voters(self) -> tuple[VoterKey, ...]:
        """The effective voters; before kraft.version 1 those of the configuration, as far as the election
        state has them.
        """
        if self.voter_sets:
            return self.voter_sets[-1].voters.keys
        if self.state is None or self.kraft_version > 0:
            return ()
        return tuple(VoterKey(each, None) for each in self.state.voters or ())

    def leaders(self) -> Iterator[tuple[int, int, int]]:
        """The epochs whose leaders' first records are in the log: epoch, leader, offset."""
        for batch in self.batches:
            for at, each in enumerate(batch.control):
                if isinstance(each, LeaderChange):
                    yield batch.epoch, each.leader, batch.base + at


def find_disks(paths: list[Path]) -> list[Path]:
    """The metadata log directories among ``paths`` and in the folders there, as they were given. Raises
    InputError where there is none.
    """
    found: list[Path] = []
    for path in paths:
        if not _is_folder(path):
            raise InputError(f"{path}: is no folder; give the metadata log directory of a controller.")
        try:
            below = sorted(filter(_is_folder, path.iterdir()))
        except OSError as error:
            raise _unreadable(path, error) from None
        here = [path] if _is_disk(path) else [each for each in below if _is_disk(each)]
        if path.name == LOG_FOLDER:
            here = [path.parent]
        if not here:
            raise InputError(
                f"{path}: neither it nor a folder in it has a {META_PROPERTIES} or a {LOG_FOLDER}; give the "
                "metadata log directory of a controller (metadata.log.dir, or else log.dirs)."
            )
        found += here
    once: dict[Path, Path] = {}
    for each in found:
        once.setdefault(each.resolve(), each)
    return list(once.values())


def _is_disk(path: Path) -> bool:
    return _is_folder(path / LOG_FOLDER) or _is_file(path / META_PROPERTIES)


def _mode(path: Path) -> int:
    """The type of a file; 0 where there is none. Raises InputError where that is not to be known, which must
    not pass for a disk without this file.
    """
    try:
        return path.stat().st_mode
    except PermissionError as error:
        raise _unreadable(path, error) from None
    except OSError:
        return 0


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read ({error.strerror}); check its permissions.")


def read_disk(folder: Path, *, decode: bool = False) -> StoredDisk:
    """Read the directory of one node, and change nothing in it. ``decode``: the names of all records, too.

    Raises InputError for a folder or a file that cannot be opened.
    """
    reading = _Reading(folder, decode)
    meta = reading.small_file(folder / META_PROPERTIES, meta_properties, "Kafka does not start with it")
    state = reading.small_file(
        folder / LOG_FOLDER / QUORUM_STATE, quorum_state, "the process exits when it starts"
    )
    epochs = reading.small_file(folder / LOG_FOLDER / EPOCHS, leader_epochs, "Kafka does not start with it")
    names = reading.names()
    snapshots = tuple(map(reading.snapshot, filter(_SNAPSHOT.fullmatch, names)))
    segments = tuple(filter(_SEGMENT.fullmatch, names))
    batches, behind = reading.log(segments, epochs or ())
    return StoredDisk(
        folder=folder,
        meta=meta,
        state=state,
        start=int(segments[0][:20]) if segments else (snapshots[-1].end if snapshots else 0),
        batches=tuple(batches),
        behind=tuple(behind),
        snapshots=snapshots,
        segments=segments,
        ignored=tuple(filter(_IGNORED.fullmatch, names)),
        damage=tuple(reading.damage),
    )


class _Reading:
    """Reads the files of one directory; ``damage`` is what it has come across."""

    def __init__(self, folder: Path, decode: bool) -> None:
        self.folder, self.decode = folder, decode
        self.damage: list[FileDamage] = []

    def names(self) -> list[str]:
        """The regular files of the log's folder, in order."""
        place = self.folder / LOG_FOLDER
        if not _is_folder(place):
            return []
        try:
            with os.scandir(place) as entries:
                return sorted(each.name for each in entries if each.is_file())
        except OSError as error:
            raise _unreadable(place, error) from None

    def small_file(self, path: Path, parse: Callable[[bytes], T], at_start: str) -> T | None:
        """The parsed content of ``path``; None where it is missing, or unreadable, which is damage."""
        if not _is_file(path):
            if os.path.lexists(path):
                self.damage.append(FileDamage(path.name, None, None, "is no regular file", at_start))
            return None
        with opened(path, "a file of Kafka's") as file:
            content = file.read(MAX_STATE_BYTES + 1)
        try:
            if len(content) > MAX_STATE_BYTES:
                raise UnreadableFileError(f"is larger than {MAX_STATE_BYTES:,} bytes")
            return parse(content)
        except UnreadableFileError as error:
            self.damage.append(FileDamage(path.name, None, None, str(error), at_start))
            return None

    def snapshot(self, name: str) -> StoredSnapshot:
        """Read the snapshot ``name``. It is whole if it has a header, a footer, and no damage."""
        path = self.folder / LOG_FOLDER / name
        found = _SNAPSHOT.fullmatch(name)
        assert found is not None
        with opened(path, "a snapshot of Kafka's") as file:
            read = list(read_batches(file, decode=self.decode))
            size = os.fstat(file.fileno()).st_size
        batches = tuple(each for each in read if isinstance(each, Batch))
        wrong = [each for each in read if isinstance(each, Damage)]
        control = [each for batch in batches for each in batch.control]
        begins = bool(control) and isinstance(control[0], SnapshotHeader)
        ends = bool(control) and isinstance(control[-1], SnapshotFooter)
        exits = "Kafka exits when it loads this snapshot"
        for each in wrong:
            self.damage.append(FileDamage(name, each.position, each.base, each.what, exits))
        if not wrong and not begins:
            self.damage.append(FileDamage(name, None, None, "is no snapshot: it has no header", exits))
        elif not wrong and not ends:
            unnoticed = "Kafka loads it, and does not notice that the end is missing"
            self.damage.append(FileDamage(name, None, None, "has no footer", unnoticed))
        if not wrong and (found_wrong := _out_of_order(batches, int(found[2]))):
            unnoticed = "Kafka loads it, and does not notice it"
            self.damage.append(FileDamage(name, *found_wrong, unnoticed))
        return StoredSnapshot(
            name, int(found[1]), int(found[2]), size, batches, begins and ends and not wrong
        )

    def log(
        self, segments: tuple[str, ...], epochs: tuple[EpochStart, ...]
    ) -> tuple[list[Batch], list[Batch]]:
        """The batches of the log that can be read in order, and those behind the first damage."""
        ordered, behind = list[Batch](), list[Batch]()
        whole = True
        for name in segments:
            expected = int(name[:20])
            if whole and ordered and ordered[-1].end != expected:
                whole = self._refuse(
                    name, 0, expected, f"begins at offset {expected:,}, not {ordered[-1].end:,}"
                )
            with opened(self.folder / LOG_FOLDER / name, "a log segment of Kafka's") as file:
                for each in read_batches(file, decode=self.decode):
                    if isinstance(each, Damage):
                        noticed = each.is_noticed
                        whole = self._refuse(name, each.position, each.base, each.what, noticed=noticed)
                    elif whole and (wrong := _out_of_place(each, ordered, expected)):
                        whole = self._refuse(name, each.position, each.base, wrong)
                        behind.append(each)
                    else:
                        (ordered if whole else behind).append(each)
        if whole:
            self._compare(ordered, epochs)
        return ordered, behind

    def _refuse(
        self, name: str, position: int, base: int | None, what: str, *, noticed: bool = False
    ) -> bool:
        at_start = "Kafka does not notice it when it starts, and goes on with what follows"
        if noticed:
            at_start = "Kafka cuts the log off there when it starts, with all that follows"
        self.damage.append(FileDamage(name, position, base, what, at_start, cuts_off=noticed))
        return False

    def _compare(self, batches: list[Batch], epochs: tuple[EpochStart, ...]) -> None:
        """The epochs of batches against ``leader-epoch-checkpoint``: no CRC covers them. After a crash the
        file may lack the last epochs.
        """
        offsets = [each.offset for each in epochs]
        for batch in batches:
            at = bisect_right(offsets, batch.base) - 1
            if at < 0 or batch.epoch == (due := epochs[at].epoch):
                continue
            if batch.epoch <= epochs[-1].epoch or batch.base == offsets[at]:
                what = f"says epoch {due} of offset {batch.base:,}, where the log says {batch.epoch}"
                self.damage.append(
                    FileDamage(EPOCHS, None, batch.base, what, "Kafka keeps both when it starts")
                )
                return


def _out_of_place(batch: Batch, before: list[Batch], expected: int) -> str:
    """Why a batch cannot follow those before; the CRC covers neither its offset nor its epoch."""
    if batch.base != (before[-1].end if before else expected):
        return f"is a batch of offset {batch.base:,} where {before[-1].end if before else expected:,} is due"
    if before and batch.epoch < before[-1].epoch:
        return f"is a batch of epoch {batch.epoch} behind one of epoch {before[-1].epoch}"
    is_first = before and batch.epoch != before[-1].epoch
    if is_first and not (batch.control and isinstance(batch.control[0], LeaderChange)):
        return f"is a batch of epoch {batch.epoch} behind epoch {before[-1].epoch} without a LeaderChange"
    return ""


def _out_of_order(batches: tuple[Batch, ...], epoch: int) -> tuple[int, int, str] | None:
    """The first batch of a snapshot of ``epoch`` whose offset or epoch cannot be its own, as no CRC covers
    them: its position, its offset and what is wrong. A snapshot counts its batches from offset 0.
    """
    due = 0
    for batch in batches:
        if batch.base != due:
            return batch.position, batch.base, f"is a batch of offset {batch.base:,} where {due:,} is due"
        if batch.epoch != epoch:
            return batch.position, batch.base, f"is a batch of epoch {batch.epoch} in a snapshot of {epoch}"
        due = batch.end
    return None
