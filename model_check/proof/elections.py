"""Actions of elections: pre-votes, votes, leaders and their epochs, resignation, restart."""

from __future__ import annotations

import z3

from kraftcheck.proof.logic import Action, Beside, Formula, Guard, State, Step, Term, Update, every
from kraftcheck.proof.symbols import ends
from kraftcheck.proof.vocabulary import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
    Epoch,
    Offset,
    Quorum,
    Replica,
    Role,
    at_most,
    before,
    majority,
    member,
    not_behind,
)


def moves(s: State, replica: Term, epoch: Term, role: Term) -> tuple[Update, ...]:
    """``replica`` enters ``role`` in ``epoch``; in another epoch its vote and leader are cleared."""
    other = s.epoch(replica) != epoch
    return (
        Update("epoch", lambda r: z3.If(r == replica, epoch, s.epoch(r)), ("EPOCH-1", "EPOCH-2")),
        Update("role", lambda r: z3.If(r == replica, role, s.role(r))),
        Update("voted", lambda r, c: z3.And(s.voted(r, c), z3.Not(z3.And(r == replica, other)))),
        Update("leader", lambda r, w: z3.And(s.leader(r, w), z3.Not(z3.And(r == replica, other)))),
        Update("fetching", lambda r: z3.And(s.fetching(r), r != replica)),
    )


def no_vote(s: State, replica: Term) -> Formula:
    """``replica`` has recorded no vote in its epoch."""
    return every((Replica,), lambda c: z3.Not(s.voted(replica, c)))


def no_leader(s: State, replica: Term) -> Formula:
    """``replica`` has recorded no leader in its epoch."""
    return every((Replica,), lambda w: z3.Not(s.leader(replica, w)))


def is_flushed(s: State, replica: Term) -> Formula:
    """All of the log of ``replica`` is on its disk."""
    return every((Offset,), lambda o: z3.Not(s.unflushed(replica, o)))


def comparison(s: State, voter: Term, offset: Term, epoch: Term) -> Formula:
    """A log that ends with this record is at least as up to date as that of ``voter``."""
    return every(
        (Offset, Epoch),
        lambda o, e: z3.Implies(s.holds(voter, o, e), not_behind(epoch, offset, e, o)),
    )


def _become_prospective(s: State, c: Term) -> Step:
    allowed = z3.And(s.role(c) != LEADER, s.role(c) != PROSPECTIVE)
    return Step(
        (Beside("neither Leader nor Prospective", ("TRANS-Forbid-1",), allowed),),
        (
            Update("role", lambda r: z3.If(r == c, PROSPECTIVE, s.role(r))),
            Update("fetching", lambda r: z3.And(s.fetching(r), r != c)),
        ),
    )


def _lose_pre_vote(s: State, c: Term) -> Step:
    return Step(
        (Beside("Prospective", ("TRANS-Forbid-4",), s.role(c) == PROSPECTIVE),),
        (Update("role", lambda r: z3.If(r == c, UNATTACHED, s.role(r))),),
    )


def _return_to_leader(s: State, c: Term, w: Term) -> Step:
    return Step(
        (
            Beside("Prospective", ("PREVOTE-21",), s.role(c) == PROSPECTIVE),
            Guard("knows the leader", ("PREVOTE-21",), s.leader(c, w)),
            Beside("which is another", ("TRANS-Forbid-2",), c != w),
        ),
        (Update("role", lambda r: z3.If(r == c, FOLLOWER, s.role(r))),),
    )


def _ask_for_pre_vote(s: State, c: Term, x: Term, d: Term) -> Step:
    return Step(
        (
            Beside("Prospective", ("PREVOTE-5",), s.role(c) == PROSPECTIVE),
            Beside("tells the end of its log", ("PREVOTE-5",), ends(s, c, x, d)),
        ),
        (
            Update(
                "asks",
                lambda r, e, o, f: z3.Or(s.asks(r, e, o, f), z3.And(r == c, e == s.epoch(c), o == x, f == d)),
            ),
        ),
    )


def _hear_of_pre_vote(s: State, v: Term, c: Term, e: Term, x: Term, d: Term) -> Step:
    return Step(
        (
            Guard("the request was sent", (), s.asks(c, e, x, d)),
            Guard("its epoch is larger", ("PREVOTE-8", "EPOCH-1"), before(s.epoch(v), e)),
        ),
        moves(s, v, e, UNATTACHED),
    )


