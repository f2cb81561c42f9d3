"""Properties of each step, which an invariant cannot express, as it is about one state."""

from __future__ import annotations

import z3

from kraftcheck.proof.logic import Change, Formula, State, Symbol, every
from kraftcheck.proof.vocabulary import LEADER, Epoch, Replica, at_most


def _stays(symbols: tuple[Symbol, ...], before: State, after: State) -> Formula:
    """All facts of ``symbols`` continue to hold; of functions, the values where they have a meaning."""
    by_name = {symbol.name: symbol for symbol in symbols}
    found = []
    for symbol in symbols:
        old, new = getattr(before, symbol.name), getattr(after, symbol.name)
        if symbol.result is None:
            found.append(
                every(symbol.sorts, lambda *terms, old=old, new=new: z3.Implies(old(*terms), new(*terms)))
            )
            continue
        assert symbol.where is not None
        size, where = len(symbol.sorts), getattr(before, symbol.where)
        found.append(
            every(
                by_name[symbol.where].sorts,
                lambda *terms, old=old, new=new, where=where, size=size: z3.Implies(
                    where(*terms), new(*terms[:size]) == old(*terms[:size])
                ),
            )
        )
    return z3.And(*found)


def changes(symbols: tuple[Symbol, ...]) -> tuple[Change, ...]:
    """The properties of each step of a system whose messages and history are ``symbols``."""
    return (
        Change(
            "HistoryStays",
            "what was sent and what happened is not taken back",
            lambda s, t: _stays(symbols, s, t),
        ),
        Change(
            "EpochMonotone",
            "the epoch of a replica never decreases",
            lambda s, t: every((Replica,), lambda r: at_most(s.epoch(r), t.epoch(r))),
            ("S-8",),
        ),
        Change(
            "NoReturnAfterLeading",
            "who was elected in an epoch neither comes to lead it again nor votes in it",
            lambda s, t: z3.And(
                every(
                    (Replica,),
                    lambda n: z3.Implies(
                        z3.And(t.role(n) == LEADER, s.role(n) != LEADER), z3.Not(s.led(t.epoch(n), n))
                    ),
                ),
                every(
                    (Replica, Epoch, Replica),
                    lambda n, e, c: z3.Implies(
                        z3.And(t.votes(n, e, c), z3.Not(s.votes(n, e, c))), z3.Not(s.led(e, n))
                    ),
                ),
            ),
            ("S-6",),
        ),
    )
