"""The answers of a system by their keys, as Python and the kernels read them.

A key is kind << 60 | a << 30 | b, with a and b below 2**30: DELIVER (local state, message), ACT (local state,
0), RECORD (history, labels), SIGNAL_MESSAGE (signals, message), SIGNAL_LOCAL (signals, local state). There
are few sequences of signals, so what they lead to is in arrays: a kernel asks that several times in each
step. What else has two numbers is in a hash map.
"""

# Numba infers the types of kernels; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.jit import inlined
from kraftcheck.engine.native_map import NativeMap, find

DELIVER, ACT, RECORD, SIGNAL_MESSAGE, SIGNAL_LOCAL = 1, 2, 3, 4, 5
LIMIT = 1 << 30


class Answers(NamedTuple):
    """The kernels' view of the answers; -1 where there is none yet.

    pairs: of a :class:`~kraftcheck.engine.native_map.NativeMap`. acts: int64, by local state. messages_after,
    locals_after: int32, by message and by local state, then by signals.
    """

    pairs: NDArray[np.int64]
    acts: NDArray[np.int64]
    messages_after: NDArray[np.int32]
    locals_after: NDArray[np.int32]


@inlined
def keyed(kind, a, b):
    """The key for ``a`` and ``b``."""
    return (kind << 60) | (np.int64(a) << 30) | np.int64(b)


@inlined
def _entry(table, row, column):
    # Unsigned numbers do not count from the end.
    row, column = np.uint64(row), np.uint64(column)
    if row < np.uint64(table.shape[0]) and column < np.uint64(table.shape[1]):
        return np.int64(table[row, column])
    return np.int64(-1)


@inlined
def delivered(answers, local, message):
    """The value of DELIVER, or -1."""
    return np.int64(find(answers.pairs, keyed(DELIVER, local, message)))


@inlined
def acted(answers, local):
    """The value of ACT, or -1."""
    return answers.acts[local] if local < answers.acts.shape[0] else np.int64(-1)


@inlined
def recorded(answers, history, labels):
    """The value of RECORD, or -1."""
    return np.int64(find(answers.pairs, keyed(RECORD, history, labels)))


@inlined
def message_after(answers, signals, message):
    """The value of SIGNAL_MESSAGE, or -1."""
    return _entry(answers.messages_after, message, signals)


@inlined
def local_after(answers, signals, local):
    """The value of SIGNAL_LOCAL, or -1."""
    return _entry(answers.locals_after, local, signals)


class Memo:
    """The answers by key; values are not negative."""

    def __init__(self) -> None:
        self._map = NativeMap()
        self._acts: NDArray[np.int64] = np.full(1024, -1, np.int64)
        self._after: dict[int, NDArray[np.int32]] = {
            kind: np.full((1024, 4), -1, np.int32) for kind in (SIGNAL_MESSAGE, SIGNAL_LOCAL)
        }
        self._later: dict[int, int] = {}

    @property
    def answers(self) -> Answers:
        """The current arrays; valid until there are more answers."""
        return Answers(self._map.pairs, self._acts, self._after[SIGNAL_MESSAGE], self._after[SIGNAL_LOCAL])

    def __contains__(self, key: int) -> bool:
        return self.get(key) >= 0

    def get(self, key: int) -> int:
        """The value of ``key``, or -1."""
        later = self._later.get(key)
        if later is not None:
            return later
        kind, a, b = key >> 60, key >> 30 & (LIMIT - 1), key & (LIMIT - 1)
        if kind == ACT:
            return int(self._acts[a]) if a < len(self._acts) else -1
        if kind in self._after:
            after = self._after[kind]
            return int(after[b, a]) if b < len(after) and a < after.shape[1] else -1
        return self._map.get(key)

    def put_later(self, key: int, value: int) -> None:
        """Set a key that has no value yet; kernels see it after :meth:`settle`."""
        self._later[key] = value

    def settle(self) -> None:
        """Write the pending entries. No kernel may be running."""
        size = len(self._later)
        self.put_all(
            np.fromiter(self._later.keys(), np.int64, size), np.fromiter(self._later.values(), np.int64, size)
        )
        self._later.clear()

    def put_all(self, keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """Set keys that have no value yet."""
        kinds, a, b = keys >> 60, keys >> 30 & (LIMIT - 1), keys & (LIMIT - 1)
        acts = kinds == ACT
        self._acts = _with_room(self._acts, a[acts])
        self._acts[a[acts]] = values[acts]
        in_map = ~acts
        for kind, after in self._after.items():
            these = kinds == kind
            self._after[kind] = _with_room(after, b[these], a[these])
            self._after[kind][b[these], a[these]] = values[these]
            in_map &= ~these
        self._map.put_all(keys[in_map], values[in_map])


def _with_room(table: NDArray[Any], *places: NDArray[np.int64]) -> NDArray[Any]:
    """``table``, or a larger one, with room for ``places`` along each of its axes."""
    shape = list(table.shape)
    for axis, numbers in enumerate(places):
        while len(numbers) and shape[axis] <= numbers.max():
            shape[axis] *= 2
    if tuple(shape) == table.shape:
        return table
    larger = np.full(shape, -1, table.dtype)
    larger[tuple(map(slice, table.shape))] = table
    return larger
