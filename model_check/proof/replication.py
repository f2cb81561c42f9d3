"""Actions of replication: appending, fetching, reconciling logs, and committing."""

from __future__ import annotations

import z3

from kraftcheck.proof.elections import is_flushed
from kraftcheck.proof.logic import Action, Beside, Formula, Guard, Lemma, State, Step, Term, Update, every
from kraftcheck.proof.symbols import ends
from kraftcheck.proof.vocabulary import (
    FOLLOWER,
    LEADER,
    Epoch,
    Offset,
    Quorum,
    Replica,
    at_most,
    before,
    majority,
    member,
)


def follows(s: State, r: Term, e: Term, needed: type[Guard] = Beside) -> tuple[Guard, ...]:
    """The answer of the leader of ``e`` to a fetch is taken by its followers alone."""
    return (
        needed("Follower", ("FETCH-30",), s.role(r) == FOLLOWER),
        Guard("the answer is of its epoch", ("EPOCH-5", "RESP-2"), s.epoch(r) == e),
    )


def _append(s: State, w: Term, x: Term) -> Step:
    e = s.epoch(w)
    beyond = every((Offset, Epoch), lambda o, f: z3.Implies(s.holds(w, o, f), before(o, x)))
    return Step(
        (
            Guard("Leader", ("LOG-1",), s.role(w) == LEADER),
            Guard("at the end of its log", ("LOG-5",), beyond),
        ),
        (
            Update("holds", lambda r, o, f: z3.Or(s.holds(r, o, f), z3.And(r == w, o == x, f == e))),
            Update("unflushed", lambda r, o: z3.Or(s.unflushed(r, o), z3.And(r == w, o == x))),
            Update("record", lambda f, o, g: z3.Or(s.record(f, o, g), z3.And(f == e, o == x, g == e))),
        ),
        lemmas=(
            Lemma(
                "RecordIsNew",
                "no log has or had a record with this offset and epoch",
                z3.And(z3.Not(s.record(e, x, e)), every((Replica,), lambda r: z3.Not(s.holds(r, x, e)))),
            ),
        ),
    )


def _flush(s: State, r: Term) -> Step:
    return Step((), (Update("unflushed", lambda k, o: z3.And(s.unflushed(k, o), k != r)),))


def _fetch(s: State, v: Term, x: Term, d: Term) -> Step:
    e = s.epoch(v)
    return Step(
        (
            Beside("not Leader", (), s.role(v) != LEADER),
            Guard("it asks after the end of its log", ("FETCH-2",), ends(s, v, x, d)),
            Guard("which is flushed", ("DEF-5",), is_flushed(s, v)),
        ),
        (
            Update(
                "fetched",
                lambda r, f, o, g: z3.Or(s.fetched(r, f, o, g), z3.And(r == v, f == e, o == x, g == d)),
            ),
            Update(
                "assured",
                lambda r, f, o: z3.Or(s.assured(r, f, o), z3.And(r == v, f == e, s.holds(v, o, e))),
            ),
        ),
    )


def _count_fetch(s: State, w: Term, v: Term, x: Term, d: Term) -> Step:
    e = s.epoch(w)
    return Step(
        (
            Guard("Leader", ("FETCH-6",), s.role(w) == LEADER),
            Guard("the fetch is of its epoch", ("FETCH-4", "FETCH-5"), s.fetched(v, e, x, d)),
            Guard("after a record of its log", ("FETCH-8",), s.holds(w, x, d)),
        ),
        (
            Update(
                "counted",
                lambda f, r, o, g: z3.Or(
                    s.counted(f, r, o, g), z3.And(f == e, r == v, at_most(o, x), s.holds(w, o, g))
                ),
            ),
        ),
    )


def _count_own(s: State, w: Term, x: Term, d: Term) -> Step:
    e = s.epoch(w)
    return Step(
        (
            Guard("Leader", ("HWM-3",), s.role(w) == LEADER),
            Beside("to the end of its log", ("HWM-3",), ends(s, w, x, d)),
            Guard("which is flushed", ("HWM-3",), is_flushed(s, w)),
        ),
        (
            Update(
                "counted",
                lambda f, r, o, g: z3.Or(
                    s.counted(f, r, o, g), z3.And(f == e, r == w, at_most(o, x), s.holds(w, o, g))
                ),
            ),
            Update(
                "assured",
                lambda r, f, o: z3.Or(s.assured(r, f, o), z3.And(r == w, f == e, s.holds(w, o, e))),
            ),
        ),
    )


def _commit(s: State, w: Term, x: Term, g: Term, q: Term) -> Step:
    e = s.epoch(w)
    on_majority = every((Replica,), lambda v: z3.Implies(member(v, q), s.counted(e, v, x, g)))
    return Step(
        (
            Guard("Leader", ("HWM-1",), s.role(w) == LEADER),
            Guard("a majority is one", ("HWM-1", "DEF-2"), majority(q)),
            Guard("a majority holds it", ("HWM-1",), on_majority),
            Beside("of its log", ("HWM-1",), s.holds(w, x, g)),
            Guard("a record of its own epoch", ("HWM-2",), g == e),
        ),
        (
            Update("committed", lambda f, o: z3.Or(s.committed(f, o), z3.And(f == e, o == x))),
            Update(
                "known",
                lambda r, f, o, y: z3.Or(s.known(r, f, o, y), z3.And(r == w, f == e, o == x, at_most(y, x))),
            ),
        ),
        lemmas=(
            Lemma(
                "MajorityHolds",
                "a majority of the voters holds the record, on disk",
                every(
                    (Replica,),
                    lambda v: z3.Implies(member(v, q), z3.And(s.holds(v, x, e), z3.Not(s.unflushed(v, x)))),
                ),
            ),
        ),
    )


def _take_records(s: State, r: Term, e: Term, y: Term, d: Term, x: Term) -> Step:
    def taken(o: Term, f: Term) -> Formula:
        return z3.And(before(y, o), at_most(o, x), s.record(e, o, f))

    return Step(
        (
            *follows(s, r, e),
            Guard("its log ends here", ("RESP-7", "FETCH-26"), ends(s, r, y, d)),
            Guard("with a record of the leader's", ("FETCH-8",), s.record(e, y, d)),
        ),
        (
            Update("holds", lambda k, o, f: z3.Or(s.holds(k, o, f), z3.And(k == r, taken(o, f)))),
            Update(
                "unflushed",
                lambda k, o: z3.Or(s.unflushed(k, o), z3.And(k == r, before(y, o), at_most(o, x))),
            ),
            Update("fetching", lambda k: z3.Or(s.fetching(k), k == r)),
        ),
    )


def _truncate(s: State, r: Term, e: Term, y: Term, d: Term, f: Term, x: Term, t: Term) -> Step:
    leaders = every(
        (Offset, Epoch),
        lambda o, g: z3.Implies(
            z3.And(s.record(e, o, g), at_most(g, d)), z3.And(at_most(g, f), before(o, x))
        ),
    )

    cuts = every(
        (Offset, Epoch),
        lambda o, g: z3.Implies(z3.And(s.holds(r, o, g), before(t, o)), z3.Or(before(f, g), at_most(x, o))),
    )
    return Step(
        (
            *follows(s, r, e, Guard),
            Guard("its log ends here", ("RESP-7",), ends(s, r, y, d)),
            Guard("the leader's records up to that epoch end there", ("FETCH-9",), leaders),
            Guard("only what is not below that is cut", ("FETCH-23", "FETCH-24", "FETCH-25"), cuts),
        ),
        (
            Update("holds", lambda k, o, g: z3.And(s.holds(k, o, g), z3.Or(k != r, at_most(o, t)))),
            Update("unflushed", lambda k, o: z3.And(s.unflushed(k, o), z3.Or(k != r, at_most(o, t)))),
            Update("fetching", lambda k: z3.Or(s.fetching(k), k == r)),
        ),
    )


def _learn(s: State, r: Term, e: Term, y: Term, d: Term, x: Term) -> Step:
    return Step(
        (
            *follows(s, r, e),
            Guard("its log ends here", ("FETCH-27",), ends(s, r, y, d)),
            Guard("with a record of the leader's", ("FETCH-8",), s.record(e, y, d)),
            Guard("the leader has committed", ("FETCH-27",), s.committed(e, x)),
        ),
        (
            Update(
                "known",
                lambda k, f, o, z: z3.Or(
                    s.known(k, f, o, z), z3.And(k == r, f == e, o == x, at_most(z, x), at_most(z, y))
                ),
            ),
        ),
    )


def _hear_from_leader(s: State, r: Term) -> Step:
    return Step(
        (Beside("Follower", ("UPDATE-7",), s.role(r) == FOLLOWER),),
        (Update("fetching", lambda k: z3.Or(s.fetching(k), k == r)),),
    )


REPLICATION = (
    Action(
        "append",
        ("LOG-1", "LOG-2", "LOG-5"),
        (("r", Replica), ("offset", Offset)),
        "{r} appends {offset}",
        _append,
    ),
    Action("flush", ("DEF-5",), (("r", Replica),), "{r} flushes its log", _flush),
    Action(
        "fetch",
        ("FETCH-2",),
        (("r", Replica), ("offset", Offset), ("last", Epoch)),
        "{r} fetches after {offset}@{last}",
        _fetch,
    ),
    Action(
        "count-fetch",
        ("FETCH-14", "FETCH-15"),
        (("r", Replica), ("voter", Replica), ("offset", Offset), ("last", Epoch)),
        "{r} counts {voter} up to {offset}@{last}",
        _count_fetch,
    ),
    Action(
        "count-own-log",
        ("HWM-3",),
        (("r", Replica), ("offset", Offset), ("last", Epoch)),
        "{r} counts itself up to {offset}@{last}",
        _count_own,
    ),
    Action(
        "commit",
        ("HWM-1", "HWM-2"),
        (("r", Replica), ("offset", Offset), ("last", Epoch), ("majority", Quorum)),
        "{r} commits to {offset}@{last}, which {majority} has",
        _commit,
    ),
    Action(
        "take-records",
        ("FETCH-26", "FETCH-28"),
        (("r", Replica), ("epoch", Epoch), ("end", Offset), ("last", Epoch), ("offset", Offset)),
        "{r} takes the records after {end}@{last} up to {offset}",
        _take_records,
    ),
    Action(
        "truncate",
        ("FETCH-23", "FETCH-24", "FETCH-25"),
        (
            ("r", Replica),
            ("epoch", Epoch),
            ("end", Offset),
            ("last", Epoch),
            ("diverging", Epoch),
            ("diverging_end", Offset),
            ("offset", Offset),
        ),
        "{r}, whose log ends with {end}@{last}, truncates to {offset}, told that the records of "
        "{diverging} end before {diverging_end}",
        _truncate,
    ),
    Action(
        "learn-high-watermark",
        ("FETCH-27",),
        (("r", Replica), ("epoch", Epoch), ("end", Offset), ("last", Epoch), ("offset", Offset)),
        "{r} learns in {epoch} that all up to {offset} is committed; its log ends with {end}@{last}",
        _learn,
    ),
    Action(
        "hear-from-leader",
        ("UPDATE-7",),
        (("r", Replica),),
        "{r} takes an answer of its leader to something else for one to a fetch",
        _hear_from_leader,
    ),
)
