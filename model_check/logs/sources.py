"""Log files: which there are, in what order they were written, and their bytes, decompressed."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, Protocol

from model_check.errors import InputError
from model_check.files import opened
from model_check.logs.layout import Layout

CHUNK: Final = 1 << 20
#: So much of a file is looked at to find its first record.
_PEEK: Final = 1 << 18
_STEP: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"
#: ``server.log``, ``controller.log.1``, ``x.log.2.gz``, ``x.log.2026-06-26-09``, ``kafkaServer.out``.
_LOG_NAME = re.compile(r".\.(?:log|out)(?:[.-]|\Z)")
_ROTATED = re.compile(r"\.(?:log|out)\.(\d{1,6})(?:\.gz)?\Z")


class Readable(Protocol):
    """An open file of any file system."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read. ``layout`` is the one that its first record has, if any has."""

    path: Path
    layout: Layout | None
    first: tuple[int, ...] | None
    """When its first record was written; None if there is none."""
    digest: bytes
    """Of the beginning of its content and, of a longer file, its size; to recognise a copy."""


def find_sources(paths: Sequence[Path], layouts: Sequence[Layout]) -> tuple[list[Source], list[Path]]:
    """The log files among ``paths`` and in the folders among them, oldest first, and those that are copies.

    Of a folder, files whose name contains ``.log`` or ``.out`` are taken, in subfolders too. Raises
    InputError for a path that is not there, cannot be read, or is a folder without logs.
    """
    sources: list[Source] = []
    copies: list[Path] = []
    seen: set[bytes] = set()
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        source = _peek(path, layouts)
        if source.first is not None and source.digest in seen:
            copies.append(path)
            continue
        seen.add(source.digest)
        sources.append(source)
    return sorted(sources, key=_order), copies


def _files(path: Path) -> list[Path]:
    if not os.path.isdir(path):
        if os.path.exists(path) and not path.is_file():
            raise InputError(f"{path}: is not a file; give log files or folders of them.")
        return [path]
    try:
        found = sorted(file for file in path.rglob("*") if is_log_name(file.name) and file.is_file())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); choose a readable folder.") from None
    if not found:
        raise InputError(
            f"{path}: no log files in this folder; expected names such as server.log or controller.log.1.gz."
        )
    return found


def _order(source: Source) -> tuple[bool, tuple[int, ...], int, str]:
    return (source.first is None, source.first or (), -rotation(source.path.name), str(source.path))


def is_log_name(name: str) -> bool:
    """Whether a file of this name is taken from a folder."""
    return _LOG_NAME.search(name) is not None


def rotation(name: str) -> int:
    """How often the file was rotated, by its name; larger is older."""
    match = _ROTATED.search(PurePath(name).name)
    return 0 if match is None else int(match[1])


def _peek(path: Path, layouts: Sequence[Layout]) -> Source:
    """Raises InputError if the file cannot be read."""
    layout, first, digest = peek(chunks(path, [], size=_PEEK), lambda: path.stat().st_size, layouts)
    return Source(path, layout, first, digest)


def peek(
    text: Iterable[bytes], size: Callable[[], int], layouts: Sequence[Layout]
) -> tuple[Layout | None, tuple[int, ...] | None, bytes]:
    """Layout, first moment and digest, as of `Source`, of a file of ``size`` bytes with this content."""
    beginning = b""
    for chunk in text:
        beginning += chunk
        if len(beginning) >= _PEEK:
            break
    digest = hashlib.sha256(beginning).digest()
    if len(beginning) >= _PEEK:  # a copy of a file that grows begins alike and is not the same
        digest += size().to_bytes(8, "big")
    for line in beginning.splitlines():
        for layout in layouts:
            time = layout.time(line)
            if time is not None:
                return layout, layout.moment(time), digest
    return None, None, digest


def chunks(
    path: Path, damaged: list[str], size: int = CHUNK, progress: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """The content of ``path`` in pieces of about ``size`` bytes, decompressed if it is gzip, as `chunks_of`.

    ``progress`` is told of the bytes read from disk. Raises InputError if the file cannot be read.
    """
    with opened(path, "log files or folders of them") as file:
        yield from chunks_of(file, damaged, size, progress)


def chunks_of(
    file: Readable, damaged: list[str], size: int = CHUNK, progress: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """The content of an open file in pieces of about ``size`` bytes, decompressed if it is gzip.

    Where the compressed data ends early or is damaged, what came before is yielded and a sentence is added to
    ``damaged``.
    """
    pieces = iter(lambda: file.read(size), b"")
    first = file.read(max(size, len(_GZIP)))
    raw = _reporting(_with(first, pieces), progress)
    if first.startswith(_GZIP):
        yield from _inflate(raw, damaged, size)
    else:
        yield from raw


def _with(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _reporting(pieces: Iterable[bytes], progress: Callable[[int], None] | None) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        if progress is not None:
            progress(len(piece))


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Small pieces: at the end of each gzip member, what follows in the piece is copied."""
    for piece in pieces:
        for start in range(0, len(piece), _STEP):
            yield piece[start : start + _STEP]


def _inflate(pieces: Iterable[bytes], damaged: list[str], size: int) -> Iterator[bytes]:
    """Any number of gzip members, one after the other; never more than ``size`` bytes at a time."""
    member = zlib.decompressobj(wbits=31)
    between = True
    try:
        for data in _small(pieces):
            while data:
                if member.eof:
                    member, between = zlib.decompressobj(wbits=31), True
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                between = False
                text = member.decompress(data, size)
                if text:
                    yield text
                data = member.unused_data if member.eof else member.unconsumed_tail
            between = between or member.eof
        while not member.eof and (text := member.decompress(b"", size)):
            yield text
    except zlib.error:
        damaged.append("the compressed data is damaged")
        return
    if not between:
        damaged.append("the compressed data ends early")