def _grant_pre_vote(s: State, v: Term, c: Term, e: Term, x: Term, d: Term) -> Step:
    follows = z3.And(s.role(v) == FOLLOWER, s.fetching(v))
    return Step(
        (
            Beside("the request was sent", (), s.asks(c, e, x, d)),
            Beside("it is of this epoch", ("PREVOTE-8",), s.epoch(v) == e),
            Beside("not Leader", ("PREVOTE-10",), s.role(v) != LEADER),
            Beside("no Follower that has fetched", ("PREVOTE-12",), z3.Not(follows)),
            Beside("the log is not behind", ("PREVOTE-11", "PREVOTE-13", "DEF-6"), comparison(s, v, x, d)),
        ),
        (
            Update(
                "would",
                lambda r, f, k: z3.Or(s.would(r, f, k), z3.And(r == v, f == e, k == c)),
            ),
        ),
    )


def _become_candidate(s: State, c: Term, e: Term, q: Term) -> Step:
    granted = every((Replica,), lambda v: z3.Implies(member(v, q), z3.Or(v == c, s.would(v, s.epoch(c), c))))
    return Step(
        (
            Beside("Prospective", ("STATE-5", "TRANS-Forbid-1"), s.role(c) == PROSPECTIVE),
            Beside("a majority is one", ("DEF-2",), majority(q)),
            Beside("a majority would vote for it", ("PREVOTE-4", "PREVOTE-5", "PREVOTE-19"), granted),
            Guard("the epoch is larger", ("VOTE-2",), before(s.epoch(c), e)),
            Guard("its log is flushed", ("DEF-5",), is_flushed(s, c)),
        ),
        (
            *(each for each in moves(s, c, e, CANDIDATE) if each.symbol != "voted"),
            Update("voted", lambda r, k: z3.If(r == c, k == c, s.voted(r, k)), ("VOTE-2", "PERSIST-3")),
            Update(
                "votes", lambda r, f, k: z3.Or(s.votes(r, f, k), z3.And(r == c, f == e, k == c)), ("VOTE-2",)
            ),
            Update("opened", lambda f: z3.Or(s.opened(f), f == e)),
        ),
    )


def _ask_for_votes(s: State, c: Term, x: Term, d: Term) -> Step:
    return Step(
        (
            Guard("Candidate", ("VOTE-23",), s.role(c) == CANDIDATE),
            Guard("tells the end of its log", ("VOTE-2",), ends(s, c, x, d)),
        ),
        (
            Update(
                "stands",
                lambda r, e, o, f: z3.Or(
                    s.stands(r, e, o, f), z3.And(r == c, e == s.epoch(c), o == x, f == d)
                ),
            ),
        ),
    )


def _hear_of_epoch(s: State, r: Term, e: Term) -> Step:
    return Step(
        (
            Guard("the epoch exists", ("EPOCH-3",), s.opened(e)),
            Guard("it is larger", ("EPOCH-1", "EPOCH-4", "EPOCH-5"), before(s.epoch(r), e)),
        ),
        moves(s, r, e, UNATTACHED),
    )


def _grant_vote(s: State, v: Term, c: Term, e: Term, x: Term, d: Term) -> Step:
    role = s.role(v)
    return Step(
        (
            Guard("the request was sent", (), s.stands(c, e, x, d)),
            Guard("it is of this epoch", ("VOTE-5", "VOTE-7"), s.epoch(v) == e),
            Beside("not Candidate", ("VOTE-11",), role != CANDIDATE),
            Beside("not Leader", ("VOTE-12",), role != LEADER),
            Beside("not Follower", ("VOTE-13",), role != FOLLOWER),
            Beside("not Resigned", ("VOTE-14", "RESIGN-7"), role != RESIGNED),
            Guard("has not voted", ("VOTE-8",), no_vote(s, v)),
            Guard("knows no leader", ("VOTE-9",), no_leader(s, v)),
            Guard("the log is not behind", ("VOTE-10", "DEF-6"), comparison(s, v, x, d)),
            Beside("not for itself", ("TRANS-Forbid-5",), v != c),
        ),
        (
            Update(
                "voted",
                lambda r, k: z3.Or(s.voted(r, k), z3.And(r == v, k == c)),
                ("VOTE-15", "PERSIST-4", "PERSIST-7"),
            ),
            Update("votes", lambda r, f, k: z3.Or(s.votes(r, f, k), z3.And(r == v, f == e, k == c))),
        ),
    )


