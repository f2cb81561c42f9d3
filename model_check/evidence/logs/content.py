"""The text of a log file from its bytes: decompressed, decoded, without what was put before its lines.

What a file is shows in its first bytes, not in its name. Everything is read piece by piece; no step
holds more than a few pieces and a line.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, Protocol

import msgspec

from kraftcheck.evidence.logs.scan import LONGEST_LINE

CHUNK: Final = 1 << 20
#: So many compressed bytes are decompressed at a time, to at most 20 MiB of gzip and Zstandard.
_STEP: Final = 512
#: The most memory of a decompressor, in bytes: some formats let the file choose.
_MEMORY: Final = 1 << 28
_BZ2: Final = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
#: So many bytes tell what a file is.
_MAGIC: Final = 10
#: In so many lines a container runtime's prefix is looked for: other lines may come first.
_FIRST_LINES: Final = 20

#: ``2026-01-01T00:00:00.000000000Z stdout F text``; P: the line goes on in the next of the same stream.
_CRI: Final = re.compile(
    rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([FP])(?::[^ \n]*)? ",
    re.M,
)
_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
#: What is put before each line, and what the line itself begins with, which tells it from a record's time.
_RECORD: Final = rb"(?=\[?\d\d|\[[A-Z]{4,5}\] |\{\")"
_STAMP: Final = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d) "
_PREFIXES: Final = (
    # kubectl logs --prefix, with or without --timestamps; --timestamps alone is below.
    rb"^\[pod/[^\]/\n]{1,253}/[^\]\n]{1,253}\] (?:%s)?" % _STAMP,
    # journalctl: -o short, short-precise and short-full; short-iso.
    rb"^(?:[A-Z][a-z]{2} [ \d]\d|[A-Z][a-z]{2} \d{4}-\d\d-\d\d) \d\d:\d\d:\d\d(?:\.\d{1,6})?(?: [A-Z]{1,5})?"
    rb" [\w.-]{1,253} [^ \n]{1,253}: ",
    rb"^%s[\w.-]{1,253} [^ \n]{1,253}: " % _STAMP,
    rb"^" + _STAMP,
    # docker compose logs.
    rb"^[\w.-]{1,253} +\| (?:%s)?" % _STAMP,
)
#: What a terminal shows as a colour: ``%highlight`` of log4j, ``docker compose logs``.
_COLOUR: Final = re.compile(rb"\x1b\[[\d;]{0,32}m")
_CRI_PART: Final = re.compile(_CRI.pattern.replace(b"[FP]", b"P"), re.M)


class MissingPackageError(ValueError):
    """A package is missing with which the file could be read."""


class Readable(Protocol):
    """An open file of any file system."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


def chunks_of(
    file: Readable, damaged: list[str], size: int = CHUNK, progress: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """The text of an open file in pieces of about ``size`` bytes, lines as the logger wrote them, in UTF-8.

    gzip, bzip2, xz and Zstandard are decompressed, UTF-16 with a byte order mark is decoded, and the prefixes
    of CRI, ``kubectl logs`` and journald and the JSON of Docker are taken off. ``progress`` is called with
    the number of bytes read. Where compressed data ends early or is damaged, what came before is yielded and
    a sentence is added to ``damaged``. Raises MissingPackageError.
    """
    first = file.read(max(size, _MAGIC))
    while first and len(first) < _MAGIC and (more := file.read(_MAGIC)):
        first += more
    raw = _reporting(chain((first,), iter(lambda: file.read(size), b"")), progress)
    yield from _unwrapped(_decoded(_decompressed(raw, first, damaged, size)))


def _reporting(pieces: Iterable[bytes], progress: Callable[[int], None] | None) -> Iterator[bytes]:
    for piece in pieces:
        if piece:
            yield piece
        if progress is not None:
            progress(len(piece))


# --- compression --------------------------------------------------------------------------------------------


def _zstandard() -> Any:
    """A decompressor of a Zstandard frame. Raises MissingPackageError."""
    try:
        import zstandard
    except ImportError:
        raise MissingPackageError(
            "is compressed with Zstandard; install the package that reads it with "
            "pip install 'kraftcheck[zst]', or decompress it first"
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=_MEMORY).decompressobj()


_KINDS: Final[tuple[tuple[Callable[[bytes], Any], Callable[[], Any]], ...]] = (
    (lambda first: first.startswith(b"\x1f\x8b"), lambda: zlib.decompressobj(wbits=31)),
    (_BZ2.match, bz2.BZ2Decompressor),
    (lambda first: first.startswith(b"\xfd7zXZ\0"), lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY)),
    (lambda first: first.startswith(b"\x28\xb5\x2f\xfd"), _zstandard),
)


def _decompressed(pieces: Iterable[bytes], first: bytes, damaged: list[str], size: int) -> Iterator[bytes]:
    for fits, new in _KINDS:
        if fits(first):
            return _joined(_inflate(pieces, new, damaged), size)
    return iter(pieces)


