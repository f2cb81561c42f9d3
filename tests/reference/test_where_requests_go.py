"""Requests go to the endpoint of the receiver's own listener, one at a time to each node."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.recordings.wire import write_message
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import BackoffExpired, Poll, Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import BeginQuorumEpochResponse, UpdateRaftVoterResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Follower, PartialSnapshot
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import Endpoint, VoterSet
from kraftcheck.systems.kraft.text import parse_replica
from tests.reference.asking import ask, sent

OTHER, OWN = Endpoint("OTHER", "elsewhere", 1), Endpoint("CONTROLLER", "here", 2)


@pytest.mark.parametrize("awaiting", [True, False])
def test_no_back_off_ends_while_an_answer_is_awaited(awaiting: bool) -> None:
    waits = "awaiting=2" if awaiting else "backoff=2"
    before = parse_replica(f"candidate id=1 voters=1,2,3 epoch=5 {waits}")
    after = step(KAFKA, before, BackoffExpired(2)).replica
    assert (after == before) == awaiting
    assert sorted(sent(step(KAFKA, after, Poll()))) == ([3] if awaiting else [2, 3])


@pytest.mark.parametrize(
    ("endpoints", "shown"), [((OTHER,), None), ((OTHER, OWN), "here"), ((OWN, OTHER), "here"), ((), None)]
)
def test_an_answer_has_the_leaders_endpoint_of_the_listener(
    endpoints: tuple[Endpoint, ...], shown: str | None
) -> None:
    begun = write_message(BeginQuorumEpochResponse(5, 2, endpoints))
    assert [node["host"] for node in begun.get("nodeEndpoints", [])] == ([shown] if shown else [])
    updated = write_message(UpdateRaftVoterResponse(5, 2, endpoints))
    assert updated["currentLeader"]["host"] == (shown or "")


@pytest.mark.parametrize("expired", [(), (Timer.UPDATE_VOTER,)])
def test_a_leader_that_does_not_listen_there_ends_the_process(expired: tuple[Timer, ...]) -> None:
    before = parse_replica("follower id=1/A voters=1/A,2/B,3/C epoch=5 leader=2 fetched")
    assert isinstance(before.role, Follower)
    elsewhere = replace(before, role=replace(before.role, leader_endpoints=(OTHER,)))
    outcome = step(KAFKA, elsewhere, Poll(expired))
    assert outcome.fatal == Fatal(FatalReason.LEADER_WITHOUT_ENDPOINTS, replica=2)
    assert step(KAFKA, before, Poll(expired)).fatal is None
    assert step(KAFKA, elsewhere, Poll((Timer.FETCH,))).fatal is None


@pytest.mark.parametrize(
    ("replica", "event"),
    [
        ("prospective id=1 voters=1,2,3 epoch=5", "poll"),
        ("leader id=1 voters=1,2,3 epoch=5", "announce"),
        ("resigned id=1 voters=1,2,3 epoch=5", "poll"),
    ],
)
def test_a_voter_that_does_not_listen_there_ends_the_process(replica: str, event: str) -> None:
    before = parse_replica(replica)
    voters = tuple(
        replace(voter, endpoints=(OTHER,)) if voter.key.id == 3 else voter
        for voter in before.bootstrap_voters.voters
    )
    changed = replace(before, bootstrap_voters=VoterSet(voters))
    poll = Poll((Timer.BEGIN_QUORUM_EPOCH,)) if event == "announce" else Poll()
    assert step(KAFKA, before, poll).fatal is None
    fatal = step(KAFKA, changed, poll).fatal
    assert fatal == Fatal(FatalReason.VOTER_WITHOUT_ENDPOINT, replica=3)


@pytest.mark.parametrize(
    "asked", ["snapshot=9@1", "snapshot=0@0", "snapshot=9@1 epoch=4", "snapshot=9@1 epoch=6"]
)
def test_an_error_to_fetch_snapshot_has_snapshot_id_0_0(asked: str) -> None:
    outcome = ask("leader id=1/A voters=1/A,2/B epoch=5 log=3@5", f"fetch-snapshot-request from=2/B {asked}")
    (reply,) = (effect for effect in outcome.effects if type(effect).__name__ == "Reply")
    data = write_message(reply.response)
    partition = data["topics"][0]["partitions"][0]
    assert partition["errorCode"] != 0 and partition["snapshotId"] == {"endOffset": 0, "epoch": 0}


@pytest.mark.parametrize(
    ("waits", "requests"),
    [("backoff=2", {3: "FetchRequest"}), ("", {2: "FetchSnapshotRequest"}), ("awaiting=2", {})],
)
def test_a_follower_that_loads_a_snapshot_looks_elsewhere_for_a_silent_leader(
    waits: str, requests: dict[int, str]
) -> None:
    """Kafka: maybeSendFetchToBestNode looks at the connection before it chooses between the two requests."""
    follower = parse_replica(f"follower id=1 voters=1,2,3 epoch=5 leader=2 fetched {waits}")
    assert isinstance(follower.role, Follower)
    loading = replace(follower.role, fetching_snapshot=PartialSnapshot(SnapshotId(4, 2)))
    outcome = step(KAFKA, replace(follower, role=loading), Poll((), 3))
    assert {to: type(request).__name__ for to, request in sent(outcome).items()} == requests