def _become_leader(s: State, c: Term, q: Term) -> Step:
    e = s.epoch(c)
    elected = every((Replica,), lambda v: z3.Implies(member(v, q), s.votes(v, e, c)))
    return Step(
        (
            Guard("Candidate", ("TRANS-Forbid-1",), s.role(c) == CANDIDATE),
            Guard("a majority is one", ("DEF-2",), majority(q)),
            Guard("a majority votes for it", ("VOTE-20", "VOTE-3", "DEF-2"), elected),
        ),
        (
            Update("role", lambda r: z3.If(r == c, LEADER, s.role(r))),
            Update("leader", lambda r, w: z3.If(r == c, w == c, s.leader(r, w)), ("VOTE-25", "PERSIST-2")),
            Update("voted", lambda r, k: z3.And(s.voted(r, k), r != c)),
            Update("known", lambda r, f, o, y: z3.And(s.known(r, f, o, y), r != c)),
            Update("led", lambda f, w: z3.Or(s.led(f, w), z3.And(f == e, w == c))),
            Update("record", lambda f, o, g: z3.Or(s.record(f, o, g), z3.And(f == e, s.holds(c, o, g)))),
        ),
    )


def _tell_leader(s: State, r: Term, w: Term) -> Step:
    return Step(
        (Guard("has it down as leader", ("BEGIN-1", "VOTE-17", "FETCH-6"), s.leader(r, w)),),
        (Update("claimed", lambda e, k: z3.Or(s.claimed(e, k), z3.And(e == s.epoch(r), k == w))),),
    )


def _follow(s: State, r: Term, e: Term, w: Term) -> Step:
    same = s.epoch(r) == e
    return Step(
        (
            Guard("somebody says so", ("EPOCH-3", "BEGIN-5", "BEGIN-6", "RESP-3", "RESP-4"), s.claimed(e, w)),
            Guard("the epoch is not smaller", ("EPOCH-1", "EPOCH-4", "BEGIN-4"), at_most(s.epoch(r), e)),
            Beside(
                "not Leader of that epoch", ("TRANS-Forbid-3",), z3.Not(z3.And(same, s.role(r) == LEADER))
            ),
            Beside("of another", ("TRANS-Forbid-2",), r != w),
        ),
        (
            *(each for each in moves(s, r, e, FOLLOWER) if each.symbol != "leader"),
            Update("leader", lambda k, m: z3.If(k == r, m == w, s.leader(k, m)), ("PERSIST-5",)),
        ),
    )


def _resign(s: State, w: Term) -> Step:
    return Step(
        (Beside("Leader", ("TRANS-Forbid-1",), s.role(w) == LEADER),),
        (
            Update("role", lambda r: z3.If(r == w, RESIGNED, s.role(r))),
            Update("known", lambda r, f, o, y: z3.And(s.known(r, f, o, y), r != w)),
        ),
    )


def _leave_resigned(s: State, r: Term, e: Term) -> Step:
    return Step(
        (
            Beside("Resigned", ("RESIGN-4",), s.role(r) == RESIGNED),
            Guard("the epoch is larger", ("RESIGN-4", "PREVOTE-29"), before(s.epoch(r), e)),
        ),
        (*moves(s, r, e, UNATTACHED), Update("opened", lambda f: z3.Or(s.opened(f), f == e))),
    )


def _restart(s: State, r: Term, i: Term, x: Term) -> Step:
    led, stood, follows = s.leader(r, r), s.voted(r, r), z3.Not(no_leader(s, r))
    candidate = z3.And(stood, z3.Not(led))

    def kept(o: Term) -> Formula:
        return z3.Or(at_most(o, x), z3.Not(s.unflushed(r, o)))

    return Step(
        (
            Beside(
                "Resigned if it has itself as leader", ("INIT-3", "RESIGN-9"), z3.Implies(led, i == RESIGNED)
            ),
            Beside(
                "Candidate if it has voted for itself", ("INIT-4",), z3.Implies(candidate, i == CANDIDATE)
            ),
            Guard("otherwise no Candidate", ("INIT-4", "STATE-5"), z3.Implies(i == CANDIDATE, candidate)),
            Guard("Follower only of a leader", ("INIT-6",), z3.Implies(i == FOLLOWER, follows)),
            Guard("not Leader", ("INIT-7",), i != LEADER),
            Beside("not Prospective", ("PERSIST-6", "PREVOTE-34"), i != PROSPECTIVE),
        ),
        (
            Update("role", lambda k: z3.If(k == r, i, s.role(k))),
            Update(
                "leader",
                lambda k, m: z3.And(s.leader(k, m), z3.Not(z3.And(k == r, i == CANDIDATE))),
                ("INIT-4",),
            ),
            Update("fetching", lambda k: z3.And(s.fetching(k), k != r)),
            Update("known", lambda k, f, o, y: z3.And(s.known(k, f, o, y), k != r)),
            Update("holds", lambda k, o, f: z3.And(s.holds(k, o, f), z3.Or(k != r, kept(o)))),
            Update("unflushed", lambda k, o: z3.And(s.unflushed(k, o), z3.Or(k != r, at_most(o, x)))),
        ),
    )