def _joined(texts: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Pieces of ``size`` bytes or more."""
    found: list[bytes] = []
    held = 0
    for text in texts:
        found.append(text)
        held += len(text)
        if held >= size:
            yield b"".join(found)
            found, held = [], 0
    if found:
        yield b"".join(found)


def _inflate(pieces: Iterable[bytes], new: Callable[[], Any], damaged: list[str]) -> Iterator[bytes]:
    """Any number of compressed members, one after the other, and NUL bytes after them."""
    member = new()
    for data in (piece[start : start + _STEP] for piece in pieces for start in range(0, len(piece), _STEP)):
        while data:
            if member.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                member = new()
            try:
                # 81 bytes of bzip2 may become 50 MB; its decompressor and that of xz can be bounded.
                yield member.decompress(data, *([CHUNK] if hasattr(member, "needs_input") else []))
                while not (member.eof or getattr(member, "needs_input", True)):
                    yield member.decompress(b"", CHUNK)
            except Exception:  # Each decompressor has an error of its own.
                damaged.append("the compressed data is damaged")
                return
            data = member.unused_data if member.eof else b""
    if not member.eof:
        damaged.append("the compressed data ends early")


# --- encoding -----------------------------------------------------------------------------------------------


def _decoded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """UTF-8 from what begins with a byte order mark of UTF-16 or UTF-8; anything else as it is."""
    pieces = iter(pieces)
    first = b""
    while len(first) < 3 and (piece := next(pieces, b"")):
        first += piece
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        texts = codecs.iterdecode(chain((first,), pieces), "utf-16", "replace")
        return (text.encode("utf-8", "replace") for text in texts)
    if first.startswith(codecs.BOM_UTF8):
        first = first[3:]
    return chain((first,), pieces) if first else pieces


# --- containers ---------------------------------------------------------------------------------------------


class _Entry(msgspec.Struct):
    """A line of Docker's json-file driver. One without a stream is a collector's, and whole."""

    log: str
    stream: str = ""


_ENTRY: Final = msgspec.json.Decoder(_Entry)


def _entry(line: bytes) -> tuple[bytes, bytes, bool] | None:
    """Stream and text of a line of Docker, and whether it goes on; None if it is something else."""
    if not line.startswith(b"{"):
        return None
    try:
        entry = _ENTRY.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    text = entry.log.encode()
    return entry.stream.encode(), text.removesuffix(b"\n"), bool(entry.stream) and not text.endswith(b"\n")


def _cri(line: bytes) -> tuple[bytes, bytes, bool] | None:
    """The same of a line of CRI."""
    match = _CRI.match(line)
    return None if match is None else (match[1], line[match.end() :].removesuffix(b"\n"), match[2] == b"P")


def _unwrapped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without what a container runtime puts around them."""
    pieces = iter(pieces)
    first = b""
    while first.count(b"\n") < _FIRST_LINES and len(first) < LONGEST_LINE and (piece := next(pieces, b"")):
        first += piece
    pieces = chain((first,), pieces) if first else pieces
    if _COLOUR.search(first):
        first, pieces = _COLOUR.sub(b"", first), _without(_COLOUR, pieces)
    beginning = first.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    read = next((read for read in (_cri, _entry) if any(map(read, beginning))), None)
    if read is not None:
        return _lines(pieces, read)
    lines = b"\n".join(beginning)
    prefix = next((each for each in _PREFIXES if re.search(each + _RECORD, lines, re.M)), None)
    return pieces if prefix is None else _without(re.compile(prefix, re.M), pieces)


def _without(prefix: re.Pattern[bytes], pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without what begins them."""
    return (prefix.sub(b"", block) for block in _blocks(pieces))


def _lines(
    pieces: Iterable[bytes], read: Callable[[bytes], tuple[bytes, bytes, bool] | None]
) -> Iterator[bytes]:
    """The text of each line by ``read``, lines that were split put together; other lines as they are."""
    parts: dict[bytes, bytes] = {}
    for block in _blocks(pieces):
        if read is _cri and not parts and _CRI_PART.search(block) is None:
            yield _CRI.sub(b"", block)
            continue
        found: list[bytes] = []
        for line in _LINE.findall(block):
            entry = read(line)
            if entry is None:
                found.append(line)
                continue
            stream, text, goes_on = entry
            # A line that is too long is dropped later, however long it is.
            text = parts.pop(stream, b"")[: LONGEST_LINE + 1] + text
            if goes_on:
                parts[stream] = text
            else:
                found.append(text + b"\n")
        yield b"".join(found)
    yield from (text + b"\n" for text in parts.values())


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines; of one that is too long, a piece at a time."""
    rest = b""
    for piece in pieces:
        block = rest + piece
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE:
            end = len(block)
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest
