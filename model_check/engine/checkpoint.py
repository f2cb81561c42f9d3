"""A search on disk, so that it can be taken up again after its process has ended in whatever way.

The folder of a checkpoint holds, beside the files of all complete levels (:mod:`model_check.engine.links`),

* ``keys``: what the tables asked of the system, in that order, 8 bytes a key. The numbers that interning gave
  depend on that order alone, so asking again makes the same tables. No value of the system is stored, and
  nothing that is read from a checkpoint is ever executed;
* ``level-N.rows``: the rows of level N, the last one that is complete;
* ``checkpoint.json``: how much of each file counts, their CRC-32, counts and violations so far. It is
  replaced when everything else is on disk, and files that it does not count are overwritten: a process that
  is killed leaves the checkpoint before. Its own CRC-32 is in it, too.
"""

from __future__ import annotations

import fcntl
import os
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from model_check.engine.links import AppendedFile

FORMAT = 3
_OF_A_LEVEL = (".links", ".fingerprints", ".rows")


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the argument says why, and what to do, in one sentence."""


Count = Annotated[int, Field(ge=0)]


class Sums(BaseModel):
    """The sums of :class:`~model_check.engine.block.Totals`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    generated: Count
    within: Count
    capacity: Count
    deadlocks: Count
    states: Count
    skipped: Count


class Found(BaseModel):
    """A violation: state ``number`` of ``level``, and from there the step codes ``more``."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    property: str
    level: Count
    number: Count
    more: list[Count]


class Saved(BaseModel):
    """What ``checkpoint.json`` holds.

    ``made_for``: what the search is for; a checkpoint made for anything else is refused. ``tables``: a digest
    of the tables. ``links``, ``fingerprints``, ``keys_checksum``, ``rows_checksum``: CRC-32, the first two of
    each level. ``width``: columns of a row. ``calls``, ``seconds``: spent so far. ``checksum``: that of
    all the rest (see :meth:`summed`); earlier formats had none.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    format: int
    made_for: str
    tables: str
    levels: list[Count]
    links: list[Count]
    fingerprints: list[Count]
    keys: Count
    keys_checksum: Count
    rows_checksum: Count
    width: Count
    totals: Sums
    goals: list[str]
    violations: list[Found]
    calls: Count
    seconds: float
    checksum: Count = 0

    def summed(self) -> Saved:
        """The same, with the CRC-32 of what it says."""
        text = self.model_dump_json(exclude={"checksum"})
        return self.model_copy(update={"checksum": zlib.crc32(text.encode())})

    @model_validator(mode="after")
    def _complete(self) -> Saved:
        if not self.levels or not len(self.levels) == len(self.links) == len(self.fingerprints):
            raise ValueError("every level has links and fingerprints")
        return self


