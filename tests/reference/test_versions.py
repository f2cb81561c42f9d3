"""Mixed API versions, UNSUPPORTED_VERSION and refusals for lack of permission: who does what."""

from __future__ import annotations

import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.reference import messages
from kraftcheck.reference.authorization import NEEDED, Operation, refuse
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import Frozen, field_defaults, field_types, replace
from kraftcheck.reference.messages import FetchResponse, Message, Request, VoteRequest
from kraftcheck.reference.versions import RANGES, at_version, send
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text import parse_event, parse_replica
from tests.reference.asking import Case, ask, check, sent, table


def _request(words: str) -> Request:
    event = parse_event(
        f"{words} source=2" if " from=" in words else f"{words} from=2", parse_replica("unattached")
    )
    assert isinstance(event, RequestReceived)
    return event.request


REQUESTS = {
    "pre-vote": _request("vote-request from=1/A epoch=5 last=9@3 to=2/B pre-vote"),
    "vote": _request("vote-request from=1/A epoch=5 last=9@3 to=2/B"),
    "begin": _request("begin-quorum-epoch-request from=1 epoch=5 to=2/B"),
    "end": _request(
        "end-quorum-epoch-request from=1 epoch=5 successors=2/B endpoints=CONTROLLER://node-1:9093"
    ),
    "fetch": _request("fetch-request from=1/A epoch=5 offset=9 last-epoch=3 hw=7"),
    "fetch-snapshot": _request("fetch-snapshot-request from=1/A epoch=5 snapshot=9@3 max-bytes=100"),
    "add": _request("add-raft-voter-request voter=1/A ack-when-appended"),
    "remove": _request("remove-raft-voter-request voter=1/A"),
    "update": _request("update-raft-voter-request from=1/A epoch=5"),
    "api-versions": _request("api-versions-request"),
    "describe": _request("describe-quorum-request"),
    "alter": _request("alter-quorum-request target=1,2"),
    "find": _request("find-quorum-request from=1/A"),
}
PRE_VOTE, VOTE = REQUESTS["pre-vote"], REQUESTS["vote"]
assert isinstance(VOTE, VoteRequest)


# Versions.


@pytest.mark.parametrize("kind", RANGES)
def test_the_newest_version_is_that_of_the_schema(kind: type[Frozen]) -> None:
    schema = spec.load().messages.get(f"{kind.__name__.removesuffix('Request')} request")
    if schema is None:
        assert kind is messages.ApiVersionsRequest
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


KEY = ReplicaKey(1)
FETCH, ADD = REQUESTS["fetch"], REQUESTS["add"]
WITHOUT_MARK = replace(FETCH, high_watermark=messages.HIGH_WATERMARK_NOT_SUPPORTED)
ADD_AFTER_COMMIT = replace(ADD, ack_when_committed=True)
ANSWER = FetchResponse(5, 1, leader_endpoints=parse_replica("leader id=1").endpoints)
REPLICA = messages.ReplicaDescription(ReplicaKey(1, "A"), 9, 100, 90)
DESCRIPTION = messages.DescribeQuorumResponse(5, 1, 9, (REPLICA,))
SHOWN = [
    (PRE_VOTE, 1, None), (VOTE, 1, VOTE), (VOTE, 0, replace(VOTE, candidate=KEY, voter=None)),
    (FETCH, 17, WITHOUT_MARK), (FETCH, 12, replace(WITHOUT_MARK, replica=KEY)),
    (ANSWER, 17, ANSWER), (ANSWER, 16, FetchResponse(5, 1)),
    # An old leader cannot be asked to answer before the commit.
    (ADD, 0, None), (ADD_AFTER_COMMIT, 0, ADD_AFTER_COMMIT),
    (DESCRIPTION, 1, replace(DESCRIPTION, voters=(replace(REPLICA, key=KEY),))),
    (DESCRIPTION, 0, replace(DESCRIPTION, voters=(messages.ReplicaDescription(KEY, 9),))),
]  # fmt: skip


@pytest.mark.parametrize(("message", "version", "shown"), SHOWN)
def test_what_older_versions_show(message: Message, version: int, shown: Message | None) -> None:
    assert at_version(message, version) == shown


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


def _unsupported(name: str) -> ResponseReceived:
    """The answer of the network layer of the sender."""
    answer = send(REQUESTS[name], (0, 1) if name == "pre-vote" else None).answer
    assert answer is not None
    return ResponseReceived(2, answer)


def _refusal(name: str) -> ResponseReceived:
    """The answer to a sender that may do nothing."""
    refusal = refuse(REQUESTS[name], ())
    assert refusal is not None
    return ResponseReceived(2, refusal.answer)


CHANGES = ("add", "remove", "update")
BACKS_OFF = "no exits; no transition; awaiting=none; backing off=2"
CASES = [
    Case("one old voter makes a prospective candidate at once", SENDERS["pre-vote"], _unsupported("pre-vote"),
         "Candidate 6; PREVOTE-18"),
    *(
        Case(f"any other sender backs off: {name}", SENDERS[name], _unsupported(name), f"{BACKS_OFF}; RESP-1")
        for name in SENDERS
        if name not in ("pre-vote", "update")
    ),
    # UpdateRaftVoter has one error, and the answer of the network layer has no epoch.
    Case("a voter takes it for a stale answer", SENDERS["update"], _unsupported("update"),
         "nothing; otherwise unchanged; backing off=none; RESP-7; EPOCH-5; RESP-2"),
    # An answer of the leader itself, in its epoch.
    Case("a leader that cannot update voters is not asked again", SENDERS["update"],
         "update-raft-voter-response from=2 error=UNSUPPORTED_VERSION", "UPDATE-7"),
    # RESP-10.
    *(
        Case(f"a replica that may not ask exits: {name}", SENDERS[name], _refusal(name), "exits; RESP-1")
        for name in SENDERS
        if name not in CHANGES
    ),
    *(
        Case(f"but not one that asks for a change of the voters: {name}", SENDERS[name], _refusal(name), then)
        for name, then in zip(CHANGES, (BACKS_OFF, BACKS_OFF, "no exits; backing off=none"), strict=True)
    ),
]  # fmt: skip


@table(CASES)
def test_answer_of_the_network_layer(case: Case) -> None:
    check(case)


def test_a_candidate_asks_for_votes_then() -> None:
    candidate = ask(SENDERS["pre-vote"], _unsupported("pre-vote")).replica
    requests = sent(ask(candidate, "poll")).values()
    assert requests and all(isinstance(each, VoteRequest) and not each.pre_vote for each in requests)


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
    assert NEEDED[messages.DescribeQuorumRequest] is Operation.DESCRIBE
    assert NEEDED[messages.AddRaftVoterRequest] is NEEDED[messages.RemoveRaftVoterRequest] is Operation.ALTER
    assert NEEDED[messages.UpdateRaftVoterRequest] is Operation.CLUSTER_ACTION
    assert NEEDED[messages.AlterQuorumRequest] is Operation.ALTER
    assert set(RANGES) - set(NEEDED) == {messages.ApiVersionsRequest}
