"""Vote: which requests are granted in which state, how a request is checked, and how votes count."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import Duration, Persist, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.protocol import (
    KAFKA,
    FollowerPreVote,
    PreVoteCompatibility,
    Protocol,
    VoterMembership,
)
from kraftcheck.reference.replica import Candidate, Prospective, QuorumState, Unattached
from kraftcheck.reference.voters import ReplicaKey
from tests.reference.asking import armed, ask, granted, persisted, response, role

# The local log ends at offset 4 with a record of epoch 3.
LOG = "epoch=5 log=2@2,2@3"
BEHIND, SHORTER, EQUAL, LONGER, NEWER = "9@2", "3@3", "4@3", "5@3", "1@4"

STATES = {
    "unattached": "unattached id=1",
    "unattached, voted for 2": "unattached id=1 voted=2",
    "unattached, voted for 3": "unattached id=1 voted=3",
    "unattached, knows leader 3": "unattached id=1 leader=3",
    "prospective": "prospective id=1",
    "prospective, voted for 2": "prospective id=1 voted=2",
    "prospective, voted for 3": "prospective id=1 voted=3",
    "prospective, knows leader 3": "prospective id=1 leader=3",
    "candidate": "candidate id=1",
    "follower, not fetched": "follower id=1 leader=3",
    "follower, fetched": "follower id=1 leader=3 fetched",
    "leader": "leader id=1",
    "resigned": "resigned id=1",
}

# Per state: how a pre-vote and a standard vote of the same epoch are decided. "log": by the log.
GRANTS = {
    "unattached": ("log", "log"),
    "unattached, voted for 2": ("log", "yes"),
    "unattached, voted for 3": ("log", "no"),
    "unattached, knows leader 3": ("log", "no"),
    "prospective": ("log", "log"),
    "prospective, voted for 2": ("log", "yes"),
    "prospective, voted for 3": ("log", "no"),
    "prospective, knows leader 3": ("log", "no"),
    "candidate": ("log", "no"),
    "follower, not fetched": ("log", "no"),
    "follower, fetched": ("no", "no"),
    "leader": ("no", "no"),
    "resigned": ("log", "no"),
}


@pytest.mark.parametrize("state", sorted(STATES))
def test_votes_of_the_same_epoch(state: str) -> None:
    for kind, decided in zip(("pre-vote", ""), GRANTS[state], strict=True):
        for last in (BEHIND, SHORTER, EQUAL, LONGER, NEWER):
            by_log = last in (EQUAL, LONGER, NEWER)
            outcome = ask(f"{STATES[state]} {LOG}", f"vote-request from=2 last={last} {kind}")
            if state == "leader" and not kind and last == NEWER:
                assert response(outcome).partition_error is ErrorCode.NONE
            assert response(outcome).epoch == 5
            assert granted(outcome) == {"yes": True, "no": False, "log": by_log}[decided], (kind, last)
            assert outcome.fatal is None


@pytest.mark.parametrize("state", sorted(STATES))
def test_a_pre_vote_changes_nothing(state: str) -> None:
    before = ask(f"{STATES[state]} {LOG}", "timeout node=9").replica
    outcome = ask(before, f"vote-request from=2 last={LONGER} pre-vote")
    assert outcome.replica == before
    assert [type(effect) for effect in outcome.effects] == [Reply]


def test_a_first_grant_is_persisted_before_the_answer_and_restarts_the_timer() -> None:
    outcome = ask(f"unattached id=1 {LOG}", f"vote-request from=2 last={EQUAL}")
    assert persisted(outcome) == (QuorumState(5, None, ReplicaKey(2)),)
    kinds = [type(effect) for effect in outcome.effects]
    assert kinds.index(Persist) < kinds.index(Reply) == len(kinds) - 1
    assert armed(outcome) == {Timer.ELECTION: Duration.ELECTION_TIMEOUT}


def test_a_repeated_grant_is_not_written_again() -> None:
    outcome = ask(f"unattached id=1 voted=2 {LOG}", f"vote-request from=2 last={BEHIND}")
    assert granted(outcome)
    assert persisted(outcome) == ()
    assert armed(outcome) == {}


@pytest.mark.parametrize(
    ("stored", "candidate", "grants"),
    [("2", "2/A", True), ("2/A", "2/A", True), ("2/A", "2/B", False), ("2/A", "2", False)],
)
def test_a_repeated_grant_needs_the_directory_of_the_first(stored: str, candidate: str, grants: bool) -> None:
    outcome = ask(f"unattached id=1 voted={stored} {LOG}", f"vote-request from={candidate} last={EQUAL}")
    assert granted(outcome) == grants


def test_a_prospective_that_votes_starts_its_pre_vote_over() -> None:
    outcome = ask(
        f"prospective id=1 granted=1 rejected=3 awaiting=2 {LOG}", f"vote-request from=2 last={EQUAL}"
    )
    assert isinstance(outcome.replica.role, Prospective)
    assert outcome.replica.role.election.rejected == ()
    assert outcome.replica.role.election.granted == (1,)
    assert outcome.replica.connections  # granting a vote forgets no request


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize("kind", ["pre-vote", ""])
def test_a_larger_epoch_is_adopted_first(state: str, kind: str) -> None:
    outcome = ask(f"{STATES[state]} {LOG} hw=none", f"vote-request from=2 epoch=7 last={BEHIND} {kind}")
    assert outcome.replica.quorum_state == QuorumState(7)
    assert outcome.replica.role == Unattached()
    assert not granted(outcome)
    outcome = ask(f"{STATES[state]} epoch=5 log=1@3", f"vote-request from=2 epoch=7 last=9@5 {kind}")
    assert granted(outcome)
    assert outcome.replica.quorum_state == QuorumState(7, None, None if kind else ReplicaKey(2))
    assert persisted(outcome)[0] == QuorumState(7)


@pytest.mark.parametrize(
    ("request_words", "error", "top_level"),
    [
        ("epoch=9 cluster=other", ErrorCode.INCONSISTENT_CLUSTER_ID, True),
        ("epoch=9 partition=other-0", ErrorCode.INVALID_REQUEST, True),
        ("epoch=9 last=-1@0", ErrorCode.INVALID_REQUEST, False),
        ("epoch=9 last=0@-1", ErrorCode.INVALID_REQUEST, False),
        ("epoch=9 last=4@9", ErrorCode.INVALID_REQUEST, False),
        ("epoch=9 last=4@10 pre-vote", ErrorCode.INVALID_REQUEST, False),
        ("epoch=4 last=4@3", ErrorCode.FENCED_LEADER_EPOCH, False),
        ("epoch=4 last=4@4", ErrorCode.INVALID_REQUEST, False),  # malformed comes before stale
        ("epoch=5 last=4@3 to=3", ErrorCode.INVALID_VOTER_KEY, False),
        ("epoch=5 last=4@3 to=1/B", ErrorCode.INVALID_VOTER_KEY, False),
    ],
)
def test_checks_in_order(request_words: str, error: ErrorCode, top_level: bool) -> None:
    outcome = ask(f"unattached id=1/A cluster=own {LOG}", f"vote-request from=2 {request_words}")
    answer = response(outcome)
    assert (answer.error if top_level else answer.partition_error) is error
    assert not granted(outcome)
    assert outcome.replica.epoch == 5
    assert persisted(outcome) == ()


def test_a_pre_vote_may_come_from_a_log_that_knows_its_epoch() -> None:
    assert granted(ask(f"unattached id=1 {LOG}", "vote-request from=2 last=4@5 pre-vote"))


@pytest.mark.parametrize("key", ["none", "1", "1/A"])
def test_the_addressee_may_be_named_less_exactly(key: str) -> None:
    assert granted(ask(f"unattached id=1/A {LOG}", f"vote-request from=2 last={EQUAL} to={key}"))


def test_a_negative_sender_is_invalid_and_a_wrong_addressee_still_raises_the_epoch() -> None:
    outcome = ask(f"unattached id=1 {LOG}", "vote-request from=-1 epoch=6 last=4@3")
    assert response(outcome).partition_error is ErrorCode.INVALID_REQUEST
    assert outcome.replica.epoch == 5
    outcome = ask(f"unattached id=1 {LOG}", "vote-request from=2 epoch=6 last=4@3 to=3")
    assert response(outcome).partition_error is ErrorCode.INVALID_VOTER_KEY
    assert outcome.replica.epoch == 6


def test_membership_is_checked_only_where_the_protocol_says_so() -> None:
    request = f"vote-request from=9 last={EQUAL}"
    assert granted(ask(f"unattached id=1 {LOG}", request))
    assert granted(ask(f"unattached id=7 {LOG}", request))  # an observer votes as well
    old = Protocol(voter_membership=VoterMembership.ON)
    for receiver in (1, 7):
        answer = response(ask(f"unattached id={receiver} {LOG}", request, old))
        assert answer.partition_error is ErrorCode.INCONSISTENT_VOTER_SET


@pytest.mark.parametrize(
    ("policy", "not_fetched", "fetched"),
    [
        (FollowerPreVote.UNTIL_FETCHED, True, False),
        (FollowerPreVote.NEVER, False, False),
        (FollowerPreVote.BY_LOG, True, True),
    ],
)
def test_followers_and_pre_votes_by_policy(policy: FollowerPreVote, not_fetched: bool, fetched: bool) -> None:
    protocol = Protocol(follower_pre_vote=policy)
    request = f"vote-request from=2 last={EQUAL} pre-vote"
    assert granted(ask(f"follower id=1 leader=3 {LOG}", request, protocol)) == not_fetched
    assert granted(ask(f"follower id=1 leader=3 fetched {LOG}", request, protocol)) == fetched
    behind = f"vote-request from=2 last={BEHIND} pre-vote"
    assert not granted(ask(f"follower id=1 leader=3 fetched {LOG}", behind, protocol))


def test_a_shutting_down_replica_still_votes() -> None:
    assert granted(ask(f"unattached id=1 shutting-down {LOG}", f"vote-request from=2 last={EQUAL}"))


# Responses.


@pytest.mark.parametrize(("nominee", "becomes"), [("prospective", "Candidate"), ("candidate", "Leader")])
def test_a_majority_moves_forward(nominee: str, becomes: str) -> None:
    outcome = ask(f"{nominee} id=1 epoch=5", "vote-response from=2 granted")
    assert role(outcome) == becomes
    assert outcome.replica.epoch == (6 if becomes == "Candidate" else 5)
    five = ask(f"{nominee} id=1 epoch=5 voters=1,2,3,4,5", "vote-response from=2 granted")
    assert role(five) == nominee.capitalize()
    assert role(ask(five.replica, "vote-response from=4 granted")) == becomes


@pytest.mark.parametrize(
    ("nominee", "becomes"),
    [
        ("prospective id=1", "Unattached"),
        ("prospective id=1 leader=3", "Follower"),
        ("prospective id=1 leader=3 endpoints=none", "Unattached"),
        ("candidate id=1", "Candidate"),
    ],
)
def test_a_lost_majority(nominee: str, becomes: str) -> None:
    one = ask(f"{nominee} epoch=5", "vote-response from=2")
    assert isinstance(one.replica.role, Prospective | Candidate)
    assert one.replica.role.election.rejected == (2,)
    two = ask(one.replica, "vote-response from=3")
    assert role(two) == becomes
    assert two.replica.epoch == 5
    assert two.replica.quorum_state.leader == (3 if "leader=3" in nominee else None)


def test_a_pre_vote_answer_may_change_and_a_vote_may_not() -> None:
    flipped = ask("prospective id=1 epoch=5 voters=1,2,3,4,5 rejected=2", "vote-response from=2 granted")
    assert isinstance(flipped.replica.role, Prospective)
    assert flipped.replica.role.election.granted == (1, 2)
    assert flipped.replica.role.election.rejected == ()
    for words, answer in (("rejected=2", "granted"), ("granted=1,2", "")):
        dead = ask(f"candidate id=1 epoch=5 voters=1,2,3,4,5 {words}", f"vote-response from=2 {answer}")
        assert dead.fatal is not None


def test_an_answer_of_a_non_voter_kills() -> None:
    assert ask("candidate id=1 epoch=5", "vote-response from=9 granted").fatal is not None


@pytest.mark.parametrize("state", ["unattached", "follower leader=3", "leader", "resigned"])
def test_others_ignore_the_answer(state: str) -> None:
    outcome = ask(f"{state} id=1 epoch=5", "vote-response from=2 granted")
    assert outcome.effects == ()


def test_a_peer_without_pre_vote_makes_a_prospective_run_at_once() -> None:
    outcome = ask("prospective id=1 epoch=5", "vote-response from=2 top-error=UNSUPPORTED_VERSION")
    assert role(outcome) == "Candidate"
    assert outcome.replica.epoch == 6
    other = ask("candidate id=1 epoch=5", "vote-response from=2 top-error=UNSUPPORTED_VERSION")
    assert role(other) == "Candidate"
    assert not other.replica.connections[0].awaiting  # back-off, as after any top-level error


def test_the_response_flag_of_the_draft() -> None:
    protocol = Protocol(pre_vote_compatibility=PreVoteCompatibility.RESPONSE_FLAG)
    outcome = ask("prospective id=1 epoch=5", "vote-response from=2 granted pre-vote=no", protocol)
    assert role(outcome) == "Candidate"
    answer = response(ask(f"unattached id=1 {LOG}", f"vote-request from=2 last={EQUAL} pre-vote", protocol))
    assert answer.pre_vote is True
    assert (
        response(ask(f"unattached id=1 {LOG}", f"vote-request from=2 last={EQUAL}", KAFKA)).pre_vote is None
    )
