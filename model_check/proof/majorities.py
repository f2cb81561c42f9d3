"""The reference's formulas about majorities, for any number of voters, compared with their intended
meaning.
"""

from __future__ import annotations

from typing import cast

import z3

from kraftcheck.proof.logic import Formula, Statement, every
from kraftcheck.reference import voters as reference

_NUMBER = z3.IntSort()


class _Counter:
    """A natural number as the reference calculates with it: ``n // 2 + 1`` becomes a term."""

    def __init__(self, term: z3.ArithRef) -> None:
        self.term = term

    def __floordiv__(self, divisor: int) -> _Counter:
        assert divisor > 0  # The solver's division and Python's agree for these.
        return _Counter(self.term / divisor)

    def __add__(self, other: int) -> _Counter:
        return _Counter(self.term + other)


def majority(voters: z3.ArithRef) -> z3.ArithRef:
    """``reference.voters.majority`` of a number that is not known: its own code, run on a term."""
    return cast(_Counter, reference.majority(cast(int, _Counter(voters)))).term


def _smallest() -> Statement:
    voters = z3.Int("voters")
    needed = majority(voters)
    return Statement(
        "majority-smallest",
        "what is called a majority is more than half of the voters, and one less is not",
        ("DEF-2",),
        voters >= 0,
        z3.And(2 * needed > voters, 2 * (needed - 1) <= voters),
    )


def _one_voter_more() -> Statement:
    voters = z3.Int("voters")
    more = majority(voters + 1) - majority(voters)
    return Statement(
        "majority-of-one-more",
        "a voter more, or less, changes by one at most how many are a majority",
        ("ADD-11", "REMOVE-5"),
        voters >= 0,
        z3.And(more >= 0, more <= 1),
    )


def is_lost(voters: z3.ArithRef, rejected: z3.ArithRef) -> Formula:
    """The question of ``reference.transitions.is_lost`` about an election."""
    return voters - rejected < majority(voters)


def _election_lost() -> Statement:
    voters, rejected, granted = z3.Ints("voters rejected granted")
    open_ones = voters - granted - rejected
    won_at_best = 2 * (granted + open_ones) > voters
    return Statement(
        "election-lost",
        "an election is given up exactly if the votes still open cannot make it more than half",
        ("VOTE-21", "PREVOTE-21"),
        z3.And(voters > 0, rejected >= 0, granted >= 0, granted + rejected <= voters),
        is_lost(voters, rejected) == z3.Not(won_at_best),
    )


def is_heard_enough(voters: z3.ArithRef, heard: z3.ArithRef, own: z3.ArithRef) -> Formula:
    """The question of ``reference.progress.count_contact``; ``own`` is 1 if the leader is a voter, otherwise
    0.
    """
    return heard >= majority(voters) - own


def _check_quorum() -> Statement:
    voters, heard, own = z3.Ints("voters heard own")
    return Statement(
        "check-quorum",
        "a leader that has heard from as many as it needs has heard from more than half, itself included "
        "only if it is a voter",
        ("CHECKQ-2",),
        z3.And(voters > 0, heard >= 0, own >= 0, own <= 1, heard + own <= voters),
        is_heard_enough(voters, heard, own) == (2 * (heard + own) > voters),
    )


def watermark_index(voters: z3.ArithRef) -> z3.ArithRef:
    """The end offset that ``reference.progress.advance_high_watermark`` takes, in descending order from 0
    on.
    """
    return voters / 2


def _high_watermark() -> Statement:
    """In descending order those that have reached an offset come first, so their number is an index."""
    voters, offset, reached_by = z3.Ints("voters offset reached_by")
    end = z3.Function("end", _NUMBER, _NUMBER)

    def is_voter(number: z3.ExprRef) -> Formula:
        return z3.And(number >= 0, number < voters)

    descending = every(
        (_NUMBER, _NUMBER),
        lambda i, j: z3.Implies(z3.And(is_voter(i), is_voter(j), i <= j), end(i) >= end(j)),
    )
    counted = z3.And(
        reached_by >= 0,
        reached_by <= voters,
        z3.Or(reached_by == 0, end(reached_by - 1) >= offset),
        z3.Or(reached_by == voters, end(reached_by) < offset),
    )
    return Statement(
        "high-watermark",
        "the end offset that a leader takes is the largest that more than half of the voters have reached",
        ("HWM-1",),
        z3.And(voters > 0, descending, counted),
        (offset <= end(watermark_index(voters))) == (2 * reached_by > voters),
    )


def _outsider_counted() -> Statement:
    """``counted`` are voters and one non-voter: an observer, or a leader after its removal."""
    voters, counted = z3.Ints("voters counted")
    return Statement(
        "outsider-counted",
        "a count that makes a majority need not, if one of those counted is no voter",
        ("HWM-3", "HWM-5", "CHECKQ-3"),
        z3.And(voters > 0, counted >= 1, counted - 1 <= voters, counted >= majority(voters)),
        counted - 1 >= majority(voters),
        holds=False,
    )


MAJORITY_FORMULAS = (
    _smallest(),
    _one_voter_more(),
    _election_lost(),
    _check_quorum(),
    _high_watermark(),
    _outsider_counted(),
)
