"""Logs in the short form: ``3@4,2@5`` is three records of epoch 4, then two of epoch 5.

Each record is a batch of its own; the first of an epoch is the LeaderChange record, the others are values
(the value is the offset). ``[2]@5`` is one batch of two values; ``0@5`` as the last part says that epoch 5
has begun and has no record yet. The leader of the current epoch is known from the replica; older epochs were
led by the first voter, as far as their LeaderChange records tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kraftcheck.reference import log as logs
from kraftcheck.reference.log import Batch, LeaderChange, Log, Record, Value
from kraftcheck.systems.kraft.text.words import INT32

MAX_RECORDS = 10_000

#: What the LeaderChange record of an epoch says.
Opening = Callable[[int], LeaderChange]

EXPECTED = "counts of records with their epochs, in ascending order of epochs"


def parse_log(text: str, opening: Opening) -> Log | None:
    """The log that ``text`` describes, or ``None`` if it does not describe one."""
    if text == "none":
        return Log()
    return _extend(Log(), text, opening)


def batches_after(log: Log, base: int, text: str, opening: Opening) -> tuple[Batch, ...] | None:
    """The batches from offset ``base`` on that ``text`` describes, as they would follow ``log``, or
    ``None`` if it does not describe any. Unlike a log, they may leave a gap or go back to a smaller epoch.
    """
    last_epoch = log.batches[-1].epoch if log.batches and log.end_offset == base else 0
    batches: list[Batch] = []
    offset = base
    for part in text.split(","):
        counted = _count(part)
        if counted is None or counted.number == 0 or offset + counted.number > base + MAX_RECORDS:
            return None
        found = _batches(offset, counted, opening, opens=counted.epoch != last_epoch)
        batches += found
        offset, last_epoch = found[-1].end_offset, counted.epoch
    return tuple(batches)


@dataclass(frozen=True, slots=True)
class _Count:
    """One part of a log: a number of records of an epoch, in one batch or each in its own."""

    number: int
    epoch: int
    together: bool


def _count(part: str) -> _Count | None:
    match = re.fullmatch(r"(?:([0-9]{1,5})|\[([0-9]{1,5})\])@([0-9]{1,10})", part)
    if match is None or int(match[3]) > INT32:
        return None
    return _Count(int(match[2] or match[1]), int(match[3]), match[2] is not None)


def _extend(log: Log, text: str, opening: Opening) -> Log | None:
    parts = text.split(",")
    for index, part in enumerate(parts):
        counted = _count(part)
        if counted is None or counted.epoch < log.last_epoch or log.end_offset + counted.number > MAX_RECORDS:
            return None
        if counted.number == 0:
            last = index == len(parts) - 1
            opens = last and counted.epoch > log.last_epoch and not counted.together
            return logs.start_epoch(log, counted.epoch) if opens else None
        opens = not log.batches or log.batches[-1].epoch != counted.epoch
        for batch in _batches(log.end_offset, counted, opening, opens=opens):
            log = logs.append(log, batch)
    return log


def _batches(base: int, counted: _Count, opening: Opening, *, opens: bool) -> list[Batch]:
    if counted.together:
        return [Batch(base, counted.epoch, tuple(Value(base + n) for n in range(counted.number)))]
    records: list[Record] = [Value(base + n) for n in range(counted.number)]
    if opens:
        records[0] = opening(counted.epoch)
    return [Batch(base + n, counted.epoch, (record,)) for n, record in enumerate(records)]


def describe_batches(batches: tuple[Batch, ...]) -> str:
    """``batches`` in the form that :func:`extend` reads; what records contain is not told."""
    parts: list[tuple[str, int, int]] = []
    for batch in batches:
        size = len(batch.records)
        if size > 1:
            parts.append(("[{}]@{}", size, batch.epoch))
        elif parts and parts[-1][0] == "{}@{}" and parts[-1][2] == batch.epoch:
            parts[-1] = ("{}@{}", parts[-1][1] + 1, batch.epoch)
        else:
            parts.append(("{}@{}", 1, batch.epoch))
    return ",".join(form.format(size, epoch) for form, size, epoch in parts)


def describe_log(log: Log) -> str:
    """``log`` in the form that :func:`parse_log` reads; what records contain is not told."""
    last_written = log.batches[-1].epoch if log.batches else 0
    opened = f"0@{log.last_epoch}" if log.last_epoch > last_written else ""
    return ",".join(filter(None, (describe_batches(log.batches), opened))) or "none"
