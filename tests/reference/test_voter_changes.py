"""Adding, removing and updating voters, and the upgrade to voter sets in the log."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.effects import CallFailed, Fatal, Reply, Send
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Poll,
    RequestReceived,
    ResponseReceived,
    Shutdown,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import KRaftVersion, Voters
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteResponse,
)
from kraftcheck.reference.protocol import KAFKA, KIP853
from kraftcheck.reference.replica import (
    Candidate,
    Follower,
    Leader,
    QuorumState,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.reference.step import Outcome, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set
from tests.reference.running import Running

CLIENT = -1


def key(number: int, disk: str = "a") -> ReplicaKey:
    return ReplicaKey(number, f"{number}{disk}")


def listens(number: int) -> tuple[Endpoint, ...]:
    return (Endpoint("CONTROLLER", f"node-{number}", 9093),)


def entry(number: int, disk: str = "a") -> Voter:
    return Voter(key(number, disk), listens(number), 0, 1)


def identity(number: int, voters: tuple[int, ...], **changes: Any) -> Replica:
    return replace(
        Replica(
            key(number),
            voter_set(entry(voter) for voter in voters),
            endpoints=listens(number),
            bootstrap_kraft_version=1,
            max_kraft_version=1,
        ),
        **changes,
    )


def replies(outcome: Outcome) -> list[Any]:
    return [effect.response for effect in outcome.effects if isinstance(effect, Reply)]


def sent(outcome: Outcome) -> list[Any]:
    return [effect.request for effect in outcome.effects if isinstance(effect, Send)]


class Node(Running):
    """A replica of Kafka's protocol."""

    def __init__(self, replica: Replica) -> None:
        super().__init__(replica, KAFKA)

    def asks(self, request: Any, source: int = CLIENT) -> Any:
        """The answer to ``request``, or ``None`` if it has to wait."""
        answers = replies(self.on(RequestReceived(source, request, 77)))
        return answers[0] if answers else None

    def answered(self, source: int, response: Any) -> list[Any]:
        """What this replica replies to others once a response has reached it."""
        return replies(self.on(ResponseReceived(source, response)))

    def elected_by(self, *voters: int) -> None:
        """Each of the voters grants once."""
        for voter in voters:
            self.polls()
            self.on(ResponseReceived(voter, VoteResponse(self.replica.epoch, None, True)))
        self.polls()

    def fetched_by(self, number: int, offset: int | None = None, disk: str = "a") -> Outcome:
        at = self.replica.log.end_offset if offset is None else offset
        request = FetchRequest(self.replica.epoch, key(number, disk), at, self.replica.epoch, None, 0)
        return self.on(RequestReceived(number, request, 5))


def leader_of(*voters: int) -> Node:
    """Replica 1, leader of epoch 1 with its first records committed."""
    node = Node(identity(1, voters))
    node.polls(*([Timer.ELECTION] if len(voters) > 1 else []))
    node.elected_by(*([voters[1]] * 2 if len(voters) > 1 else []))
    for voter in voters[1:]:
        node.fetched_by(voter)
    assert isinstance(node.role, Leader)
    assert node.replica.high_watermark == node.replica.log.end_offset == 3
    return node


def leader_with_observer() -> Node:
    node = leader_of(1, 2, 3)
    node.fetched_by(4)
    return node


ADD = AddRaftVoterRequest(key(4), listens(4))
ADD_NEW_DISK = AddRaftVoterRequest(key(3, "b"), listens(3))
REMOVE_2, REMOVE_3 = RemoveRaftVoterRequest(key(2)), RemoveRaftVoterRequest(key(3))
SUPPORTED = ApiVersionsResponse((0, 1))


def test_a_leader_writes_the_bootstrap_voters_into_its_log() -> None:
    node = leader_of(1, 2, 3)
    records = node.replica.log.batches[0].records
    assert [type(record) for record in records[1:]] == [KRaftVersion, Voters]
    assert node.replica.voters_offset == 2


