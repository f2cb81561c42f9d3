"""Where problems and notes are collected; bounded, however many there are."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from kraftcheck.evidence.history.checks import CHECKS

#: Problems kept in full; the rest is counted by check.
PROBLEMS_KEPT: Final = 1000

#: Notes are counted and no problems: they happen to healthy clusters, or come from the way logs are kept.
NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gaps": "places where lines are missing (rotation, cut lines), after which the check began anew",
        "unreadable": "lines that begin like one that matters and cannot be read (cut, damaged)",
        "mixed": "lines that two records were written to",
        "no-layout": "lines with a raft message in a layout that is not known (see --pattern)",
        "json-form": "raft messages in JSON that is not one object a line, or names its message otherwise",
        "unknown-form": "states in a form that no known release prints",
        "other-release": "lines of another release than the process they stand in",
        "time-back": "lines whose time is before the line above",
        "repeated": "lines skipped because each line stands there twice: do two appenders write to one file?",
        "overlap": "lines skipped because an earlier file has the same stretch of time",
        "interrupted": "attempted transitions that a restart cut off",
        "other-cluster": "votes in another cluster than in earlier lines: read its logs by themselves",
        "empty-disk": "starts with an empty disk after the node had one",
        "fetch-back": "replicas that fetched at a smaller offset than before (their log got shorter)",
    }
)


class Where(NamedTuple):
    """A line of a log file. Lines count from 1, in gzip after decompression."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that contradicts a check, or an earlier line."""

    check: str
    node: int
    where: Where
    time: str
    expected: str
    found: str
    earlier: Where | None
    cites: tuple[str, ...]


@dataclass(slots=True)
class Findings:
    """The problems and notes of all files."""

    kept: int = PROBLEMS_KEPT
    """So many problems are kept in full at a time."""
    problems: list[Problem] = field(default_factory=list)
    problem_counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    first_notes: dict[str, Where] = field(default_factory=dict)
    """Where a note was first made."""
    disorder: dict[Problem, Where] = field(default_factory=dict)
    """Problems that lines out of order may make, and where the time of the node's log goes back."""
    doubtful: Counter[str] = field(default_factory=Counter)
    """How many problems of ``problem_counts`` they are."""
    _spans: dict[int, tuple[bytes, bytes, Where]] = field(default_factory=dict)
    """By node: the earliest and latest time of lines out of order, and the first place."""
    _in_order: dict[int, deque[tuple[bytes, Problem]]] = field(default_factory=dict)

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
        disorder: Where | None = None,
    ) -> None:
        """Add a problem.

        ``cites``: ids in addition to those of the check; ``disorder``: where the time of the node's log goes
        back, if the line is out of order or follows such a one.
        """
        self.problem_counts[check] += 1
        ids = tuple(dict.fromkeys((*CHECKS[check].cites, *cites)))
        problem = Problem(check, node, where, time.decode("ascii", "replace"), expected, found, earlier, ids)
        if len(self.problems) < self.kept:
            self.problems.append(problem)
        if CHECKS[check].any_order:
            return
        if disorder is not None:
            self._doubt(problem, disorder)
        else:
            self._in_order.setdefault(node, deque(maxlen=PROBLEMS_KEPT)).append((time, problem))

    def goes_back(
        self, node: int, where: Where, time: bytes, latest: bytes, is_later: Callable[[bytes], bool]
    ) -> None:
        """The time of the log of ``node`` goes back at ``where``, from ``latest`` to ``time``: problems of
        later times are in doubt.
        """
        first, last, there = self._spans.get(node, (time, latest, where))
        self._spans[node] = (min(first, time), max(last, latest), there)
        problems = self._in_order.get(node)
        while problems and is_later(problems[-1][0]):
            self._doubt(problems.pop()[1], where)

    def disorder_at(self, *lines: tuple[int, bytes]) -> Where | None:
        """Where the time of a log goes back that has one of these lines (node, time) in the stretch of time
        within which it does; None if none has.
        """
        for node, time in lines:
            first, last, where = self._spans.get(node, (b"", b"", None))
            if where is not None and first <= time <= last:
                return where
        return None

    def _doubt(self, problem: Problem, where: Where) -> None:
        self.doubtful[problem.check] += 1
        if len(self.disorder) < PROBLEMS_KEPT:
            self.disorder[problem] = where

    def note(self, name: str, where: Where, count: int = 1) -> None:
        """Count something that is no problem."""
        if name not in NOTES:
            raise KeyError(name)
        self.notes[name] += count
        self.first_notes.setdefault(name, where)
