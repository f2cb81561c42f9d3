"""Arrays that grow, which the kernels read."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """An array that grows by doubling. ``data`` is replaced when it grows; ``count`` rows of it are used."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self.data: NDArray[Any] = np.zeros((1024, width) if width else 1024, dtype)
        self.count = 0

    @property
    def used(self) -> NDArray[Any]:
        """The rows that are used."""
        return self.data[: self.count]

    def extend(self, values: NDArray[Any]) -> None:
        """Append rows."""
        while self.count + len(values) > len(self.data):
            self.data = np.concatenate([self.data, np.zeros_like(self.data)])
        self.data[self.count : self.count + len(values)] = values
        self.count += len(values)

    def append(self, value: Any) -> int:
        """Append one row and return its number."""
        if self.count == len(self.data):
            self.data = np.concatenate([self.data, np.zeros_like(self.data)])
        self.data[self.count] = value
        self.count += 1
        return self.count - 1


class Columns:
    """The arrays of :class:`~kraftcheck.engine.view.View` that only grow, by their names there."""

    def __init__(self, permutations: int, projections: int) -> None:
        self.outcomes, self.pool = Column(np.int64, 8), Column(np.int32)
        self.price, self.prices = Column(np.uint16), Column(np.int64)
        self.local_hash, self.message_hash, self.history_hash, self.differences = (
            Column(np.uint64, 2 * permutations) for _ in range(4)
        )
        self.destination, self.outside = Column(np.int32), Column(np.uint8)
        self.clock, self.expiry = Column(np.int64), Column(np.int64)
        self.projection_hash = Column(np.uint64, projections)
        self.history_projection_hash = Column(np.uint64, projections)

    def sizes(self) -> tuple[int, ...]:
        """The sizes of the arrays so far."""
        return tuple(column.count for column in vars(self).values())

    def digest(self, sizes: tuple[int, ...]) -> str:
        """A digest of the system's answers as of the time when the arrays had these ``sizes``."""
        found = blake2b(digest_size=16)
        for column, count in zip(vars(self).values(), sizes, strict=True):
            found.update(column.data[:count].tobytes())
        return found.hexdigest()
