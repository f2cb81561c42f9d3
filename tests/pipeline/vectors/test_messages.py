"""The messages that a decoder takes and refuses, by the layouts of messages."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import versions
from kraftcheck.reference.messages import VoteRequest
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.vectors import form, functions, message_cases, messages, vector
from kraftcheck.vectors.messages import MISSING, NULL, RANGE, REQUEST, RESPONSE, TYPE, VERSION

VOTE: dict[str, Any] = {
    "clusterId": "this-cluster",
    "voterId": 1,
    "topics": [
        {
            "topicName": "__cluster_metadata",
            "partitions": [
                {
                    "partitionIndex": 0,
                    "replicaEpoch": 5,
                    "replicaId": 2,
                    "replicaDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
                    "voterDirectoryId": "YWFhYWFhYWFhYWFhYWFhYQ",
                    "lastOffsetEpoch": 3,
                    "lastOffset": 7,
                    "preVote": True,
                }
            ],
        }
    ],
}


def result_of(version: int, body: Json, api: str = "Vote", direction: str = REQUEST) -> dict[str, Json]:
    return messages.result_of(api, direction, version, body, "message")[0]


def without(body: dict[str, Any], key: str) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    holder = changed if key in changed else changed["topics"][0]["partitions"][0]
    del holder[key]
    return changed


def with_(body: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    holder = changed if key in changed else changed["topics"][0]["partitions"][0]
    holder[key] = value
    return changed


def test_a_vote_request_is_read() -> None:
    message = result_of(2, VOTE)["message"]
    assert message == {
        "type": "VoteRequest",
        "epoch": 5,
        "candidate": {"id": 2},
        "voter": {"id": 1, "directory": "YWFhYWFhYWFhYWFhYWFhYQ"},
        "last_epoch": 3,
        "end_offset": 7,
        "pre_vote": True,
        "cluster_id": "this-cluster",
    }


@pytest.mark.parametrize(
    ("body", "reason", "at"),
    [
        (without(VOTE, "lastOffset"), MISSING, "topics[0].partitions[0].lastOffset"),
        (without(VOTE, "clusterId"), MISSING, "clusterId"),
        (with_(VOTE, "topics", None), NULL, "topics"),
        (with_(VOTE, "preVote", 1), TYPE, "topics[0].partitions[0].preVote"),
        (with_(VOTE, "replicaEpoch", True), TYPE, "topics[0].partitions[0].replicaEpoch"),
        (with_(VOTE, "replicaEpoch", 5.0), TYPE, "topics[0].partitions[0].replicaEpoch"),
        (with_(VOTE, "voterDirectoryId", "A"), TYPE, "topics[0].partitions[0].voterDirectoryId"),
        (with_(VOTE, "replicaId", 2**31), RANGE, "topics[0].partitions[0].replicaId"),
        (with_(VOTE, "lastOffset", -(2**63) - 1), RANGE, "topics[0].partitions[0].lastOffset"),
        ([VOTE], TYPE, "body"),
    ],
)
def test_what_is_malformed_is_refused(body: Json, reason: str, at: str) -> None:
    assert result_of(2, body) == {"refused": reason, "at": at}


@pytest.mark.parametrize("version", [-1, 3, 2**15])
def test_a_version_that_is_not_there_is_refused(version: int) -> None:
    assert result_of(version, VOTE) == {"refused": VERSION, "at": "version"}


def test_what_makes_no_sense_is_read_all_the_same() -> None:
    """It is the replica that answers it."""
    read = result_of(2, with_(with_(VOTE, "lastOffset", -7), "clusterId", None))["message"]
    assert isinstance(read, dict)
    assert (read["end_offset"], read.get("cluster_id")) == (-7, None)


def test_a_version_is_read_with_its_own_fields() -> None:
    oldest = without(
        without(without(without(VOTE, "voterId"), "preVote"), "voterDirectoryId"), "replicaDirectoryId"
    )
    read = result_of(0, oldest)["message"]
    assert isinstance(read, dict)
    assert (read["voter"], read["candidate"], read["pre_vote"]) == (None, {"id": 2}, False)
    assert result_of(1, oldest)["refused"] == MISSING
    assert result_of(0, VOTE)["message"] == read


@pytest.mark.parametrize(
    ("api", "direction", "version", "tagged"),
    [
        ("Fetch", REQUEST, 18, {"clusterId", "replicaState"}),
        ("Fetch", REQUEST, 14, {"clusterId"}),
        ("Vote", REQUEST, 2, set()),
        ("Vote", RESPONSE, 2, {"nodeEndpoints"}),
        ("UpdateRaftVoter", RESPONSE, 0, {"currentLeader"}),
        ("ApiVersions", RESPONSE, 3, {"supportedFeatures"}),
    ],
)
def test_tagged_fields_may_be_missing(api: str, direction: str, version: int, tagged: set[str]) -> None:
    found = {each.key for each in messages.places(api, direction, version) if each.tagged}
    assert found == tagged


def test_a_request_about_none_or_several_partitions_is_answered() -> None:
    topic = VOTE["topics"][0]
    for topics in (
        [],
        [topic, topic],
        [{**topic, "partitions": []}],
        [{**topic, "partitions": topic["partitions"] * 2}],
    ):
        found, rules = messages.result_of("Vote", REQUEST, 2, {**VOTE, "topics": topics}, "message")
        assert found == {"answer": {"error": "INVALID_REQUEST"}}
        assert rules == ("ID-3",)


def test_every_case_has_a_result_and_every_kind_of_change_is_refused() -> None:
    results: Counter[str] = Counter()
    for api, direction, version, body in message_cases.cases():
        made = vector.of_question(form.MESSAGE, form.Message(api, direction, version, body))
        assert vector.difference(made, "message") is None
        result = made["result"]
        assert isinstance(result, dict)
        results[str(result.get("refused", next(iter(result))))] += 1
    known = [
        messages.versions(api)
        for api, direction in itertools.product(messages.APIS, (REQUEST, RESPONSE))
        if messages.layout(api, direction) is not None
    ]
    assert results["message"] >= 2 * sum(map(len, known))
    assert results[VERSION] == 2 * len(known)
    assert min(results[reason] for reason in (MISSING, NULL, TYPE, RANGE)) > 100


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=3)
    | st.integers(2**40, 2**80),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["topics", "partitions", "clusterId", "errorCode", "name"]), inner)
    ),
    max_leaves=8,
)
CASES = [*message_cases.cases()]


@given(JSON, st.sampled_from(messages.APIS), st.sampled_from([REQUEST, RESPONSE]), st.integers(-1, 20))
def test_whatever_arrives_is_refused_or_read(body: Any, api: str, direction: str, version: int) -> None:
    if messages.layout(api, direction) is None:
        with pytest.raises(InputError):
            result_of(version, body, api, direction)
        return
    try:
        found = result_of(version, body, api, direction)
    except InputError as error:  # Nothing is said of another number of topics or partitions.
        assert "must hold one element" in str(error)
    else:
        assert next(iter(found)) in ("refused", "answer", "message")


@given(st.sampled_from(CASES), st.sampled_from(["unknown", "topicNames", "_"]), JSON)
def test_what_a_version_does_not_have_is_ignored(
    case: tuple[str, str, int, Json], name: str, value: Json
) -> None:
    api, direction, version, body = case
    if isinstance(body, dict):
        assert result_of(version, {**body, name: value}, api, direction) == result_of(
            version, body, api, direction
        )


@pytest.mark.parametrize("field", ["api", "direction", "version", "body", "result", "rules"])
def test_a_vector_without_a_field_is_no_vector(field: str) -> None:
    made = vector.of_question(form.MESSAGE, form.Message("Vote", REQUEST, 2, VOTE))
    del made[field]
    with pytest.raises(InputError, match=field):
        vector.difference(made, "message")


def test_another_result_is_a_difference() -> None:
    made = vector.of_question(form.MESSAGE, form.Message("Vote", REQUEST, 2, VOTE))
    changed = json.loads(json.dumps(made).replace('"epoch": 5', '"epoch": 6'))
    assert "the reference has" in (vector.difference(changed, "message") or "")
    assert vector.difference({**made, "rules": ["ID-3"]}, "message")


@given(
    st.booleans(),
    st.one_of(st.none(), st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted).map(tuple)),
)
def test_a_request_goes_out_in_the_newest_version_of_both(
    pre_vote: bool, supported: tuple[int, int] | None
) -> None:
    request = VoteRequest(5, ReplicaKey(2), None, 2, 4, pre_vote)
    arguments: dict[str, Json] = {
        "request": json.loads(json.dumps(vector.codec.encode(request))),
        "supported": None if supported is None else [*supported],
    }
    result, rules = functions.call("request-version", arguments, "vector")
    assert isinstance(result, dict)
    low, high = supported or (0, -1)
    goes_out = low <= min(2, high) and not (pre_vote and high < 2)
    assert result.get("version") == (min(2, high) if goes_out else None)
    assert rules == (("VOTE-27",) if goes_out else ("RESP-9",))
    assert versions.RANGES[VoteRequest] == (0, 2)
