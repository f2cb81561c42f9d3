"""An exploration's levels on disk: the step by which each state was first reached, and its fingerprint.

A level has one file of predecessor links, 8 bytes a state: two uint32, the number of the predecessor in the
level before and the code of the step (see :mod:`kraftcheck.engine.view`); in level 0 the number is that of
the initial state in the system's order. With ``fingerprints`` it has a second one, of the states'
fingerprints, 10 bytes each: together with the last level's rows they suffice to continue a search.
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
    """A file that is written from its beginning, and the CRC-32 of its contents, where it is ``checked``."""

    def __init__(self, path: Path, *, checked: bool = True) -> None:
        self._file: BinaryIO = path.open("wb")
        self._checked = checked
        self.checksum = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append the bytes of ``values``."""
        data = np.ascontiguousarray(values).data.cast("B") if values.size else b""
        self._file.write(data)
        if self._checked:
            self.checksum = zlib.crc32(data, self.checksum)

    def flush(self) -> None:
        """Pass everything to the operating system."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Links:
    """The files of one exploration, in ``folder``, or in a temporary folder that ends with it.

    ``checksums``: per level, those of its links and of its fingerprints (0 if fingerprints are not kept).
    """

    def __init__(self, folder: Path | str | None = None, *, fingerprints: bool = False) -> None:
        self._temporary = TemporaryFolder() if folder is None else None
        self.folder = Path(self._temporary.name if self._temporary else str(folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fingerprints = fingerprints
        self._paths = [self.links_of, self.fingerprints_of] if fingerprints else [self.links_of]
        #: Gives the links of states instead of the files, once they are kept in another place.
        self.elsewhere: Callable[[int, int], tuple[int, int]] | None = None
        self._closed: list[tuple[int, int]] = []
        #: The files of the current level.
        self._open: list[AppendedFile] = []
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
        """The file of the fingerprints of ``level``, of type ``FINGERPRINT``."""
        return self.folder / f"level-{level:05d}.fingerprints"

    @property
    def checksums(self) -> list[tuple[int, int]]:
        sums = [file.checksum for file in self._open]
        return [*self._closed, (sums[0], sum(sums[1:]))] if sums else list(self._closed)

    def _close_level(self) -> None:
        self._closed = self.checksums
        for file in self._open:
            file.close()
        self._open = []

    def take_up(self, checksums: list[tuple[int, int]]) -> None:
        """The files of as many levels exist already."""
        self._closed = list(checksums)

    def next_level(self) -> None:
        """Everything that follows belongs to the next level."""
        self._close_level()
        level = len(self._closed)
        for path_of in self._paths:
            self._open.append(AppendedFile(path_of(level), checked=self.fingerprints))
            self._written.append(path_of(level))

    def written(self) -> list[Path]:
        """The files written since the previous call, with all their contents so far."""
        self.flush()
        written, self._written = self._written, []
        return written

    def append(
        self, parents: NDArray[np.uint32], codes: NDArray[np.uint32], fingerprints: NDArray[np.void] | None
    ) -> None:
        """Append the new states of the current level, in their order; fingerprints only if they are kept."""
        values: tuple[NDArray[Any] | None, ...] = (np.stack([parents, codes], axis=1), fingerprints)
        for file, kept in zip(self._open, values, strict=False):
            assert kept is not None
            file.append(kept)

    def flush(self) -> None:
        """Pass everything to the operating system."""
        for file in self._open:
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
