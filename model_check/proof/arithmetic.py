"""Arithmetic of majorities, for sets of any size: what the axioms about majorities rest on.

A family of finite sets is described by how many elements each region of its Venn diagram has: these are any
natural numbers, and what is said of sizes is linear in them. So a statement about all finite sets becomes one
of linear arithmetic, which the solver decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product

import z3

from model_check.proof.logic import Formula

#: High watermarks are checked for each number of voters up to this one.
MOST_VOTERS = 9


class Sets:
    """Finite sets by name. A region is given by the names of the sets that its elements are in."""

    def __init__(self, *names: str) -> None:
        self._regions = {
            frozenset(name for name, inside in zip(names, each, strict=True) if inside): z3.Int(
                "_".join(name if inside else "" for name, inside in zip(names, each, strict=True)) + "|"
            )
            for each in product((True, False), repeat=len(names))
            if any(each)
        }

    def natural(self) -> Formula:
        """No region has fewer than no elements."""
        return z3.And(*(number >= 0 for number in self._regions.values()))

    def size(self, condition: Callable[[frozenset[str]], bool]) -> z3.ArithRef:
        """How many elements lie in the regions that ``condition`` accepts."""
        return z3.Sum([number for region, number in self._regions.items() if condition(region)])

    def of(self, name: str) -> z3.ArithRef:
        """The size of a set."""
        return self.size(lambda region: name in region)

    def is_within(self, part: str, whole: str) -> Formula:
        """``part`` is a subset of ``whole``."""
        return self.size(lambda region: part in region and whole not in region) == 0

    def meet(self, one: str, other: str) -> Formula:
        """The two sets have an element in common."""
        return self.size(lambda region: one in region and other in region) > 0

    def differ_by_one(self, one: str, other: str) -> Formula:
        """One element at most is added, or one is removed."""
        return self.size(lambda region: (one in region) != (other in region)) <= 1

    def is_majority(self, part: str, whole: str) -> Formula:
        """``part`` has at least as many voters as ``reference.voters.majority`` demands of ``whole``."""
        return z3.And(self.is_within(part, whole), self.of(part) >= self.of(whole) / 2 + 1)


@dataclass(frozen=True)
class Statement:
    """A statement of arithmetic. ``holds`` is whether it is to be proved, or to be refuted by an example."""

    name: str
    says: str
    rules: tuple[str, ...]
    formula: Formula
    holds: bool = True


def _same_voters() -> Formula:
    sets = Sets("A", "B", "V")
    premise = z3.And(sets.natural(), sets.is_majority("A", "V"), sets.is_majority("B", "V"))
    return z3.Implies(premise, sets.meet("A", "B"))


def _one_change() -> Formula:
    sets = Sets("A", "B", "V", "W")
    majorities = z3.And(sets.is_majority("A", "V"), sets.is_majority("B", "W"))
    return z3.Implies(z3.And(sets.natural(), majorities, sets.differ_by_one("V", "W")), sets.meet("A", "B"))


def _two_changes(voters: int | None = None) -> Formula:
    """Of ``voters`` voters at first; without that, of any number."""
    sets = Sets("A", "B", "U", "V", "W")
    majorities = z3.And(sets.is_majority("A", "U"), sets.is_majority("B", "W"))
    changes = z3.And(sets.differ_by_one("U", "V"), sets.differ_by_one("V", "W"))
    not_empty = z3.And(sets.of("U") > 0, sets.of("V") > 0, sets.of("W") > 0)
    number = z3.BoolVal(True) if voters is None else sets.of("U") == voters
    return z3.Implies(z3.And(sets.natural(), majorities, changes, not_empty, number), sets.meet("A", "B"))


def _replaced() -> Formula:
    """One voter leaves and another comes in one change, as the checks of VSET-7 would allow it."""
    sets = Sets("A", "B", "V", "W")
    majorities = z3.And(sets.is_majority("A", "V"), sets.is_majority("B", "W"))
    added = sets.size(lambda region: "W" in region and "V" not in region)
    removed = sets.size(lambda region: "V" in region and "W" not in region)
    return z3.Implies(z3.And(sets.natural(), majorities, added <= 1, removed <= 1), sets.meet("A", "B"))


def _lost_or_open() -> Formula:
    """An election is lost exactly if those that have not rejected are no majority."""
    voters, rejected, granted = z3.Ints("voters rejected granted")
    sizes = z3.And(voters > 0, rejected >= 0, granted >= 0, granted + rejected <= voters)
    lost = voters - rejected < voters / 2 + 1
    can_win = z3.And(granted <= voters - rejected, voters - rejected >= voters / 2 + 1)
    return z3.Implies(sizes, lost == z3.Not(can_win))


def _check_quorum() -> Formula:
    """Voters heard from, and the leader if it is one, are a majority exactly if they are enough."""
    voters, heard, own = z3.Ints("voters heard own")
    sizes = z3.And(voters > 0, heard >= 0, own >= 0, own <= 1, heard + own <= voters)
    return z3.Implies(sizes, (heard >= voters / 2 + 1 - own) == (heard + own >= voters / 2 + 1))


def _high_watermark(voters: int) -> Formula:
    """The end offset that a leader adopts is the largest one that a majority has reached."""
    ends = [z3.Int(f"end{number}") for number in range(voters)]
    largest_first = z3.And(True, *(one >= other for one, other in pairwise(ends)))
    reached, larger = ends[voters // 2], z3.Int("larger")

    def at_least(offset: z3.ArithRef) -> z3.ArithRef:
        return z3.Sum([z3.If(end >= offset, 1, 0) for end in ends])

    needed = voters // 2 + 1
    beyond = z3.Implies(larger > reached, at_least(larger) < needed)
    return z3.Implies(largest_first, z3.And(at_least(reached) >= needed, beyond))


STATEMENTS = (
    Statement("same-voters", "two majorities of one voter set meet", ("DEF-2",), _same_voters()),
    Statement(
        "one-change",
        "majorities of two voter sets meet if one voter was added or removed",
        ("VSET-7", "VSET-8"),
        _one_change(),
    ),
    Statement(
        "two-changes",
        "majorities of two voter sets need not meet two changes apart",
        ("VSET-8",),
        _two_changes(),
        holds=False,
    ),
    Statement(
        "one-replaced",
        "majorities of two voter sets need not meet if a voter is replaced by another in one change",
        ("VSET-7",),
        _replaced(),
        holds=False,
    ),
    Statement(
        "election-lost", "an election is given up exactly if it cannot be won", ("VOTE-21",), _lost_or_open()
    ),
    Statement(
        "check-quorum",
        "a leader that has heard from as many as it needs has heard from a majority, itself included",
        ("CHECKQ-2",),
        _check_quorum(),
    ),
    *(
        Statement(
            f"two-changes-of-{voters}",
            f"majorities two changes from {voters} voters {'meet' if voters % 2 == 0 else 'need not meet'}",
            ("VSET-8",),
            _two_changes(voters),
            holds=voters % 2 == 0,
        )
        for voters in range(1, MOST_VOTERS + 1)
    ),
    *(
        Statement(
            f"high-watermark-{voters}",
            f"the high watermark of {voters} voters is the largest offset that a majority has reached",
            ("HWM-1",),
            _high_watermark(voters),
        )
        for voters in range(1, MOST_VOTERS + 1)
    ),
)
