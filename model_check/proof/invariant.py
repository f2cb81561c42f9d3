"""The inductive invariant: the facts of every reachable state, conjunct by conjunct."""

from __future__ import annotations

from collections.abc import Callable

import z3

from kraftcheck.proof.elections import is_flushed
from kraftcheck.proof.logic import Conjunct, Formula, State, Term, every, some
from kraftcheck.proof.symbols import ends
from kraftcheck.proof.vocabulary import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    ORIGIN,
    ZERO,
    Epoch,
    Offset,
    Quorum,
    Replica,
    at_most,
    before,
    majority,
    member,
)

And, Or, Not, Implies = z3.And, z3.Or, z3.Not, z3.Implies


def lost(s: State, epoch: Term, offset: Term) -> Formula:
    """The leader of ``epoch`` has not committed its record at ``offset`` and never will: in every majority is
    a voter that has not acknowledged that record to it and is in a larger epoch.
    """
    missing = every(
        (Quorum,),
        lambda q: Implies(
            majority(q),
            some(
                (Replica,),
                lambda v: And(member(v, q), before(epoch, s.epoch(v)), Not(s.assured(v, epoch, offset))),
            ),
        ),
    )
    return And(Not(s.committed(epoch, offset)), missing)


def won(s: State, epoch: Term) -> Formula:
    """A replica was elected in ``epoch``."""
    return some((Replica,), lambda n: s.led(epoch, n))


#: The records of a log: takes an offset and an epoch.
Log = Callable[[Term, Term], Formula]


def log_of(s: State, replica: Term) -> Log:
    """The log of ``replica``."""
    return lambda offset, epoch: s.holds(replica, offset, epoch)


def leader_log(s: State, epoch: Term) -> Log:
    """The records that the leader of ``epoch`` has or had in its log."""
    return lambda offset, record_epoch: s.record(epoch, offset, record_epoch)


def same_up_to(
    sorts: tuple[z3.SortRef, ...],
    given: Callable[..., tuple[Formula, Term, Log, Log]],
) -> Formula:
    """Two logs have the same records up to an offset: for all values of ``sorts`` for which the first part of
    ``given`` holds; its other parts are the offset and the logs.
    """

    def within(one: int, other: int) -> Formula:
        def body(*terms: Term) -> Formula:
            *named, offset, epoch = terms
            parts = given(*named)
            premise = And(parts[0], parts[one](offset, epoch), at_most(offset, parts[1]))
            return Implies(premise, parts[other](offset, epoch))

        return every((*sorts, Offset, Epoch), body)

    return And(within(2, 3), within(3, 2))


R, E, X = Replica, Epoch, Offset

