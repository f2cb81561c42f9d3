"""Record batches in a file of Kafka: the segments of a log, and snapshots.

The layout of a batch is that of ``org.apache.kafka.common.record.DefaultRecordBatch``, version 2, which
alone KRaft writes. A batch counts if its CRC-32C fits. Control records are decoded, those of data where
they are asked for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

import google_crc32c

from kraftcheck.evidence.disks.fields import UnreadableRecordError
from kraftcheck.evidence.disks.records import ControlRecord, control_records, kinds

#: base offset, length of the rest, epoch of the leader, version, CRC, attributes, offset of the last record
#: from the first, two timestamps, producer, its epoch, first sequence number, number of records.
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
#: The bytes before those that the length counts, and before those that the CRC covers.
_BEFORE_LENGTH, _BEFORE_CRC = 12, 21
_VERSION: Final = 2
_COMPRESSED, _CONTROL = 0x07, 0x20
#: No batch of a metadata log is larger: ``KafkaRaftClient.MAX_BATCH_SIZE_BYTES`` is 8 MiB, and a record may
#: exceed it only in a batch of its own, which ``max.message.bytes`` bounds by the same.
MAX_BATCH_BYTES: Final = 16 << 20
#: So many zeros behind a batch are looked at; a sparse file may have any number.
_MOST_ZEROS: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch whose CRC fits. ``position``, ``size``: its place in its file, in bytes; ``base``, ``last``:
    its first and last offset; ``control``: its control records, none for data; ``kinds``: the names of all
    its records where they were asked for, else of control records alone.
    """

    position: int
    size: int
    base: int
    last: int
    epoch: int
    crc: int
    count: int
    control: tuple[ControlRecord, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """The offset behind its last record."""
        return self.last + 1


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a file that are no batch. ``position``: where they begin; ``base``: the first offset of the
    batch, as far as its header can be read; ``torn``: the file ends within it; ``what``: a sentence;
    ``is_noticed``: Kafka notices it when it starts (``LogSegment.recover``: size and CRC alone).
    """

    position: int
    base: int | None
    torn: bool
    what: str
    is_noticed: bool = True


def read_batches(file: BinaryIO, *, decode: bool = False) -> Iterator[Batch | Damage]:
    """The batches of a file from its beginning; behind a damaged one as far as its length can be trusted.

    ``decode``: name the records of data batches, too. Memory is that of one batch.
    """
    position = 0
    while head := file.read(_HEADER.size):
        if len(head) < _HEADER.size:
            yield _torn(position, None, len(head))
            return
        base, length = _HEADER.unpack(head)[:2]
        rest = length + _BEFORE_LENGTH - _HEADER.size
        if not any(head):
            yield from _zeros(file, position)
            return
        if base < 0 or not 0 <= rest <= MAX_BATCH_BYTES:
            yield Damage(position, None, False, "is no header of a record batch")
            return
        body = file.read(rest)
        if len(body) < rest:
            yield _torn(position, base, len(head) + len(body), length + _BEFORE_LENGTH)
            return
        yield _batch(position, head, body, decode)
        position += len(head) + rest


def _torn(position: int, base: int | None, there: int, size: int | None = None) -> Damage:
    of = "the header of a batch" if size is None else f"a batch of {size:,} bytes"
    return Damage(position, base, True, f"the file ends after {there:,} bytes of {of}")


def _zeros(file: BinaryIO, position: int) -> Iterator[Damage]:
    """A file system may leave zeros behind the last write after a power loss; an index is preallocated so."""
    size = _HEADER.size
    while size < _MOST_ZEROS and (chunk := file.read(1 << 20)):
        size += len(chunk)
        if any(chunk):
            yield Damage(position, None, False, "is no header of a record batch but zeros, with data behind")
            return
    yield Damage(position, None, True, f"the file goes on with {size:,} zeros")


def _batch(position: int, head: bytes, body: bytes, decode: bool) -> Batch | Damage:
    base, _, epoch, version, crc, attributes, delta, *_, count = _HEADER.unpack(head)

    def damaged(what: str, *, is_noticed: bool = False) -> Damage:
        return Damage(position, base, False, what, is_noticed)

    if version != _VERSION:
        return damaged(f"is a batch of version {version}, not {_VERSION}", is_noticed=True)
    if google_crc32c.extend(google_crc32c.value(head[_BEFORE_CRC:]), body) != crc:
        return damaged("is a batch whose CRC does not match its content", is_noticed=True)
    if delta < 0 or epoch < 0 or not 0 <= count <= len(body):
        return damaged("is a batch whose header contradicts itself")
    if attributes & _COMPRESSED:
        return damaged("is a compressed batch, which KRaft does not write")
    batch = Batch(position, len(head) + len(body), base, base + delta, epoch, crc, count)
    try:
        if attributes & _CONTROL:
            control = control_records(body, count)
            return replace(batch, control=control, kinds=tuple(map(str, control)))
        return replace(batch, kinds=kinds(body, count)) if decode else batch
    except UnreadableRecordError as error:
        return damaged(f"is a batch {error}")
