"""The short text form: what it means, that printing and reading agree, and that noise is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.reference import events, messages
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochEnd, EpochStart, LeaderChange, Value
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
from kraftcheck.systems.kraft.text import (
    describe_replica,
    parse_event,
    parse_replica,
    print_event,
    print_replica,
)
from kraftcheck.systems.kraft.text.event import FORMS as EVENTS
from kraftcheck.systems.kraft.text.replica import FORMS as REPLICAS
from kraftcheck.systems.short_form import Form
from tests.query.values import values_of

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
    assert replica.parked[0].request == messages.FetchRequest(1, ReplicaKey(3), 2, 1, 1, 500)
    assert replica.shutting_down
    assert not replica.can_become_voter


def test_events_take_their_defaults_from_the_replica() -> None:
    replica = parse_replica("follower epoch=5 leader=1 log=3@4,2@5")
    assert parse_event("vote-request from=3 epoch=6 last=4@2 pre-vote", replica) == events.RequestReceived(
        3, messages.VoteRequest(6, ReplicaKey(3), None, 2, 4, True)
    )
    assert parse_event("begin-quorum-epoch-request from=1 to=2", replica) == events.RequestReceived(
        1, messages.BeginQuorumEpochRequest(5, 1, ReplicaKey(2), NODE_1)
    )
    assert parse_event("end-quorum-epoch-request from=1 successors=3,2", replica) == events.RequestReceived(
        1, messages.EndQuorumEpochRequest(5, 1, (ReplicaKey(3), ReplicaKey(2)))
    )
    assert parse_event("fetch-request from=3 offset=3 last-epoch=4 hw=2", replica) == events.RequestReceived(
        3, messages.FetchRequest(5, ReplicaKey(3), 3, 4, 2, 500)
    )
    assert parse_event(
        "vote-response from=3 granted error=FENCED_LEADER_EPOCH", replica
    ) == events.ResponseReceived(
        3, messages.VoteResponse(5, None, True, partition_error=ErrorCode.FENCED_LEADER_EPOCH)
    )
    assert parse_event("fetch-response from=1 records=1@5 hw=6", replica) == events.ResponseReceived(
        1, messages.FetchResponse(5, 1, 6, (Batch(5, 5, (Value(5),)),), None, NODE_1)
    )
    response = parse_event("fetch-response from=1 records=1@6 diverging=3@4", replica)
    assert isinstance(response, events.ResponseReceived)
    assert isinstance(response.response, messages.FetchResponse)
    assert isinstance(response.response.batches[0].records[0], LeaderChange)
    assert response.response.diverging == EpochEnd(4, 3)
    assert parse_event("poll expired=election,fetch discovery=3", replica) == events.Poll(
        (events.Timer.ELECTION, events.Timer.FETCH), 3
    )
    assert parse_event("append 7,8", replica) == events.Append(5, (7, 8))
    assert parse_event("resign epoch=4", replica) == events.Resign(4)
    assert parse_event("shutdown", replica) == events.Shutdown()


ERRORS_OF_REPLICAS = {
    "": "expected a name and fields, for example 'follower epoch=5 leader=1 log=3@4,2@5 hw=4', found nothing",
    "follower leader=1 cluster=\udcff": "expected Unicode text, found 'cluster=\\udcff'",
    "folower leader=1": "found 'folower'; did you mean 'follower'?",
    "follower leader=none": "replica.leader: expected a whole number from 0",
    "follower epoch=5": "a follower with the field 'leader', which has no default; for example 'leader=1'.",
    "candidate epoch=x": "a whole number from 0 to 2147483647, found 'x'; for example 'epoch=5'.",
    "candidate epoch=99999999999": ".epoch: expected a number from 0 to 2147483647, found '99999999999'",
    "candidate epoch": ".epoch: expected a value after 'epoch', found 'epoch'; for example 'epoch=5'.",
    "candidate epoch=": ".epoch: expected a whole number from 0 to 2147483647, found nothing",
    "candidate epoch=1 epoch=2": "expected each field once, found 'epoch' twice",
    "candidate hw=1 grantd=2": "found 'grantd=2'; did you mean 'granted'?",
    "follower leader=1 fetched=maybe": ".fetched: expected yes or no, found 'maybe'",
    "follower leader=1 log=3@4,2@3": (
        ".log: expected counts of records with their epochs, in ascending order of epochs, "
        "found '3@4,2@3'; for example 'log=3@4,2@5'."
    ),
    "follower leader=1 log=99999@4": ".log: expected counts of records",
    "candidate voters=1,1": ".voters: expected distinct ids, none of them negative, found 1,1",
    "candidate voters=1,x": ".voters[1]: expected a replica id, alone or with its directory, found 'x'",
    "candidate id=-1": ".id: expected an id that is not negative, found -1",
    "candidate awaiting=2 backoff=2": ".awaiting, backoff: expected each node at most once, found 2,2",
    "leader progress=2:x": ".progress[0]: expected a voter and its end offset, found '2:x'; for example",
    "leader progress=7:1": ".progress: expected one of its voters, found 7; for example 'progress=2:5'.",
    "leader pending=x": "expected 'opening' and values, found 'x'; for example 'pending=opening,7,8'.",
    "follower leader=1 endpoints=a:b": (
        ".endpoints[0]: expected an endpoint, found 'a:b'; for example 'endpoints=CONTROLLER://node-1:9093'."
    ),
    "replica key=1": "expected a replica with the field 'bootstrap-voters', which has no default",
    "replica key=1 bootstrap-voters=1 log=log(batches=[batch(base-offset=5 epoch=1 records=[])])": (
        "replica.log: expected a log that there can be"
    ),
}
ERRORS_OF_EVENTS = {
    "vote-request epoch=6": "event: expected a vote-request with the field 'from', which has no default",
    "vote-request from=none": ".from: expected a replica id, alone or with its directory, found 'none'",
    "vote-request from=2 last=4": (
        ".last: expected an end offset and the epoch of the last record before it, found '4'; for example "
        "'last=4@2'."
    ),
    "vote-response from=2 error=OOPS": "FENCED_LEADER_EPOCH",
    "poll expired=elections": ".expired[0]: expected one of election, fetch, check-quorum",
    "append": "expected an append with the field 'values', which has no default",
    "timeout": "expected a timeout with the field 'node', which has no default; for example 'node=5'.",
    "vote_request": "did you mean 'vote-request'?",
    "create-snapshot size=0": ".size: expected a number from 1 to 9223372036854775807, found '0'",
    "upgrade-kraft-version version=-1": ".version: expected a number from 0 to 32767, found '-1'",
}


@pytest.mark.parametrize(("text", "part"), ERRORS_OF_REPLICAS.items())
def test_errors_of_replicas_name_place_what_was_expected_and_an_example(text: str, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        parse_replica(text)


@pytest.mark.parametrize(("text", "part"), ERRORS_OF_EVENTS.items())
def test_errors_of_events(text: str, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        parse_event(text, parse_replica("candidate"))


def test_values_beyond_the_usual_words_are_printed_field_by_field() -> None:
    replica = parse_replica("follower leader=1 log=2@1")
    odd = replace(
        replica, log=replace(replica.log, batches=(Batch(0, 1, (Value(77),)), *replica.log.batches[1:]))
    )
    assert print_replica(odd).startswith("replica key=2 bootstrap-voters=1,2,3 quorum-state=quorum-state(")
    assert "records=[value(value=77)]" in print_replica(odd)
    assert parse_replica(print_replica(odd)) == odd
    assert print_replica(replace(replica, cluster_id="two words")).endswith('cluster="two words"')
    event = events.ResponseReceived(1, messages.FetchResponse(1, batches=odd.log.batches))
    assert print_event(event, replica).startswith("response-received source=1 response=fetch-response(")
    assert parse_event(print_event(event, replica), replica) == event


def test_one_grammar() -> None:
    """Lists in brackets or with commas, switches with and without a value, parentheses or none."""
    replica = parse_replica("leader granting=1,2 contacts=2 shutting-down")
    assert (
        parse_replica("leader(granting=[1 2] contacts=[2] shutting-down=yes resign-requested=no)") == replica
    )
    assert parse_event("append [7 8]", replica) == parse_event("append values=7,8", replica)


def is_a_value(event: events.Event) -> bool:
    """Whether numbers are such as there are: a snapshot has a size, kraft.version is no negative number."""
    if isinstance(event, events.UpgradeKRaftVersion):
        return 0 <= event.version < 2**15
    return not isinstance(event, events.CreateSnapshot) or event.size > 0


PATIENT = settings(max_examples=300, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(values_of(Replica))
def test_every_replica_reads_back_as_it_was_printed(replica: Replica) -> None:
    assert parse_replica(print_replica(replica)) == replica


@pytest.mark.slow
@PATIENT
@given(
    st.sampled_from(["follower leader=1 log=3@4,2@5", "leader epoch=5 log=3@4"]),
    values_of(events.Event).filter(is_a_value),
)
def test_every_event_reads_back_as_it_was_printed(replica_text: str, event: events.Event) -> None:
    replica = parse_replica(replica_text)
    assert parse_event(print_event(event, replica), replica) == event


# Texts that are likely to mean something: words of the forms, with values made from their examples.

VALUES = (
    "1", "2", "3", "0", "none", "1,2", "2,3", "3@4,2@5", "2@1", "[2]@1", "0@7", "2:3", "2:1,3:0", "opening",
    "yes", "opening,7", "2/dir", "4@2", "5:2@6", "election", "fetch,linger", "NONE", "FENCED_LEADER_EPOCH",
    "-1", "x", "[]", "[1 2]", "CONTROLLER://node-1:9093", "a://b:1,c://d:2",
)  # fmt: skip


@st.composite
def texts(draw: st.DrawFn, forms: Mapping[str, Form]) -> str:
    form = forms[draw(st.sampled_from(sorted(forms)))]
    needed = {"from", "leader"} & {*form.words} if form.name != "leader" else set()
    keys = {*needed, *draw(st.lists(st.sampled_from([*form.words, ""]), max_size=5, unique=True))} - {""}
    words = []
    for key in sorted(keys):
        syntax = form.words[key].syntax
        assert syntax is not None
        examples = [syntax.example or "yes"] * 6
        words.append(f"{key}={draw(st.sampled_from([*examples, *VALUES]))}")
    return " ".join([form.name, *words])


@pytest.mark.slow
@settings(max_examples=600)
@given(texts(REPLICAS))
def test_what_is_read_of_a_replica_is_printed_and_read_again(text: str) -> None:
    try:
        replica = parse_replica(text)
    except InputError:
        return
    assert print_replica(replica) == describe_replica(replica)
    assert parse_replica(print_replica(replica)) == replica


@pytest.mark.slow
@settings(max_examples=600)
@given(
    st.sampled_from(["follower leader=1 log=3@4,2@5", "leader epoch=5 log=3@4", "unattached"]), texts(EVENTS)
)
def test_what_is_read_of_an_event_is_printed_and_read_again(replica_text: str, text: str) -> None:
    replica = parse_replica(replica_text)
    try:
        event = parse_event(text, replica)
    except InputError:
        return
    assert parse_event(print_event(event, replica), replica) == event


WORDS = sorted(
    {*REPLICAS, *EVENTS, *(key for each in (*REPLICAS.values(), *EVENTS.values()) for key in each.words)}
)


@pytest.mark.slow
@settings(max_examples=500)
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
