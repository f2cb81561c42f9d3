"""The short text form: what it means, that printing and reading agree, and that noise is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    Poll,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochEnd, EpochStart, LeaderChange, Value
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import (
    Candidate,
    Connection,
    Election,
    Follower,
    Leader,
    Progress,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.text.event import GRAMMAR as EVENTS
from kraftcheck.systems.kraft.text.replica import GRAMMAR as REPLICAS
from kraftcheck.systems.kraft.text.short_form import (
    NoShortForm,
    parse_event,
    parse_replica,
    print_event,
    print_replica,
)

NODE_1 = (Endpoint("CONTROLLER", "node-1", 9093),)
VOTERS = (1, 2, 3)


def test_a_follower() -> None:
    replica = parse_replica("follower epoch=5 leader=1 log=3@4,2@5 hw=4 voted=2")
    assert replica.id == 2  # the first voter that is not the leader
    assert replica.quorum_state == QuorumState(5, 1, ReplicaKey(2))
    assert replica.role == Follower(NODE_1, has_fetched=False)
    assert replica.high_watermark == 4
    assert replica.voters.ids == VOTERS
    assert replica.endpoints == replica.voters.endpoints(2)
    assert replica.log.epoch_starts == (EpochStart(4, 0), EpochStart(5, 3))
    assert replica.log.batches == (
        Batch(0, 4, (LeaderChange(1, VOTERS, VOTERS),)),
        Batch(1, 4, (Value(1),)),
        Batch(2, 4, (Value(2),)),
        Batch(3, 5, (LeaderChange(1, VOTERS, VOTERS),)),
        Batch(4, 5, (Value(4),)),
    )


def test_the_leader_of_an_epoch_that_is_not_given() -> None:
    replica = parse_replica("follower leader=2 log=1@4,1@5")
    assert [batch.records[0] for batch in replica.log.batches] == [
        LeaderChange(1, VOTERS, VOTERS),
        LeaderChange(2, VOTERS, VOTERS),
    ]
    assert parse_replica(print_replica(replica)) == replica


def test_each_role_and_its_defaults() -> None:
    assert parse_replica("unattached").role == Unattached()
    assert parse_replica("unattached").quorum_state == QuorumState(1)
    assert parse_replica("unattached epoch=0").epoch == 0
    assert parse_replica("unattached log=2@7").epoch == 7
    assert parse_replica("unattached epoch=2 leader=1 voted=3/d").quorum_state == QuorumState(
        2, 1, ReplicaKey(3, "d")
    )
    prospective = parse_replica("prospective epoch=2 granted=1,2 rejected=3")
    assert prospective.role == Prospective(Election(VOTERS, (1, 2), (3,)))
    assert parse_replica("prospective leader=1").role == Prospective(Election(VOTERS, (2,)), NODE_1)
    assert parse_replica("prospective leader=1 endpoints=none").leader_endpoints == ()
    candidate = parse_replica("candidate epoch=2")
    assert candidate.role == Candidate(Election(VOTERS, (1,)))
    assert candidate.quorum_state == QuorumState(2, None, ReplicaKey(1))
    resigned = parse_replica("resigned epoch=2 unacked=3")
    assert resigned.role == Resigned((3,), (ReplicaKey(2), ReplicaKey(3)))
    assert resigned.quorum_state == QuorumState(2, 1)


def test_a_leader_opens_its_epoch_unless_its_log_has_it() -> None:
    opening = parse_replica("leader epoch=5 log=3@4")
    assert opening.log.epoch_starts[-1] == EpochStart(5, 3)
    assert opening.role == Leader(
        3,
        VOTERS,
        (Progress(ReplicaKey(1), None, True), Progress(ReplicaKey(2)), Progress(ReplicaKey(3))),
        ((LeaderChange(1, VOTERS, VOTERS),),),
    )
    settled = parse_replica("leader epoch=5 log=3@4,2@5 progress=2:5,3:- pending=7,8 contacts=2 acked=3")
    assert settled.role == Leader(
        3,
        VOTERS,
        (
            Progress(ReplicaKey(1), 5, True),
            Progress(ReplicaKey(2), 5, True),
            Progress(ReplicaKey(3), None, True),
        ),
        ((Value(7), Value(8)),),
        (2,),
    )


def test_connections_parked_fetches_and_flags() -> None:
    replica = parse_replica("leader log=2@1 awaiting=2:17 backoff=3 parked=3:2 shutting-down broker hw=1")
    assert replica.connections == (Connection(2, True, 17), Connection(3, False))
    assert replica.parked[0].request == FetchRequest(1, ReplicaKey(3), 2, 1, 1, 500)
    assert replica.shutting_down
    assert not replica.can_become_voter


def test_events_take_their_defaults_from_the_replica() -> None:
    replica = parse_replica("follower epoch=5 leader=1 log=3@4,2@5")
    assert parse_event("vote-request from=3 epoch=6 last=4@2 pre-vote", replica) == RequestReceived(
        3, VoteRequest(6, ReplicaKey(3), None, 2, 4, True)
    )
    assert parse_event("begin-quorum-epoch-request from=1 to=2", replica) == RequestReceived(
        1, BeginQuorumEpochRequest(5, 1, ReplicaKey(2), NODE_1)
    )
    assert parse_event("end-quorum-epoch-request from=1 successors=3,2", replica) == RequestReceived(
        1, EndQuorumEpochRequest(5, 1, (ReplicaKey(3), ReplicaKey(2)))
    )
    assert parse_event("fetch-request from=3 offset=3 last-epoch=4 hw=2", replica) == RequestReceived(
        3, FetchRequest(5, ReplicaKey(3), 3, 4, 2, 500)
    )
    assert parse_event("vote-response from=3 granted error=FENCED_LEADER_EPOCH", replica) == ResponseReceived(
        3, VoteResponse(5, None, True, partition_error=ErrorCode.FENCED_LEADER_EPOCH)
    )
    assert parse_event("fetch-response from=1 records=1@5 hw=6", replica) == ResponseReceived(
        1, FetchResponse(5, 1, 6, (Batch(5, 5, (Value(5),)),), None, NODE_1)
    )
    response = parse_event("fetch-response from=1 records=1@6 diverging=3@4", replica)
    assert isinstance(response, ResponseReceived)
    assert isinstance(response.response, FetchResponse)
    assert isinstance(response.response.batches[0].records[0], LeaderChange)
    assert response.response.diverging == EpochEnd(4, 3)
    assert parse_event("poll expired=election,fetch discovery=3", replica) == Poll(
        (Timer.ELECTION, Timer.FETCH), 3
    )
    assert parse_event("append 7,8", replica) == Append(5, (7, 8))
    assert parse_event("resign epoch=4", replica) == Resign(4)
    assert parse_event("shutdown", replica) == Shutdown()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["the text is empty", "'follower epoch=5"]),
        ("follower leader=1 cluster=\udcff", ["'cluster=\\udcff'", "expected Unicode text"]),
        ("folower leader=1", ["'folower'", "did you mean 'follower'?"]),
        ("follower leader=none", ["a leader to follow"]),
        ("follower epoch=5", ["'follower'", "a leader to follow", "'follower leader=1'"]),
        ("candidate epoch=x", ["'epoch=x'", "a whole number from 0 to 2147483647", "'epoch=5'"]),
        ("candidate epoch=99999999999", ["'epoch=99999999999'"]),
        ("candidate epoch", ["'epoch'", "a value", "'epoch=5'"]),
        ("candidate epoch=1 epoch=2", ["'epoch=2'", "only once"]),
        ("candidate hw=1 grantd=2", ["'grantd=2'", "did you mean 'granted'?"]),
        ("follower leader=1 fetched=yes", ["'fetched=yes'", "without a value"]),
        ("follower leader=1 log=3@4,2@3", ["'log=3@4,2@3'", "ascending order of epochs", "'log=3@4,2@5'"]),
        ("follower leader=1 log=99999@4", ["'log=99999@4'"]),
        ("candidate voters=1,1", ["'voters=1,1'", "distinct ids"]),
        ("candidate id=-1", ["'id=-1'"]),
        ("candidate awaiting=2 backoff=2", ["each node at most once"]),
        ("leader progress=2:x", ["'progress=2:x'", "'progress=2:5,3:4'"]),
        ("leader pending=x", ["'pending=x'", "'pending=opening,7,8'"]),
        ("follower leader=1 endpoints=a:b", ["'endpoints=a:b'", "'endpoints=CONTROLLER://node-1:9093'"]),
    ],
)
def test_errors_name_the_word_what_was_expected_and_an_example(text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as refusal:
        parse_replica(text)
    for part in parts:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("vote-request epoch=6", ["'vote-request'", "'from' to be given", "'vote-request from=2'"]),
        ("vote-request from=none", ["'from=none'", "the sender's id"]),
        ("vote-request from=2 last=4", ["'last=4'", "an end offset and the epoch", "'last=4@2'"]),
        ("vote-response from=2 error=OOPS", ["'error=OOPS'", "FENCED_LEADER_EPOCH"]),
        ("poll expired=elections", ["'expired=elections'", "check-quorum", "'expired=election'"]),
        ("append", ["'values' to be given", "'append values=7,8'"]),
        ("timeout", ["'timeout node=2'"]),
        ("vote_request", ["did you mean 'vote-request'?"]),
    ],
)
def test_errors_of_events(text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as refusal:
        parse_event(text, parse_replica("candidate"))
    for part in parts:
        assert part in str(refusal.value)


def test_what_the_form_cannot_express_is_refused() -> None:
    replica = parse_replica("follower leader=1 log=2@1")
    odd = replace(
        replica, log=replace(replica.log, batches=(Batch(0, 1, (Value(77),)), *replica.log.batches[1:]))
    )
    with pytest.raises(NoShortForm):
        print_replica(odd)
    with pytest.raises(NoShortForm):
        print_replica(replace(replica, cluster_id="two words"))
    with pytest.raises(NoShortForm):
        print_event(ResponseReceived(1, FetchResponse(1, batches=odd.log.batches)), replica)


# Texts that are likely to mean something: words of the grammar, with values made from its examples.

VALUES = [
    "1",
    "2",
    "3",
    "0",
    "none",
    "1,2",
    "2,3",
    "3@4,2@5",
    "2@1",
    "[2]@1",
    "0@7",
    "2:3",
    "2:1,3:0",
    "opening",
    "yes",
]
VALUES += [
    "opening,7",
    "2/dir",
    "4@2",
    "5:2@6",
    "election",
    "fetch,linger",
    "NONE",
    "FENCED_LEADER_EPOCH",
    "-1",
    "x",
]
ENDPOINTS = ["CONTROLLER://node-1:9093", "a://b:1,c://d:2"]


@st.composite
def texts(draw: st.DrawFn, grammar: str) -> str:
    table = REPLICAS if grammar == "replica" else EVENTS
    head = draw(st.sampled_from(sorted(table)))
    keys = (
        draw(st.lists(st.sampled_from(sorted(table[head].keys)), max_size=5, unique=True))
        if table[head].keys
        else []
    )
    if head == "follower":
        keys = [*dict.fromkeys([*keys, "leader"])]
    if "from" in table[head].keys:
        keys = [*dict.fromkeys([*keys, "from"])]
    example = table[head].keys
    words = [f"{key}={draw(st.sampled_from([example[key]] * 6 + VALUES + ENDPOINTS))}" for key in keys]
    flags = draw(st.lists(st.sampled_from(table[head].flags), unique=True)) if table[head].flags else []
    return " ".join([head, *words, *flags])


def _parsed(text: str) -> Replica | None:
    try:
        return parse_replica(text)
    except InputError:
        return None


@settings(max_examples=600, deadline=None)
@given(texts("replica"))
def test_replicas_read_back_as_they_were_printed(text: str) -> None:
    replica = _parsed(text)
    if replica is not None:
        assert parse_replica(print_replica(replica)) == replica


@settings(max_examples=600, deadline=None)
@given(
    st.sampled_from(["follower leader=1 log=3@4,2@5", "leader epoch=5 log=3@4", "unattached"]), texts("event")
)
def test_events_read_back_as_they_were_printed(replica_text: str, text: str) -> None:
    replica = parse_replica(replica_text)
    try:
        event = parse_event(text, replica)
    except InputError:
        return
    assert parse_event(print_event(event, replica), replica) == event


WORDS = sorted(
    {*REPLICAS, *EVENTS, *(key for each in (*REPLICAS.values(), *EVENTS.values()) for key in each.keys)}
)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.sampled_from(WORDS)
        | st.text(max_size=6)
        | st.builds("{}={}".format, st.sampled_from(WORDS), st.text(max_size=8))
    )
)
def test_noise_gives_nothing_but_an_input_error(words: list[str]) -> None:
    text = " ".join(words)
    replica = parse_replica("follower leader=1")
    for read in (parse_replica, lambda noise: parse_event(noise, replica)):
        try:
            read(text)
        except InputError as error:
            assert str(error).isprintable()
