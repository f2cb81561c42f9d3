"""Actions where the voters may change, one at a time, by records that are effective once they are
appended.
"""

from __future__ import annotations

from dataclasses import replace

import z3

from kraftcheck.proof.elections import ELECTIONS, is_flushed, no_leader
from kraftcheck.proof.logic import (
    Action,
    Formula,
    Guard,
    Lemma,
    Principle,
    State,
    Step,
    Symbol,
    Term,
    Update,
    every,
)
from kraftcheck.proof.replication import REPLICATION
from kraftcheck.proof.symbols import SYMBOLS
from kraftcheck.proof.vocabulary import (
    CANDIDATE,
    FOLLOWER,
    Epoch,
    Offset,
    Quorum,
    Replica,
    Voters,
    adjacent,
    at_most,
    before,
    first_in_epoch,
    first_pair,
    majority_of,
)

#: The statements by which a set of epochs or offsets has a first element, if it has any.
LEAST_NUMBER = ("least-number-begins", "least-number-goes-on", "least-number-ends")
SET_HISTORY = (
    Symbol("config", (Offset, Epoch), "record {0}@{1} brings a voter set", ghost=True),
    Symbol("set_of", (Offset, Epoch), "record {0}@{1} brings {value}", Voters, True, "config"),
    Symbol(
        "old_offset", (Offset, Epoch), "the set before that of {0}@{1} is at {value}", Offset, True, "config"
    ),
    Symbol(
        "old_epoch", (Offset, Epoch), "the set before that of {0}@{1} is of {value}", Epoch, True, "config"
    ),
    Symbol(
        "safe", (Offset, Epoch), "{0}@{1} was appended after committing to {value}", Offset, True, "config"
    ),
    Symbol("voters_offset", (Epoch,), "leader of {0} was elected by the set at {value}", Offset, True, "led"),
    Symbol("voters_epoch", (Epoch,), "leader of {0} was elected by a set of {value}", Epoch, True, "led"),
    Symbol(
        "by_offset",
        (Epoch, Offset),
        "leader of {0} committed to {1} by the set at {value}",
        Offset,
        True,
        "committed",
    ),
    Symbol(
        "by_epoch",
        (Epoch, Offset),
        "leader of {0} committed to {1} by a set of {value}",
        Epoch,
        True,
        "committed",
    ),
)
CHANGE_SYMBOLS = SYMBOLS + SET_HISTORY


def set_by(s: State, d: Term, x: Term) -> Term:
    """The voter set by which the leader of ``d`` has committed to ``x``."""
    return s.set_of(s.by_offset(d, x), s.by_epoch(d, x))


def elected_by(s: State, f: Term) -> Term:
    """The voter set by which the leader of ``f`` was elected."""
    return s.set_of(s.voters_offset(f), s.voters_epoch(f))


def in_force(s: State, r: Term, p: Term, h: Term) -> Formula:
    """The last voter set in the log of ``r`` is that of this record."""
    return z3.And(
        s.holds(r, p, h),
        s.config(p, h),
        every(
            (Offset, Epoch), lambda o, e: z3.Implies(z3.And(s.holds(r, o, e), s.config(o, e)), at_most(o, p))
        ),
    )


def _by_name(name: str) -> Action:
    return next(action for action in ELECTIONS + REPLICATION if action.name == name)


def _with(
    step: Step,
    guards: tuple[Guard, ...],
    updates: tuple[Update, ...],
    principles: tuple[Principle, ...] = (),
    lemmas: tuple[Lemma, ...] = (),
) -> Step:
    """``step`` with more guards and updates; it has its own guard for majorities."""
    kept = tuple(guard for guard in step.guards if guard.name != "a majority is one")
    return Step(kept + guards, step.updates + updates, principles, lemmas + step.lemmas)


