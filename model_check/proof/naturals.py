"""The assumptions of the proofs about epochs and offsets, proved for natural numbers, which these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import z3

from kraftcheck.proof.logic import Formula, Statement, Term, every, some
from kraftcheck.proof.vocabulary import (
    Quantifier,
    Relation,
    Replica,
    at_most,
    before,
    first_in_epoch,
    first_pair,
    total_order,
)

_NUMBER = z3.IntSort()
_ZERO = z3.IntVal(0)
_TRUE = z3.BoolVal(True)


def _natural(terms: Sequence[Term]) -> Formula:
    return z3.And(True, *(term >= 0 for term in terms if term.sort() == _NUMBER))


def every_natural(sorts: Sequence[z3.SortRef], body: Callable[..., Formula]) -> Formula:
    """``body`` for all values of these sorts, of which numbers are natural."""
    return every(sorts, lambda *terms: z3.Implies(_natural(terms), body(*terms)))


def some_natural(sorts: Sequence[z3.SortRef], body: Callable[..., Formula]) -> Formula:
    """``body`` for some values of these sorts, of which numbers are natural."""
    return some(sorts, lambda *terms: z3.And(_natural(terms), body(*terms)))


#: A set of numbers.
Numbers = Callable[[Term], Formula]


def _has_least(numbers: Numbers) -> Formula:
    """A set of natural numbers is empty or has a least element."""
    return z3.Or(
        every_natural((_NUMBER,), lambda n: z3.Not(numbers(n))),
        some_natural(
            (_NUMBER,),
            lambda n: z3.And(
                numbers(n), every_natural((_NUMBER,), lambda m: z3.Implies(numbers(m), at_most(n, m)))
            ),
        ),
    )


def _least_number() -> tuple[Statement, ...]:
    """By induction on k: if a set has no least number, none of its numbers is below k, for any k."""
    within = z3.Function("within", _NUMBER, z3.BoolSort())
    k = z3.Int("k")

    def none_below(bound: Term) -> Formula:
        return every_natural((_NUMBER,), lambda n: z3.Implies(within(n), at_most(bound, n)))

    def smaller(n: Term) -> Formula:
        return some_natural((_NUMBER,), lambda m: z3.And(within(m), before(m, n)))

    no_least = every_natural((_NUMBER,), lambda n: z3.Implies(within(n), smaller(n)))
    says = "a set of natural numbers without a least element"
    return (
        Statement("least-number-begins", f"{says} has none below 0", (), no_least, none_below(_ZERO)),
        Statement(
            "least-number-goes-on",
            f"{says} has none below k + 1 if it has none below k",
            (),
            z3.And(no_least, k >= 0, none_below(k)),
            none_below(k + 1),
        ),
        Statement(
            "least-number-ends",
            f"{says} has no k, as it has none below k + 1",
            (),
            z3.And(no_least, k >= 0, none_below(k + 1)),
            z3.Not(within(k)),
        ),
    )


def _least_of(
    name: str, says: str, second: z3.SortRef, first: Callable[[Relation, Term, Term, Quantifier], Formula]
) -> Statement:
    """Of pairs of a number and one of ``second``: that the sets of their numbers are empty or have a least
    element implies that there is a ``first`` pair.
    """
    pairs = z3.Function("pairs", _NUMBER, second, z3.BoolSort())
    premises = [_has_least(lambda e: some_natural((second,), lambda x: pairs(e, x)))]
    if second == _NUMBER:
        premises.append(every_natural((_NUMBER,), lambda e: _has_least(lambda x: pairs(e, x))))
    sorts = (_NUMBER, second)
    return Statement(
        name,
        says,
        (),
        z3.And(premises),
        z3.Or(
            every_natural(sorts, lambda e, x: z3.Not(pairs(e, x))),
            some_natural(sorts, lambda e, x: first(pairs, e, x, every_natural)),
        ),
    )


ORDERED = Statement(
    "numbers-ordered",
    "natural numbers are in a total order that begins with 0",
    (),
    _TRUE,
    total_order(_NUMBER, _ZERO, every_natural),
)
NATURALS = (
    ORDERED,
    *_least_number(),
    _least_of("least-pair", "of pairs of numbers there is a first one", _NUMBER, first_pair),
    _least_of(
        "least-in-epoch",
        "of pairs of a number and anything there is one with the least number",
        Replica,
        first_in_epoch,
    ),
)
