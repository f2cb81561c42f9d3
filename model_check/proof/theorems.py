"""Consequences of the invariant: properties of the catalogue that are not conjuncts of it."""

from __future__ import annotations

import z3

from kraftcheck.proof.logic import Conjunct, every
from kraftcheck.proof.vocabulary import Epoch, Offset, Replica, at_most, before

And, Implies = z3.And, z3.Implies
R, E, X = Replica, Epoch, Offset

THEOREMS = (
    Conjunct(
        "SingleKnownLeaderPerEpoch",
        "whom a replica has down as leader was elected in its epoch, and nobody else was",
        lambda s: every(
            (R, R, R),
            lambda r, n, m: Implies(
                s.leader(r, n), And(s.led(s.epoch(r), n), Implies(s.led(s.epoch(r), m), n == m))
            ),
        ),
        ("S-2",),
    ),
    Conjunct(
        "SelfVoteSurvivesRestart",
        "who has voted for itself votes for nobody else in that epoch",
        lambda s: every((R, E, R), lambda r, e, c: Implies(And(s.votes(r, e, r), s.votes(r, e, c)), c == r)),
        ("S-4",),
    ),
    Conjunct(
        "LeaderCompleteness",
        "what a leader has committed is in the log of every leader of a larger epoch",
        lambda s: every(
            (E, X, X, E, E, R),
            lambda e, x, y, g, f, n: Implies(
                And(s.committed(e, x), at_most(y, x), s.record(e, y, g), s.led(f, n), before(e, f)),
                s.record(f, y, g),
            ),
        ),
        ("S-12",),
    ),
    Conjunct(
        "StateMachineSafety",
        "what a replica knows to be committed was committed by a leader, and no leader ever commits another "
        "record there",
        lambda s: And(
            every(
                (R, E, X, X, X, E),
                lambda r, e, x, z, y, g: Implies(
                    And(s.known(r, e, x, z), at_most(y, z), s.holds(r, y, g)),
                    And(s.committed(e, x), at_most(y, x), s.record(e, y, g)),
                ),
            ),
            every(
                (E, X, E, X, X, E, E),
                lambda e, x, f, w, y, g, h: Implies(
                    And(
                        s.committed(e, x),
                        s.committed(f, w),
                        at_most(y, x),
                        at_most(y, w),
                        s.record(e, y, g),
                        s.record(f, y, h),
                    ),
                    g == h,
                ),
            ),
        ),
        ("S-17",),
    ),
)
