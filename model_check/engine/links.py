"""An exploration's levels on disk: the step by which each state was first reached, and its fingerprint.

A level has one file of predecessor links, 8 bytes a state: two uint32, the number of the predecessor in the
level before and the code of the step (see :mod:`kraftcheck.engine.view`); in level 0 the number is that of
the initial state in the system's order. With ``fingerprints`` it has a second one, of the states'
fingerprints, 8 bytes each: together with the last level's rows they suffice to continue a search.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from kraftcheck.support.files import TemporaryFolder


class AppendedFile:
    """A file that is written from its beginning, and the CRC-32 of its contents."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self.checksum = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append the bytes of ``values``."""
        data = np.ascontiguousarray(values).data.cast("B") if values.size else b""
        self._file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)

    def flush(self) -> None:
        """Pass everything to the operating system."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Links:
    """The files of one exploration, in ``folder``, or in a temporary folder that ends with it.

    ``checksums``: per level, those of its links and of its fingerprints (0 if these are not kept).
    """

    def __init__(self, folder: Path | str | None = None, *, fingerprints: bool = False) -> None:
        self._temporary = TemporaryFolder() if folder is None else None
        self.folder = Path(self._temporary.name if self._temporary else str(folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._with_fingerprints = fingerprints
        #: Gives the links of states instead of the files, once they are kept in another place.
        self.elsewhere: Callable[[int, int], tuple[int, int]] | None = None
        self._closed: list[tuple[int, int]] = []
        self._links: AppendedFile | None = None
        self._fingerprints: AppendedFile | None = None
        self._written: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close_level()
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()

    def links_of(self, level: int) -> Path:
        """The file of the links of ``level``."""
        return self.folder / f"level-{level:05d}.links"

    def fingerprints_of(self, level: int) -> Path:
        """The file of the fingerprints of ``level``."""
        return self.folder / f"level-{level:05d}.fingerprints"

    @property
    def checksums(self) -> list[tuple[int, int]]:
        return [*self._closed, *([self._current()] if self._links is not None else [])]

    def _current(self) -> tuple[int, int]:
        assert self._links is not None
        return self._links.checksum, 0 if self._fingerprints is None else self._fingerprints.checksum

    def _close_level(self) -> None:
        if self._links is not None:
            self._closed.append(self._current())
            self._links.close()
            self._links = None
        if self._fingerprints is not None:
            self._fingerprints.close()
            self._fingerprints = None

    def take_up(self, checksums: list[tuple[int, int]]) -> None:
        """The files of as many levels exist already."""
        self._closed = list(checksums)

    def next_level(self) -> None:
        """Everything that follows belongs to the next level."""
        self._close_level()
        level = len(self._closed)
        self._links = AppendedFile(self.links_of(level))
        self._written.append(self.links_of(level))
        if self._with_fingerprints:
            self._fingerprints = AppendedFile(self.fingerprints_of(level))
            self._written.append(self.fingerprints_of(level))

    def written(self) -> list[Path]:
        """The files written since the previous call, with all their contents so far."""
        self.flush()
        written, self._written = self._written, []
        return written

    def append(
        self, parents: NDArray[np.uint32], codes: NDArray[np.uint32], fingerprints: NDArray[np.uint64]
    ) -> None:
        """Append the new states of the current level, in their order."""
        assert self._links is not None
        self._links.append(np.stack([parents, codes], axis=1))
        if self._fingerprints is not None:
            self._fingerprints.append(fingerprints)

    def flush(self) -> None:
        """Pass everything to the operating system."""
        for file in (self._links, self._fingerprints):
            if file is not None:
                file.flush()

    def link_of(self, level: int, number: int) -> tuple[int, int]:
        """(number in the level before, step) of state ``number`` of ``level``."""
        if self.elsewhere is not None:
            return self.elsewhere(level, number)
        self.flush()
        with self.links_of(level).open("rb") as file:
            file.seek(8 * number)
            parent, code = np.frombuffer(file.read(8), np.uint32).tolist()
        return parent, code

    def trace(self, level: int, number: int) -> tuple[int, list[int]]:
        """(number of the initial state, codes of the steps) on the path to state ``number`` of ``level``."""
        codes: list[int] = []
        while True:
            number, code = self.link_of(level, number)
            if level == 0:
                return number, codes[::-1]
            codes.append(code)
            level -= 1