ELECTIONS = (
    Conjunct(
        "PreVoteCreatesNoEpoch",
        "whatever epoch a replica is in, a candidate or a leader that resigned has opened it",
        lambda s: every((R,), lambda r: Or(s.epoch(r) == ZERO, s.opened(s.epoch(r)))),
        ("S-30",),
    ),
    Conjunct(
        "PreVotesAreOfEpochs",
        "pre-votes are asked for in epochs that were opened before",
        lambda s: every(
            (R, E, X, E), lambda r, e, x, d: Implies(s.asks(r, e, x, d), Or(e == ZERO, s.opened(e)))
        ),
    ),
    Conjunct(
        "EpochsAreAfterZero",
        "nobody opens epoch zero",
        lambda s: every((E,), lambda e: Implies(s.opened(e), before(ZERO, e))),
    ),
    Conjunct(
        "LeadersAreOfEpochs",
        "only in an epoch that was opened is anybody elected",
        lambda s: every((E, R), lambda e, n: Implies(s.led(e, n), s.opened(e))),
    ),
    Conjunct(
        "VotesAreOfThePast",
        "nobody votes in an epoch that it has not reached",
        lambda s: every(
            (R, E, R), lambda r, e, c: Implies(s.votes(r, e, c), And(at_most(e, s.epoch(r)), s.opened(e)))
        ),
    ),
    Conjunct(
        "VotedOncePerEpoch",
        "a replica votes for one candidate in an epoch, restarts included",
        lambda s: every(
            (R, E, R, R), lambda r, e, c, d: Implies(And(s.votes(r, e, c), s.votes(r, e, d)), c == d)
        ),
        ("S-3",),
    ),
    Conjunct(
        "VotesAreForCandidates",
        "nobody gets a vote in an epoch in which it has not voted for itself",
        lambda s: every((R, E, R), lambda r, e, c: Implies(s.votes(r, e, c), s.votes(c, e, c))),
    ),
    Conjunct(
        "RequestsAreOfThePast",
        "votes are asked for by who has voted for itself",
        lambda s: every((R, E, X, E), lambda c, e, x, d: Implies(s.stands(c, e, x, d), s.votes(c, e, c))),
    ),
    Conjunct(
        "VoteKeptWithinEpoch",
        "a replica has its vote of its epoch down, unless it was elected itself",
        lambda s: every(
            (R, R),
            lambda r, c: Implies(s.votes(r, s.epoch(r), c), Or(s.voted(r, c), And(c == r, s.leader(r, r)))),
        ),
        ("S-5",),
    ),
    Conjunct(
        "VotesDownWereGiven",
        "a vote that a replica has down was given",
        lambda s: every((R, R), lambda r, c: Implies(s.voted(r, c), s.votes(r, s.epoch(r), c))),
    ),
    Conjunct(
        "CandidateVotesForItself",
        "a candidate has voted for itself",
        lambda s: every((R,), lambda c: Implies(s.role(c) == CANDIDATE, s.voted(c, c))),
    ),
    Conjunct(
        "CandidateKnowsNoLeader",
        "a candidate has no leader down",
        lambda s: every((R, R), lambda c, n: Implies(s.role(c) == CANDIDATE, Not(s.leader(c, n)))),
    ),
    Conjunct(
        "LeaderIsItsOwn",
        "a leader has itself down as leader",
        lambda s: every((R,), lambda n: Implies(s.role(n) == LEADER, s.leader(n, n))),
    ),
    Conjunct(
        "LeadersDownWereElected",
        "whom a replica has down as leader was elected in its epoch",
        lambda s: every((R, R), lambda r, n: Implies(s.leader(r, n), s.led(s.epoch(r), n))),
    ),
    Conjunct(
        "LeadersToldOfWereElected",
        "who is said to lead an epoch was elected in it",
        lambda s: every((E, R), lambda e, n: Implies(s.claimed(e, n), s.led(e, n))),
    ),
    Conjunct(
        "FollowersHaveLeaders",
        "where a replica follows somebody was elected",
        lambda s: every((R,), lambda r: Implies(s.role(r) == FOLLOWER, won(s, s.epoch(r)))),
    ),
    Conjunct(
        "LeadersVotedForThemselves",
        "who was elected has voted for itself",
        lambda s: every((E, R), lambda e, n: Implies(s.led(e, n), s.votes(n, e, n))),
    ),
    Conjunct(
        "LeadersHaveMajorities",
        "in every majority is one that voted for whoever was elected",
        lambda s: every(
            (E, R, Quorum),
            lambda e, n, q: Implies(
                And(s.led(e, n), majority(q)), some((R,), lambda v: And(member(v, q), s.votes(v, e, n)))
            ),
        ),
    ),
    Conjunct(
        "SingleLeaderPerEpoch",
        "one replica at most is elected in an epoch",
        lambda s: every((E, R, R), lambda e, n, m: Implies(And(s.led(e, n), s.led(e, m)), n == m)),
        ("S-1",),
    ),
    Conjunct(
        "ElectedKnowThemselves",
        "who was elected has itself down as leader as long as it is in that epoch",
        lambda s: every((R,), lambda n: Implies(s.led(s.epoch(n), n), s.leader(n, n))),
    ),
)

