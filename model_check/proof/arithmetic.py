"""Arithmetic of majorities, for sets of any size: the basis of the axioms about majorities.

A family of finite sets is described by the number of elements in each region of its Venn diagram: these are
any natural numbers, and statements about sizes are linear in them. So a statement about all finite sets
becomes one of linear arithmetic, which the solver decides.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product

import z3

from kraftcheck.proof.logic import Formula, Statement
from kraftcheck.proof.majorities import MAJORITY_FORMULAS, majority
from kraftcheck.proof.naturals import NATURALS
from kraftcheck.proof.vocabulary import majorities_meet

#: The effect of two changes on majorities is proved for each number of voters up to this one.
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
        """The number of elements in each region is at least 0."""
        return z3.And(*(number >= 0 for number in self._regions.values()))

    def size(self, condition: Callable[[frozenset[str]], bool]) -> z3.ArithRef:
        """The number of elements in the regions that ``condition`` accepts."""
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

    def adjacent(self, one: str, other: str) -> Formula:
        """The sets are the same, or one of them has one element more than the other."""
        return self.size(lambda region: (one in region) != (other in region)) <= 1

    def is_majority(self, part: str, whole: str) -> Formula:
        """``part`` has as many voters as ``reference.voters.majority`` demands of ``whole``, or more."""
        return z3.And(self.is_within(part, whole), self.of(part) >= majority(self.of(whole)))


def _meeting(
    name: str, says: str, rules: tuple[str, ...], path: tuple[str, ...], *given: Formula, holds: bool = True
) -> Statement:
    """Majorities A of the first and B of the last of the voter sets in ``path`` meet, each of these being
    adjacent to the one before.
    """
    sets = Sets("A", "B", *path)
    first, last = sets.is_majority("A", path[0]), sets.is_majority("B", path[-1])
    adjacent = z3.And(True, *(sets.adjacent(one, other) for one, other in pairwise(path)))
    implication = majorities_meet(first, last, adjacent, sets.meet("A", "B"))
    return Statement(
        name,
        says,
        rules,
        z3.And(sets.natural(), implication.arg(0), *given),
        implication.arg(1),
        holds,
    )


def _two_changes(*, even: bool | None = None, voters: int | None = None) -> Statement:
    """From any number of voters, from an even number, or from ``voters``."""
    path, rules = ("U", "V", "W"), ("VSET-8",)
    sets = Sets("A", "B", *path)
    size, not_empty = sets.of("U"), z3.And(*(sets.of(each) > 0 for each in path))
    if voters is not None:
        says = f"majorities two changes from {voters} voters {'need not meet' if voters % 2 else 'meet'}"
        name = f"two-changes-of-{voters}"
        return _meeting(name, says, rules, path, not_empty, size == voters, holds=voters % 2 == 0)
    if even:
        says = "majorities two changes from an even number of voters meet"
        return _meeting("two-changes-of-even", says, rules, path, not_empty, size % 2 == 0)
    says = "majorities of two voter sets need not meet two changes apart"
    return _meeting("two-changes", says, rules, path, not_empty, holds=False)


def _replaced() -> Statement:
    """One voter leaves and another comes in one change, as the checks of VSET-7 would allow it."""
    sets = Sets("A", "B", "V", "W")
    majorities = z3.And(sets.is_majority("A", "V"), sets.is_majority("B", "W"))
    added = sets.size(lambda region: "W" in region and "V" not in region)
    removed = sets.size(lambda region: "V" in region and "W" not in region)
    return Statement(
        "one-replaced",
        "majorities of two voter sets need not meet if a voter is replaced by another in one change",
        ("VSET-7",),
        z3.And(sets.natural(), majorities, added <= 1, removed <= 1),
        sets.meet("A", "B"),
        holds=False,
    )


STATEMENTS = (
    *NATURALS,
    _meeting("same-voters", "two majorities of one voter set meet", ("DEF-2",), ("V",)),
    _meeting(
        "one-change",
        "majorities of two voter sets meet if one voter was added or removed, or none",
        ("VSET-7", "VSET-8"),
        ("V", "W"),
    ),
    _two_changes(),
    _two_changes(even=True),
    _replaced(),
    *MAJORITY_FORMULAS,
    *(_two_changes(voters=voters) for voters in range(1, MOST_VOTERS + 1)),
)
