"""The visited set beyond its share of the memory: on disk, in parts.

When the set is full, its lines are written to a temporary file as they are, 9 bytes a state, and an empty one
takes its place. From then on a state that the set in memory does not have is a candidate alone (delayed duplicate
detection: Stern and Dill, "Using magnetic disk instead of main memory in the Murphi verifier", CAV 1998): the
candidates are held until the end of the level, or until the set is full again. Then each part on disk is read
from its beginning to its end, and what it has in common with the set in memory was found before.

The place of a fingerprint in a shard rises with its bits in sets of all sizes, so parts are nearly sorted by
nature: reading one moves once through the set in memory, and nothing needs to be sorted or merged.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch, Blocks
from kraftcheck.engine.frontier import Pieces
from kraftcheck.engine.visited import SHARDS, Visited
from kraftcheck.engine.watch import available_bytes

#: The set may take this part of the memory. Where no more than a small part is left, it is full earlier, but
#: not before it takes as much itself.
SHARE, SMALL_PART = 1 / 2, 1 / 16


class Part:
    """The shards of a visited set in a temporary file."""

    def __init__(self, folder: Path, visited: Visited) -> None:
        sizes = [shard.nbytes for shard in visited.shards]
        *self._offsets, self.bytes = accumulate(sizes, initial=0)
        self._sizes = sizes
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="kraftcheck-", dir=folder)  # noqa: SIM115
        try:
            for shard in visited.shards:
                self._file.write(shard.data)
            self._file.flush()
        except BaseException:
            self.close()
            raise

    def common(self, shard: int, visited: Visited) -> NDArray[np.void]:
        """What of a shard of ``visited`` is here, too."""
        lines = np.empty((self._sizes[shard] // 64, 8), np.uint64)
        left, offset = memoryview(lines).cast("B"), self._offsets[shard]
        while left:
            size = os.preadv(self._file.fileno(), [left], offset)
            if not size:
                raise OSError(f"{self._file.name}: ends before its end")
            left, offset = left[size:], offset + size
        return visited.common(shard, lines)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class Spill:
    """The parts on disk, in ``folder``, and the batches of candidates that are held.

    ``in_memory``: bytes of batches that stay there; ``most``: the memory that this process may have, if it is not
    to have what the machine has. ``possible``: whether the set may be full at all.
    """

    def __init__(self, folder: Path, in_memory: int, most: int | None, *, possible: bool) -> None:
        self._folder = folder
        self._most = most
        self._possible = possible
        self._held = Pieces(folder, in_memory)
        self.parts: list[Part] = []

    @property
    def bytes(self) -> int:
        """The size of the parts."""
        return sum(part.bytes for part in self.parts)

    def is_due(self, blocks: Blocks) -> bool:
        """Whether the set takes as much memory as it may."""
        if not self._possible:
            return False
        size, (whole, left) = blocks.visited.bytes, available_bytes(self._most)
        return size > SHARE * whole or size > SMALL_PART * whole > left

    def write(self, blocks: Blocks) -> None:
        """Write the set as a new part, and leave an empty one; its states must have been taken."""
        self.parts.append(Part(self._folder, blocks.visited))
        blocks.visited = Visited()

    def hold(self, batch: Batch) -> None:
        """Keep candidates until they are taken."""
        self._held.push(batch.rows, batch.fps, batch.parents, batch.codes)

    def taken(self, blocks: Blocks, check: Callable[[], None]) -> Iterator[Batch]:
        """The batches that are held, each without the states that were found before, and released after use.

        ``check`` is called between the parts.
        """
        if not self._held:
            return
        before = Visited()
        for part in self.parts:
            for found in blocks.run([partial(part.common, shard, blocks.visited) for shard in range(SHARDS)]):
                before.add_all(found)
            check()
        for piece in self._held.taken():
            batch = Batch(*piece)
            new = ~before.holds(batch.orbits)
            yield Batch(*(each[new] for each in piece))

    def close(self) -> None:
        """Remove all files."""
        for pieces in (self._held, *self.parts):
            pieces.close()
