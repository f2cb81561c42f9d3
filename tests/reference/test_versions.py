"""Mixed API versions, UNSUPPORTED_VERSION and refusals for lack of permission: who does what."""

from __future__ import annotations

import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.query.ask import expecting_answer
from kraftcheck.reference.authorization import NEEDED, Operation, refuse
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import Frozen, field_defaults, field_types
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import (
    HIGH_WATERMARK_NOT_SUPPORTED,
    AddRaftVoterRequest,
    AlterQuorumRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FindQuorumRequest,
    Message,
    RemoveRaftVoterRequest,
    ReplicaDescription,
    Request,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.step import Outcome, step
from kraftcheck.reference.versions import RANGES, at_version, send
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask, role, sent

KEY, PEER = ReplicaKey(1, "A"), ReplicaKey(2, "B")
ENDPOINTS = (Endpoint("CONTROLLER", "node-1", 9093),)
PRE_VOTE = VoteRequest(5, KEY, PEER, 3, 9, True)
VOTE = VoteRequest(5, KEY, PEER, 3, 9, False)
REQUESTS: dict[str, Request] = {
    "pre-vote": PRE_VOTE,
    "vote": VOTE,
    "begin": BeginQuorumEpochRequest(5, 1, PEER, ENDPOINTS),
    "end": EndQuorumEpochRequest(5, 1, (PEER,), ENDPOINTS),
    "fetch": FetchRequest(5, KEY, 9, 3, 7, 500),
    "fetch-snapshot": FetchSnapshotRequest(5, KEY, SnapshotId(9, 3), 0, 100),
    "add": AddRaftVoterRequest(KEY, ENDPOINTS, False),
    "remove": RemoveRaftVoterRequest(KEY),
    "update": UpdateRaftVoterRequest(5, KEY, ENDPOINTS, 0, 1),
    "api-versions": ApiVersionsRequest(),
    "describe": DescribeQuorumRequest(),
    "alter": AlterQuorumRequest((1, 2)),
    "find": FindQuorumRequest(KEY, ENDPOINTS),
}


# Versions.


@pytest.mark.parametrize("kind", RANGES)
def test_the_newest_version_is_that_of_the_schema(kind: type[Frozen]) -> None:
    schema = spec.load().messages.get(f"{kind.__name__.removesuffix('Request')} request")
    if schema is None:
        assert kind is ApiVersionsRequest
        return
    assert RANGES[kind][1] == int(schema.versions.rpartition("-")[2])


def test_every_request_has_a_range() -> None:
    assert set(RANGES) == set(typing.get_args(Request)) == {type(request) for request in REQUESTS.values()}


@pytest.mark.parametrize("kind", typing.get_args(Message))
def test_every_message_has_versions(kind: type) -> None:
    required = field_types(kind).keys() - field_defaults(kind).keys()
    assert at_version(kind(*[None] * len(required)), 99) is not None


@pytest.mark.parametrize("name", REQUESTS)
def test_the_newest_version_shows_all(name: str) -> None:
    newest = RANGES[type(REQUESTS[name])][1]
    assert at_version(REQUESTS[name], newest) == REQUESTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUESTS)
@given(low=st.integers(0, 20), high=st.integers(0, 20))
def test_a_request_has_the_highest_version_that_both_support(name: str, low: int, high: int) -> None:
    request = REQUESTS[name]
    oldest, newest = RANGES[type(request)]
    sending = send(request, (low, high))
    if sending.version is None:
        assert sending.answer is not None
        assert sending.rules == ("RESP-9",)
        common = range(max(low, oldest), min(high, newest) + 1)
        assert not common or at_version(request, common[-1]) is None
    else:
        assert sending.version == min(high, newest) >= max(low, oldest)
        assert sending.answer is None


def test_versions_are_chosen_peer_by_peer() -> None:
    assert [send(VOTE, peer).version for peer in ((0, 2), (0, 1), (0, 0))] == [2, 1, 0]
    assert send(VOTE, (0, 1)).rules == ("VOTE-27",)


def test_what_older_versions_of_a_vote_show() -> None:
    assert at_version(PRE_VOTE, 1) is None
    assert at_version(VOTE, 1) == VOTE
    assert at_version(VOTE, 0) == VoteRequest(5, ReplicaKey(1), None, 3, 9, False)


def test_what_older_versions_of_a_fetch_show() -> None:
    shown = at_version(REQUESTS["fetch"], 17)
    assert isinstance(shown, FetchRequest)
    assert shown.high_watermark == HIGH_WATERMARK_NOT_SUPPORTED
    shown = at_version(REQUESTS["fetch"], 12)
    assert isinstance(shown, FetchRequest)
    assert shown.replica == ReplicaKey(1)
    answer = FetchResponse(5, 1, leader_endpoints=ENDPOINTS)
    assert (at_version(answer, 16), at_version(answer, 17)) == (FetchResponse(5, 1), answer)


def test_an_old_leader_cannot_be_asked_to_answer_before_the_commit() -> None:
    assert send(REQUESTS["add"], (0, 0)).version is None
    assert send(AddRaftVoterRequest(KEY, ENDPOINTS), (0, 0)).version == 0


