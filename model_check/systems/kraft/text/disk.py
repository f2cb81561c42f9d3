"""Disks in the short form: ``epoch=3 leader=2 log=[3]@1,2@3 leaders=1:1,3:2 versions=1:1 sets=[2:1,2,3]``.

Such a text says what is on the disk of a replica whose process does not run. Other than the short form of a
replica it places control records, since a process that starts reads the voters from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Record, Value, Voters
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.systems.kraft.text.log import COUNTS, Count
from kraftcheck.systems.kraft.text.style import EPOCH, KEY, KEYS, OFFSET, STYLE, print_key, whole
from kraftcheck.systems.short_form import Fields, Form, Word, read_words, show_words
from kraftcheck.systems.syntax import TEXT, Mismatch, listed, one_word, optional, split

EXAMPLE = "epoch=3 leader=2 log=4@1,2@3 leaders=1:1,3:2"


@dataclass(frozen=True, slots=True)
class DiskText:
    """What the text of a disk says.

    ``directory``: its directory id, None for the one that the scenario gives the replica. ``epoch``: that of
    quorum-state, None where there is no such file; ``leader`` and ``voted``: what else is in it.
    ``log``: the records from offset 0 on, as counts; ``start``: where it begins on the disk, with a snapshot
    of what was before. ``leaders``: epochs whose first record is a LeaderChange, with the leader;
    ``versions`` and ``sets``: the offsets of the control records of kraft.version and of voter sets.
    ``committed``: the records below are known to be committed. ``lost_vote``: a vote that the replica has
    given, by epoch, and that its quorum-state does not show any more. ``lost``: the disk is lost, and the
    process starts on an empty one with this directory id, or "empty" where disks have none.
    """

    directory: str | None = None
    epoch: int | None = None
    leader: int | None = None
    voted: ReplicaKey | None = None
    log: tuple[Count, ...] = ()
    start: int = 0
    leaders: tuple[tuple[int, int], ...] = ()
    versions: tuple[tuple[int, int], ...] = ()
    sets: tuple[tuple[int, tuple[ReplicaKey, ...]], ...] = ()
    committed: int = 0
    lost_vote: tuple[int, ReplicaKey] | None = None
    lost: str | None = None

    @property
    def quorum_state(self) -> QuorumState | None:
        """The contents of quorum-state."""
        return None if self.epoch is None else QuorumState(self.epoch, self.leader, self.voted)

    def batches(self, voter_sets: Mapping[int, VoterSet]) -> tuple[Batch, ...]:
        """All batches from offset 0 on; ``voter_sets``: those of ``sets`` by their offsets."""
        leaders, versions = dict(self.leaders), dict(self.versions)
        found: list[Batch] = []
        base, last_epoch = 0, 0
        for count in self.log:
            records: list[Record] = []
            for offset in range(base, base + count.number):
                opens = not records and count.epoch != last_epoch and count.epoch in leaders
                records.append(
                    LeaderChange(leaders[count.epoch], (), ())
                    if opens
                    else Voters(voter_sets[offset])
                    if offset in voter_sets
                    else KRaftVersion(versions[offset])
                    if offset in versions
                    else Value(offset)
                )
            if count.together:
                found.append(Batch(base, count.epoch, tuple(records)))
            else:
                found += [Batch(base + at, count.epoch, (each,)) for at, each in enumerate(records)]
            base, last_epoch = base + count.number, count.epoch
        return tuple(found)


def _pair(text: str) -> tuple[int, int] | None:
    left, _, right = text.partition(":")
    first, second = whole(left, 0), whole(right, 0)
    return None if first is None or second is None else (first, second)


def _show_pair(pair: Sequence[int]) -> str:
    return f"{pair[0]}:{pair[1]}"


def _set(text: str) -> tuple[int, tuple[ReplicaKey, ...]] | None:
    left, _, right = text.partition(":")
    offset = whole(left, 0)
    try:
        keys: tuple[ReplicaKey, ...] = KEYS.read(right)
    except Mismatch:
        return None
    return None if offset is None or not keys else (offset, keys)


def _vote(text: str) -> tuple[int, ReplicaKey] | None:
    left, _, right = text.partition(":")
    epoch = whole(left, 0)
    try:
        return None if epoch is None else (epoch, KEY.read(right))
    except Mismatch:
        return None


_LEADERS = listed(one_word("an epoch and its leader", _pair, _show_pair, "epoch:leader pairs"), commas=True)
_VERSIONS = listed(one_word("an offset and a level", _pair, _show_pair, "offset:level pairs"), commas=True)
_SETS = listed(
    one_word(
        "an offset and the voters of the record there",
        _set,
        lambda entry: f"{entry[0]}:{KEYS.show(entry[1])}",
        "",
        "2:1,2,3",
    ),
    commas=False,
    example="[2:1,2,3 6:1,2,3,4]",
)
_LOST = one_word("an epoch and a candidate", _vote, lambda vote: f"{vote[0]}:{print_key(vote[1])}", "", "2:3")

_FORM = Form(
    "disk",
    {
        word.key: word
        for word in (
            Word("directory", ("directory",), optional(TEXT), None),
            Word("epoch", ("epoch",), optional(EPOCH), None),
            Word("leader", ("leader",), optional(EPOCH), None),
            Word("voted", ("voted",), optional(KEY), None),
            Word("log", ("log",), COUNTS, ()),
            Word("start", ("start",), OFFSET, 0),
            Word("leaders", ("leaders",), _LEADERS, ()),
            Word("versions", ("versions",), _VERSIONS, ()),
            Word("sets", ("sets",), _SETS, ()),
            Word("committed", ("committed",), OFFSET, 0),
            Word("lost-vote", ("lost_vote",), optional(_LOST), None),
            Word("lost", ("lost",), optional(TEXT), None),
        )
    },
)


def parse_disk(text: str, what: str = "disk") -> DiskText:
    """The disk that ``text`` describes; "empty" is an empty one. Raises InputError; ``what`` names it."""
    try:
        words = [] if text.strip() == "empty" else split(text)
        if not words and text.strip() != "empty":
            raise Mismatch(f"'empty', or words such as '{EXAMPLE}'", "nothing")
        found = DiskText(**Fields(_FORM, read_words(_FORM, words)).all())
        _require_sense(found)
        return found
    except Mismatch as error:
        raise error.error(what) from None


def print_disk(disk: DiskText) -> str:
    """The text of ``disk``: it parses back to the same."""
    fields: dict[str, Any] = {name: getattr(disk, name) for name in DiskText.__dataclass_fields__}
    return " ".join(show_words(_FORM, fields, STYLE)) or "empty"


def _require_sense(disk: DiskText) -> None:
    end = sum(count.number for count in disk.log)
    if disk.epoch is None and (disk.leader is not None or disk.voted is not None):
        raise Mismatch("an epoch next to a leader or a vote", hint="; for example 'epoch=3 leader=2'.")
    if any(count.number == 0 for count in disk.log):
        raise Mismatch("records of each epoch, for an epoch without one leaves no trace", path=".log")
    for name, offset in (("start", disk.start), ("committed", disk.committed)):
        if offset > end:
            raise Mismatch(f"an offset up to the end of the log, {end}", str(offset), path=f".{name}")
    boundaries = {0, end}
    base = 0
    for count in disk.log:
        boundaries |= {base} if count.together else set(range(base, base + count.number + 1))
        base += count.number
    for name, offset in (("start", disk.start), ("committed", disk.committed)):
        if offset not in boundaries:
            raise Mismatch("an offset between two batches", str(offset), path=f".{name}")
    for name, entries in (("versions", disk.versions), ("sets", disk.sets)):
        for offset, _ in entries:
            if offset >= end:
                raise Mismatch(
                    f"offsets of records, which the log has below {end}", str(offset), path=f".{name}"
                )