def _rival_lemmas(s: State, c: Term, e: Term, p: Term, h: Term) -> tuple[Lemma, ...]:
    """Candidate c, whose voter set is that of record (p, h), was elected in its epoch e before."""
    return (
        Lemma(
            "RivalsShareASet",
            "of the candidate and a rival elected before, one has the voter set of the other in its log",
            every(
                (Replica,),
                lambda n: z3.Implies(
                    s.led(e, n),
                    z3.Or(s.record(e, p, h), s.holds(c, s.voters_offset(e), s.voters_epoch(e))),
                ),
            ),
        ),
        Lemma(
            "SetsAdjacentIfInRival",
            "the candidate's voter set is adjacent to that of the rival if it is in the rival's log",
            every(
                (Replica,),
                lambda n: z3.Implies(
                    z3.And(s.led(e, n), s.record(e, p, h)), adjacent(elected_by(s, e), s.set_of(p, h))
                ),
            ),
        ),
        Lemma(
            "SetsAdjacentIfInCandidate",
            "and if the rival's is in the candidate's log",
            every(
                (Replica,),
                lambda n: z3.Implies(
                    z3.And(s.led(e, n), s.holds(c, s.voters_offset(e), s.voters_epoch(e))),
                    adjacent(elected_by(s, e), s.set_of(p, h)),
                ),
            ),
        ),
    )


def _become_leader(s: State, c: Term, q: Term, p: Term, h: Term) -> Step:
    e = s.epoch(c)

    def lacked(d: Term, x: Term) -> Formula:
        return z3.And(s.committed(d, x), before(d, e), z3.Not(s.holds(c, x, d)))

    def first(d: Term, x: Term) -> Formula:
        return first_pair(lacked, d, x)

    one = z3.Const("first.epoch", Epoch), z3.Const("first.offset", Offset)
    nothing = every(
        (Epoch, Offset), lambda d, x: z3.Implies(z3.And(s.committed(d, x), before(d, e)), s.holds(c, x, d))
    )
    return _with(
        _by_name("become-leader").does(s, c, q),
        (
            Guard("by the last voter set of its log", ("DEF-2", "VSET-2"), in_force(s, c, p, h)),
            Guard("a majority is one", ("DEF-2",), majority_of(q, s.set_of(p, h))),
        ),
        (
            Update("voters_offset", lambda f: z3.If(f == e, p, s.voters_offset(f))),
            Update("voters_epoch", lambda f: z3.If(f == e, h, s.voters_epoch(f))),
        ),
        principles=(
            Principle(
                "a first record that was committed and is lacked",
                (*LEAST_NUMBER, "least-pair"),
                z3.Or(nothing, first(*one)),
                (("first_epoch", one[0]), ("first_offset", one[1])),
            ),
        ),
        lemmas=(
            Lemma(
                "SetsAdjacentToFirstLacked",
                "the voter set of the first lacked record is one voter apart at most",
                z3.Implies(first(*one), adjacent(set_by(s, *one), s.set_of(p, h))),
            ),
            Lemma(
                "CandidateLacksNothing", "the candidate has all records committed in earlier epochs", nothing
            ),
            *_rival_lemmas(s, c, e, p, h),
            Lemma(
                "NobodyElectedBefore",
                "nobody was elected in this epoch before",
                every((Replica,), lambda n: z3.Not(s.led(e, n))),
            ),
        ),
    )


def _commit(s: State, w: Term, x: Term, g: Term, q: Term, p: Term, h: Term) -> Step:
    d = s.epoch(w)

    def lacks(f: Term, n: Term) -> Formula:
        return z3.And(s.led(f, n), before(d, f), z3.Not(s.record(f, x, d)))

    def first(f: Term, n: Term) -> Formula:
        return first_in_epoch(lacks, f, n)

    one = z3.Const("first.epoch", Epoch), z3.Const("first.leader", Replica)
    nobody = every(
        (Epoch, Replica), lambda f, n: z3.Implies(z3.And(s.led(f, n), before(d, f)), s.record(f, x, d))
    )
    beyond = every((Offset,), lambda o: z3.Implies(s.committed(d, o), before(o, x)))
    return _with(
        _by_name("commit").does(s, w, x, g, q),
        (
            Guard("beyond what is committed", ("HWM-4",), beyond),
            Guard("by the last voter set of its log", ("DEF-2", "HWM-3", "VSET-2"), in_force(s, w, p, h)),
            Guard("a majority is one", ("HWM-1", "DEF-2"), majority_of(q, s.set_of(p, h))),
        ),
        (
            Update("by_offset", lambda f, o: z3.If(z3.And(f == d, o == x), p, s.by_offset(f, o))),
            Update("by_epoch", lambda f, o: z3.If(z3.And(f == d, o == x), h, s.by_epoch(f, o))),
        ),
        principles=(
            Principle(
                "a first leader of a larger epoch that lacks the record",
                (*LEAST_NUMBER, "least-in-epoch"),
                z3.Or(nobody, first(*one)),
                (("first_epoch", one[0]), ("first_leader", one[1])),
            ),
        ),
        lemmas=(
            Lemma(
                "SetsAdjacentToFirstLacking",
                "the voter set that elected the first leader that lacks it is one voter apart at most",
                z3.Implies(first(*one), adjacent(s.set_of(p, h), elected_by(s, one[0]))),
            ),
            Lemma("NoLeaderLacks", "every leader of a larger epoch has the record", nobody),
        ),
    )


