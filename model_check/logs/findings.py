"""Where problems and notes are collected; bounded, however many there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from model_check.logs.checks import CHECKS, NOTES, Problem, Where

#: Problems kept in full; the rest is counted by check.
PROBLEMS_KEPT: Final = 1000


@dataclass(slots=True)
class Findings:
    """What was found in all files."""

    kept: int = PROBLEMS_KEPT
    """So many problems are kept in full at a time."""
    problems: list[Problem] = field(default_factory=list)
    problem_counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    first_notes: dict[str, Where] = field(default_factory=dict)
    """Where a note was first made."""

    def problem(
        self,
        check: str,
        node: int,
        where: Where,
        time: bytes,
        expected: str,
        found: str,
        earlier: Where | None = None,
        cites: tuple[str, ...] = (),
    ) -> None:
        """Add a problem; ``cites`` are ids beside those of the check."""
        self.problem_counts[check] += 1
        if len(self.problems) < self.kept:
            ids = tuple(dict.fromkeys((*CHECKS[check].cites, *cites)))
            shown = time.decode("ascii", "replace")
            self.problems.append(Problem(check, node, where, shown, expected, found, earlier, ids))

    def note(self, name: str, where: Where, count: int = 1) -> None:
        """Count something that is no problem."""
        if name not in NOTES:
            raise KeyError(name)
        self.notes[name] += count
        self.first_notes.setdefault(name, where)
