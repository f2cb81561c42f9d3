"""Batches that could be missing from the logs: no replica can distinguish them from the ones that follow.

A batch X that is committed and followed by a committed batch Y, wherever it is, can be left out if

* no part of the state refers to its end: no log, fetch, high watermark or progress ends there, and no replica
  has read the control records of a truncated log up to an offset inside of it;
* logs without X end before it, so that a replica without X is without Y, and receives both together;
* no other batch, and no end of a log that a message or a replica mentions, has an epoch from that of X up to
  that of Y, so that no search for the end of an epoch (KafkaRaftLog.endOffsetForEpoch) leads to the end of X.

Where batches may be parted (a process may crash between two of them, or a fetch answer may have one alone), X
must be in all logs, and where a crash may lose unflushed records, X must be flushed in all: a replica that
loses it fetches it again, perhaps alone. The remaining batches get the offsets that they would have had
without X.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar, cast

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochStart, Log
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.types import Meaning
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.rebuilding import OFFSETS, changed

T = TypeVar("T")
Batches = tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class References:
    """The references of a state: ``positions`` up to which a replica has records, ``epochs`` of ends of
    logs.
    """

    positions: frozenset[int]
    epochs: frozenset[int]


def redundant(
    logs: Sequence[Log],
    committed: Batches,
    answers: Sequence[Batches],
    references: References,
    *,
    parted: bool,
    lasting: int | None = None,
) -> Batch | None:
    """The first batch of the ``committed`` records that can be left out of them and of the ``logs``, if any.

    ``answers``: the batches in answers to fetches. ``parted``: whether batches may be parted. ``lasting``:
    the offset below which no log can lose records (``None``: logs lose nothing).
    """
    whole = [committed, *(log.batches for log in logs)]
    positions = references.positions | {log.end_offset for log in logs}
    for batch, following in pairwise(committed):
        if lasting is not None and batch.end_offset > lasting:
            return None
        if batch.end_offset in positions or not all(_agrees(each, batch, following) for each in answers):
            continue
        if any(batch.base_offset < log.read_to < batch.end_offset for log in logs):
            continue
        lacking = [each for each in whole if batch not in each]
        if (lacking and parted) or any(_end(each) > batch.base_offset for each in lacking):
            continue
        if any(batch in each and following not in each for each in whole):
            continue
        between = range(batch.epoch, following.epoch)
        if not any(epoch in between for epoch in _other_epochs(batch, logs, [*whole, *answers], references)):
            return batch
    return None


def _end(batches: Batches) -> int:
    return batches[-1].end_offset if batches else 0


def _agrees(answer: Batches, batch: Batch, following: Batch) -> bool:
    """Whether the batches of an answer are all before ``batch``, or all after the ``following`` one, or hold
    both.
    """
    if batch in answer or following in answer:
        return batch in answer and following in answer
    return not answer or _end(answer) <= batch.base_offset or answer[0].base_offset >= following.end_offset


def _other_epochs(
    batch: Batch, logs: Sequence[Log], known: Sequence[Batches], references: References
) -> Iterable[int]:
    yield from references.epochs
    for batches in known:
        yield from (each.epoch for each in batches if each != batch)
    own = EpochStart(batch.epoch, batch.base_offset)
    for log in logs:
        yield from (start.epoch for start in log.epoch_starts if start != own or batch not in log.batches)


def without(part: T, batch: Batch) -> T:
    """``part``, a node or a message, without ``batch``."""
    if isinstance(part, Node):
        node = replace(part, disk=replace(part.disk, log=_shorter(part.disk.log, batch)))
        if part.replica is not None:
            node = replace(node, replica=replace(part.replica, log=_shorter(part.replica.log, batch)))
        return cast(T, _moved(node, batch))
    if isinstance(part, InFlight) and isinstance(part.payload, FetchResponse):
        left = tuple(each for each in part.payload.batches if each != batch)
        return cast(T, _moved(replace(part, payload=replace(part.payload, batches=left)), batch))
    return _moved(part, batch)


def left_of(batches: Batches, batch: Batch) -> Batches:
    """``batches`` without ``batch``, with the offsets that the later ones then have."""
    return tuple(_moved(each, batch) for each in batches if each != batch)


def _shorter(log: Log, batch: Batch) -> Log:
    """``log`` without ``batch``, all offsets as they are."""
    if batch not in log.batches:
        return log
    kept = tuple(each for each in log.batches if each != batch)
    starts = list(log.epoch_starts)
    own = EpochStart(batch.epoch, batch.base_offset)
    if own in starts:
        starts.remove(own)
        if kept and any(each.epoch == batch.epoch and each.base_offset == batch.end_offset for each in kept):
            starts.append(own)
            starts.sort(key=lambda start: start.offset)
    return replace(log, batches=kept, epoch_starts=tuple(starts))


def _moved(part: T, batch: Batch) -> T:
    """``part`` with the offsets that it has without ``batch``."""

    def change(meaning: Meaning, number: int) -> int:
        later = meaning in OFFSETS and number >= batch.end_offset
        return number - len(batch.records) if later else number

    return cast(T, changed(part, change))
