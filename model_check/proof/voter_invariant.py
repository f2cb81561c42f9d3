"""The inductive invariant where the voters may change."""

from __future__ import annotations

import z3

from kraftcheck.proof.elections import no_leader, no_vote
from kraftcheck.proof.invariant import COMMITMENT, ELECTIONS, LOGS
from kraftcheck.proof.logic import Conjunct, Formula, State, Term, every, some
from kraftcheck.proof.theorems import THEOREMS
from kraftcheck.proof.vocabulary import (
    FOLLOWER,
    ORIGIN,
    ZERO,
    Epoch,
    Offset,
    Quorum,
    Replica,
    Voters,
    adjacent,
    at_most,
    before,
    majority_of,
    member,
)
from kraftcheck.proof.voter_changes import elected_by, set_by

And, Or, Not, Implies = z3.And, z3.Or, z3.Not, z3.Implies
R, E, X = Replica, Epoch, Offset


def lacked_since(s: State, epoch: Term, offset: Term, last: Term, *, included: bool) -> Formula:
    """The leader of an epoch after ``epoch`` and up to ``last`` lacks a record."""

    def lacks(g: Term, n: Term) -> Formula:
        in_time = at_most(g, last) if included else before(g, last)
        return And(s.led(g, n), before(epoch, g), in_time, Not(s.record(g, offset, epoch)))

    return some((E, R), lacks)


SETS = (
    Conjunct(
        "LogsStart",
        "every log begins with the start",
        lambda s: And(
            every((R,), lambda r: s.holds(r, ORIGIN, ZERO)),
            every((E, R), lambda e, n: Implies(s.led(e, n), s.record(e, ORIGIN, ZERO))),
        ),
    ),
    Conjunct(
        "LeadersHaveMajorities",
        "in every majority of a voter set adjacent to that of an election is one that voted for the winner",
        lambda s: every(
            (E, R, Quorum, Voters),
            lambda e, n, q, t: Implies(
                And(s.led(e, n), majority_of(q, t), adjacent(elected_by(s, e), t)),
                some((R,), lambda v: And(member(v, q), s.votes(v, e, n))),
            ),
        ),
    ),
    Conjunct(
        "ElectedByTheirLogs",
        "a leader was elected by the last voter set of the log that it had then",
        lambda s: And(
            every(
                (E, R),
                lambda e, n: Implies(
                    s.led(e, n),
                    And(
                        s.record(e, s.voters_offset(e), s.voters_epoch(e)),
                        s.config(s.voters_offset(e), s.voters_epoch(e)),
                        before(s.voters_epoch(e), e),
                    ),
                ),
            ),
            every(
                (E, X, E),
                lambda e, y, g: Implies(
                    And(s.record(e, y, g), s.config(y, g), g != e), at_most(y, s.voters_offset(e))
                ),
            ),
        ),
    ),
    Conjunct(
        "SetsAreRecords",
        "voter sets are brought by records, the first by that of the start",
        lambda s: And(
            every((X, E), lambda x, g: Implies(s.config(x, g), s.record(g, x, g))),
            every((X,), lambda x: Implies(s.config(x, ZERO), x == ORIGIN)),
        ),
    ),
    Conjunct(
        "OneVoterChangeAtATime",
        "a voter set is adjacent to the one before it in its log",
        lambda s: And(
            every(
                (X, E),
                lambda x, g: Implies(
                    And(s.config(x, g), g != ZERO),
                    And(
                        s.record(g, s.old_offset(x, g), s.old_epoch(x, g)),
                        s.config(s.old_offset(x, g), s.old_epoch(x, g)),
                        adjacent(s.set_of(s.old_offset(x, g), s.old_epoch(x, g)), s.set_of(x, g)),
                    ),
                ),
            ),
            every(
                (X, E, X, E),
                lambda x, g, y, k: Implies(
                    And(s.config(x, g), s.record(g, y, k), s.config(y, k), before(y, x)),
                    at_most(y, s.old_offset(x, g)),
                ),
            ),
        ),
        ("S-23",),
    ),
    Conjunct(
        "VoterChangeNeedsOwnEpochCommit",
        "a leader that appends a voter set has committed a record of its epoch, and the old set",
        lambda s: every(
            (X, E),
            lambda x, g: Implies(
                And(s.config(x, g), g != ZERO),
                And(
                    s.committed(g, s.safe(x, g)),
                    at_most(s.old_offset(x, g), s.safe(x, g)),
                    before(s.safe(x, g), x),
                ),
            ),
        ),
        ("S-24",),
    ),
    Conjunct(
        "CommittedByTheirLogs",
        "a leader commits by the last voter set of its log",
        lambda s: And(
            every(
                (E, X),
                lambda d, x: Implies(
                    s.committed(d, x),
                    And(
                        s.record(d, s.by_offset(d, x), s.by_epoch(d, x)),
                        s.config(s.by_offset(d, x), s.by_epoch(d, x)),
                        Implies(s.by_epoch(d, x) == d, before(s.safe(s.by_offset(d, x), d), x)),
                    ),
                ),
            ),
            every(
                (E, X, X, E),
                lambda d, x, y, k: Implies(
                    And(s.committed(d, x), s.record(d, y, k), s.config(y, k), before(s.by_offset(d, x), y)),
                    And(k == d, before(x, y)),
                ),
            ),
        ),
    ),
)

