"""Merging the rows of a decision table, soundly.

The input says for every combination of conditions that can occur what is decided. The output are rows, each a
set of values per column: every combination in a row that can occur has the decision of the row, and every
combination that can occur is in a row. A column that holds all its values does not matter in that row, or
only one of them can occur there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

D = TypeVar("D")
Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row(Generic[D]):
    """A row: for each column the values it stands for, and what is decided."""

    conditions: tuple[frozenset[str], ...]
    decision: D

    def holds(self, cell: Cell) -> bool:
        """Whether the row stands for this combination."""
        return all(value in allowed for value, allowed in zip(cell, self.conditions, strict=True))


def cover(columns: Sequence[Sequence[str]], decisions: Mapping[Cell, D]) -> tuple[Row[D], ...]:
    """Rows for ``decisions``, whose keys have one value of each column; other combinations cannot occur."""
    done: set[Cell] = set()
    rows: list[Row[D]] = []
    for cell in itertools.product(*columns):
        if cell in done or cell not in decisions:
            continue
        row = _grow(columns, decisions, cell)
        done.update(member for member in _members(row.conditions) if member in decisions)
        rows.append(row)
    return tuple(rows)


def _members(conditions: Sequence[frozenset[str]]) -> Iterator[Cell]:
    return itertools.product(*conditions)


def _grow(columns: Sequence[Sequence[str]], decisions: Mapping[Cell, D], cell: Cell) -> Row[D]:
    """The row that starts as ``cell`` and takes in every value that changes nothing, last column first.

    A value is taken in only if it occurs in the row. A column is taken in whole if every value occurs that
    occurs at all together with the first column's; the first column says what the row is about.
    """
    decision = decisions[cell]
    conditions = [frozenset([value]) for value in cell]
    related = [member for member in decisions if member[0] == cell[0]]
    for index in reversed(range(len(columns))):
        found = {value: _slice(decisions, conditions, index, value) for value in columns[index]}
        fits = {value for value, seen in found.items() if all(other == decision for other in seen)}
        occurs = {value for value, seen in found.items() if seen}
        possible = {member[index] for member in related} if index else set(columns[0])
        whole = fits == set(columns[index]) and occurs >= possible
        conditions[index] = frozenset(columns[index]) if whole else frozenset(fits & occurs)
    return Row(tuple(conditions), decision)


def _slice(
    decisions: Mapping[Cell, D], conditions: Sequence[frozenset[str]], index: int, value: str
) -> list[D]:
    """The decisions of the combinations in ``conditions`` with ``value`` in one column."""
    narrowed = [*conditions[:index], frozenset([value]), *conditions[index + 1 :]]
    return [decisions[member] for member in _members(narrowed) if member in decisions]