def test_what_older_versions_of_a_description_show() -> None:
    answer = DescribeQuorumResponse(5, 1, 9, (ReplicaDescription(KEY, 9, 100, 90),))
    (shown,) = _voters(at_version(answer, 1))
    assert shown == ReplicaDescription(ReplicaKey(1), 9, 100, 90)
    (shown,) = _voters(at_version(answer, 0))
    assert shown == ReplicaDescription(ReplicaKey(1), 9)


def _voters(answer: DescribeQuorumResponse | None) -> tuple[ReplicaDescription, ...]:
    assert answer is not None
    return answer.voters


def test_what_is_no_message_has_no_versions() -> None:
    with pytest.raises(TypeError):
        at_version("vote", 1)


# What the sender does when the peer does not know the version.

SENDERS = {
    "pre-vote": "prospective epoch=5",
    "vote": "candidate epoch=5",
    "begin": "leader epoch=5 log=2@5",
    "end": "resigned epoch=5",
    "fetch": "follower epoch=5 leader=2",
    "fetch-snapshot": "follower epoch=5 leader=2",
    "add": "follower epoch=5 leader=2",
    "remove": "follower epoch=5 leader=2",
    "update": "follower epoch=5 leader=2",
}


def _refused(name: str, answer: Any) -> Outcome:
    event = ResponseReceived(2, answer)
    return step(KAFKA, expecting_answer(parse_replica(SENDERS[name]), event), event)


def _avoided(outcome: Outcome) -> list[int]:
    return [known.node for known in outcome.replica.connections if not known.awaiting]


def test_one_old_voter_makes_a_prospective_a_candidate_at_once() -> None:
    outcome = _refused("pre-vote", send(PRE_VOTE, (0, 1)).answer)
    assert role(outcome) == "Candidate"
    assert "PREVOTE-18" in outcome.rules
    following = ask(outcome.replica, "poll")
    assert all(isinstance(each, VoteRequest) and not each.pre_vote for each in sent(following).values())


@pytest.mark.parametrize("name", [name for name in SENDERS if name not in ("pre-vote", "update")])
def test_any_other_sender_backs_off(name: str) -> None:
    outcome = _refused(name, send(REQUESTS[name], None).answer)
    assert _avoided(outcome) == [2]
    assert "RESP-1" in outcome.rules
    assert role(outcome) == role(_refused(name, send(REQUESTS[name], None).answer))


def test_a_voter_takes_it_for_a_stale_answer() -> None:
    """UpdateRaftVoter has one error, and the answer of the network layer has no epoch."""
    outcome = _refused("update", send(REQUESTS["update"], None).answer)
    assert outcome.replica.role == parse_replica(SENDERS["update"]).role
    assert _avoided(outcome) == []
    assert outcome.rules == ("RESP-7", "EPOCH-5", "RESP-2")


def test_a_leader_that_cannot_update_voters_is_not_asked_again() -> None:
    """An answer of the leader itself, in its epoch."""
    outcome = ask(SENDERS["update"], "update-raft-voter-response from=2 error=UNSUPPORTED_VERSION")
    assert "UPDATE-7" in outcome.rules


# Permissions.


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_needs_its_operation_and_no_other(name: str) -> None:
    needed = NEEDED.get(type(REQUESTS[name]))
    assert refuse(REQUESTS[name], list(Operation)) is None
    others = [operation for operation in Operation if operation is not needed]
    refusal = refuse(REQUESTS[name], others)
    assert (refusal is None) == (needed is None)
    if refusal is not None:
        single = getattr(refusal.answer, "partition_error", ErrorCode.NONE)
        assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED in (refusal.answer.error, single)
        assert refusal.rules == ("RESP-10",)


def test_who_needs_what() -> None:
    assert NEEDED[DescribeQuorumRequest] is Operation.DESCRIBE
    assert NEEDED[AddRaftVoterRequest] is NEEDED[RemoveRaftVoterRequest] is Operation.ALTER
    assert NEEDED[UpdateRaftVoterRequest] is Operation.CLUSTER_ACTION
    assert NEEDED[AlterQuorumRequest] is Operation.ALTER
    assert set(RANGES) - set(NEEDED) == {ApiVersionsRequest}


def _refusal(request: Any) -> Any:
    """The answer to a sender that may do nothing."""
    refusal = refuse(request, ())
    assert refusal is not None
    return refusal.answer


@pytest.mark.parametrize("name", [name for name in SENDERS if name not in ("add", "remove", "update")])
def test_a_replica_that_may_not_ask_dies(name: str) -> None:
    """RESP-10, RESP-1."""
    outcome = _refused(name, _refusal(REQUESTS[name]))
    assert outcome.fatal is not None
    assert "RESP-1" in outcome.rules
    assert isinstance(_refusal(VOTE), VoteResponse)


@pytest.mark.parametrize(("name", "avoided"), [("add", [2]), ("remove", [2]), ("update", [])])
def test_but_not_one_that_asks_for_a_change_of_the_voters(name: str, avoided: list[int]) -> None:
    """RESP-10."""
    outcome = _refused(name, _refusal(REQUESTS[name]))
    assert outcome.fatal is None
    assert _avoided(outcome) == avoided