def test_an_observer_that_has_caught_up_becomes_a_voter() -> None:
    node = leader_with_observer()
    assert node.asks(ADD) is None
    assert sent(node.outcome) == [ApiVersionsRequest()] and node.replica.connections[0].node == 4
    node.on(ResponseReceived(4, SUPPORTED))
    assert node.replica.voters.ids == (1, 2, 3), "effective when appended, not before"
    node.polls()
    assert node.replica.voters.ids == (1, 2, 3, 4)
    assert node.replica.voters_offset == 3
    node.fetched_by(2)
    assert node.replica.high_watermark == 3, "two of four are no majority"
    assert replies(node.fetched_by(4))[0] == AddRaftVoterResponse(ErrorCode.NONE)
    assert node.replica.high_watermark == 4
    assert node.role.change is None


def test_nothing_else_may_change_meanwhile() -> None:
    node = leader_with_observer()
    node.asks(ADD)
    timed_out = ErrorCode.REQUEST_TIMED_OUT
    assert node.asks(replace(ADD, voter=key(5))) == AddRaftVoterResponse(timed_out)
    assert node.asks(REMOVE_3) == RemoveRaftVoterResponse(timed_out)
    assert replies(node.on(Poll((Timer.VOTER_CHANGE,)))) == [AddRaftVoterResponse(timed_out)]
    assert node.asks(REMOVE_3) is None, "nothing had been appended"


