"""AlterQuorum of KIP-595: its errors in order, its steps, and what others learn from assignments."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import CallFailed, Fatal, HighWatermark, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    CreateSnapshot,
    Event,
    RequestReceived,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, SnapshotId, VoterAssignment, log_of
from kraftcheck.reference.messages import (
    AlterQuorumRequest,
    AlterQuorumResponse,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteResponse,
)
from kraftcheck.reference.protocol import KAFKA, KIP595, Protocol
from kraftcheck.reference.replica import Follower, Leader, QuorumState, Replica, Resigned, Unattached
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.voters import Endpoint, ReplicaKey, static_voters
from tests.reference.running import Running

CLIENT = -1


def identity(number: int, voters: tuple[int, ...] = (1, 2, 3)) -> Replica:
    endpoints = (Endpoint("CONTROLLER", f"node-{number}", 9093),)
    return Replica(ReplicaKey(number), static_voters(voters), endpoints=endpoints)


class Node(Running):
    """``answers`` are those to clients, by correlation."""

    def __init__(self, replica: Replica, protocol: Protocol = KIP595, disk: Disk | None = None) -> None:
        self.answers: dict[int | None, ErrorCode] = {}
        super().__init__(replica, protocol, disk)

    @property
    def assignments(self) -> list[VoterAssignment]:
        return [assignment for _, assignment in self.replica.log.assignments]

    def on(self, event: Event) -> Outcome:
        outcome = super().on(event)
        for effect in outcome.effects:
            if isinstance(effect, Reply) and isinstance(effect.response, AlterQuorumResponse):
                self.answers[effect.correlation] = effect.response.error
        return outcome

    def alters(self, *target: int, correlation: int = 7, cluster_id: str | None = None) -> ErrorCode | None:
        """The answer at once to AlterQuorum, or ``None`` if it has to wait; no target stands for null."""
        request = AlterQuorumRequest(target or None, cluster_id)
        self.answers.pop(correlation, None)
        self.on(RequestReceived(CLIENT, request, correlation))
        return self.answers.get(correlation)

    def fetched_by(self, *numbers: int) -> None:
        """Each of them has everything, has fetched it, and the leader has polled."""
        for number in numbers:
            at, epoch = self.replica.log.end_offset, self.replica.epoch
            request = FetchRequest(epoch, ReplicaKey(number), at, epoch, None, 0)
            self.on(RequestReceived(number, request, 5, now=1))
        self.polls()


def leader(protocol: Protocol = KIP595, **changes: Any) -> Node:
    """Replica 1, leader of epoch 1 of the voters 1, 2 and 3, with its first record committed."""
    node = Node(replace(identity(1), **changes), protocol)
    node.polls(Timer.ELECTION)
    node.polls()
    node.on(ResponseReceived(2, VoteResponse(node.replica.epoch, None, True)))
    if not isinstance(node.role, Leader):
        node.polls()
        node.on(ResponseReceived(2, VoteResponse(node.replica.epoch, None, True)))
    node.polls()
    node.fetched_by(2, 3)
    assert isinstance(node.role, Leader)
    assert node.replica.high_watermark == node.replica.log.end_offset
    return node


# Errors, in the order of the checks.


def test_other_protocols_do_not_know_the_request() -> None:
    assert leader(KAFKA).alters(1, 2) is ErrorCode.UNSUPPORTED_VERSION
    assert leader(bootstrap_kraft_version=1).alters(1, 2) is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("cluster_id", [None, "other"])
def test_the_cluster_id_comes_first(cluster_id: str | None) -> None:
    follower = Node(replace(identity(1), cluster_id="ours"))
    assert follower.alters(9, cluster_id=cluster_id) is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert follower.alters(9, cluster_id="ours") is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_only_the_leader_serves_it() -> None:
    node = Node(identity(1))
    assert node.alters(1, 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert "ALTER-2" in node.outcome.rules
    leading = leader()
    leading.on(Shutdown())
    assert leading.alters(1, 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("target", [(1, 1), (-2, 1)])
def test_what_names_no_voters_is_invalid(target: tuple[int, ...]) -> None:
    node = leader()
    assert node.alters(*target) is ErrorCode.INVALID_REQUEST
    assert "ALTER-1" in node.outcome.rules


def test_a_target_without_voters_is_invalid() -> None:
    node = leader()
    node.on(RequestReceived(CLIENT, AlterQuorumRequest(()), 7))
    assert node.answers[7] is ErrorCode.INVALID_REQUEST


def test_voters_that_never_fetched_are_unknown() -> None:
    node = leader()
    assert node.alters(1, 2, 4) is ErrorCode.VOTER_NOT_FOUND
    assert "ALTER-3" in node.outcome.rules
    node.fetched_by(4)
    assert node.alters(1, 2, 4) is None


# Targets.


def test_the_current_voters_are_a_target_that_is_reached() -> None:
    node = leader()
    assert node.alters(3, 2, 1) is ErrorCode.NONE
    assert node.alters() is ErrorCode.NONE
    assert "ALTER-4" in node.outcome.rules
    assert node.assignments == []


def test_success_waits_for_the_commit_of_the_target() -> None:
    node = leader()
    assert node.alters(1, 2) is None
    node.polls()
    assert node.assignments == [VoterAssignment((1, 2, 3), (1, 2))]
    assert node.answers == {}
    assert node.replica.voters.ids == (1, 2, 3)
    node.fetched_by(2)
    assert node.answers == {7: ErrorCode.NONE}
    assert node.replica.voters.ids == (1, 2, 3)


def test_the_same_target_again_waits_for_the_same_commit() -> None:
    node = leader()
    node.alters(1, 2, correlation=1)
    node.polls()
    assert node.alters(2, 1, correlation=2) is None
    node.fetched_by(2)
    assert node.answers == {1: ErrorCode.NONE, 2: ErrorCode.NONE}
    assert [each.target for each in node.assignments] == [(1, 2), (1, 2)]


def test_an_accepted_request_is_not_appended_before_a_record_of_the_epoch_is_committed() -> None:
    node = Node(identity(1))
    for _ in range(2):
        node.polls(Timer.ELECTION)
    node.polls()
    node.on(ResponseReceived(2, VoteResponse(node.replica.epoch, None, True)))
    assert isinstance(node.role, Leader)
    assert node.alters(1, 2) is None
    node.polls()
    assert node.assignments == []
    node.fetched_by(2)
    assert node.assignments == [VoterAssignment((1, 2, 3), (1, 2))]


# Steps.


def test_everybody_is_replaced_one_voter_at_a_time() -> None:
    node = leader()
    node.fetched_by(4, 5, 6)
    assert node.alters(4, 5, 6) is None
    for _ in range(8):
        node.polls()
        if isinstance(node.role, Leader):
            node.fetched_by(2, 3, 4, 5, 6)
    assert node.answers == {7: ErrorCode.NONE}
    assert [each.voters for each in node.assignments] == [
        (1, 2, 3),
        (1, 2, 3, 4),
        (1, 2, 3, 4, 5),
        (1, 2, 3, 4, 5, 6),
        (1, 3, 4, 5, 6),
        (1, 4, 5, 6),
        (4, 5, 6),
    ]
    assert all(each.target == (4, 5, 6) for each in node.assignments)
    assert isinstance(node.role, Resigned)
    assert node.role.unacknowledged == (4, 5, 6)


@pytest.mark.parametrize(("silent", "left"), [(2, (1, 3)), (3, (1, 2)), (None, (1, 3))])
def test_of_the_others_who_holds_least_leaves_first(silent: int | None, left: tuple[int, ...]) -> None:
    """Whoever has failed must go while those that live can commit its removal."""
    node = leader()
    node.alters(1)
    node.polls()
    node.fetched_by(*(number for number in (2, 3) if number != silent))
    assert node.assignments[-1] == VoterAssignment(left, (1,))


def test_the_next_leader_ends_what_the_removed_one_began() -> None:
    done = VoterAssignment((1, 2, 3), (1, 2, 3))
    batches = (
        Batch(0, 1, (LeaderChange(4, (1, 2, 3, 4), (1, 2, 3)),)),
        Batch(1, 1, (VoterAssignment((1, 2, 3, 4), (1, 2, 3)),)),
        Batch(2, 1, (done,)),
    )
    node = Node(identity(1), disk=Disk(QuorumState(1, 4), log_of(batches), 3))
    assert node.replica.voters.ids == (1, 2, 3, 4)
    node.polls(Timer.FETCH)
    for voter in (2, 3):
        node.polls()
        node.on(ResponseReceived(voter, VoteResponse(2, None, True)))
    node.polls()
    node.fetched_by(2, 3)
    assert isinstance(node.role, Leader)
    assert node.replica.voters.ids == (1, 2, 3)
    assert "ALTER-14" in node.outcome.rules
    assert node.assignments[-1] == VoterAssignment((1, 2, 3))


def test_a_missing_voter_is_added_once_it_has_caught_up() -> None:
    node = leader()
    behind = FetchRequest(1, ReplicaKey(4), 0, 0, None, 0)
    node.on(RequestReceived(4, behind, 5, now=1))
    assert node.alters(1, 2, 4) is None
    node.polls()
    for _ in range(3):
        node.fetched_by(2, 3)
    assert node.assignments == [VoterAssignment((1, 2, 3), (1, 2, 4))]
    node.fetched_by(4)
    assert node.assignments[-1] == VoterAssignment((1, 2, 3, 4), (1, 2, 4))


def test_a_voter_counts_from_the_commit_on() -> None:
    node = leader()
    node.fetched_by(4)
    node.alters(1, 2, 3, 4)
    node.polls()
    node.fetched_by(2)
    assert node.assignments[-1].voters == (1, 2, 3, 4)
    assert node.replica.voters.ids == (1, 2, 3)
    node.fetched_by(4)
    assert node.replica.voters.ids == (1, 2, 3)
    node.fetched_by(3)
    assert node.replica.voters.ids == (1, 2, 3, 4)
    assert node.assignments[-1] == VoterAssignment((1, 2, 3, 4))


def test_null_cancels_and_keeps_the_voters_of_the_moment() -> None:
    node = leader()
    node.fetched_by(4, 5)
    node.alters(4, 5, correlation=1)
    node.polls()
    node.fetched_by(2, 3, 4, 5)
    assert node.assignments[-1] == VoterAssignment((1, 2, 3, 4), (4, 5))
    assert node.alters(correlation=2) is None
    assert "ALTER-7" in node.outcome.rules
    node.fetched_by(2, 3, 4, 5)
    node.fetched_by(2, 3, 4, 5)
    assert node.answers == {1: ErrorCode.NONE, 2: ErrorCode.NONE}
    assert node.assignments[-1] == VoterAssignment((1, 2, 3, 4))
    assert node.replica.voters.ids == (1, 2, 3, 4)


def test_the_old_voters_as_target_go_back() -> None:
    node = leader()
    node.fetched_by(4, 5, 6)
    node.alters(4, 5, 6, correlation=1)
    node.polls()
    node.fetched_by(2, 3, 4, 5, 6)
    node.fetched_by(2, 3, 4, 5, 6)
    assert node.alters(1, 2, 3, correlation=2) is None
    for _ in range(6):
        node.fetched_by(2, 3, 4, 5, 6)
    assert node.answers == {1: ErrorCode.NONE, 2: ErrorCode.NONE}
    assert node.replica.voters.ids == (1, 2, 3)
    assert node.assignments[-1] == VoterAssignment((1, 2, 3))


def test_who_waits_is_told_that_the_leader_is_gone() -> None:
    node = leader()
    node.alters(1, 2)
    node.polls()
    node.on(Shutdown())
    node.polls()
    assert node.answers == {7: ErrorCode.NOT_LEADER_OR_FOLLOWER}


# What others learn.


def follower(number: int, disk: Disk) -> Node:
    node = Node(identity(number), disk=disk)
    assert isinstance(node.role, Follower)
    return node


OPENING = Batch(0, 1, (LeaderChange(1, (1, 2, 3), (1, 2)),))
ADDED = Batch(1, 1, (VoterAssignment((1, 2, 3, 4), (1, 2, 3, 4)),))
FINAL = Batch(2, 1, (VoterAssignment((1, 2, 3, 4)),))


def tells(node: Node, batches: tuple[Batch, ...], high_watermark: int | None) -> Outcome:
    node.polls()
    return node.on(ResponseReceived(1, FetchResponse(1, 1, high_watermark, batches)))


def test_an_observer_is_a_voter_once_it_knows_the_commit() -> None:
    node = follower(4, Disk(QuorumState(1, 1), log_of((OPENING,)), 1))
    tells(node, (ADDED,), 1)
    assert not node.replica.is_voter
    outcome = tells(node, (), 2)
    assert node.replica.is_voter
    assert "ALTER-16" in outcome.rules
    assert isinstance(outcome.effects[0], HighWatermark)


def test_a_later_assignment_shows_that_the_one_before_is_committed() -> None:
    node = follower(4, Disk(QuorumState(1, 1), log_of((OPENING,)), 1))
    tells(node, (ADDED, FINAL), None)
    assert node.replica.is_voter
    assert node.replica.assignment_offset == 1
    again = Node(identity(4), disk=Disk(QuorumState(1, 1), node.replica.log, 3))
    assert again.replica.is_voter


def test_a_removed_voter_is_an_observer() -> None:
    node = follower(3, Disk(QuorumState(1, 1), log_of((OPENING,)), 1))
    tells(node, (Batch(1, 1, (VoterAssignment((1, 2), (1, 2)),)),), 2)
    assert not node.replica.is_voter
    node.polls(Timer.FETCH)
    assert isinstance(node.role, Follower)


def test_a_candidate_that_lost_its_membership_starts_unattached() -> None:
    disk = Disk(QuorumState(2, None, ReplicaKey(4)), log_of((OPENING, ADDED)), 2)
    node = Node(identity(4), disk=disks.as_found(disk))
    assert isinstance(node.role, Unattached)
    assert node.replica.quorum_state == disk.quorum_state
    assert not any(isinstance(effect, Fatal) for effect in node.outcome.effects)


def test_the_removed_leader_is_still_listened_to() -> None:
    node = follower(2, Disk(QuorumState(1, 1), log_of((OPENING,)), 1))
    tells(node, (Batch(1, 1, (VoterAssignment((2, 3), (2, 3)),)),), 2)
    outcome = node.on(RequestReceived(1, EndQuorumEpochRequest(1, 1, ()), 3))
    assert {"ALTER-15", "END-8"} <= set(outcome.rules)
    stranger = node.on(RequestReceived(4, EndQuorumEpochRequest(1, 4, ()), 3))
    (reply,) = (effect for effect in stranger.effects if isinstance(effect, Reply))
    assert getattr(reply.response, "partition_error", None) is ErrorCode.INCONSISTENT_VOTER_SET


def test_an_answer_of_a_voter_removed_meanwhile_counts_for_nothing() -> None:
    node = leader()
    node.alters(1, 2)
    node.polls(Timer.BEGIN_QUORUM_EPOCH)
    node.fetched_by(2)
    node.fetched_by(2)
    assert node.replica.voters.ids == (1, 2)
    outcome = node.on(ResponseReceived(3, BeginQuorumEpochResponse(1, 1)))
    assert "ALTER-10" in outcome.rules


def test_no_snapshot_stands_for_assignments() -> None:
    node = leader()
    node.alters(1, 2)
    node.polls()
    node.fetched_by(2, 3)
    outcome = node.on(CreateSnapshot(SnapshotId(1, 1)))
    assert [type(effect) for effect in outcome.effects] == [CallFailed]
