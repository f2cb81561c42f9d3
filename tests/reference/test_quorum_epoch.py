"""BeginQuorumEpoch and EndQuorumEpoch: announcing a leader, and handing over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference.effects import Duration, SuccessorBackoff
from kraftcheck.reference.end_quorum_epoch import successor_backoff_ms
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest
from kraftcheck.reference.protocol import BeginQuorumEpochResend, Protocol
from kraftcheck.reference.replica import Leader, QuorumState, Resigned
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import armed, ask, response, role, sent

APIS = ["begin-quorum-epoch", "end-quorum-epoch"]
ANY = ["unattached", "prospective", "candidate", "leader", "follower leader=3", "resigned"]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("epoch=4", ErrorCode.FENCED_LEADER_EPOCH),
        ("epoch=9 cluster=other", ErrorCode.INCONSISTENT_CLUSTER_ID),
        ("epoch=9 partition=other-0", ErrorCode.INVALID_REQUEST),
    ],
)
@pytest.mark.parametrize("state", ANY)
def test_what_is_refused_changes_nothing(api: str, words: str, error: ErrorCode, state: str) -> None:
    before = parse_replica(f"{state} id=1 epoch=5 cluster=own")
    outcome = ask(before, f"{api}-request from=2 {words}")
    answer = response(outcome)
    assert error in (answer.error, answer.partition_error)
    assert outcome.replica == before


@pytest.mark.parametrize("api", APIS)
def test_a_negative_leader_is_invalid(api: str) -> None:
    assert (
        response(ask("unattached id=1", f"{api}-request from=-1")).partition_error
        is ErrorCode.INVALID_REQUEST
    )


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("state", ANY)
def test_a_larger_epoch_brings_a_new_leader(api: str, state: str) -> None:
    outcome = ask(f"{state} id=1 epoch=5", f"{api}-request from=2 epoch=9")
    assert role(outcome) == "Follower"
    assert outcome.replica.quorum_state == QuorumState(9, 2)
    assert response(outcome).epoch == 9
    assert response(outcome).leader == 2


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("follower leader=3", "from=2"),  # another leader of the same epoch
        ("leader", "from=2"),
        ("resigned", "from=2"),
        ("unattached", "from=1"),  # this replica, which does not lead
        ("unattached", "from=1 epoch=9"),
        ("unattached", "from=9 endpoints=none"),  # a leader that cannot be reached
        ("leader", "from=9 epoch=9 endpoints=none"),
    ],
)
def test_what_kills(api: str, state: str, words: str) -> None:
    assert ask(f"{state} id=1 epoch=5", f"{api}-request {words}").fatal is not None


def test_a_wrong_addressee_follows_and_complains() -> None:
    outcome = ask("unattached id=1/A epoch=5", "begin-quorum-epoch-request from=2 to=1/B")
    assert response(outcome).partition_error is ErrorCode.INVALID_VOTER_KEY
    assert role(outcome) == "Follower"


def test_a_follower_does_not_restart_its_timer() -> None:
    follower = "follower id=1 epoch=5 leader=2 fetched"
    outcome = ask(follower, "begin-quorum-epoch-request from=2")
    assert armed(outcome) == {}
    assert outcome.replica == parse_replica(follower)


# Announcing.


def test_silent_voters_hear_the_announcement_again() -> None:
    leader = "leader id=1 epoch=5 log=1@5"
    event = "poll expired=begin-quorum-epoch"
    outcome = ask(leader, event)
    assert set(sent(outcome)) == {2, 3}
    request = sent(outcome)[2]
    assert isinstance(request, BeginQuorumEpochRequest)
    assert (request.epoch, request.leader, request.voter) == (5, 1, ReplicaKey(2))
    assert armed(outcome) == {Timer.BEGIN_QUORUM_EPOCH: Duration.BEGIN_QUORUM_EPOCH_INTERVAL}
    assert set(sent(ask(f"{leader} awaiting=2", event))) == {3}


@pytest.mark.parametrize(("now", "hears"), [(1999, set()), (2000, {2}), (5000, {2})])
def test_a_voter_that_fetches_is_not_silent(now: int, hears: set[int]) -> None:
    fetched = ask("leader id=1 epoch=5 log=1@5", "fetch-request from=2 offset=1 last-epoch=5 now=1000")
    outcome = ask(fetched.replica, f"poll expired=begin-quorum-epoch now={now}")
    assert set(sent(outcome)) - {3} == hears
    everybody = Protocol(begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS)
    assert set(sent(ask(fetched.replica, f"poll expired=begin-quorum-epoch now={now}", everybody))) == {2, 3}


def test_an_acknowledgement_is_noted() -> None:
    outcome = ask("leader id=1 epoch=5 log=1@5", "begin-quorum-epoch-response from=2")
    assert isinstance(outcome.replica.role, Leader)
    assert [entry.id for entry in outcome.replica.role.progress if entry.acknowledged] == [1, 2]
    assert ask("leader id=1 epoch=5 log=1@5", "begin-quorum-epoch-response from=9").fatal is not None
    for state in ("unattached", "follower leader=3", "resigned"):
        assert ask(f"{state} id=1 epoch=5", "begin-quorum-epoch-response from=2").effects == ()


# Handing over.


@pytest.mark.parametrize(
    ("successors", "backoff"),
    [
        ("1,3", SuccessorBackoff(0, 2)),
        ("3,1", SuccessorBackoff(1, 2)),
        ("3", SuccessorBackoff(1, 1)),
        ("none", SuccessorBackoff(0, 0)),
        ("3/C,1/A", SuccessorBackoff(1, 2)),
        ("3/C,1/B", SuccessorBackoff(2, 2)),
    ],
)
def test_a_follower_waits_by_its_rank(successors: str, backoff: SuccessorBackoff) -> None:
    follower = "follower id=1/A leader=2 epoch=5 fetched"
    outcome = ask(follower, f"end-quorum-epoch-request from=2 successors={successors}")
    assert armed(outcome) == {Timer.FETCH: backoff}
    assert outcome.replica == parse_replica(follower)  # it has fetched, and goes on rejecting pre-votes
    assert response(outcome).partition_error is ErrorCode.NONE


def test_others_are_not_concerned() -> None:
    for state in ("unattached leader=2", "prospective leader=2"):
        outcome = ask(f"{state} id=1 epoch=5", "end-quorum-epoch-request from=2 endpoints=CONTROLLER://n:1")
        assert SuccessorBackoff(0, 0) not in armed(outcome).values() or role(outcome) == "Follower"


def test_a_replica_that_did_not_know_the_leader_follows_it_first() -> None:
    outcome = ask("unattached id=1 epoch=5", "end-quorum-epoch-request from=2 successors=3,1")
    assert role(outcome) == "Follower"
    assert armed(outcome) == {Timer.FETCH: SuccessorBackoff(1, 2)}


def test_back_off_numbers() -> None:
    # Positions 1 to 4 of a list of five, with the default maximum: doubled from rank to rank.
    assert [successor_backoff_ms(SuccessorBackoff(p, 5), 1000) for p in range(6)] == [
        0,
        62,
        124,
        248,
        496,
        1000,
    ]
    assert [successor_backoff_ms(SuccessorBackoff(p, 2), 1000) for p in range(3)] == [0, 500, 1000]
    assert [successor_backoff_ms(SuccessorBackoff(p, 1), 1000) for p in range(2)] == [0, 1000]


@given(st.integers(1, 30), st.integers(0, 100_000))
def test_back_off_grows_with_the_rank_and_has_a_limit(count: int, max_ms: int) -> None:
    delays = [successor_backoff_ms(SuccessorBackoff(p, count), max_ms) for p in range(count + 1)]
    assert delays == sorted(delays)
    assert delays[0] == 0
    assert delays[-1] == max_ms


def test_a_resigned_leader_tells_the_voters_until_they_answer() -> None:
    resigned = "resigned id=1 epoch=5 successors=3,2"
    told = sent(ask(resigned, "poll"))
    assert set(told) == {2, 3}
    assert told[2] == EndQuorumEpochRequest(5, 1, (ReplicaKey(3), ReplicaKey(2)))
    outcome = ask(resigned, "end-quorum-epoch-response from=2")
    assert isinstance(outcome.replica.role, Resigned)
    assert outcome.replica.role.unacknowledged == (3,)
    assert set(sent(ask(outcome.replica, "poll"))) == {3}


@pytest.mark.parametrize("words", ["leader id=1", "follower id=1 leader=3", "unattached id=1"])
def test_an_acknowledgement_that_reaches_another_state_kills(words: str) -> None:
    assert ask(f"{words} epoch=5", "end-quorum-epoch-response from=2").fatal is not None
    assert ask("resigned id=1 epoch=5", "end-quorum-epoch-response from=9").fatal is not None