class Checkpoint:
    """The checkpoint in ``folder``, which is created. ``every``: seconds between two of them, at least.

    Only one process may use it at a time. Raises CheckpointError if it is in use or cannot be written.
    """

    def __init__(self, folder: Path, made_for: str, every: float = 60.0) -> None:
        self.folder = folder
        self.made_for = made_for
        self.every = every
        #: The last level of the checkpoint that is on disk, and of the one that was found there.
        self.depth: int | None = None
        self.found: int | None = None
        self._last = time.monotonic()
        # One value, so that Ctrl-C finds both numbers as they were, or both as they are now.
        self._keys = (0, 0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock: BinaryIO = (folder / "lock").open("wb")
        except OSError as error:
            raise CheckpointError(
                f"{folder}: is no folder for a checkpoint ({error.strerror}); name one that can be written."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise CheckpointError(
                f"{folder}: another process uses this checkpoint; wait for it, or name another folder."
            ) from None

    @property
    def _path(self) -> Path:
        return self.folder / "checkpoint.json"

    def rows_of(self, level: int) -> Path:
        """The file of the rows of ``level``."""
        return self.folder / f"level-{level:05d}.rows"

    def damaged(self, path: Path, what: str) -> CheckpointError:
        """The error for a file that is not as it was written."""
        return CheckpointError(
            f"{path}: {what}; the checkpoint is damaged: remove {self.folder} to begin anew."
        )

    # -- writing -----------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self.every

    def append_keys(self, keys: Sequence[int], count: int) -> tuple[int, int]:
        """Of the first ``count`` keys append those that are new since the last time; (``count``, CRC-32)."""
        before, checksum = self._keys
        new = np.array(keys[before:count], np.int64)
        with (self.folder / "keys").open("r+b" if before else "wb") as file:
            file.truncate(8 * before)
            file.seek(8 * before)
            file.write(new.tobytes())
            _synchronize(file)
        self._keys = before + len(new), zlib.crc32(new.tobytes(), checksum)
        return self._keys

    def write_rows(self, level: int, pieces: Iterable[NDArray[np.int32]]) -> int:
        """Write the rows of ``level``, given in pieces; their CRC-32."""
        file = AppendedFile(self.rows_of(level))
        for rows in pieces:
            file.append(rows)
        file.close()
        return file.checksum

    def commit(self, saved: Saved, written: Iterable[Path]) -> None:
        """From now on ``saved`` is the checkpoint. ``written``: files of levels since the one before."""
        last = self.rows_of(len(saved.levels) - 1)
        for path in (last, *written):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        temporary = self.folder / "checkpoint.json.new"
        with temporary.open("wb") as file:
            file.write(saved.summed().model_dump_json().encode())
            _synchronize(file)
        os.replace(temporary, self._path)
        self.depth = len(saved.levels) - 1
        for rows in self.folder.glob("level-*.rows"):
            if rows != last:
                rows.unlink()
        self._last = time.monotonic()

    def remove(self) -> None:
        """The search is over: remove what belongs to it."""
        for path in self.folder.iterdir():
            if path.name in ("keys", "checkpoint.json") or path.suffix in _OF_A_LEVEL:
                path.unlink()
        self.depth = None

    def close(self) -> None:
        """Let other processes use the folder."""
        self._lock.close()

    # -- reading -----------------------------------------------------------------------------------

    def load(self) -> Saved | None:
        """The last checkpoint in the folder, if there is one.

        Raises CheckpointError if it was made for something else or is damaged.
        """
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            raise self.damaged(self._path, "cannot be read") from None
        try:
            saved = Saved.model_validate_json(text)
        except ValueError:
            raise self.damaged(self._path, "is not what a checkpoint looks like") from None
        if saved.format != FORMAT or saved.made_for != self.made_for:
            raise CheckpointError(
                f"{self.folder}: holds a checkpoint of another scenario, other options or another version of "
                "kraftcheck; name another folder, or remove this one."
            )
        if saved.summed() != saved:
            raise self.damaged(self._path, "is not what was written")
        self.depth = self.found = len(saved.levels) - 1
        return saved

    def read(self, path: Path, count: int, dtype: Any, checksum: int) -> NDArray[Any]:
        """The first ``count`` values of a file. Raises CheckpointError if they are not what was written."""
        try:
            values = np.fromfile(path, dtype, count)
        except OSError:
            raise self.damaged(path, "cannot be read") from None
        if len(values) != count or zlib.crc32(values.data.cast("B") if count else b"") != checksum:
            raise self.damaged(path, "is not what was written")
        return values

    def read_keys(self, saved: Saved) -> list[int]:
        """The keys that the tables asked for."""
        path = self.folder / "keys"
        keys: list[int] = self.read(path, saved.keys, np.int64, saved.keys_checksum).tolist()
        self._keys = saved.keys, saved.keys_checksum
        return keys

    def read_rows(self, saved: Saved) -> NDArray[np.int32]:
        """The rows of the last level."""
        level = len(saved.levels) - 1
        count = saved.levels[level] * saved.width
        rows = self.read(self.rows_of(level), count, np.int32, saved.rows_checksum)
        return rows.reshape(saved.levels[level], saved.width)


def _synchronize(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
