"""The state of the transition system: the state of replicas, the messages sent, and history for the
argument.
"""

from __future__ import annotations

import z3

from kraftcheck.proof.logic import Formula, State, Symbol, Term, every
from kraftcheck.proof.vocabulary import Epoch, Offset, Replica, Role, at_most

DURABLE = (
    Symbol("epoch", (Replica,), "epoch of {0} is {value}", Epoch),
    Symbol("voted", (Replica, Replica), "{0} has its vote down for {1}"),
    Symbol("leader", (Replica, Replica), "{0} has {1} down as leader"),
    Symbol("holds", (Replica, Offset, Epoch), "{0} holds {1}@{2}"),
)
VOLATILE = (
    Symbol("role", (Replica,), "{0} is {value}", Role),
    Symbol("fetching", (Replica,), "{0} has fetched from its leader"),
    Symbol("unflushed", (Replica, Offset), "{0} has not flushed {1}"),
    Symbol("known", (Replica, Epoch, Offset, Offset), "{0} knows from {1} (committed to {2}) that {3} is"),
)
MESSAGES = (
    Symbol("claimed", (Epoch, Replica), "sent: {1} leads {0}"),
    Symbol("asks", (Replica, Epoch, Offset, Epoch), "sent: pre-vote request of {0} in {1}, log to {2}@{3}"),
    Symbol("would", (Replica, Epoch, Replica), "sent: {0} would vote for {2} after {1}"),
    Symbol("stands", (Replica, Epoch, Offset, Epoch), "sent: vote request of {0} in {1}, log to {2}@{3}"),
    Symbol("votes", (Replica, Epoch, Replica), "sent: {0} votes in {1} for {2}"),
    Symbol("fetched", (Replica, Epoch, Offset, Epoch), "sent: {0} fetches in {1} after {2}@{3}"),
)
COUNTED = (Symbol("counted", (Epoch, Replica, Offset, Epoch), "leader of {0} counts {1} for {2}@{3}"),)
HISTORY = (
    Symbol("opened", (Epoch,), "{0} has begun", ghost=True),
    Symbol("led", (Epoch, Replica), "{1} was elected in {0}", ghost=True),
    Symbol("record", (Epoch, Offset, Epoch), "leader of {0} has or had {1}@{2}", ghost=True),
    Symbol("assured", (Replica, Epoch, Offset), "{0} has told leader of {1} of {2}@{1}", ghost=True),
    Symbol("committed", (Epoch, Offset), "leader of {0} has committed to {1}", ghost=True),
)
SYMBOLS = DURABLE + VOLATILE + MESSAGES + COUNTED + HISTORY


def ends(state: State, replica: Term, offset: Term, epoch: Term) -> Formula:
    """The log of ``replica`` ends with this record."""
    return z3.And(
        state.holds(replica, offset, epoch),
        every((Offset, Epoch), lambda o, e: z3.Implies(state.holds(replica, o, e), at_most(o, offset))),
    )