def _ask_for_votes(s: State, c: Term, x: Term, d: Term) -> Step:
    step = _by_name("ask-for-votes").does(s, c, x, d)
    return _with(step, (Guard("which is flushed", ("DEF-5",), is_flushed(s, c)),), ())


def _restart(s: State, r: Term, i: Term, x: Term) -> Step:
    step = _by_name("restart").does(s, r, i, x)
    step = Step(step.guards, tuple(update for update in step.updates if update.symbol != "leader"))
    led = z3.Not(no_leader(s, r))
    return _with(
        step, (Guard("no Candidate if it knows a leader", ("INIT-4",), z3.Implies(led, i != CANDIDATE)),), ()
    )


def _take_records(s: State, r: Term, e: Term, y: Term, d: Term, x: Term) -> Step:
    step = _by_name("take-records").does(s, r, e, y, d, x)
    guards = tuple(guard for guard in step.guards if guard.name != "Follower")
    return Step((Guard("Follower", ("FETCH-30",), s.role(r) == FOLLOWER), *guards), step.updates)


def _append_voters(s: State, w: Term, x: Term, p: Term, h: Term, o: Term, t: Term) -> Step:
    e = s.epoch(w)

    def here(y: Term, g: Term) -> Formula:
        return z3.And(y == x, g == e)

    return _with(
        _by_name("append").does(s, w, x),
        (
            Guard("the last voter set is this", ("DEF-2",), in_force(s, w, p, h)),
            Guard("a record of its own epoch is committed", ("VSET-9",), s.committed(e, o)),
            Guard("and the last voter set with it", ("VSET-8",), at_most(p, o)),
            Guard("one voter more or less", ("VSET-7", "ADD-11", "REMOVE-5"), adjacent(s.set_of(p, h), t)),
        ),
        (
            Update("config", lambda y, g: z3.Or(s.config(y, g), here(y, g))),
            Update("set_of", lambda y, g: z3.If(here(y, g), t, s.set_of(y, g))),
            Update("old_offset", lambda y, g: z3.If(here(y, g), p, s.old_offset(y, g))),
            Update("old_epoch", lambda y, g: z3.If(here(y, g), h, s.old_epoch(y, g))),
            Update("safe", lambda y, g: z3.If(here(y, g), o, s.safe(y, g))),
        ),
    )


_REPLACED = (
    replace(_by_name("ask-for-votes"), does=_ask_for_votes),
    replace(_by_name("restart"), does=_restart),
    replace(_by_name("take-records"), does=_take_records),
    Action(
        "become-leader",
        ("VOTE-20", "VOTE-25"),
        (("r", Replica), ("majority", Quorum), ("set", Offset), ("set_epoch", Epoch)),
        "{r} is elected by {majority}, a majority of the voter set at {set}@{set_epoch}",
        _become_leader,
    ),
    Action(
        "commit",
        ("HWM-1", "HWM-2", "HWM-4"),
        (
            ("r", Replica),
            ("offset", Offset),
            ("last", Epoch),
            ("majority", Quorum),
            ("set", Offset),
            ("set_epoch", Epoch),
        ),
        "{r} commits to {offset}@{last}, held by {majority}, a majority of the set at {set}@{set_epoch}",
        _commit,
    ),
)
_ADDED = (
    Action(
        "append-voters",
        ("VSET-1", "VSET-2", "ADD-11", "REMOVE-5"),
        (
            ("r", Replica),
            ("offset", Offset),
            ("old", Offset),
            ("old_epoch", Epoch),
            ("committed", Offset),
            ("set", Voters),
        ),
        "{r} appends {set} at {offset}; the one before is at {old}@{old_epoch}, committed to {committed}",
        _append_voters,
    ),
)
_NAMES = {action.name: action for action in _REPLACED}
CHANGE_ACTIONS = (*(_NAMES.get(action.name, action) for action in ELECTIONS + REPLICATION), *_ADDED)