LOGS = (
    Conjunct(
        "RecordIdentity",
        "a log has one record at an offset, and it is that of the leader of its epoch",
        lambda s: And(
            every((R, X, E, E), lambda r, x, e, f: Implies(And(s.holds(r, x, e), s.holds(r, x, f)), e == f)),
            every((R, X, E), lambda r, x, e: Implies(s.holds(r, x, e), s.record(e, x, e))),
        ),
        ("S-7",),
    ),
    Conjunct(
        "LeaderRecordIdentity",
        "the same of the logs of leaders",
        lambda s: And(
            every(
                (E, X, E, E), lambda g, x, e, f: Implies(And(s.record(g, x, e), s.record(g, x, f)), e == f)
            ),
            every((E, X, E), lambda g, x, e: Implies(s.record(g, x, e), s.record(e, x, e))),
        ),
    ),
    Conjunct(
        "LogMatching",
        "up to any of its records a log is that of the leader of the record's epoch",
        lambda s: same_up_to(
            (R, X, E), lambda r, x, e: (s.holds(r, x, e), x, log_of(s, r), leader_log(s, e))
        ),
        ("S-10",),
    ),
    Conjunct(
        "LeaderLogMatching",
        "the same of the logs of leaders",
        lambda s: same_up_to(
            (E, X, E), lambda f, x, e: (s.record(f, x, e), x, leader_log(s, f), leader_log(s, e))
        ),
    ),
    Conjunct(
        "LogEpochsMonotone",
        "epochs do not decrease along a log, and the last is not beyond that of the replica",
        lambda s: And(
            every((R, X, E), lambda r, x, e: Implies(s.holds(r, x, e), at_most(e, s.epoch(r)))),
            every((E, X, E), lambda f, x, e: Implies(s.record(f, x, e), at_most(e, f))),
            every(
                (E, X, E, X, E),
                lambda f, x, d, y, e: Implies(
                    And(s.record(f, x, d), s.record(f, y, e), at_most(x, y)), at_most(d, e)
                ),
            ),
        ),
        ("S-9",),
    ),
    Conjunct(
        "LeaderHasItsLog",
        "the log of a leader is what its followers can get",
        lambda s: And(
            every(
                (R, X, E),
                lambda n, x, e: Implies(
                    And(s.role(n) == LEADER, s.holds(n, x, e)), s.record(s.epoch(n), x, e)
                ),
            ),
            every(
                (R, X, E),
                lambda n, x, e: Implies(
                    And(s.role(n) == LEADER, s.record(s.epoch(n), x, e)), s.holds(n, x, e)
                ),
            ),
        ),
    ),
    Conjunct(
        "RecordsAreOfLeaders",
        "only who was elected has appended anything",
        lambda s: every(
            (E, X, E), lambda e, x, g: Implies(s.record(e, x, g), Or(won(s, e), And(e == ZERO, x == ORIGIN)))
        ),
    ),
    Conjunct(
        "UnflushedIsATail",
        "what follows an unflushed record is not flushed either",
        lambda s: every(
            (R, X, X, E),
            lambda r, x, y, e: Implies(
                And(s.unflushed(r, x), s.holds(r, y, e), at_most(x, y)), s.unflushed(r, y)
            ),
        ),
    ),
)

