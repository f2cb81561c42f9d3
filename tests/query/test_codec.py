"""The JSON form: round trip of every value, strictness, and the shape that files rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.reference.effects import ArmTimer, Duration, Effect, Reply, SuccessorBackoff
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, Poll, RequestReceived, Timer
from kraftcheck.reference.log import Log, start_epoch
from kraftcheck.reference.messages import VoteRequest, VoteResponse
from kraftcheck.reference.protocol import CandidateLoss, Protocol
from kraftcheck.reference.replica import Candidate, Election, QuorumState, Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from tests.query.values import values_of

VALUE = {"type": "Value", "value": 1}
CANDIDATE = Replica(
    ReplicaKey(1),
    static_voters([1, 2]),
    QuorumState(3, None, ReplicaKey(1)),
    role=Candidate(Election((1, 2), (1,))),
)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(codec.kinds()))
def test_every_value_survives_a_round_trip(name: str) -> None:
    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    @given(values_of(codec.kinds()[name]))
    def check(value: Any) -> None:
        assert codec.loads(codec.dumps(value)) == value
        assert codec.loads(codec.dumps(value, type(value)), type(value)) == value

    check()


@pytest.mark.slow
@pytest.mark.parametrize("union", [Event, Effect])
def test_unions_survive_a_round_trip(union: Any) -> None:
    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    @given(values_of(union))
    def check(value: Any) -> None:
        assert codec.decode(codec.encode(value, union), union) == value

    check()


def test_the_form_is_short_and_ordered() -> None:
    request = VoteRequest(4, ReplicaKey(2), None, 3, 7, True)
    assert codec.dumps(RequestReceived(2, request), Event) == (
        '{"type": "RequestReceived", "source": 2, "request": {"type": "VoteRequest", "epoch": 4, '
        '"candidate": {"id": 2}, "voter": null, "last_epoch": 3, "end_offset": 7, "pre_vote": true}}'
    )
    assert codec.encode(Poll((Timer.CHECK_QUORUM,)), Poll) == {"expired": ["check-quorum"]}
    protocol = Protocol(check_quorum=False, candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF)
    assert codec.encode(protocol, Protocol) == {"check_quorum": False, "candidate_loss": "exp-backoff"}
    assert codec.encode(ArmTimer(Timer.FETCH, SuccessorBackoff(1, 2))) == {
        "type": "ArmTimer",
        "timer": "fetch",
        "duration": {"position": 1, "count": 2},
    }
    assert codec.encode(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))["duration"] == "FETCH_TIMEOUT"
    reply = Reply(2, VoteResponse(4, partition_error=ErrorCode.FENCED_LEADER_EPOCH))
    assert codec.encode(reply)["response"]["partition_error"] == "FENCED_LEADER_EPOCH"


def test_a_log_is_written_by_its_batches_alone_unless_more_is_known() -> None:
    assert codec.encode(Log(), Log) == {}
    opened = start_epoch(Log(), 3)
    assert codec.encode(opened, Log) == {"epoch_starts": [{"epoch": 3, "offset": 0}]}
    assert codec.decode(codec.encode(opened, Log), Log) == opened


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rol": {}}, "replica: Replica has no field \"rol\"; did you mean 'role'?"),
        (
            {"role": {"type": "Leeder"}},
            "replica.role.type: expected Unattached, Prospective, Candidate, Leader, ",
        ),
        ({"role": {}}, "replica.role.type: expected"),
        ({"role": 3}, "replica.role: expected an object (Unattached)"),
        ({"quorum_state": {"epoch": "3"}}, 'replica.quorum_state.epoch: expected a whole number, found "3".'),
        ({"quorum_state": {"epoch": True}}, "expected a whole number, found true."),
        ({"quorum_state": {"epoch": 1.0}}, "expected a whole number, found 1.0."),
        ({"quorum_state": {"epoch": -1}}, "expected a number from 0 to 2147483647, found -1."),
        ({"quorum_state": {"voted": {"id": 2**40}}}, "replica.quorum_state.voted.id: expected a number from"),
        ({"high_watermark": 10**40}, "a number of more than 30 digits"),
        ({"cluster_id": "\ud800"}, "replica.cluster_id: expected Unicode text"),
        ({"connections": {}}, "replica.connections: expected an array, found an object."),
        (
            {"log": {"batches": [{"base_offset": 0, "epoch": 1, "records": []}]}},
            "replica.log.batches[0].records:",
        ),
        (
            {"log": {"batches": 2 * [{"base_offset": 0, "epoch": 1, "records": [VALUE]}]}},
            "replica.log.batches: a batch starts at offset 0, expected 1 or more.",
        ),
        (
            {"log": {"epoch_starts": [{"epoch": 1, "offset": 9}]}},
            "replica.log.epoch_starts: expected offsets up",
        ),
        (
            {"bootstrap_voters": {"voters": [{"key": {"id": 2}}, {"key": {"id": 2}}]}},
            "distinct ids in ascending",
        ),
        ({"key": {}}, "replica.key: ReplicaKey needs the field 'id'."),
    ],
)
def test_what_does_not_belong_is_refused(change: dict[str, Any], message: str) -> None:
    data = {**codec.encode(CANDIDATE, Replica), **change}
    with pytest.raises(InputError) as refusal:
        codec.decode(data, Replica, "replica")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "replica: not JSON at line 1, column 2"),
        ('{"id": 1, "id": 2}', "the key 'id' is given twice"),
        ("[" * 100_000, "nested too deeply"),
        ("NaN", "no JSON number"),
        ("9" * 5000, "too many digits"),
        ("", "not JSON"),
    ],
)
def test_broken_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        codec.loads(text, Replica, "replica")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "key", "id", "role", "log", "epoch", "batches", "voters"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(JSON)
def test_noise_is_refused_and_never_more_than_that(data: Any) -> None:
    for kind in (None, Replica, Event, Effect, Protocol):
        try:
            codec.loads(json.dumps(data), kind)
        except InputError as error:
            assert str(error).isprintable()


def test_only_values_of_the_reference_have_a_json_form() -> None:
    with pytest.raises(TypeError):
        codec.encode(object())
