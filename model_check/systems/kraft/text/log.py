"""Logs in the short form: ``3@4,2@5`` is three records of epoch 4, then two of epoch 5.

Each record is a batch of its own; the first of an epoch is the LeaderChange record, the others are values
(the value is the offset). ``[2]@5`` is one batch of two values; ``0@5`` as the last part means that epoch 5
has begun and has no record yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kraftcheck.reference import log as logs
from kraftcheck.reference.log import Batch, LeaderChange, Log, Record, Value
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import INT32, INT64
from kraftcheck.systems.syntax import NONE, Syntax, one_word

MAX_RECORDS = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    """One part of a log: a number of records of an epoch, each a batch of its own or all in one batch."""

    number: int
    epoch: int
    together: bool = False

    def __str__(self) -> str:
        return f"[{self.number}]@{self.epoch}" if self.together else f"{self.number}@{self.epoch}"


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a Fetch response: their first offset (``None``: the end of the log), and counts."""

    base: int | None
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class Openings:
    """The leaders in the LeaderChange records of a log: the leader of the current epoch opened that one, the
    first voter all others.
    """

    leader: int | None
    epoch: int
    replica_id: int
    voters: tuple[int, ...]

    def record(self, epoch: int) -> LeaderChange:
        """The LeaderChange record of an epoch."""
        first = self.voters[0] if self.voters else self.replica_id
        led_by = self.leader if self.leader is not None and epoch == self.epoch else first
        return LeaderChange(led_by, self.voters, self.voters)


def openings_by(leader: int | None, epoch: int, replica: Replica) -> Openings:
    """The LeaderChange records that ``leader`` of ``epoch`` sends to a replica."""
    return Openings(leader, epoch, replica.id, replica.voters.ids)


# Reading.


def _counts(text: str) -> tuple[Count, ...] | None:
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(?:([0-9]{1,5})|\[([0-9]{1,5})\])@([0-9]{1,10})", part)
        if match is None or int(match[3]) > INT32:
            return None
        found.append(Count(int(match[2] or match[1]), int(match[3]), match[2] is not None))
    return tuple(found) if sum(count.number for count in found) <= MAX_RECORDS else None


def _log_counts(text: str) -> tuple[Count, ...] | None:
    """The counts of a log: in ascending order of epochs, none of them 0 except the last, which begins an
    epoch.
    """
    if text == NONE:
        return ()
    counts = _counts(text)
    if counts is None:
        return None
    epochs = [0, *(count.epoch for count in counts)]
    begins = counts[-1].number == 0 and not counts[-1].together and epochs[-1] > epochs[-2]
    written = counts[:-1] if begins else counts
    return counts if epochs == sorted(epochs) and all(count.number for count in written) else None


def _records(text: str) -> Records | None:
    match = re.fullmatch(r"(?:([0-9]{1,19}):)?(.+)", text)
    counts = None if match is None else _counts(match[2])
    if match is None or counts is None or not all(count.number for count in counts):
        return None
    base = None if match[1] is None else int(match[1])
    return None if base is not None and base > INT64 - MAX_RECORDS else Records(base, counts)


def _batches(base: int, last_epoch: int, counts: Sequence[Count], openings: Openings) -> Iterator[Batch]:
    """The batches from offset ``base`` on, after a record of ``last_epoch``."""
    for count in counts:
        values: list[Record] = [Value(base + number) for number in range(count.number)]
        if count.together:
            yield Batch(base, count.epoch, tuple(values))
        elif values:
            if count.epoch != last_epoch:
                values[0] = openings.record(count.epoch)
            yield from (Batch(base + number, count.epoch, (each,)) for number, each in enumerate(values))
        base, last_epoch = base + count.number, count.epoch


def log_of(counts: Sequence[Count], openings: Openings) -> Log:
    """The log with so many records."""
    log = Log()
    for batch in _batches(0, -1, counts, openings):
        log = logs.append(log, batch)
    return logs.start_epoch(log, counts[-1].epoch) if counts and not counts[-1].number else log


def batches_after(log: Log, records: Records, openings: Openings) -> tuple[Batch, ...]:
    """Batches such as a leader would send: they continue ``log``, or start elsewhere. Unlike a log, they may
    leave a gap or go back to a smaller epoch.
    """
    base = log.end_offset if records.base is None else records.base
    before = logs.truncate(log, base)
    follows = before.batches and before.end_offset == base
    last_epoch = before.batches[-1].epoch if follows else 0
    return tuple(_batches(base, last_epoch, records.counts, openings))


# Printing; the contents of records are left out.


def counts_of(batches: Sequence[Batch]) -> tuple[Count, ...]:
    """The epochs of ``batches`` with the number of records of each."""
    counts: list[Count] = []
    for batch in batches:
        size = len(batch.records)
        last = counts[-1] if counts else None
        if size == 1 and last is not None and not last.together and last.epoch == batch.epoch:
            counts[-1] = Count(last.number + 1, batch.epoch)
        else:
            counts.append(Count(size, batch.epoch, size > 1))
    return tuple(counts)


def counts_of_log(log: Log) -> tuple[Count, ...]:
    """The epochs of ``log`` with the number of records of each, and the epoch that has begun without a
    record.
    """
    last_written = log.batches[-1].epoch if log.batches else 0
    opened = (Count(0, log.last_epoch),) if log.last_epoch > last_written else ()
    return (*counts_of(log.batches), *opened)


def show_counts(counts: Sequence[Count]) -> str:
    """Counts in the form in which they are read."""
    return ",".join(map(str, counts)) or NONE


def describe_batches(batches: Sequence[Batch]) -> str:
    """``batches`` by number and epoch of their records."""
    return show_counts(counts_of(batches))


def describe_log(log: Log) -> str:
    """``log`` by number and epoch of its records."""
    return show_counts(counts_of_log(log))


COUNTS: Syntax = one_word(
    "counts of records with their epochs, in ascending order of epochs",
    _log_counts,
    show_counts,
    "",
    "3@4,2@5",
)
#: Read as :class:`Records`, shown from batches.
RECORDS: Syntax = one_word(
    "counts of records with their epochs, after a first offset and a colon if need be",
    _records,
    lambda batches: f"{batches[0].base_offset}:{describe_batches(batches)}",
    "",
    "5:2@6",
)
