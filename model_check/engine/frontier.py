"""The states of one level, in order: in memory, and on disk if they exceed it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import BLOCK

#: Bytes of rows and fingerprints that a level keeps in memory, unless a limit on memory leaves less.
IN_MEMORY = 1 << 30

Piece = tuple[NDArray[Any], ...]


class Pieces:
    """Pieces of several arrays each, in order.

    Those beyond ``in_memory`` bytes go to a temporary file in ``folder``, unless it ``is_roomy``; ``bytes``:
    of those in memory.
    """

    def __init__(self, folder: Path, in_memory: int, is_roomy: Callable[[], bool] = lambda: False) -> None:
        self._folder = folder
        self._in_memory = in_memory
        self._is_roomy = is_roomy
        self._pieces: list[Piece | int] = []
        self._arrays = 0
        self._file: IO[bytes] | None = None
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def push(self, *arrays: NDArray[Any]) -> None:
        """Append a piece."""
        self._arrays = len(arrays)
        size = sum(each.nbytes for each in arrays)
        if self.bytes + size > self._in_memory and not self._is_roomy():
            self._pieces.append(self._write(arrays))
        else:
            self._pieces.append(arrays)
            self.bytes += size

    def _write(self, arrays: Piece) -> int:
        """Write a piece; its offset in the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="kraftcheck-", dir=self._folder)  # noqa: SIM115
        begin = self._file.tell()
        for each in arrays:
            np.save(self._file, each, allow_pickle=False)
        return begin

    def _read(self, begin: int) -> Piece:
        assert self._file is not None
        end = self._file.tell()
        self._file.seek(begin)
        piece = tuple(np.load(self._file, allow_pickle=False) for _ in range(self._arrays))
        self._file.seek(end)
        return piece

    def pieces(self) -> Iterator[Piece]:
        """All pieces in order."""
        for piece in self._pieces:
            yield self._read(piece) if isinstance(piece, int) else piece

    def taken(self) -> Iterator[Piece]:
        """All pieces in order; each is released after use."""
        self._pieces.reverse()
        while self._pieces:
            piece = self._pieces.pop()
            if isinstance(piece, int):
                yield self._read(piece)
            else:
                self.bytes -= sum(each.nbytes for each in piece)
                yield piece
        self.close()

    def close(self) -> None:
        """Release the pieces on disk."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Frontier(Pieces):
    """The states of one level as pieces of rows and fingerprints.

    ``size`` counts all of them, ``alive`` those to be expanded (the others break an invariant).
    """

    def __init__(self, folder: Path, in_memory: int, is_roomy: Callable[[], bool]) -> None:
        super().__init__(folder, in_memory, is_roomy)
        self.size = 0
        self.alive = 0

    def append(self, rows: NDArray[np.int32], fps: NDArray[np.uint64]) -> None:
        """Append states; small pieces are joined, so that late levels do not consist of tiny pieces."""
        if not len(rows):
            return
        self.alive += int(np.count_nonzero(rows[:, 0] >= 0))
        self.size += len(rows)
        last = self._pieces[-1] if self._pieces else None
        if isinstance(last, tuple) and len(last[0]) + len(rows) <= BLOCK:
            self._pieces.pop()
            self.bytes -= last[0].nbytes + last[1].nbytes
            rows, fps = np.concatenate([last[0], rows]), np.concatenate([last[1], fps])
        self.push(rows, fps)

    def blocks(self, *, keep: bool) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
        """At most ``BLOCK`` states at a time. States already returned are released, unless all are to be
        kept.
        """
        for rows, fps in self.pieces() if keep else self.taken():
            for begin in range(0, len(rows), BLOCK):
                yield rows[begin : begin + BLOCK], fps[begin : begin + BLOCK]
