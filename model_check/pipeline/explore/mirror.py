"""The tables of the driver, in executors: what was appended to them since, as arrays.

A process of an executor keeps the tables of a run from task to task and takes in only what it has not seen.
No value of the system travels: kernels need the numbers alone.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Worker
from kraftcheck.engine.columns import Column
from kraftcheck.engine.memo import Memo
from kraftcheck.engine.native_map import NativeMap
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import Room, View

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Delta:
    """Additions to the tables: rows of columns, entries of the maps. ``room``: what kernels need now;
    ``fixed``: what never changes.
    """

    columns: dict[str, NDArray[Any]]
    memo: Pairs
    verdicts: Pairs
    room: Room
    fixed: dict[str, Any]


class Appended:
    """The additions to tables since the last time."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._columns = dict.fromkeys(vars(tables.columns), 0)
        self._resolved = self._judged = 0
        self._begun = False

    @property
    def any(self) -> bool:
        """Whether something was appended since."""
        tables = self._tables
        return (
            not self._begun
            or self._resolved < len(tables.resolved)
            or self._judged < len(tables.judged)
            or any(self._columns[name] < column.count for name, column in vars(tables.columns).items())
        )

    def take(self) -> Delta:
        """The additions since the last time."""
        tables = self._tables
        columns = {}
        for name, column in vars(tables.columns).items():
            columns[name] = column.used[self._columns[name] :].copy()
            self._columns[name] = column.count
        memo = _pairs(tables.memo, tables.resolved[self._resolved :])
        verdicts = _pairs(tables.verdicts, tables.judged[self._judged :])
        self._resolved, self._judged = len(tables.resolved), len(tables.judged)
        fixed: dict[str, Any] = {}
        if not self._begun:
            view = tables.view()._asdict()
            growing = {"answers", "verdicts", *columns}
            fixed = {name: value for name, value in view.items() if name not in growing}
            self._begun = True
        return Delta(columns, memo, verdicts, tables.room, fixed)


def _pairs(known: Memo | NativeMap, keys: list[int]) -> Pairs:
    return np.array(keys, np.int64), np.array([known.get(key) for key in keys], np.int64)


class Mirror:
    """The tables as far as a process of an executor has seen them, and its buffers."""

    def __init__(self) -> None:
        self.version = 0
        self.worker = Worker()
        self.view: View | None = None
        self._columns: dict[str, Column] = {}
        self._memo, self._verdicts = Memo(), NativeMap()
        self._fixed: dict[str, Any] = {}

    def apply(self, delta: Delta) -> None:
        """Take ``delta`` in, which comes after those before."""
        self._fixed.update(delta.fixed)
        for name, values in delta.columns.items():
            if name not in self._columns:
                self._columns[name] = Column(values.dtype, values.shape[1] if values.ndim > 1 else 0)
            self._columns[name].extend(values)
        self._memo.put_all(*delta.memo)
        self._verdicts.put_all(*delta.verdicts)
        self.worker.prepare(delta.room)
        arrays: dict[str, Any] = {name: column.data for name, column in self._columns.items()}
        self.view = View(answers=self._memo.answers, verdicts=self._verdicts.pairs, **arrays, **self._fixed)
        self.version += 1


# What a process keeps between tasks: the tables of the run that it last had a task of.
_kept: dict[str, Mirror] = {}


def mirror_of(run: str, deltas: Sequence[Any]) -> Mirror:
    """The tables of ``run`` with all ``deltas`` (broadcast variables), or with more, from this process."""
    found = _kept.get(run)
    if found is None:
        _kept.clear()
        found = _kept[run] = Mirror()
    else:
        _forget_no_code()
    while found.version < len(deltas):
        found.apply(deltas[found.version].value)
    return found


@cache
def _forget_no_code() -> None:
    """Take what is loaded now out of the search for cyclic garbage, which PySpark asks for after each task.

    Called when the kernels have run once: they and their compiler are nearly all that there is to search.
    """
    gc.freeze()