ELECTIONS = (
    Action(
        "become-prospective",
        ("PREVOTE-1", "PREVOTE-2", "PREVOTE-3", "INIT-8"),
        (("r", Replica),),
        "{r} becomes Prospective",
        _become_prospective,
    ),
    Action(
        "lose-pre-vote",
        ("PREVOTE-21", "PREVOTE-22"),
        (("r", Replica),),
        "{r} looks for a leader",
        _lose_pre_vote,
    ),
    Action(
        "return-to-leader",
        ("PREVOTE-21", "PREVOTE-22"),
        (("r", Replica), ("leader", Replica)),
        "{r} returns to its leader {leader}",
        _return_to_leader,
    ),
    Action(
        "ask-for-pre-vote",
        ("PREVOTE-5",),
        (("r", Replica), ("offset", Offset), ("last", Epoch)),
        "{r} asks for pre-votes",
        _ask_for_pre_vote,
    ),
    Action(
        "hear-of-pre-vote",
        ("PREVOTE-9",),
        (("r", Replica), ("candidate", Replica), ("epoch", Epoch), ("offset", Offset), ("last", Epoch)),
        "{r} hears of {epoch} from Prospective {candidate}",
        _hear_of_pre_vote,
    ),
    Action(
        "grant-pre-vote",
        ("PREVOTE-14", "PREVOTE-15"),
        (("r", Replica), ("candidate", Replica), ("epoch", Epoch), ("offset", Offset), ("last", Epoch)),
        "{r} would vote for {candidate}",
        _grant_pre_vote,
    ),
    Action(
        "become-candidate",
        ("VOTE-1", "VOTE-2"),
        (("r", Replica), ("epoch", Epoch), ("majority", Quorum)),
        "{r} stands for election in {epoch}",
        _become_candidate,
    ),
    Action(
        "ask-for-votes",
        ("VOTE-2", "VOTE-23"),
        (("r", Replica), ("offset", Offset), ("last", Epoch)),
        "{r}, whose log ends with {offset}@{last}, asks for votes",
        _ask_for_votes,
    ),
    Action(
        "hear-of-epoch",
        ("EPOCH-3", "VOTE-7"),
        (("r", Replica), ("epoch", Epoch)),
        "{r} hears of {epoch}",
        _hear_of_epoch,
    ),
    Action(
        "grant-vote",
        ("VOTE-10", "VOTE-15"),
        (("r", Replica), ("candidate", Replica), ("epoch", Epoch), ("offset", Offset), ("last", Epoch)),
        "{r} votes for {candidate}, whose log ends with {offset}@{last}",
        _grant_vote,
    ),
    Action(
        "become-leader",
        ("VOTE-20", "VOTE-25"),
        (("r", Replica), ("majority", Quorum)),
        "{r} is elected by {majority}",
        _become_leader,
    ),
    Action(
        "tell-leader",
        ("BEGIN-1", "VOTE-17", "FETCH-6"),
        (("r", Replica), ("leader", Replica)),
        "{r} says that {leader} leads",
        _tell_leader,
    ),
    Action(
        "follow",
        ("EPOCH-3", "BEGIN-5", "BEGIN-6", "RESP-3", "RESP-4"),
        (("r", Replica), ("epoch", Epoch), ("leader", Replica)),
        "{r} follows {leader} in {epoch}",
        _follow,
    ),
    Action("resign", ("RESIGN-1", "RESIGN-2"), (("r", Replica),), "{r} resigns", _resign),
    Action(
        "leave-resigned",
        ("RESIGN-4",),
        (("r", Replica), ("epoch", Epoch)),
        "{r} leaves Resigned into {epoch}",
        _leave_resigned,
    ),
    Action(
        "restart",
        ("INIT-3", "INIT-4", "INIT-5", "INIT-6", "INIT-10"),
        (("r", Replica), ("role", Role), ("offset", Offset)),
        "{r} starts again as {role}, with what it flushed and the rest up to {offset}",
        _restart,
    ),
)
