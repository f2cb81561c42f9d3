"""Log files, pipes and standard input: which there are, in what order they were written, and their text."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Final

from kraftcheck.evidence.logs.content import CHUNK, MissingPackageError, Readable, chunks_of
from kraftcheck.evidence.logs.layout import Layout
from kraftcheck.support import files
from kraftcheck.support.errors import InputError

#: So much of a file is looked at to find its first record.
_PEEK: Final = 1 << 18
#: The path that stands for standard input.
STANDARD_INPUT: Final = Path("-")
#: ``server.log``, ``controller.log.1``, ``x.log.2.gz``, ``x.log.2026-06-26-09``, ``x.out``, ``x.txt``.
_LOG_NAME = re.compile(r".\.(?:log|out|txt)(?:[.-]|\Z)")
_ROTATED = re.compile(r"\.(?:log|out|txt)\.(\d{1,6})(?:\.(?:gz|bz2|xz|zst))?\Z")


Progress = Callable[[int], None]
#: The text of a file as `chunks_of` gives it: from where sentences on damage go, the size of a piece, and the
#: function that receives the numbers of bytes read.
Text = Callable[[list[str], int, Progress | None], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read. ``layout`` is the one that its first record has, if any has."""

    path: Path | str
    """A name of another file system is a text."""
    layout: Layout | None
    first: tuple[int, ...] | None
    """When its first record was written; None if there is none."""
    digest: bytes
    """Of the beginning of its content and, of a longer file, its size; to recognise a copy."""
    text: Callable[[Progress | None], Iterator[bytes]]
    """The text of the file. Raises InputError."""
    damaged: list[str]
    """Damage of the compressed data, as far as it was read."""


def find_sources(paths: Sequence[Path], layouts: Sequence[Layout]) -> tuple[list[Source], list[Path | str]]:
    """The log files among ``paths`` and in the folders among them, oldest first, and those that are copies.

    Of a folder, files whose name contains ``.log`` or ``.out`` are taken, in subfolders too. Raises
    InputError for a path that is not there, cannot be read, or is a folder without logs.
    """
    named = dict.fromkeys(file for given in paths for file in _files(given))
    return in_order(_source(path, layouts) for path in named)


def in_order(found: Iterable[Source]) -> tuple[list[Source], list[Path | str]]:
    """The files, oldest first, without copies of others among them; and those copies."""
    sources: list[Source] = []
    copies: list[Path | str] = []
    seen: set[bytes] = set()
    for source in found:
        if source.first is not None and source.digest in seen:
            copies.append(source.path)
            continue
        seen.add(source.digest)
        sources.append(source)
    return sorted(sources, key=_order), copies


def _files(path: Path) -> list[Path]:
    if path == STANDARD_INPUT or not os.path.isdir(path):
        return [path]

    def refuse(error: OSError) -> None:
        raise error

    try:
        # Path.rglob passes over folders that cannot be read.
        names = (Path(place, name) for place, _, names in os.walk(path, onerror=refuse) for name in names)
        found = sorted(file for file in names if is_log_name(file.name) and file.is_file())
    except OSError as error:
        place = error.filename or path
        raise InputError(f"{place}: cannot be read ({error.strerror}); choose a readable folder.") from None
    if not found:
        raise InputError(
            f"{path}: no log files in this folder; expected names such as server.log or controller.log.1.gz."
        )
    return found


def _order(source: Source) -> tuple[bool, tuple[int, ...], int, str]:
    return (source.first is None, source.first or (), -_rotation(str(source.path)), str(source.path))


def is_log_name(name: str) -> bool:
    """Whether a file of this name is taken from a folder."""
    return _LOG_NAME.search(name) is not None


def _rotation(name: str) -> int:
    """How often the file was rotated, by its name; larger is older."""
    match = _ROTATED.search(PurePath(name).name)
    return 0 if match is None else int(match[1])


def _source(path: Path, layouts: Sequence[Layout]) -> Source:
    """Raises InputError if the file cannot be read."""
    if not _once(path):
        return looked_at(path, partial(chunks, path), lambda: path.stat().st_size, layouts)
    damaged: list[str] = []
    text, seen = chunks(path, damaged), []

    def pieces() -> Iterator[bytes]:
        for piece in text:
            seen.append(piece)
            yield piece

    layout, first, digest = _peek(pieces(), lambda: 0, layouts)
    return Source(path, layout, first, digest, lambda progress: chain(seen, text), damaged)


def looked_at(path: Path | str, text: Text, size: Callable[[], int], layouts: Sequence[Layout]) -> Source:
    """The file of ``size`` bytes at ``path`` with this ``text``, of which the beginning is read."""
    layout, first, digest = _peek(text([], _PEEK, None), size, layouts)
    damaged: list[str] = []
    return Source(path, layout, first, digest, partial(text, damaged, CHUNK), damaged)


def _once(path: Path) -> bool:
    """Whether ``path`` can be read only once."""
    try:
        return path == STANDARD_INPUT or path.is_fifo()
    except (OSError, ValueError):
        return False


def _peek(
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
    path: Path, damaged: list[str], size: int = CHUNK, progress: Progress | None = None
) -> Iterator[bytes]:
    """The text of the file, pipe or standard input (``-``) at ``path``, as of `chunks_of`.

    Raises InputError if it cannot be read.
    """
    try:
        with opened(path) as file:
            yield from chunks_of(file, damaged, size, progress)
    except MissingPackageError as error:
        raise InputError(f"{path}: {error}.") from None


@contextmanager
def opened(path: Path) -> Iterator[Readable]:
    """The file, pipe or standard input (``-``) at ``path``, open for reading: the one place that opens logs.

    Raises InputError for what is none of these and for a pipe without a writer.
    """
    if path != STANDARD_INPUT:
        with files.opened(path, "log files or folders of them") as file:
            yield file
        return
    stream: Any = sys.stdin  # None where it is closed
    if stream is None or stream.isatty():
        raise InputError("standard input: nothing comes in; use a pipe, as in 'kubectl logs POD | ...'.")
    yield stream.buffer
