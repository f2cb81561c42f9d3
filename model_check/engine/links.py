"""Predecessor links on disk: how each state was first reached, 8 bytes a state, one file a level.

A link is two uint32: the number of the predecessor in the level before, and the code of the step (see
:mod:`model_check.engine.tables`). In level 0 the number is that of the initial state in the system's order.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray


class Links:
    """The links of one exploration, in ``folder``, or in a temporary folder that ends with it."""

    def __init__(self, folder: Path | str | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="links-") if folder is None else None
        self._folder = Path(self._temporary.name if self._temporary else str(folder))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._level = -1
        self._file: BinaryIO | None = None

    def __enter__(self) -> Links:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _name(self, level: int) -> Path:
        return self._folder / f"level-{level:05d}.links"

    def next_level(self) -> None:
        """The links that follow belong to the next level."""
        if self._file is not None:
            self._file.close()
        self._level += 1
        self._file = self._name(self._level).open("wb")

    def append(self, parents: NDArray[np.uint32], codes: NDArray[np.uint32]) -> None:
        """Append the links of new states of the current level, in their order."""
        assert self._file is not None
        self._file.write(np.stack([parents, codes], axis=1).tobytes())

    def trace(self, level: int, number: int) -> tuple[int, list[int]]:
        """(number of the initial state, codes of the steps) on the way to state ``number`` of ``level``."""
        if self._file is not None:
            self._file.flush()
        codes: list[int] = []
        while True:
            with self._name(level).open("rb") as file:
                file.seek(8 * number)
                pair = np.frombuffer(file.read(8), np.uint32)
            number = int(pair[0])
            if level == 0:
                return number, codes[::-1]
            codes.append(int(pair[1]))
            level -= 1
