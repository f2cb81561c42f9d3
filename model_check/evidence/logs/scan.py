"""The lines that matter, picked out of large chunks of bytes.

A regular expression with a literal start is run over whole chunks; only the lines it hits are looked at one
by one. Everything else about a file (lines, records, damage) is counted with searches over the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kraftcheck.evidence.logs.messages import FATAL_TEXT, MESSAGES

#: A longer line is dropped and counted.
LONGEST_LINE: Final = 1 << 20
#: A longer line with a message that matters is dropped and counted; one of a hundred voters is not as long.
LONGEST_HIT: Final = 1 << 16
#: Stands for the beginning of a message in a line that was dropped.
DROPPED: Final = b""
#: So many beginnings of a message are looked at in one line; more than two is noise.
_HITS_A_LINE: Final = 4

_ANCHOR: Final = re.compile(rb"\] (" + b"|".join(re.escape(text) for text in MESSAGES) + rb")")
#: A byte that is not UTF-8, and the rest of its line.
_INVALID: Final = re.compile("[\udc80-\udcff][^\n]*")
_FATAL: Final = re.compile(rb"(" + re.escape(FATAL_TEXT) + rb")")


#: A line with a message that matters: its number from 1, its bytes, where the message starts, and the
#: beginning by which it was found. A plain tuple: there are many.
Hit = tuple[int, bytes, int, bytes]


@dataclass(slots=True)
class Counts:
    """Counts of a stream of bytes, apart from its hits."""

    bytes: int = 0
    lines: int = 0
    records: int = 0
    """Lines that begin as the first record of the file does; the others continue a record or are foreign."""
    overlong: int = 0
    nul: int = 0
    """NUL bytes."""
    invalid: int = 0
    """Lines that are not UTF-8."""


def scan(chunks: Iterable[bytes], counts: Counts) -> Iterator[Hit]:
    """The hits in ``chunks``, in order, and a `DROPPED` one for each line that is too long.

    ``counts`` is brought up to date along the way.

    Memory is bounded by the size of a chunk and `LONGEST_LINE`.
    """
    rest = b""
    dropping = False
    start = b""
    for chunk in chunks:
        counts.bytes += len(chunk)
        if dropping:
            _, newline, chunk = chunk.partition(b"\n")
            if not newline:
                continue
            counts.lines += 1
            dropping = False
            yield counts.lines, b"", 0, DROPPED
        block = rest + chunk if rest else chunk
        end = block.rfind(b"\n") + 1
        block, rest = block[:end], block[end:]
        if len(rest) > LONGEST_LINE:
            counts.overlong += 1
            rest, dropping = b"", True
        if block:
            start = start or _start(block)
            yield from _hits(block, counts, start)
    counts.lines += dropping
    if rest:
        yield from _hits(rest + b"\n", counts, start or _start(rest))


def _start(block: bytes) -> bytes:
    """The first bytes of the first line that looks like a record: it begins with a time, a level or JSON."""
    match = re.search(rb"(?m)^(?:\[?\d\d|\[(?=[A-Z]{4,5}\] \d\d)|\{\")", block)
    return b"" if match is None else match[0]


def _hits(block: bytes, counts: Counts, start: bytes) -> Iterator[Hit]:
    """The hits in ``block``, which ends with a line feed."""
    first = counts.lines + 1
    if start:
        counts.records += block.count(b"\n" + start) + block.startswith(start)
    if b"\0" in block:
        counts.nul += block.count(b"\0")
    if not block.isascii():
        counts.invalid += len(_INVALID.findall(block.decode("utf-8", "surrogateescape")))
    number, counted = first, 0
    line_start, line_end, in_line = 0, -1, 0
    for match in _matches(block):
        place, beginning = match.start(1), match[1]
        if place >= line_end:
            line_start, line_end, in_line = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place), 0
            if line_end - line_start > LONGEST_HIT:
                counts.overlong += 1
                in_line = _HITS_A_LINE
                yield first, b"", 0, DROPPED
        if in_line >= _HITS_A_LINE:
            continue
        in_line += 1
        number += block.count(b"\n", counted, line_start)
        counted = line_start
        end = line_end
        if beginning == FATAL_TEXT:
            end = block.find(b"\n", line_end + 1)  # the exception stands on the next line
            end = line_end if end < 0 or end - line_end > LONGEST_HIT else end
        yield number, block[line_start:end], place - line_start, beginning
    counts.lines = number - 1 + block.count(b"\n", counted)


def _matches(block: bytes) -> Iterator[re.Match[bytes]]:
    """The beginnings of messages in ``block``, in order."""
    matches = _ANCHOR.finditer(block)
    if FATAL_TEXT not in block:
        return matches
    return iter(sorted((*matches, *_FATAL.finditer(block)), key=lambda match: match.start(1)))
