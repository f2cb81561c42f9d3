"""The transition table row by row: trigger, what is kept, what is persisted, what timer runs; refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kraftcheck.reference import transitions
from kraftcheck.reference.effects import Duration, ForgetRequests
from kraftcheck.reference.events import Timer
from kraftcheck.reference.log import LeaderChange
from kraftcheck.reference.protocol import KAFKA, CandidateLoss, ProspectiveTimer, Protocol, StateMachine
from kraftcheck.reference.replica import Follower, Leader, QuorumState, Resigned
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.reference.work import ProcessDied, Work
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import armed, ask, of_kind, persisted, role

ANY = ["unattached", "prospective", "candidate", "leader", "follower leader=3", "resigned"]

# The timer carried into Unattached in a larger epoch, by the state that was left.
INTO_UNATTACHED = {
    "unattached": Duration.REMAINING,
    "prospective": Duration.REMAINING,
    "prospective rejected=2,3": Duration.ELECTION_TIMEOUT,
    "candidate": Duration.REMAINING,
    "candidate rejected=2,3": Duration.REMAINING,
    "resigned": Duration.REMAINING,
    "follower leader=3": Duration.ELECTION_TIMEOUT,
    "leader": Duration.ELECTION_TIMEOUT,
}


@pytest.mark.parametrize("state", sorted(INTO_UNATTACHED))
def test_into_unattached_in_a_larger_epoch(state: str) -> None:
    for event in ("vote-request from=2 epoch=9", "vote-response from=2 epoch=9"):
        outcome = ask(f"{state} id=1 epoch=5", event)
        assert outcome.replica.quorum_state.epoch == 9
        assert outcome.replica.quorum_state.leader is None
        assert persisted(outcome)[0] == QuorumState(9)
        assert of_kind(outcome, ForgetRequests)
        if "response" in event:
            assert role(outcome) == "Unattached"
            assert armed(outcome) == {Timer.ELECTION: INTO_UNATTACHED[state]}


@pytest.mark.parametrize("state", ["unattached id=7", "follower id=7 leader=3"])
def test_the_timer_of_an_unattached_observer_never_expires(state: str) -> None:
    outcome = ask(f"{state} epoch=5", "vote-response from=2 epoch=9")
    assert armed(outcome) == {Timer.ELECTION: Duration.FOREVER}


@pytest.mark.parametrize("state", ANY)
@pytest.mark.parametrize(
    "event", ["vote-response from=2 epoch=9 leader=2", "begin-quorum-epoch-request from=2 epoch=9"]
)
def test_into_follower_in_a_larger_epoch(state: str, event: str) -> None:
    outcome = ask(f"{state} id=1 epoch=5", event)
    assert outcome.replica.quorum_state == QuorumState(9, 2)
    assert outcome.replica.role == Follower(parse_replica("follower leader=2").leader_endpoints)
    assert persisted(outcome) == (QuorumState(9, 2),)
    assert armed(outcome) == {Timer.FETCH: Duration.FETCH_TIMEOUT}


@pytest.mark.parametrize(
    ("state", "voted"),
    [("unattached", None), ("unattached voted=3", 3), ("prospective voted=3", 3), ("candidate", 1)],
)
def test_into_follower_in_the_same_epoch_keeps_the_vote(state: str, voted: int | None) -> None:
    outcome = ask(f"{state} id=1 epoch=5", "vote-response from=2 leader=2")
    assert role(outcome) == "Follower"
    kept = None if voted is None else ReplicaKey(voted)
    assert outcome.replica.quorum_state == QuorumState(5, 2, kept)
    assert persisted(outcome) == (outcome.replica.quorum_state,)


def test_a_follower_follows_anew_only_for_more_endpoints() -> None:
    request = "begin-quorum-epoch-request from=3"
    follower = "follower id=1 leader=3 voted=2 epoch=5 fetched"
    assert ask(follower, request).replica == parse_replica(follower)
    more = ask(follower, f"{request} endpoints=A://a:1,B://b:1")
    assert isinstance(more.replica.role, Follower)
    assert not more.replica.role.has_fetched
    assert len(more.replica.role.leader_endpoints) == 2
    assert more.replica.quorum_state.voted == ReplicaKey(2)
    assert armed(more) == {Timer.FETCH: Duration.FETCH_TIMEOUT}


def test_an_unattached_replica_that_knows_its_leader_needs_only_endpoints() -> None:
    outcome = ask("unattached id=1 epoch=5 leader=3 voted=2", "begin-quorum-epoch-request from=3")
    assert role(outcome) == "Follower"
    assert outcome.replica.quorum_state == QuorumState(5, 3, ReplicaKey(2))


@pytest.mark.parametrize(
    ("state", "timer"),
    [
        ("unattached leader=3 voted=2", "election"),
        ("follower leader=3 voted=2 fetched", "fetch"),
        ("candidate", "election"),
    ],
)
def test_a_voter_whose_timer_expires_becomes_prospective_in_memory(state: str, timer: str) -> None:
    before = parse_replica(f"{state} id=1 epoch=5 log=2@3 hw=1")
    outcome = ask(before, f"poll expired={timer}")
    assert role(outcome) == "Prospective"
    assert outcome.replica.quorum_state == before.quorum_state
    assert outcome.replica.leader_endpoints == before.leader_endpoints
    assert outcome.replica.high_watermark == 1
    assert persisted(outcome) == ()
    assert armed(outcome) == {Timer.ELECTION: Duration.ELECTION_TIMEOUT}


@pytest.mark.parametrize(
    ("state", "timer"), [("unattached id=7", "election"), ("follower id=7 leader=3", "fetch")]
)
def test_an_observer_never_starts_an_election(state: str, timer: str) -> None:
    before = parse_replica(f"{state} epoch=5")
    outcome = ask(before, f"poll expired={timer} discovery=2")
    assert type(outcome.replica.role) is type(before.role)
    assert outcome.replica.quorum_state == before.quorum_state


@pytest.mark.parametrize(
    ("state", "timer"),
    [
        ("unattached", "election"),
        ("prospective", "election"),
        ("candidate", "election"),
        ("resigned", "election"),
    ],
)
def test_shutting_down_stops_elections(state: str, timer: str) -> None:
    before = parse_replica(f"{state} id=1 epoch=5 shutting-down")
    outcome = ask(before, f"poll expired={timer}")
    assert outcome.replica.role == before.role
    assert outcome.replica.quorum_state == before.quorum_state


def test_an_only_voter_wins_at_once() -> None:
    outcome = ask("unattached id=1 voters=1 epoch=5", "poll expired=election")
    assert role(outcome) == "Leader"
    assert persisted(outcome) == (QuorumState(6, None, ReplicaKey(1)), QuorumState(6, 1))


@pytest.mark.parametrize(
    ("state", "becomes", "duration"),
    [
        ("prospective", "Unattached", Duration.REMAINING),
        ("prospective leader=3 endpoints=none", "Unattached", Duration.REMAINING),
        ("prospective leader=3", "Follower", Duration.FETCH_TIMEOUT),
    ],
)
def test_a_prospective_that_times_out(state: str, becomes: str, duration: Duration) -> None:
    before = parse_replica(f"{state} id=1 voted=2 epoch=5")
    outcome = ask(before, "poll expired=election")
    assert role(outcome) == becomes
    assert outcome.replica.quorum_state == before.quorum_state
    assert persisted(outcome) == (before.quorum_state,)
    assert duration in armed(outcome).values()


def test_a_prospective_that_times_out_with_a_fresh_timer() -> None:
    protocol = Protocol(prospective_timer=ProspectiveTimer.FRESH)
    outcome = ask("prospective id=1 epoch=5", "poll expired=election", protocol)
    assert armed(outcome) == {Timer.ELECTION: Duration.ELECTION_TIMEOUT}


def test_a_lost_candidate_waits_for_its_timer() -> None:
    outcome = ask("candidate id=1 epoch=5 rejected=2", "vote-response from=3")
    assert armed(outcome) == {}
    assert ask("candidate id=1 epoch=5 rejected=2,3", "poll").effects == ()
    backing_off = Protocol(candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF)
    outcome = ask("candidate id=1 epoch=5 rejected=2", "vote-response from=3", backing_off)
    assert armed(outcome) == {Timer.ELECTION: Duration.ELECTION_BACKOFF}


def test_becoming_leader() -> None:
    outcome = ask("candidate id=1 epoch=5 log=2@3 hw=1 parked=none", "vote-response from=2 granted")
    leader = outcome.replica.role
    assert isinstance(leader, Leader)
    assert outcome.replica.quorum_state == QuorumState(5, 1)  # the vote for itself is not stored any more
    assert outcome.replica.high_watermark is None
    assert leader.epoch_start_offset == 2
    assert leader.granting_voters == (1, 2)
    assert leader.pending == ((LeaderChange(1, (1, 2, 3), (1, 2)),),)
    assert outcome.replica.log.last_epoch == 5
    assert outcome.replica.log.end_offset == 2
    assert armed(outcome) == {
        Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT,
        Timer.BEGIN_QUORUM_EPOCH: Duration.NONE,
    }


@pytest.mark.parametrize(
    ("leader", "event"),
    [
        ("leader shutting-down", "poll"),
        ("leader resign-requested", "poll"),
        ("leader", "poll expired=check-quorum"),
    ],
)
def test_resigning(leader: str, event: str) -> None:
    words = f"{leader} id=1 epoch=5 log=2@3,2@5 progress=2:2,3:4 hw=4 parked=3:4"
    outcome = ask(words, event)
    assert outcome.replica.role == Resigned((2, 3), (ReplicaKey(3), ReplicaKey(2)))
    assert outcome.replica.quorum_state == QuorumState(5, 1)
    assert persisted(outcome) == ()
    assert outcome.replica.parked == ()
    assert armed(outcome) == {Timer.ELECTION: Duration.ELECTION_TIMEOUT}


def test_an_only_voter_does_not_resign_for_lack_of_fetches() -> None:
    assert role(ask("leader id=1 voters=1 log=1@1", "poll expired=check-quorum")) == "Leader"
    assert (
        role(ask("leader id=1 log=1@1", "poll expired=check-quorum", Protocol(check_quorum=False)))
        == "Leader"
    )


def test_a_resigned_replica_leaves_in_the_next_epoch() -> None:
    outcome = ask("resigned id=1 epoch=5", "poll expired=election")
    assert role(outcome) == "Unattached"
    assert outcome.replica.quorum_state == QuorumState(6)
    assert armed(outcome) == {Timer.ELECTION: Duration.REMAINING}


OLD = Protocol(state_machine=StateMachine.PRE_KIP996)


@pytest.mark.parametrize(
    ("state", "timer"),
    [
        ("unattached", "election"),
        ("follower leader=3", "fetch"),
        ("candidate", "election"),
        ("resigned", "election"),
    ],
)
def test_before_kip_996_a_voter_becomes_candidate_at_once(state: str, timer: str) -> None:
    outcome = ask(f"{state} id=1 epoch=5", f"poll expired={timer}", OLD)
    assert role(outcome) == "Candidate"
    assert outcome.replica.quorum_state == QuorumState(6, None, ReplicaKey(1))


# What each transition refuses, whoever calls it.

NODE_3 = parse_replica("follower leader=3").leader_endpoints
KEY_2 = ReplicaKey(2)


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
    ],
)
def test_what_is_refused(state: str, transition: Callable[[Work], None]) -> None:
    work = Work(KAFKA, parse_replica(f"{state} id=1 epoch=5"))
    with pytest.raises(ProcessDied):
        transition(work)


@pytest.mark.parametrize("transition", [transitions.to_prospective, transitions.to_candidate])
def test_what_an_observer_may_not(transition: Callable[[Work], None]) -> None:
    with pytest.raises(ProcessDied):
        transition(Work(KAFKA, parse_replica("unattached id=7 epoch=5")))


def test_what_production_does_not_refuse() -> None:
    work = Work(KAFKA, parse_replica("resigned id=1 epoch=5"))
    transitions.to_follower(work, 5, 3, NODE_3)
    assert isinstance(work.replica.role, Follower)
