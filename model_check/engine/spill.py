"""The visited set beyond its share of the memory: on disk, in parts.

When the set is full, its lines are written to a temporary file as they are, 9 bytes a state, and an empty set
takes its place. From then on a state that the set in memory does not have is only a candidate. Candidates are
held until the end of the level, or until the set is full again. Then each part on disk is read once, from its
beginning to its end: the candidates that it has are not new (delayed duplicate detection: Stern and Dill,
"Using magnetic disk instead of main memory in the Murphi verifier", CAV 1998). The others become states, in
their order, as if the set had never left the memory.
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
from kraftcheck.engine.overlap import common, contained
from kraftcheck.engine.visited import SHARDS, Visited
from kraftcheck.engine.watch import available_bytes

#: The set may take this part of the memory. It is full earlier where little is left, a small part or what a
#: few blocks of candidates need, but not before it takes a small part itself.
SHARE, SMALL_PART = 1 / 2, 1 / 16
OF_BLOCKS = 1 << 28
#: A set of so few bytes stays in memory.
LEAST = 1 << 24
#: The number of shards that are read between two looks at the limits.
AT_ONCE = 8


class Part:
    """The shards of a visited set in a temporary file; ``sizes``: their bytes, ``bytes``: all of them."""

    def __init__(self, folder: Path, visited: Visited) -> None:
        self.sizes = [shard.nbytes for shard in visited.shards]
        *self._offsets, self.bytes = accumulate(self.sizes, initial=0)
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="kraftcheck-", dir=folder)  # noqa: SIM115
        try:
            for shard in visited.shards:
                self._file.write(shard.data)
            self._file.flush()
        except BaseException:
            self.close()
            raise

    def read(self, shard: int, buffer: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The lines of a shard, in ``buffer``, which has room for them."""
        lines = buffer[: self.sizes[shard] // 64]
        left, offset = memoryview(lines.data).cast("B"), self._offsets[shard]
        while left:
            size = os.preadv(self._file.fileno(), [left], offset)
            if not size:
                raise OSError(f"{self._file.name}: ends before its end")
            left, offset = left[size:], offset + size
        return lines

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class Spill:
    """The parts on disk, in ``folder``, and the batches of candidates that are held.

    ``in_memory``: bytes of batches that stay there; ``most``: the memory that this process may have, where it
    has a limit of its own. ``possible``: whether the set may go to disk at all.
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
        size = blocks.visited.bytes
        if not self._possible or size < LEAST:
            return False
        whole, left = available_bytes(self._most)
        little = max(SMALL_PART * whole, OF_BLOCKS)
        return size > SHARE * whole or (size > SMALL_PART * whole and left < little)

    def write(self, blocks: Blocks) -> None:
        """Write the set as a new part, and leave an empty one; its states must have been taken."""
        self.parts.append(Part(self._folder, blocks.visited))
        blocks.visited = Visited()

    def hold(self, batch: Batch) -> None:
        """Keep candidates until they are taken."""
        self._held.push(batch.rows, batch.fps, batch.parents, batch.codes)

    def taken(self, blocks: Blocks, check: Callable[[], None]) -> Iterator[Batch]:
        """The batches that are held, each without the states that were found before, and released after use.

        ``check`` is called now and then while the parts are read.
        """
        if not self._held:
            return
        before = Visited()
        for first in range(0, SHARDS, AT_ONCE):
            jobs = [partial(self._common, shard, blocks.visited) for shard in range(first, first + AT_ONCE)]
            for found in blocks.run(jobs):
                before.add_all(found)
            check()
        for piece in self._held.taken():
            batch = Batch(*piece)
            new = ~contained(before, batch.orbits)
            yield Batch(*(each[new] for each in piece))

    def _common(self, shard: int, visited: Visited) -> NDArray[np.void]:
        """What of a shard of ``visited`` is on disk, too."""
        buffer = np.empty((max(part.sizes[shard] for part in self.parts) // 64, 8), np.uint64)
        return common(visited, shard, (part.read(shard, buffer) for part in self.parts))

    def close(self) -> None:
        """Remove all files."""
        self._held.close()
        for part in self.parts:
            part.close()