def test_what_has_been_appended_blocks_the_next_change_after_its_time_is_over() -> None:
    node = leader_with_observer()
    node.asks(REMOVE_3)
    node.polls()
    # The removed voter keeps its place, as an observer.
    assert (key(3), 3) in [(entry.key, entry.end_offset) for entry in node.role.observers]
    node.polls(Timer.VOTER_CHANGE)
    assert node.asks(REMOVE_2) == RemoveRaftVoterResponse(ErrorCode.REQUEST_TIMED_OUT)
    node.fetched_by(2)
    assert node.asks(REMOVE_2) is None


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (replace(ADD, cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (replace(ADD, voter=ReplicaKey(4)), ErrorCode.INVALID_REQUEST),
        (replace(ADD, voter=ReplicaKey(-1, "x")), ErrorCode.INVALID_REQUEST),
        (replace(ADD, endpoints=()), ErrorCode.INVALID_REQUEST),
        (replace(ADD, voter=key(3)), ErrorCode.DUPLICATE_VOTER),
        (replace(ADD, voter=key(3, "b")), ErrorCode.DUPLICATE_VOTER),
        (RemoveRaftVoterRequest(key(4)), ErrorCode.VOTER_NOT_FOUND),
        (RemoveRaftVoterRequest(key(3, "b")), ErrorCode.VOTER_NOT_FOUND),
        (RemoveRaftVoterRequest(ReplicaKey(3)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_requests_that_are_refused(request_: Any, error: ErrorCode) -> None:
    node = Node(identity(1, (1, 2, 3)))
    node.outcome = replace(node.outcome, replica=replace(leader_with_observer().replica, cluster_id="this"))
    before = node.replica
    assert node.asks(request_).error is error
    assert node.replica == before


def test_the_last_voter_stays_and_only_a_leader_changes_voters() -> None:
    alone = leader_of(1)
    assert alone.asks(RemoveRaftVoterRequest(key(1))).error is ErrorCode.VOTER_NOT_FOUND
    assert Node(identity(2, (1, 2, 3))).asks(ADD).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    stopping = leader_with_observer()
    stopping.on(Shutdown())
    assert stopping.asks(ADD).error is ErrorCode.BROKER_NOT_AVAILABLE


def test_before_a_record_of_the_epoch_has_committed_nothing_changes() -> None:
    node = Node(identity(1, (1, 2)))
    node.polls(Timer.ELECTION)
    node.elected_by(2, 2)
    assert isinstance(node.role, Leader)
    assert node.asks(ADD).error is ErrorCode.REQUEST_TIMED_OUT
    assert node.asks(REMOVE_2).error is ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ApiVersionsResponse(error=ErrorCode.BROKER_NOT_AVAILABLE), ErrorCode.REQUEST_TIMED_OUT),
        (ApiVersionsResponse(None), ErrorCode.INVALID_REQUEST),
        (ApiVersionsResponse((0, 0)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_voter_that_does_not_fit_is_not_added(answer: ApiVersionsResponse, error: ErrorCode) -> None:
    node = leader_with_observer()
    node.asks(ADD)
    assert node.answered(4, answer) == [AddRaftVoterResponse(error)]
    assert node.role.change is None
    assert not node.role.pending


def test_a_voter_that_never_caught_up_is_not_added() -> None:
    node = leader_of(1, 2, 3)
    node.asks(ADD)
    assert node.answered(4, SUPPORTED) == [AddRaftVoterResponse(ErrorCode.REQUEST_TIMED_OUT)]


def test_a_client_that_does_not_wait_receives_the_answer_at_once() -> None:
    node = leader_with_observer()
    node.asks(replace(ADD, ack_when_committed=False))
    assert node.answered(4, SUPPORTED) == [AddRaftVoterResponse(ErrorCode.NONE)]
    assert node.asks(replace(ADD, voter=key(5))).error is ErrorCode.REQUEST_TIMED_OUT
    node.polls()
    node.fetched_by(2)
    assert AddRaftVoterResponse() not in replies(node.fetched_by(3)), "it has its answer"
    assert node.role.change is None


def test_a_leader_that_removes_itself_remains_leader_until_that_commits() -> None:
    node = leader_of(1, 2, 3)
    assert node.asks(RemoveRaftVoterRequest(key(1))) is None
    node.polls()
    assert node.replica.voters.ids == (2, 3)
    node.fetched_by(2)
    assert node.replica.high_watermark == 3, "its own copy does not count"
    assert RemoveRaftVoterResponse() in replies(node.fetched_by(3))
    assert node.role.resign_requested
    node.polls()
    assert isinstance(node.role, Resigned)
    assert node.role.unacknowledged == (2, 3)
    node.polls(Timer.ELECTION)
    assert isinstance(node.role, Unattached)
    assert not node.replica.is_voter


def test_a_client_that_waits_receives_an_error_when_the_leader_resigns() -> None:
    node = leader_with_observer()
    node.asks(REMOVE_3)
    node.polls()
    outcome = node.on(Poll((Timer.CHECK_QUORUM,)))
    assert RemoveRaftVoterResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER) in replies(outcome)


def test_another_directory_is_another_replica() -> None:
    node = leader_of(1, 2, 3)
    node.asks(REMOVE_3)
    node.polls()
    node.fetched_by(2)
    node.fetched_by(3, disk="b")
    node.asks(ADD_NEW_DISK)
    node.on(ResponseReceived(3, SUPPORTED))
    node.polls()
    assert node.replica.voters.keys == (key(1), key(2), key(3, "b"))
    node.fetched_by(3, disk="a")
    assert [entry.end_offset for entry in node.role.progress if entry.id == 3] == [4]


def test_a_voter_moves() -> None:
    node = leader_of(1, 2, 3)
    moved = UpdateRaftVoterRequest(1, key(2), (Endpoint("CONTROLLER", "elsewhere", 1),), 0, 1)
    assert node.asks(moved, 2) == UpdateRaftVoterResponse(1, 1, listens(1))
    node.polls()
    assert node.replica.voters.endpoints(2) == moved.endpoints
    stale = node.asks(replace(moved, epoch=0), 2)
    assert stale.partition_error is ErrorCode.FENCED_LEADER_EPOCH
    node.fetched_by(2)
    for changed, error in [
        (replace(moved, epoch=9), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replace(moved, voter=key(9)), ErrorCode.VOTER_NOT_FOUND),
        (replace(moved, endpoints=()), ErrorCode.INVALID_REQUEST),
        (replace(moved, min_kraft_version=2), ErrorCode.INVALID_REQUEST),
        (replace(moved, max_kraft_version=0), ErrorCode.INVALID_REQUEST),
    ]:
        assert node.asks(changed, 2).partition_error is error


def follower(**changes: Any) -> Node:
    """Replica 2 following leader 1 of epoch 1."""
    node = Node(identity(2, (1, 2, 3), **changes))
    node.on(Poll((), 1))
    node.on(ResponseReceived(1, FetchResponse(1, 1, None, leader_endpoints=listens(1))))
    assert isinstance(node.role, Follower)
    return node


def test_a_voter_whose_entry_is_right_sends_no_update() -> None:
    node = follower()
    assert [type(request) for request in sent(node.polls(Timer.UPDATE_VOTER))] == [FetchRequest]


def test_a_voter_whose_entry_is_wrong_updates_its_leader_instead_of_fetching() -> None:
    node = follower(endpoints=(Endpoint("CONTROLLER", "elsewhere", 1),))
    requests = sent(node.polls(Timer.UPDATE_VOTER))
    assert [type(request) for request in requests] == [UpdateRaftVoterRequest]
    node.on(ResponseReceived(1, UpdateRaftVoterResponse(1, 1, listens(1))))
    assert node.role.has_updated_leader
    assert node.role.has_fetched


def test_a_replica_that_joins_by_itself() -> None:
    node = follower(bootstrap_voters=voter_set([entry(1), entry(3)]), auto_join=True)
    assert [type(request) for request in sent(node.polls(Timer.UPDATE_VOTER))] == [AddRaftVoterRequest]
    node.on(ResponseReceived(1, AddRaftVoterResponse(ErrorCode.NONE)))
    assert [type(request) for request in sent(node.polls())] == [FetchRequest]


def test_a_replica_that_joins_with_a_new_disk_removes_its_old_key_first() -> None:
    node = follower(bootstrap_voters=voter_set([entry(1), entry(2, "old"), entry(3)]), auto_join=True)
    assert sent(node.polls(Timer.UPDATE_VOTER)) == [RemoveRaftVoterRequest(key(2, "old"))]


def static(*voters: int) -> dict[str, Any]:
    plain = voter_set(Voter(ReplicaKey(number), listens(number)) for number in voters)
    return {"bootstrap_voters": plain, "bootstrap_kraft_version": 0}


def test_from_static_voters_to_voters_in_the_log() -> None:
    node = Node(identity(1, (1,), **static(1)))
    node.polls()
    assert node.asks(RemoveRaftVoterRequest(key(1))).error is ErrorCode.UNSUPPORTED_VERSION
    node.on(UpgradeKRaftVersion(1, 1))
    node.polls()
    assert node.replica.kraft_version == 1
    assert node.replica.voters.keys == (key(1),)
    before = node.replica
    node.on(UpgradeKRaftVersion(1, 1))
    assert node.replica == before, "it is at that level"
    outcome = node.on(UpgradeKRaftVersion(1, 0))
    assert [effect for effect in outcome.effects if isinstance(effect, CallFailed)]


def test_an_upgrade_waits_until_every_static_voter_has_reported() -> None:
    node = Node(identity(1, (1, 2), **static(1, 2)))
    node.polls(Timer.ELECTION)
    node.elected_by(2, 2)
    node.fetched_by(2)
    refused = node.on(UpgradeKRaftVersion(1, 1))
    assert [effect for effect in refused.effects if isinstance(effect, CallFailed)]
    node.asks(UpdateRaftVoterRequest(1, key(2), listens(2), 0, 1), 2)
    assert node.replica.voters.keys == (ReplicaKey(1), ReplicaKey(2)), "kept in memory only"
    node.on(UpgradeKRaftVersion(1, 1))
    node.polls()
    assert node.replica.voters.keys == (key(1), key(2))
    progress = {entry.key: entry.end_offset for entry in node.role.progress}
    assert progress == {key(1): 3, key(2): 1}


def test_an_acknowledgement_of_a_voter_removed_meanwhile_ends_the_leader() -> None:
    """Kafka throws IllegalArgumentException here (LeaderState.ensureValidVoter)."""
    node = leader_of(1, 2, 3)
    node.polls(Timer.BEGIN_QUORUM_EPOCH)
    node.asks(REMOVE_3)
    node.polls()
    outcome = step(KAFKA, node.replica, ResponseReceived(3, BeginQuorumEpochResponse(1, 1, listens(1))))
    assert isinstance(outcome.effects[-1], Fatal)


# Composite keys (KIP-853 as written): one id on two disks.


def test_a_key_may_be_added_next_to_the_old_one_of_its_id() -> None:
    node = leader_of(1, 2, 3)
    node.protocol = KIP853
    node.fetched_by(3, disk="b")
    again = node.asks(AddRaftVoterRequest(key(3), listens(3)))
    assert again == AddRaftVoterResponse(ErrorCode.DUPLICATE_VOTER)
    assert node.asks(ADD_NEW_DISK) is None
    node.on(ResponseReceived(3, ApiVersionsResponse((0, 1))))
    node.polls()
    assert node.replica.voters.keys == (key(1), key(2), key(3), key(3, "b"))
    for voter in (2, 3):
        node.fetched_by(voter)
    assert node.asks(REMOVE_3) is None
    node.polls()
    assert node.replica.voters.keys == (key(1), key(2), key(3, "b"))


def test_kafka_refuses_an_id_that_votes_on_another_disk() -> None:
    node = leader_of(1, 2, 3)
    node.fetched_by(3, disk="b")
    assert node.asks(ADD_NEW_DISK) == AddRaftVoterResponse(ErrorCode.DUPLICATE_VOTER)


def test_each_disk_of_an_id_has_its_own_progress_and_the_id_one_vote() -> None:
    entries = VoterSet((entry(1), entry(2), entry(3), entry(3, "b")))
    assert entries.is_voter(key(3))
    assert entries.is_voter(key(3, "b"))
    assert not entries.is_voter(key(3, "c"))
    assert entries.addressee(2) == key(2)
    assert entries.addressee(3) is None
    assert entries.with_entry(replace(entry(3, "b"), endpoints=())).endpoints(3) == listens(3)
    node = Node(replace(identity(1, (1, 2)), bootstrap_voters=entries))
    node.protocol = KIP853
    node.polls(Timer.ELECTION)
    node.polls()
    node.on(ResponseReceived(3, VoteResponse(1, None, True)))
    assert isinstance(node.role, Candidate), "two of four are no majority, though the id stands for two"
    node.on(ResponseReceived(2, VoteResponse(1, None, True)))
    assert isinstance(node.role, Leader)
    node.polls()
    node.fetched_by(3, disk="b")
    ends = {progress.key: progress.end_offset for progress in node.role.progress}
    assert ends[key(3)] is None
    assert ends[key(3, "b")] == node.replica.log.end_offset


def test_a_new_disk_adds_itself_where_keys_are_composite() -> None:
    observer = replace(
        identity(3, (1, 2, 3)),
        key=key(3, "b"),
        auto_join=True,
        role=Follower(listens(1)),
        quorum_state=QuorumState(1, 1),
    )
    event = Poll((Timer.UPDATE_VOTER,))
    for protocol, kind in ((KAFKA, RemoveRaftVoterRequest), (KIP853, AddRaftVoterRequest)):
        (request,) = (e for e in step(protocol, observer, event).effects if isinstance(e, Send))
        assert isinstance(request.request, kind)
