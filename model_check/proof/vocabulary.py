"""What the proof speaks of: its sorts, the symbols that never change, and those that actions change."""

from __future__ import annotations

import z3

from model_check.proof.logic import Axiom, Formula, Term, every, some

Replica = z3.DeclareSort("Replica")
#: A set of replicas.
Quorum = z3.DeclareSort("Quorum")
Epoch = z3.DeclareSort("Epoch")
#: A position in a log. A log is the set of the positions that it has records at.
Offset = z3.DeclareSort("Offset")
Role, (UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, FOLLOWER, RESIGNED) = z3.EnumSort(
    "Role", ["Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"]
)

#: The epoch before the first, in which nobody is elected.
ZERO = z3.Const("zero", Epoch)
#: The position before the first record: every log has a record of epoch zero there.
ORIGIN = z3.Const("origin", Offset)

#: A set of voters. It may change: the sets that records bring are ``set_of`` them.
Voters = z3.DeclareSort("Voters")

member = z3.Function("member", Replica, Quorum, z3.BoolSort())
#: A quorum is a majority of the voters.
majority = z3.Function("majority", Quorum, z3.BoolSort())
majority_of = z3.Function("majority_of", Quorum, Voters, z3.BoolSort())
#: The second set has one voter more than the first, or one less.
_changes_one = z3.Function("changes_one", Voters, Voters, z3.BoolSort())
_epoch_at_most = z3.Function("epoch_at_most", Epoch, Epoch, z3.BoolSort())
_offset_at_most = z3.Function("offset_at_most", Offset, Offset, z3.BoolSort())


def at_most(one: Term, other: Term) -> Formula:
    """``one`` is not after ``other``: epochs or offsets."""
    return _epoch_at_most(one, other) if one.sort() == Epoch else _offset_at_most(one, other)


def before(one: Term, other: Term) -> Formula:
    """``one`` is before ``other``: epochs or offsets."""
    return z3.Not(at_most(other, one))


def not_behind(epoch: Term, offset: Term, other_epoch: Term, other_offset: Term) -> Formula:
    """A log that ends with the first record is at least as up to date as one that ends with the second."""
    same = z3.And(epoch == other_epoch, at_most(other_offset, offset))
    return z3.Or(before(other_epoch, epoch), same)


def adjacent(one: Term, other: Term) -> Formula:
    """Two sets of voters are the same, or one voter apart."""
    return z3.Or(one == other, _changes_one(one, other), _changes_one(other, one))


def _total_order(sort: z3.SortRef, first: Term) -> Formula:
    return z3.And(
        every((sort,), lambda a: at_most(a, a)),
        every(
            (sort, sort, sort),
            lambda a, b, c: z3.Implies(z3.And(at_most(a, b), at_most(b, c)), at_most(a, c)),
        ),
        every((sort, sort), lambda a, b: z3.Implies(z3.And(at_most(a, b), at_most(b, a)), a == b)),
        every((sort, sort), lambda a, b: z3.Or(at_most(a, b), at_most(b, a))),
        every((sort,), lambda a: at_most(first, a)),
    )


ORDERS = (
    Axiom("epochs are ordered", "theory of a total order with a least element", _total_order(Epoch, ZERO)),
    Axiom(
        "offsets are ordered", "theory of a total order with a least element", _total_order(Offset, ORIGIN)
    ),
)
MAJORITIES = (
    Axiom(
        "two majorities have a replica in common",
        "proved for finite sets: arithmetic:same-voters",
        every(
            (Quorum, Quorum),
            lambda q, p: z3.Implies(
                z3.And(majority(q), majority(p)),
                some((Replica,), lambda r: z3.And(member(r, q), member(r, p))),
            ),
        ),
    ),
)
ADJACENT_MAJORITIES = (
    Axiom(
        "majorities of voter sets that are one voter apart, or the same, have a replica in common",
        "proved for finite sets: arithmetic:same-voters, arithmetic:one-change",
        every(
            (Quorum, Quorum, Voters, Voters),
            lambda q, p, t, u: z3.Implies(
                z3.And(majority_of(q, t), majority_of(p, u), adjacent(t, u)),
                some((Replica,), lambda r: z3.And(member(r, q), member(r, p))),
            ),
        ),
    ),
)
