"""The transition table row by row: trigger, what is kept, what is persisted, what timer runs; refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kraftcheck.reference import transitions
from kraftcheck.reference.log import LeaderChange
from kraftcheck.reference.protocol import KAFKA, Protocol, StateMachine
from kraftcheck.reference.replica import Follower, Leader
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.reference.work import ProcessExited, Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import Case, ask, check, table

ANY = ["unattached", "prospective", "candidate", "leader", "follower leader=3", "resigned"]
BEFORE_KIP996 = Protocol(state_machine=StateMachine.PRE_KIP996)

REMAINING = "arm timer election: what is left of the election timer"
ELECTION = "arm timer election: election timeout"
FETCH = "arm timer fetch: fetch timeout"
#: The timer carried into Unattached in a larger epoch, by the state that was left.
INTO_UNATTACHED = {
    "unattached": REMAINING,
    "prospective": REMAINING,
    "prospective rejected=2,3": ELECTION,
    "candidate": REMAINING,
    "candidate rejected=2,3": REMAINING,
    "resigned": REMAINING,
    "follower leader=3": ELECTION,
    "leader": ELECTION,
}
UNATTACHED_9 = "epoch=9; leader=none; forget; persist epoch=9 leader=none voted=none"

CASES = [
    # Into Unattached.
    *(
        Case(f"{state} receives a request of a larger epoch", f"{state} id=1 epoch=5",
             "vote-request from=2 epoch=9", UNATTACHED_9)
        for state in INTO_UNATTACHED
    ),
    *(
        Case(f"{state} receives a response of a larger epoch", f"{state} id=1 epoch=5",
             "vote-response from=2 epoch=9", f"Unattached 9; {UNATTACHED_9}; only {timer}")
        for state, timer in INTO_UNATTACHED.items()
    ),
    *(
        Case(f"the timer of an observer, {state} before, never expires", f"{state} epoch=5",
             "vote-response from=2 epoch=9", "only arm timer election: never expires")
        for state in ("unattached id=7", "follower id=7 leader=3")
    ),
    # Into Follower.
    *(
        Case(f"{state} follows in a larger epoch by {event}", f"{state} id=1 epoch=5", event,
             "Follower 9; leader=2; voted=none; only persist epoch=9 leader=2 voted=none; has fetched=no;"
             f" leader endpoints=CONTROLLER://node-2:9093; only {FETCH}")
        for state in ANY
        for event in ("vote-response from=2 epoch=9 leader=2", "begin-quorum-epoch-request from=2 epoch=9")
    ),
    *(
        Case(f"{state} follows in its epoch and keeps its vote", f"{state} id=1 epoch=5",
             "vote-response from=2 leader=2",
             f"Follower 5; leader=2; voted={voted}; only persist epoch=5 leader=2 voted={voted}")
        for state, voted in (
            ("unattached", "none"), ("unattached voted=3", "3"), ("prospective voted=3", "3"),
            ("candidate", "1"),
        )
    ),
    Case("a follower does not follow anew", "follower id=1 leader=3 voted=2 epoch=5 fetched",
         "begin-quorum-epoch-request from=3", "unchanged"),
    Case("but for more endpoints", "follower id=1 leader=3 voted=2 epoch=5 fetched",
         "begin-quorum-epoch-request from=3 endpoints=A://a:1,B://b:1",
         f"Follower 5; has fetched=no; leader endpoints=A://a:1,B://b:1; voted=2; only {FETCH}"),
    Case("an unattached replica that knows its leader needs only endpoints",
         "unattached id=1 epoch=5 leader=3 voted=2", "begin-quorum-epoch-request from=3",
         "Follower 5; leader=3; voted=2"),
    # Timers of voters.
    *(
        Case(f"a voter {state} becomes prospective in memory", f"{state} id=1 epoch=5 log=2@3 hw=1",
             f"poll expired={timer}",
             f"Prospective 5; leader={leader}; voted={voted}; leader endpoints={endpoints};"
             f" high watermark=1; no persist; only {ELECTION}")
        for state, timer, leader, voted, endpoints in (
            ("unattached leader=3 voted=2", "election", 3, 2, "none"),
            ("follower leader=3 voted=2 fetched", "fetch", 3, 2, "CONTROLLER://node-3:9093"),
            ("candidate", "election", "none", 1, "none"),
        )
    ),
    *(
        Case(f"an observer {state} never starts an election", f"{state} epoch=5",
             f"poll expired={timer} discovery=2", then)
        for state, timer, then in (
            ("unattached id=7", "election", "Unattached 5; leader=none; voted=none"),
            ("follower id=7 leader=3", "fetch", "Follower 5; leader=3; voted=none"),
        )
    ),
    *(
        Case(f"{state} starts no election while it shuts down", f"{state} id=1 epoch=5 shutting-down",
             "poll expired=election", f"{state.capitalize()} 5; no persist; no transition")
        for state in ("unattached", "prospective", "candidate", "resigned")
    ),
    *(
        Case(f"before KIP-996 {state} becomes candidate at once", f"{state} id=1 epoch=5",
             f"poll expired={timer}", "Candidate 6; leader=none; voted=1", BEFORE_KIP996)
        for state, timer in (
            ("unattached", "election"), ("follower leader=3", "fetch"), ("candidate", "election"),
            ("resigned", "election"),
        )
    ),
    *(
        Case(f"{state} that times out", f"{state} id=1 voted=2 epoch=5", "poll expired=election",
             f"{becomes} 5; leader={leader}; voted=2; only persist epoch=5 leader={leader} voted=2; {timer}")
        for state, becomes, leader, timer in (
            ("prospective", "Unattached", "none", REMAINING),
            ("prospective leader=3 endpoints=none", "Unattached", "3", REMAINING),
            ("prospective leader=3", "Follower", "3", FETCH),
        )
    ),
    # Candidates.
    Case("a lost candidate waits for its timer", "candidate id=1 epoch=5 rejected=2",
         "vote-response from=3", "no arm timer"),
    Case("and sends nothing", "candidate id=1 epoch=5 rejected=2,3", "poll", "nothing"),
    # The vote for itself is not stored any more.
    Case("a candidate becomes leader", "candidate id=1 epoch=5 log=2@3 hw=1 parked=none",
         "vote-response from=2 granted",
         "Leader 5; leader=1; voted=none; high watermark=none; epoch start=2; granting voters=1,2;"
         " end offset=2; log=2@3,0@5; arm timer check-quorum: 1.5 times the fetch timeout;"
         " arm timer begin-quorum-epoch: no time at all"),
    Case("an only voter wins at once", "unattached id=1 voters=1 epoch=5", "poll expired=election",
         "Leader 6; persist epoch=6 leader=none voted=1; persist epoch=6 leader=1 voted=none"),
    # Leaders.
    *(
        Case(f"{leader} resigns by {event}",
             f"{leader} id=1 epoch=5 log=2@3,2@5 progress=2:2,3:4 hw=4 parked=3:4", event,
             "Resigned 5; leader=1; voted=none; unacknowledged=2,3; preferred successors=3,2; no persist;"
             f" parked=none; only {ELECTION}")
        for leader, event in (
            ("leader shutting-down", "poll"), ("leader resign-requested", "poll"),
            ("leader", "poll expired=check-quorum"),
        )
    ),
    Case("an only voter does not resign for lack of fetches", "leader id=1 voters=1 log=1@1",
         "poll expired=check-quorum", "Leader 1"),
    Case("a resigned replica leaves in the next epoch", "resigned id=1 epoch=5", "poll expired=election",
         f"Unattached 6; leader=none; voted=none; only {REMAINING}"),
]  # fmt: skip


@table(CASES)
def test_transition(case: Case) -> None:
    check(case)


def test_the_record_that_opens_an_epoch() -> None:
    leader = ask("candidate id=1 epoch=5 log=2@3", "vote-response from=2 granted").replica
    assert isinstance(leader.role, Leader)
    assert leader.role.pending == ((LeaderChange(1, (1, 2, 3), (1, 2)),),)


# What each transition refuses, whichever caller it has.

NODE_3 = parse_replica("follower leader=3").leader_endpoints


@pytest.mark.parametrize(
    ("state", "transition"),
    [
        *((state, transitions.to_resigned) for state in ANY if state != "leader"),
        *((state, lambda work: transitions.to_unattached(work, 4)) for state in ANY),
        *(
            (state, lambda work: transitions.to_unattached(work, 5))
            for state in ANY
            if state != "prospective"
        ),
        ("unattached", lambda work: transitions.unattached_with_vote(work, ReplicaKey(1))),
        ("prospective", lambda work: transitions.prospective_with_vote(work, ReplicaKey(1))),
        *((state, lambda work: transitions.to_follower(work, 6, 3, ())) for state in ANY),
        *((state, lambda work: transitions.to_follower(work, 6, 1, NODE_3)) for state in ANY),
        *((state, lambda work: transitions.to_follower(work, 4, 3, NODE_3)) for state in ANY),
        ("leader", lambda work: transitions.to_follower(work, 5, 3, NODE_3)),
        ("follower leader=3", lambda work: transitions.to_follower(work, 5, 3, NODE_3)),
        ("leader", transitions.to_prospective),
        ("prospective", transitions.to_prospective),
        *((state, transitions.to_candidate) for state in ANY if state != "prospective"),
        *((state, transitions.to_leader) for state in ANY),
        ("candidate granted=1", transitions.to_leader),
        ("unattached id=7", transitions.to_prospective),  # an observer
        ("unattached id=7", transitions.to_candidate),
    ],
)
def test_what_is_refused(state: str, transition: Callable[[Work], None]) -> None:
    identity = "" if "id=" in state else "id=1"
    work = Work(KAFKA, parse_replica(f"{state} {identity} epoch=5"))
    with pytest.raises(ProcessExited):
        transition(work)


def test_a_transition_that_kafka_does_not_refuse() -> None:
    work = Work(KAFKA, parse_replica("resigned id=1 epoch=5"))
    transitions.to_follower(work, 5, 3, NODE_3)
    assert isinstance(work.replica.role, Follower)
