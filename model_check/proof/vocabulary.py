"""The vocabulary of the proof: its sorts, the symbols that never change, and those that actions change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import z3

from kraftcheck.proof.logic import Axiom, Formula, Term, every, some

#: A set of pairs.
Relation: TypeAlias = Callable[[Term, Term], Formula]

Replica = z3.DeclareSort("Replica")
#: A set of replicas.
Quorum = z3.DeclareSort("Quorum")
Epoch = z3.DeclareSort("Epoch")
#: A position in a log. A log is the set of the positions of its records.
Offset = z3.DeclareSort("Offset")
Role, (UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, FOLLOWER, RESIGNED) = z3.EnumSort(
    "Role", ["Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"]
)

#: The epoch before the first, in which no replica is elected.
ZERO = z3.Const("zero", Epoch)
#: The position before the first record: every log has a record of epoch zero there.
ORIGIN = z3.Const("origin", Offset)

#: A set of voters. It may change: the set in a record is ``set_of`` that record.
Voters = z3.DeclareSort("Voters")

member = z3.Function("member", Replica, Quorum, z3.BoolSort())
#: A quorum is a majority of the voters.
majority = z3.Function("majority", Quorum, z3.BoolSort())
majority_of = z3.Function("majority_of", Quorum, Voters, z3.BoolSort())
#: The second set has one voter more than the first, or one less.
changes_one = z3.Function("changes_one", Voters, Voters, z3.BoolSort())
_epoch_at_most = z3.Function("epoch_at_most", Epoch, Epoch, z3.BoolSort())
_offset_at_most = z3.Function("offset_at_most", Offset, Offset, z3.BoolSort())


def at_most(one: Term, other: Term) -> Formula:
    """``one`` is not after ``other``: epochs, offsets, or the numbers that these are."""
    if one.sort() == z3.IntSort():
        return one <= other
    return _epoch_at_most(one, other) if one.sort() == Epoch else _offset_at_most(one, other)


def before(one: Term, other: Term) -> Formula:
    """``one`` is before ``other``: epochs, offsets or numbers."""
    return z3.Not(at_most(other, one))


def adjacent(one: Term, other: Term) -> Formula:
    """Two sets of voters are the same, or one voter apart."""
    return z3.Or(one == other, changes_one(one, other), changes_one(other, one))


SORTS = {sort.name(): sort for sort in (Replica, Quorum, Epoch, Offset, Role, Voters)}
#: The names in formulas that never change: functions with the sorts of their arguments, and constants.
FUNCTIONS: dict[str, tuple[Callable[..., Term], tuple[z3.SortRef, ...]]] = {
    "member": (member, (Replica, Quorum)),
    "majority": (majority, (Quorum,)),
    "majority_of": (majority_of, (Quorum, Voters)),
    "adjacent": (adjacent, (Voters, Voters)),
}
CONSTANTS: dict[str, Term] = {
    "zero": ZERO,
    "origin": ORIGIN,
    **{
        Role.constructor(number).name(): Role.constructor(number)()
        for number in range(Role.num_constructors())
    },
}

#: Quantifies over all values of some sorts, as :func:`~kraftcheck.proof.logic.every` does.
Quantifier = Callable[[Sequence[z3.SortRef], Callable[..., Formula]], Formula]


def total_order(sort: z3.SortRef, first: Term, over: Quantifier = every) -> Formula:
    """The values of ``sort`` that ``over`` ranges over are in a total order that begins with ``first``."""
    return z3.And(
        over((sort,), lambda a: at_most(a, a)),
        over(
            (sort, sort, sort),
            lambda a, b, c: z3.Implies(z3.And(at_most(a, b), at_most(b, c)), at_most(a, c)),
        ),
        over((sort, sort), lambda a, b: z3.Implies(z3.And(at_most(a, b), at_most(b, a)), a == b)),
        over((sort, sort), lambda a, b: z3.Or(at_most(a, b), at_most(b, a))),
        over((sort,), lambda a: at_most(first, a)),
    )


def majorities_meet(one: Formula, other: Formula, related: Formula, meet: Formula) -> Formula:
    """Two sets that are majorities have an element in common, if their voter sets are ``related``."""
    return z3.Implies(z3.And(one, other, related), meet)


def first_pair(pairs: Relation, one: Term, other: Term, over: Quantifier = every) -> Formula:
    """This pair is in ``pairs``, and no pair before it, by the first part and then the second."""

    def not_before(a: Term, b: Term) -> Formula:
        return z3.Implies(pairs(a, b), z3.Or(before(one, a), z3.And(one == a, at_most(other, b))))

    return z3.And(pairs(one, other), over((one.sort(), other.sort()), not_before))


def first_in_epoch(pairs: Relation, one: Term, other: Term, over: Quantifier = every) -> Formula:
    """This pair is in ``pairs``, and none with a smaller first part."""

    def not_before(a: Term, b: Term) -> Formula:
        return z3.Implies(pairs(a, b), at_most(one, a))

    return z3.And(pairs(one, other), over((one.sort(), other.sort()), not_before))


def _share_a_replica(q: Term, p: Term) -> Formula:
    return some((Replica,), lambda r: z3.And(member(r, q), member(r, p)))


ORDERS = (
    Axiom("epochs are ordered", ("numbers-ordered",), total_order(Epoch, ZERO)),
    Axiom("offsets are ordered", ("numbers-ordered",), total_order(Offset, ORIGIN)),
)
MAJORITIES = (
    Axiom(
        "two majorities have a replica in common",
        ("same-voters",),
        every(
            (Quorum, Quorum),
            lambda q, p: majorities_meet(majority(q), majority(p), z3.BoolVal(True), _share_a_replica(q, p)),
        ),
    ),
)
ADJACENT_MAJORITIES = (
    Axiom(
        "majorities of voter sets that are the same or one voter apart have a replica in common",
        ("one-change",),
        every(
            (Quorum, Quorum, Voters, Voters),
            lambda q, p, t, u: majorities_meet(
                majority_of(q, t), majority_of(p, u), adjacent(t, u), _share_a_replica(q, p)
            ),
        ),
    ),
)
