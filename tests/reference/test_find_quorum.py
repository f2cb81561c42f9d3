"""What KIP-595 had and later documents gave up: FindQuorum, its errors, its hand-over, its stale leaders."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import ArmTimer, Duration, SuccessorBackoff, Truncate
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    EndQuorumEpochRequest,
    FetchRequest,
    FindQuorumRequest,
    FindQuorumResponse,
    VoteResponse,
)
from kraftcheck.reference.protocol import KAFKA, KIP595, KIP853, Protocol, ZombieLeader
from kraftcheck.reference.replica import Connection
from kraftcheck.reference.voters import VoterSet, static_voters
from kraftcheck.systems.kraft.text import parse_replica
from kraftcheck.systems.variants import choices
from tests.reference.asking import armed, ask, fetched, of_kind, response, role, sent

LEADER = "leader id=1 epoch=5 log=2@4,2@5"
FOLLOWER = "follower id=2 epoch=5 leader=1 log=2@4,2@5"


def test_what_the_presets_choose() -> None:
    assert choices(KIP595) == choices(KAFKA) | {
        "V-SM": "pre996",
        "V-RECONF": "alterquorum",
        "V-DISC": "findquorum",
        "V-DIV": "offset-out-of-range",
        "V-END": "broadcast-jitter",
        "V-ZOMBIE": "findquorum",
        "V-MEMBER": "on",
        "V-CLUSTER": "required",
        "V-CLOSS": "exp-backoff",
        "V-RESTART": "without-leader",
        "V-DESCRIBE": "documents",
    }
    assert choices(KIP853) == choices(KAFKA) | {
        "V-SM": "pre996",
        "V-KEY": "composite",
        "V-CLOSS": "exp-backoff",
        "V-BEGIN": "all-voters",
        "V-RESTART": "without-leader",
        "V-CAUGHTUP": "beyond-end",
        "V-DESCRIBE": "documents",
    }


# FindQuorum.


@pytest.mark.parametrize("protocol", [KAFKA, KIP853])
def test_other_protocols_do_not_know_find_quorum(protocol: Protocol) -> None:
    answer = response(ask(LEADER, "find-quorum-request from=4", protocol))
    assert answer == FindQuorumResponse(5, error=ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.parametrize(
    ("replica", "leader"),
    [
        (LEADER, 1),
        (FOLLOWER, 1),
        ("unattached epoch=5", None),
        ("candidate epoch=5", None),
        ("resigned epoch=5", 1),
    ],
)
def test_everybody_tells_what_it_knows(replica: str, leader: int | None) -> None:
    outcome = ask(replica, "find-quorum-request from=4", KIP595)
    answer = response(outcome)
    assert isinstance(answer, FindQuorumResponse)
    assert (answer.epoch, answer.leader, answer.voters) == (5, leader, static_voters((1, 2, 3)))
    assert bool(answer.leader_endpoints) == (leader is not None)
    assert outcome.rules == ("FINDQ-2",)


def test_who_knows_no_leader_asks_by_find_quorum() -> None:
    outcome = ask("unattached id=1 epoch=5", "poll discovery=2", KIP595)
    assert isinstance(sent(outcome)[2], FindQuorumRequest)
    assert "FINDQ-1" in outcome.rules
    outcome = ask("unattached id=1 epoch=5", "poll discovery=2")
    assert isinstance(sent(outcome)[2], FetchRequest)


def test_who_cannot_reach_the_leader_asks_others() -> None:
    outcome = ask(f"{FOLLOWER} backoff=1", "poll discovery=3", KIP595)
    assert isinstance(sent(outcome)[3], FindQuorumRequest)
    assert "FINDQ-4" in outcome.rules


@pytest.mark.parametrize(
    ("answer", "after", "epoch"),
    [
        ("leader=3 epoch=5", "Follower", 5),
        ("leader=3 epoch=6", "Follower", 6),
        ("epoch=6", "Unattached", 6),
        ("leader=3 epoch=4", "Unattached", 5),
        ("epoch=5", "Unattached", 5),
        ("epoch=5 leader=3 top-error=UNSUPPORTED_VERSION", "Unattached", 5),
    ],
)
def test_what_an_answer_leads_to(answer: str, after: str, epoch: int) -> None:
    outcome = ask("unattached id=1 epoch=5", f"find-quorum-response from=2 {answer}", KIP595)
    assert (role(outcome), outcome.replica.epoch) == (after, epoch)


def test_an_answer_without_a_leader_means_a_back_off() -> None:
    outcome = ask("unattached id=1 epoch=5", "find-quorum-response from=2 epoch=5", KIP595)
    assert outcome.replica.connections == (Connection(2, False),)
    assert "FINDQ-5" in outcome.rules
    outcome = ask("unattached id=1 epoch=5", "find-quorum-response from=2 error=INVALID_VOTER_KEY", KIP595)
    assert outcome.fatal is None
    outcome = ask("unattached id=1 epoch=5", "find-quorum-response from=2 error=VOTER_NOT_FOUND", KIP595)
    assert outcome.replica.connections == (Connection(2, False),)


@pytest.mark.parametrize(("own", "votes"), [(2, True), (4, False)])
def test_who_was_told_no_voters_learns_them(own: int, votes: bool) -> None:
    replica = replace(parse_replica(f"unattached id={own} epoch=0"), bootstrap_voters=VoterSet())
    outcome = ask(replica, "find-quorum-response from=1 epoch=0 voters=1,2,3", KIP595)
    assert outcome.replica.is_voter is votes
    assert (armed(outcome) == {Timer.ELECTION: Duration.ELECTION_TIMEOUT}) is votes
    assert "FINDQ-6" in outcome.rules
    known = ask(f"unattached id={own} epoch=0 voters=1,2", "find-quorum-response from=1 voters=3", KIP595)
    assert known.replica.voters.ids == (1, 2)


# A leader that no majority fetches from.


def test_a_leader_without_a_majority_asks_and_leads_on() -> None:
    outcome = ask(LEADER, "poll expired=check-quorum", KIP595)
    assert role(outcome) == "Leader"
    assert {to: type(request) for to, request in sent(outcome).items()} == {
        2: FindQuorumRequest,
        3: FindQuorumRequest,
    }
    assert armed(outcome) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}
    assert "ZOMBIE-2" in outcome.rules


def test_the_answer_tells_a_stale_leader() -> None:
    outcome = ask(LEADER, "find-quorum-response from=2 epoch=7 leader=3", KIP595)
    assert (role(outcome), outcome.replica.quorum_state.leader) == ("Follower", 3)
    assert "CHECKQ-6" in outcome.rules
    outcome = ask(LEADER, "find-quorum-response from=2 epoch=5 leader=1", KIP595)
    assert role(outcome) == "Leader"


def test_fetches_of_a_majority_put_the_question_off() -> None:
    outcome = ask(LEADER, "fetch-request from=2 offset=4 last-epoch=5", KIP595)
    assert armed(outcome) == {Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT}


def test_nobody_asks_where_there_is_nobody_or_no_such_rule() -> None:
    alone = ask("leader id=1 voters=1 epoch=5 log=2@5", "poll expired=check-quorum", KIP595)
    assert sent(alone) == {}
    silent = replace(KIP595, zombie_leader=ZombieLeader.NONE)
    assert sent(ask(LEADER, "poll expired=check-quorum", silent)) == {}
    assert role(ask(LEADER, "poll expired=check-quorum", replace(KIP595, check_quorum=True))) == "Resigned"


# Divergence as an error.

DIVERGING = "fetch-request from=2 offset=5 last-epoch=4"


def test_a_divergence_is_an_error_with_a_position() -> None:
    outcome = ask(LEADER, DIVERGING, KIP595)
    answer = fetched(outcome)
    assert answer.partition_error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert answer.diverging == fetched(ask(LEADER, DIVERGING)).diverging
    assert "FETCH-10" in outcome.rules
    assert "FETCH-9" not in outcome.rules


def test_the_fetcher_truncates_by_offset_and_epoch() -> None:
    event = "fetch-response from=1 error=OFFSET_OUT_OF_RANGE diverging=3@3"
    outcome = ask("follower id=2 epoch=5 leader=1 log=2@3,3@4", event, KIP595)
    assert of_kind(outcome, Truncate) == [Truncate(2)]
    assert armed(outcome) == {Timer.FETCH: Duration.FETCH_TIMEOUT}


@pytest.mark.parametrize(
    ("protocol", "event"),
    [(KAFKA, "error=OFFSET_OUT_OF_RANGE diverging=3@3"), (KIP595, "error=OFFSET_OUT_OF_RANGE")],
)
def test_the_error_alone_means_a_back_off(protocol: Protocol, event: str) -> None:
    outcome = ask("follower id=2 epoch=5 leader=1 log=2@3,3@4", f"fetch-response from=1 {event}", protocol)
    assert of_kind(outcome, Truncate) == []
    assert outcome.replica.connections == (Connection(1, False),)


# The hand-over and the cluster id.


def test_followers_wait_a_random_time() -> None:
    event = "end-quorum-epoch-request from=1 successors=2,3"
    outcome = ask(FOLLOWER, event, KIP595)
    assert of_kind(outcome, ArmTimer) == [ArmTimer(Timer.FETCH, Duration.ELECTION_JITTER)]
    assert "END-8" in outcome.rules
    assert "END-7" not in outcome.rules
    assert of_kind(ask(FOLLOWER, event), ArmTimer) == [ArmTimer(Timer.FETCH, SuccessorBackoff(0, 2))]


def test_a_broadcast_names_no_successors() -> None:
    outcome = ask("resigned id=1 epoch=5", "poll", KIP595)
    assert set(sent(outcome)) == {2, 3}
    for request in sent(outcome).values():
        assert isinstance(request, EndQuorumEpochRequest)
        assert request.preferred_successors == ()


@pytest.mark.parametrize(
    ("protocol", "cluster", "error"),
    [
        (KIP595, "", ErrorCode.INCONSISTENT_CLUSTER_ID),
        (KIP595, "cluster=other", ErrorCode.INCONSISTENT_CLUSTER_ID),
        (KIP595, "cluster=ours", ErrorCode.NONE),
        (KAFKA, "", ErrorCode.NONE),
    ],
)
def test_a_cluster_id_is_required(protocol: Protocol, cluster: str, error: ErrorCode) -> None:
    event = f"vote-request from=2 epoch=6 last=4@5 {cluster}"
    answer = response(ask("unattached id=1 epoch=5 cluster=ours", event, protocol))
    assert isinstance(answer, VoteResponse)
    assert answer.error is error
    anywhere = response(ask("unattached id=1 epoch=5", event, protocol))
    assert isinstance(anywhere, VoteResponse)
    assert anywhere.error is ErrorCode.NONE
