"""What every decision table is, whoever it is about: conditions, situations, decisions, merged rows.

A table has columns of conditions. Each combination of their values is turned into a situation, somebody is
asked what is decided there, and rows that are decided alike are merged (:mod:`kraftcheck.query.cover`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kraftcheck.query.cover import Cell, Row, cover

S = TypeVar("S")
D = TypeVar("D", bound="Decided")


class Decided(Protocol):
    """What is decided, as a table prints it."""

    @property
    def results(self) -> Mapping[str, str]:
        """The columns of results, and what each says; all decisions of a table have the same columns."""
        ...

    @property
    def sentence(self) -> str:
        """The results in one line."""
        ...

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that decided, in order."""
        ...


@dataclass(frozen=True)
class DecisionTable(Generic[S]):
    """A decision table: its conditions, what it takes for granted, and how a combination becomes a situation.

    ``situation`` gets the value of each column by its name and returns ``None`` for what cannot occur.
    """

    name: str
    about: str
    assumes: str
    columns: Mapping[str, tuple[str, ...]]
    situation: Callable[[Mapping[str, str]], S | None]


def decide(table: DecisionTable[S], ask: Callable[[S], D | None]) -> Mapping[Cell, D]:
    """The decision on every combination of conditions that can occur; ``ask`` says ``None`` to a situation
    that cannot.
    """
    decisions: dict[Cell, D] = {}
    for cell in itertools.product(*table.columns.values()):
        situation = table.situation(dict(zip(table.columns, cell, strict=True)))
        decision = None if situation is None else ask(situation)
        if decision is not None:
            decisions[cell] = decision
    return decisions


def merged(table: DecisionTable[S], decisions: Mapping[Cell, D]) -> tuple[Row[D], ...]:
    """The merged rows of a table, in the order of its columns' values."""
    return cover(tuple(table.columns.values()), decisions)
