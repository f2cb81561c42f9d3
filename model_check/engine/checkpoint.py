"""A search on disk, so that a later process can continue it after any end of the first one.

The folder of a checkpoint holds, next to the files of all complete levels (:mod:`kraftcheck.engine.links`),

* ``keys``: the questions of the tables to the system, in order, 8 bytes a key. The numbers that interning
  gave depend on that order alone, so asking again makes the same tables. No value of the system is stored,
  and nothing from a checkpoint is ever executed;
* ``level-N.rows``: the rows of level N, the last one that is complete;
* ``checkpoint.json``: the valid length of each file, their CRC-32, counts and violations so far. It is
  replaced when everything else is on disk, and files that it does not count are overwritten: a killed process
  leaves the previous checkpoint. Its own CRC-32 is in it, too. It is the first file to be written and the
  last one to be removed, so files without it are damaged or foreign, and are left alone.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.links import AppendedFile
from kraftcheck.engine.summed import Count, Summed

FORMAT = 6
_MANIFEST = "checkpoint.json"
#: The files that a killed process may leave in a folder in which it was about to begin.
_EMPTY = {"lock", f"{_MANIFEST}.new"}
_OURS = re.compile(r"lock|keys|checkpoint\.json(\.new)?|level-\d{5,}\.(links|fingerprints|rows)", re.ASCII)


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the argument gives the reason and the remedy in one sentence."""


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A violation: state ``number`` of ``level``, and from there the step codes ``more``."""

    property: str
    level: Count
    number: Count
    more: list[Count]


class Totals(msgspec.Struct, forbid_unknown_fields=True):
    """Sums over the expanded rows, and ``states``, the size of all orbits found.

    ``skipped``: transitions left out because they commute with the one that led to the row.
    """

    generated: Count = 0
    within: Count = 0
    capacity: Count = 0
    deadlocks: Count = 0
    states: Count = 0
    skipped: Count = 0


class Explored(Summed, frozen=True, kw_only=True):
    """A search when the last of its ``levels`` was complete, without the states; no levels: it has begun.

    ``made_for``: the subject of the search; a file with another one is refused. ``tables``: a digest of the
    tables. ``width``: columns of a row. ``calls``, ``seconds``: spent so far.
    """

    format: int
    made_for: str
    tables: str = ""
    levels: tuple[Count, ...] = ()
    width: Count = 0
    totals: Totals = msgspec.field(default_factory=Totals)
    goals: tuple[str, ...] = ()
    violations: tuple[Found, ...] = ()
    calls: Count = 0
    seconds: float = 0.0


class Saved(Explored, frozen=True, kw_only=True):
    """The contents of ``checkpoint.json``.

    ``links``, ``fingerprints``, ``keys_checksum``, ``rows_checksum``: CRC-32, the first two of each level.
    """

    links: tuple[Count, ...] = ()
    fingerprints: tuple[Count, ...] = ()
    keys: Count = 0
    keys_checksum: Count = 0
    rows_checksum: Count = 0

    def __post_init__(self) -> None:
        if not len(self.levels) == len(self.links) == len(self.fingerprints):
            raise ValueError("every level has links and fingerprints")
        if 0 in self.levels:
            raise ValueError("every level has states")


class Checkpoint:
    """The checkpoint in ``folder``, which is created. ``every``: the least number of seconds between two of
    them.

    Only one process may use it at a time. Raises CheckpointError if it is in use or cannot be written.
    """

    def __init__(self, folder: Path, made_for: str, every: float = 60.0) -> None:
        self.folder = folder
        self.made_for = made_for
        self.every = every
        #: The last level of the checkpoint on disk, and of the one that the process found there.
        self.depth: int | None = None
        self.found: int | None = None
        self._last = time.monotonic()
        # One value, so that Ctrl-C finds both numbers before the change, or both after it.
        self._keys = (0, 0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(folder / "lock"):
                # Nothing is created in a foreign folder.
                self._require_ours()
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise CheckpointError(
                f"{folder}: is no folder for a checkpoint ({error.strerror}); name one that can be written."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._require_ours()
        except OSError:
            os.close(self._lock)
            raise CheckpointError(
                f"{folder}: another process uses this checkpoint; wait for it, or name another folder."
            ) from None
        except CheckpointError:
            os.close(self._lock)
            raise

    def _require_ours(self) -> None:
        """Raise CheckpointError where a foreign file would be overwritten or removed."""
        with os.scandir(self.folder) as entries:
            found = {entry.name: entry for entry in entries}
        for name, entry in sorted(found.items()):
            if _OURS.fullmatch(name) and not entry.is_file(follow_symlinks=False):
                raise CheckpointError(
                    f"{self.folder / name}: expected a plain file of a checkpoint; name another folder."
                )
        if _MANIFEST in found:
            return
        strange = sorted(set(found) - _EMPTY)
        if not strange and found and ("lock" not in found or found["lock"].stat().st_size):
            strange = [min(found)]
        if strange:
            raise CheckpointError(
                f"{self.folder}: has '{strange[0][:80]}' but no {_MANIFEST}, so it is not a checkpoint or a "
                "damaged one; name another folder, or remove this one if it was a checkpoint."
            )

    @property
    def _path(self) -> Path:
        return self.folder / _MANIFEST

    def rows_of(self, level: int) -> Path:
        """The file of the rows of ``level``."""
        return self.folder / f"level-{level:05d}.rows"

    def damaged(self, path: Path, what: str) -> CheckpointError:
        """The error for a file that differs from the written one."""
        return CheckpointError(
            f"{path}: {what}; the checkpoint is damaged: remove {self.folder} to begin anew, or name another "
            "folder."
        )

    # -- writing -----------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self.every

    def append_keys(self, keys: Sequence[int], count: int) -> int:
        """Of the first ``count`` keys append those that are new since the last time; the CRC-32 of all."""
        before, checksum = self._keys
        new = np.array(keys[before:count], np.int64)
        with (self.folder / "keys").open("r+b" if before else "wb") as file:
            file.truncate(8 * before)
            file.seek(8 * before)
            file.write(new.tobytes())
            _synchronize(file)
        self._keys = before + len(new), zlib.crc32(new.tobytes(), checksum)
        return self._keys[1]

    def write_rows(self, level: int, pieces: Iterable[NDArray[np.int32]]) -> int:
        """Write the rows of ``level``, given in pieces; their CRC-32."""
        file = AppendedFile(self.rows_of(level))
        for rows in pieces:
            file.append(rows)
        file.close()
        return file.checksum

    def commit(self, saved: Saved, written: Iterable[Path]) -> None:
        """From now on ``saved`` is the checkpoint. ``written``: files of levels since the previous one."""
        last = self.rows_of(len(saved.levels) - 1)
        for path in (last, *written):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        self._write(saved)
        self.depth = len(saved.levels) - 1
        for path in self._files():
            if path.suffix == ".rows" and path != last:
                path.unlink()
        self._last = time.monotonic()

    def _write(self, saved: Saved) -> None:
        temporary = self.folder / f"{_MANIFEST}.new"
        with temporary.open("wb") as file:
            file.write(saved.text().encode())
            _synchronize(file)
        os.replace(temporary, self._path)

    def _begin(self) -> None:
        """From now on the folder belongs to this checkpoint, and nothing in it counts."""
        self._write(Saved(format=FORMAT, made_for=self.made_for))
        self.depth = None

    def _files(self) -> list[Path]:
        """The files of a checkpoint except the lock; all other files there are foreign."""
        return [path for path in self.folder.iterdir() if _OURS.fullmatch(path.name) and path.name != "lock"]

    def remove(self) -> None:
        """The search is over: remove its files."""
        # A process killed at this point must not leave an incomplete checkpoint. A full disk, which takes no
        # new file, is no reason to lose the answer.
        with suppress(OSError):
            self._begin()
        for path in self._files():
            if path != self._path:
                path.unlink()
        self._path.unlink()
        self.depth = None

    def close(self) -> None:
        """Let other processes use the folder."""
        os.close(self._lock)

    # -- reading -----------------------------------------------------------------------------------

    def load(self) -> Saved | None:
        """The last checkpoint in the folder, if there is one; else the folder is prepared for the first one.

        Raises CheckpointError if it was made for another search or is damaged.
        """
        try:
            saved = Saved.parse(self._path.read_bytes())
        except FileNotFoundError:
            self._begin()
            return None
        except OSError:
            raise self.damaged(self._path, "cannot be read") from None
        except ValueError:
            raise self.damaged(self._path, "is not what was written") from None
        if not saved.levels:
            return None
        if saved.format != FORMAT or saved.made_for != self.made_for:
            raise CheckpointError(
                f"{self.folder}: holds a checkpoint of another scenario, other options or another version of "
                "kraftcheck; name another folder, or remove this one."
            )
        self.depth = self.found = len(saved.levels) - 1
        return saved

    def read(self, path: Path, count: int, dtype: Any, checksum: int, at_once: int) -> Iterator[NDArray[Any]]:
        """The first ``count`` values of a file, so many at a time.

        Raises CheckpointError if they differ from the written ones, which is known at their end.
        """
        left, found = count, 0
        try:
            with path.open("rb") as file:
                while left:
                    values = np.fromfile(file, dtype, min(left, at_once))
                    if not len(values):
                        break
                    left, found = left - len(values), zlib.crc32(values.data.cast("B"), found)
                    yield values
        except OSError:
            raise self.damaged(path, "cannot be read") from None
        if left or found != checksum:
            raise self.damaged(path, "is not what was written")

    def read_keys(self, saved: Saved) -> list[int]:
        """The keys that the tables requested."""
        found = self.read(self.folder / "keys", saved.keys, np.int64, saved.keys_checksum, saved.keys)
        keys = [key for values in found for key in values.tolist()]
        self._keys = saved.keys, saved.keys_checksum
        return keys

    def read_rows(self, saved: Saved, at_once: int) -> Iterator[NDArray[np.int32]]:
        """The rows of the last level, so many at a time."""
        level, width = len(saved.levels) - 1, saved.width
        count = saved.levels[level] * width
        path = self.rows_of(level)
        for values in self.read(path, count, np.int32, saved.rows_checksum, at_once * width):
            if len(values) % width:
                raise self.damaged(path, "is not what was written")
            yield values.reshape(-1, width)


def _synchronize(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
