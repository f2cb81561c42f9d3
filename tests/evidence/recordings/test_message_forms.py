"""Messages about voters and snapshots, as recordings show them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.state import differences
from kraftcheck.evidence.recordings.wire import LISTENER, api_of, read_message, write_message
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Message,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    ReplicaDescription,
    Request,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoterNode,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey

IDS = st.integers(0, 9)
KEYS = st.builds(ReplicaKey, IDS, st.sampled_from(["d1", "d2"]) | st.none())
ERRORS = st.sampled_from(ErrorCode)
ENDPOINTS = st.lists(
    st.builds(Endpoint, st.sampled_from([LISTENER, "OTHER"]), st.just("node-1"), st.integers(1, 9999)),
    max_size=2,
).map(tuple)
LEADER_ENDPOINTS = st.lists(
    st.builds(Endpoint, st.just(LISTENER), st.just("node-1"), st.integers(1, 9999)), max_size=1
).map(tuple)
CLUSTERS = st.none() | st.just("cluster")
VERSIONS = st.integers(-1, 3)
SNAPSHOTS = st.builds(SnapshotId, st.integers(-1, 9), st.integers(-1, 9))

TIMES = st.integers(0, 99) | st.none()
REPLICAS = st.lists(st.builds(ReplicaDescription, KEYS, TIMES, TIMES, TIMES), max_size=2).map(tuple)
NODES = st.builds(VoterNode, IDS, ENDPOINTS)

MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(AddRaftVoterRequest, KEYS, ENDPOINTS, st.booleans(), CLUSTERS, st.integers(0, 9000)),
    st.builds(RemoveRaftVoterRequest, KEYS, CLUSTERS),
    st.builds(UpdateRaftVoterRequest, IDS, KEYS, ENDPOINTS, VERSIONS, VERSIONS, CLUSTERS),
    st.just(ApiVersionsRequest()),
    st.builds(FetchSnapshotRequest, IDS, KEYS, SNAPSHOTS, st.integers(-1, 99), IDS, CLUSTERS),
    st.builds(
        FetchSnapshotResponse,
        IDS,
        st.just(1),
        SNAPSHOTS,
        IDS,
        IDS,
        IDS,
        leader_endpoints=LEADER_ENDPOINTS,
        partition_error=ERRORS,
    ),
    st.builds(AddRaftVoterResponse, ERRORS),
    st.builds(RemoveRaftVoterResponse, ERRORS),
    st.builds(UpdateRaftVoterResponse, st.integers(-1, 9), IDS | st.none(), LEADER_ENDPOINTS, ERRORS),
    st.builds(ApiVersionsResponse, st.tuples(VERSIONS, VERSIONS) | st.none(), ERRORS),
    st.just(DescribeQuorumRequest()),
    st.builds(
        DescribeQuorumResponse, IDS, IDS, TIMES, REPLICAS, REPLICAS, st.lists(NODES, max_size=2).map(tuple)
    ),
    st.builds(DescribeQuorumResponse, partition_error=ERRORS),
    st.builds(DescribeQuorumResponse, error=ERRORS),
)


@given(MESSAGES)
def test_a_message_reads_back_as_it_was_written(message: Message) -> None:
    data = Fields.of(write_message(message), "message")
    assert read_message(api_of(message), data, is_request=isinstance(message, Request)) == message


def test_an_answer_of_the_network_layer_names_no_leader_and_no_epoch() -> None:
    data = Fields.of({"throttleTimeMs": 0, "errorCode": 8}, "message")
    response = read_message("UpdateRaftVoter", data, is_request=False)
    assert response == UpdateRaftVoterResponse(-1, partition_error=ErrorCode.BROKER_NOT_AVAILABLE)


def test_the_order_of_voters_in_a_record_says_nothing() -> None:
    ascending, other = ({"value": {"voters": [{"voterId": 1}, {"voterId": last}]}} for last in (2, 2))
    other["value"]["voters"].reverse()
    assert list(differences(ascending, other, "records[0]")) == []
    other["value"]["voters"][0] = {"voterId": 3}
    assert list(differences(ascending, other, "records[0]")) != []