SURVIVAL = (
    Conjunct(
        "ToldIsKept",
        "what a voter has told a leader of is on its disk, or a leader since lacks it",
        lambda s: every(
            (R, E, X),
            lambda r, e, x: Implies(
                And(s.assured(r, e, x), Or(Not(s.holds(r, x, e)), s.unflushed(r, x))),
                Or(
                    lacked_since(s, e, x, s.epoch(r), included=False),
                    And(
                        lacked_since(s, e, x, s.epoch(r), included=True),
                        Not(And(no_vote(s, r), no_leader(s, r))),
                    ),
                ),
            ),
        ),
    ),
    Conjunct(
        "FollowersKnowLeaders",
        "a follower has a leader down",
        lambda s: every((R,), lambda r: Implies(s.role(r) == FOLLOWER, some((R,), lambda n: s.leader(r, n)))),
    ),
    Conjunct(
        "CandidateHasNoRecordOfItsEpoch",
        "who has voted for itself and knows no leader holds records of earlier epochs only",
        lambda s: every(
            (R, X, E),
            lambda c, x, e: Implies(
                And(s.voted(c, c), s.holds(c, x, e), no_leader(s, c)), before(e, s.epoch(c))
            ),
        ),
    ),
    Conjunct(
        "RequestsTellOfRecords",
        "requests for votes tell of records of earlier epochs",
        lambda s: every(
            (R, E, X, E),
            lambda c, f, y, e: Implies(s.stands(c, f, y, e), And(s.record(e, y, e), before(e, f))),
        ),
    ),
    Conjunct(
        "RequestsAreKept",
        "what who asks for votes told of is on its disk, or the leader of that epoch lacks it",
        lambda s: every(
            (R, X, E, X, E),
            lambda c, y, e, z, k: Implies(
                And(
                    s.stands(c, s.epoch(c), y, e),
                    s.record(e, z, k),
                    at_most(z, y),
                    Or(Not(s.holds(c, z, k)), s.unflushed(c, z)),
                ),
                some((R,), lambda n: And(s.led(s.epoch(c), n), Not(s.record(s.epoch(c), z, k)))),
            ),
        ),
    ),
    Conjunct(
        "CandidateHasWhatVotersTold",
        "what a voter told an earlier leader of, the candidate of its vote has, or a leader since lacks",
        lambda s: every(
            (R, R, E, X),
            lambda v, c, e, x: Implies(
                And(
                    s.votes(v, s.epoch(c), c),
                    before(e, s.epoch(c)),
                    s.assured(v, e, x),
                    Or(Not(s.holds(c, x, e)), s.unflushed(c, x)),
                ),
                lacked_since(s, e, x, s.epoch(c), included=True),
            ),
        ),
    ),
    Conjunct(
        "LeaderHasWhatVotersTold",
        "what a voter told an earlier leader of, the leader of its vote has, or one in between lacks",
        lambda s: every(
            (R, R, E, E, X),
            lambda v, n, f, e, x: Implies(
                And(s.led(f, n), s.votes(v, f, n), s.assured(v, e, x), before(e, f), Not(s.record(f, x, e))),
                lacked_since(s, e, x, f, included=False),
            ),
        ),
    ),
    Conjunct(
        "LeaderStoodWithItsLog",
        "the requests of who was elected told of the log with which it began to lead",
        lambda s: every(
            (R, E, X, E),
            lambda c, f, y, e: Implies(
                And(s.stands(c, f, y, e), s.led(f, c)), And(s.record(f, y, e), before(e, f))
            ),
        ),
    ),
    Conjunct(
        "CommittedWasTold",
        "in every majority of a set adjacent to that of a commitment is one that told of the record",
        lambda s: every(
            (E, X, Quorum, Voters),
            lambda e, x, q, t: Implies(
                And(s.committed(e, x), majority_of(q, t), adjacent(set_by(s, e, x), t)),
                some((R,), lambda v: And(member(v, q), s.assured(v, e, x))),
            ),
        ),
    ),
    Conjunct(
        "CommittedRecordIsInLaterLogs",
        "a record to which a leader has committed is in the log of the leader of every larger epoch",
        lambda s: every(
            (E, X, E, R),
            lambda d, x, f, n: Implies(And(s.committed(d, x), s.led(f, n), before(d, f)), s.record(f, x, d)),
        ),
    ),
)
_NEW = {conjunct.name for conjunct in SETS + SURVIVAL} | {"LackedIsNotCommitted"}
CHANGE_CONJUNCTS = (
    tuple(conjunct for conjunct in ELECTIONS + LOGS + COMMITMENT if conjunct.name not in _NEW)
    + SETS
    + SURVIVAL
)
_COMPLETENESS = next(theorem for theorem in THEOREMS if theorem.name == "LeaderCompleteness")
CHANGE_THEOREMS = (
    *THEOREMS,
    Conjunct(
        "CommittedSurvivesVoterChanges",
        "what a leader has committed is in the log of every later leader, whatever voter changes lie between",
        _COMPLETENESS.formula,
        ("S-25",),
    ),
)