COMMITMENT = (
    Conjunct(
        "FetchesAreOfThePast",
        "nobody fetches in an epoch that it has not reached",
        lambda s: And(
            every((R, E, X, E), lambda r, e, x, d: Implies(s.fetched(r, e, x, d), at_most(e, s.epoch(r)))),
            every(
                (R, E, X),
                lambda r, e, x: Implies(s.assured(r, e, x), And(at_most(e, s.epoch(r)), s.record(e, x, e))),
            ),
        ),
    ),
    Conjunct(
        "FetchesAssure",
        "a fetch after a record of its epoch tells of all records of that epoch up to it",
        lambda s: And(
            every((R, E, X), lambda r, e, x: Implies(s.fetched(r, e, x, e), s.record(e, x, e))),
            every(
                (R, E, X, X),
                lambda r, e, x, y: Implies(
                    And(s.fetched(r, e, x, e), s.record(e, y, e), at_most(y, x)), s.assured(r, e, y)
                ),
            ),
        ),
    ),
    Conjunct(
        "CountedIsAssured",
        "a leader counts a voter for records of its log alone, and for those of its epoch if it was told",
        lambda s: every(
            (E, R, X, E),
            lambda e, r, x, g: Implies(
                s.counted(e, r, x, g), And(s.record(e, x, g), Implies(g == e, s.assured(r, e, x)))
            ),
        ),
    ),
    Conjunct(
        "ToldIsKept",
        "what a voter has told a leader of is on its disk, or will never be committed in that epoch",
        lambda s: every(
            (R, E, X),
            lambda r, e, x: Implies(
                And(s.assured(r, e, x), Or(Not(s.holds(r, x, e)), s.unflushed(r, x))), lost(s, e, x)
            ),
        ),
    ),
    Conjunct(
        "CandidateLogStays",
        "as long as nobody is elected in its epoch, a candidate has the log that it stood with, on its disk",
        lambda s: every(
            (R,),
            lambda c: Implies(
                s.voted(c, c),
                Or(
                    won(s, s.epoch(c)),
                    And(
                        is_flushed(s, c),
                        every((X, E), lambda x, e: Implies(s.stands(c, s.epoch(c), x, e), ends(s, c, x, e))),
                    ),
                ),
            ),
        ),
    ),
    Conjunct(
        "CandidateHasWhatVotersTold",
        "of what a voter has told an earlier leader, the candidate of its vote lacks nothing committed",
        lambda s: every(
            (R, R, E, X),
            lambda v, c, e, x: Implies(
                And(
                    s.votes(v, s.epoch(c), c),
                    before(e, s.epoch(c)),
                    s.assured(v, e, x),
                    Not(s.holds(c, x, e)),
                ),
                Or(won(s, s.epoch(c)), lost(s, e, x)),
            ),
        ),
    ),
    Conjunct(
        "CommitNeedsOwnEpoch",
        "what a leader commits to is a record of its own epoch",
        lambda s: every((E, X), lambda e, x: Implies(s.committed(e, x), s.record(e, x, e))),
        ("S-14",),
    ),
    Conjunct(
        "CommittedWasTold",
        "in every majority is one that has told the leader of a record that this leader has committed",
        lambda s: every(
            (E, X, Quorum),
            lambda e, x, q: Implies(
                And(s.committed(e, x), majority(q)),
                some((R,), lambda v: And(member(v, q), s.assured(v, e, x))),
            ),
        ),
    ),
    Conjunct(
        "LackedIsNotCommitted",
        "a record that the leader of a larger epoch lacks is not committed in its own epoch, now or later",
        lambda s: every(
            (E, E, R, X),
            lambda e, f, n, x: Implies(
                And(s.led(f, n), before(e, f), s.record(e, x, e), Not(s.record(f, x, e))), lost(s, e, x)
            ),
        ),
    ),
    Conjunct(
        "KnownIsCommitted",
        "what a replica knows to be committed was committed by a leader",
        lambda s: every(
            (R, E, X, X),
            lambda r, e, x, z: Implies(
                s.known(r, e, x, z), And(s.committed(e, x), at_most(z, x), at_most(e, s.epoch(r)))
            ),
        ),
    ),
    Conjunct(
        "NoTruncationBelowHighWatermark",
        "what a replica knows to be committed it holds, as the leader that committed it",
        lambda s: same_up_to(
            (R, E, X, X), lambda r, e, x, z: (s.known(r, e, x, z), z, log_of(s, r), leader_log(s, e))
        ),
        ("S-21",),
    ),
)

CONJUNCTS = ELECTIONS + LOGS + COMMITMENT
