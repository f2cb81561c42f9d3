"""Which error answers a request with two defects: the one that production looks for first.

The order of the checks is that of Kafka: KafkaRaftClient.handle*Request, AddVoterHandler, RemoveVoterHandler,
UpdateVoterHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from kraftcheck.reference.effects import Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Snapshot, SnapshotId, Voters, log_of
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AlterQuorumRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    RemoveRaftVoterRequest,
    Request,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftcheck.reference.protocol import KAFKA, KIP595, Protocol
from kraftcheck.reference.replica import (
    Connection,
    Leader,
    Progress,
    QuorumState,
    Replica,
    Resigned,
    Unattached,
    UpdatingVoter,
)
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, static_voters, voter_set

EPOCH = 5
LISTENS = (Endpoint("CONTROLLER", "node-2", 9093),)
ELSEWHERE = (Endpoint("BROKER", "node-2", 9092),)
VOTERS = voter_set(Voter(ReplicaKey(number, f"d{number}"), LISTENS, 0, 1) for number in (1, 2, 3))
VOTER, OTHER = VOTERS.keys[1], ReplicaKey(4, "d4")
SNAPSHOT = Snapshot(SnapshotId(3, EPOCH), VOTERS, 1, size=10)

Change = Callable[[Any, Any], tuple[Any, Any]]


def in_request(**changes: Any) -> Change:
    return lambda replica, request: (replica, replace(request, **changes))


def in_replica(**changes: Any) -> Change:
    return lambda replica, request: (replace(replica, **changes), request)


def pending_change(replica: Any, request: Any) -> tuple[Any, Any]:
    return replace(replica, role=replace(replica.role, change=UpdatingVoter(2))), request


def static_version(replica: Any, request: Any) -> tuple[Any, Any]:
    return replace(replica, log=replace(replica.log, kraft_versions=((1, 0),))), request


@dataclass(frozen=True)
class Defect:
    """What is wrong, and the error that it has for an answer. Of the same ``what`` there is only one."""

    name: str
    error: ErrorCode
    change: Change
    what: str = ""


OTHER_CLUSTER = Defect("cluster", ErrorCode.INCONSISTENT_CLUSTER_ID, in_request(cluster_id="another"))
OTHER_PARTITION = Defect("partition", ErrorCode.INVALID_REQUEST, in_request(partition="others-0"))
OLD_EPOCH = Defect("old epoch", ErrorCode.FENCED_LEADER_EPOCH, in_request(epoch=EPOCH - 1), "epoch")
NEW_EPOCH = Defect("new epoch", ErrorCode.UNKNOWN_LEADER_EPOCH, in_request(epoch=EPOCH + 1), "epoch")
NO_LEADER = Defect("no leader", ErrorCode.NOT_LEADER_OR_FOLLOWER, in_replica(role=Resigned((2, 3))))
SHUTDOWN = Defect("shutdown", ErrorCode.BROKER_NOT_AVAILABLE, in_replica(shutting_down=True))
NO_DIRECTORY = Defect("key", ErrorCode.INVALID_REQUEST, in_request(voter=ReplicaKey(4)), "voter")
NO_LISTENER = Defect("listener", ErrorCode.INVALID_REQUEST, in_request(endpoints=ELSEWHERE))
PENDING = Defect("pending", ErrorCode.REQUEST_TIMED_OUT, pending_change)
NOT_COMMITTED = Defect("unknown", ErrorCode.REQUEST_TIMED_OUT, in_replica(high_watermark=None), "hw")
STATIC = Defect("static", ErrorCode.UNSUPPORTED_VERSION, static_version)
UNCOMMITTED_SET = Defect("uncommitted", ErrorCode.REQUEST_TIMED_OUT, in_replica(high_watermark=2), "hw")
BUSY = Defect(
    "busy", ErrorCode.REQUEST_TIMED_OUT, in_replica(connections=tuple(Connection(n, True) for n in (2, 4)))
)
TAKEN = Defect("taken", ErrorCode.DUPLICATE_VOTER, in_request(voter=ReplicaKey(2, "new")), "voter")
ABSENT = Defect("absent", ErrorCode.VOTER_NOT_FOUND, in_request(voter=ReplicaKey(2, "old")), "voter")
NO_ID = Defect("no sender", ErrorCode.INVALID_REQUEST, in_request(leader=-1))
OTHER_VOTER = Defect("addressee", ErrorCode.INVALID_VOTER_KEY, in_request(voter=ReplicaKey(1, "old")))


def leader(protocol: Protocol = KAFKA) -> Replica:
    changing = protocol is KAFKA
    opening = (LeaderChange(1, (1, 2, 3), (1, 2)), *((KRaftVersion(1), Voters(VOTERS)) if changing else ()))
    log = log_of((Batch(0, EPOCH, opening),))
    known = VOTERS if changing else static_voters((1, 2, 3))
    progress = tuple(Progress(key, log.end_offset, True) for key in known.keys)
    return Replica(
        known.keys[0],
        known,
        QuorumState(EPOCH, 1),
        replace(log, snapshots=(SNAPSHOT,) if changing else ()),
        Leader(0, (1, 2), progress),
        high_watermark=log.end_offset,
        max_kraft_version=1,
        endpoints=LISTENS,
        cluster_id="ours",
    )


def unattached() -> Replica:
    return replace(leader(), quorum_state=QuorumState(EPOCH), role=Unattached(), high_watermark=None)


@dataclass(frozen=True)
class Case:
    """A request that is fine, the replica that it reaches, and what may be wrong, as it is looked for."""

    request: Request
    defects: tuple[Defect, ...]
    replica: Replica
    protocol: Protocol = KAFKA


OF_LEADERS = (OTHER_CLUSTER, NO_LEADER, SHUTDOWN)
OF_CHANGES = (PENDING, NOT_COMMITTED, STATIC, UNCOMMITTED_SET)
OF_EPOCHS = (OLD_EPOCH, NEW_EPOCH, NO_LEADER, SHUTDOWN)
CASES = {
    "add": Case(
        AddRaftVoterRequest(OTHER, LISTENS, cluster_id="ours"),
        (
            *OF_LEADERS,
            NO_DIRECTORY,
            NO_LISTENER,
            PENDING,
            NOT_COMMITTED,
            STATIC,
            UNCOMMITTED_SET,
            TAKEN,
            BUSY,
        ),
        leader(),
    ),
    "remove": Case(
        RemoveRaftVoterRequest(VOTER, "ours"),
        (*OF_LEADERS, NO_DIRECTORY, *OF_CHANGES, ABSENT),
        leader(),
    ),
    "update": Case(
        UpdateRaftVoterRequest(EPOCH, VOTER, LISTENS, 0, 1, "ours"),
        (
            OTHER_CLUSTER,
            *OF_EPOCHS,
            NO_DIRECTORY,
            Defect("range", ErrorCode.INVALID_REQUEST, in_request(min_kraft_version=2)),
            PENDING,
            NOT_COMMITTED,
            NO_LISTENER,
            Defect("support", ErrorCode.INVALID_REQUEST, in_request(max_kraft_version=0)),
            UNCOMMITTED_SET,
            ABSENT,
        ),
        leader(),
    ),
    "fetch snapshot": Case(
        FetchSnapshotRequest(EPOCH, VOTER, SNAPSHOT.id, 0, 5, "ours"),
        (
            OTHER_CLUSTER,
            replace(OTHER_PARTITION, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            *OF_EPOCHS,
            Defect("snapshot", ErrorCode.SNAPSHOT_NOT_FOUND, in_request(snapshot=SnapshotId(2, EPOCH))),
            Defect("position", ErrorCode.POSITION_OUT_OF_RANGE, in_request(position=10)),
        ),
        leader(),
    ),
    "fetch": Case(
        FetchRequest(EPOCH, VOTER, 0, 0, None, 0, "ours"),
        (
            OTHER_CLUSTER,
            OTHER_PARTITION,
            Defect("offset", ErrorCode.INVALID_REQUEST, in_request(offset=-1)),
            *OF_EPOCHS,
            Defect("own id", ErrorCode.UNKNOWN_SERVER_ERROR, in_request(replica=VOTERS.keys[0])),
        ),
        replace(leader(), log=replace(leader().log, snapshots=())),
    ),
    "describe": Case(
        DescribeQuorumRequest(),
        (replace(OTHER_PARTITION, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), NO_LEADER),
        leader(),
    ),
    "vote": Case(
        VoteRequest(EPOCH, VOTER, VOTERS.keys[0], EPOCH - 2, 9, False, "ours"),
        (
            OTHER_CLUSTER,
            OTHER_PARTITION,
            Defect("log", ErrorCode.INVALID_REQUEST, in_request(end_offset=-1)),
            OLD_EPOCH,
            Defect("no sender", ErrorCode.INVALID_REQUEST, in_request(candidate=ReplicaKey(-1))),
            OTHER_VOTER,
        ),
        unattached(),
    ),
    "begin": Case(
        BeginQuorumEpochRequest(EPOCH, 2, VOTERS.keys[0], LISTENS, "ours"),
        (OTHER_CLUSTER, OTHER_PARTITION, OLD_EPOCH, NO_ID, OTHER_VOTER),
        unattached(),
    ),
    "end": Case(
        EndQuorumEpochRequest(EPOCH, 2, (), LISTENS, "ours"),
        (OTHER_CLUSTER, OTHER_PARTITION, OLD_EPOCH, NO_ID),
        unattached(),
    ),
    "alter": Case(
        AlterQuorumRequest((1, 2), "ours"),
        (
            OTHER_CLUSTER,
            NO_LEADER,
            Defect("twice", ErrorCode.INVALID_REQUEST, in_request(target=(2, 2)), "target"),
            Defect("nobody", ErrorCode.VOTER_NOT_FOUND, in_request(target=(1, 9)), "target"),
        ),
        leader(KIP595),
        KIP595,
    ),
}


def error_of(case: Case, *defects: Defect) -> ErrorCode:
    """The error that the request has for an answer; NONE if it is taken on. What is wrong with the role comes
    last, since it takes the place of what was wrong with the leader.
    """
    replica, request = case.replica, case.request
    for defect in sorted(defects, key=lambda each: each is NO_LEADER):
        replica, request = defect.change(replica, request)
    outcome = step(case.protocol, replica, RequestReceived(2, request, 7))
    assert outcome.fatal is None
    replies = [effect.response for effect in outcome.effects if isinstance(effect, Reply)]
    for response in replies:
        return response.error or getattr(response, "partition_error", ErrorCode.NONE)
    return ErrorCode.NONE


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_defect_has_its_error(case: Case) -> None:
    assert error_of(case) is ErrorCode.NONE
    for defect in case.defects:
        assert error_of(case, defect) is defect.error, defect.name


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_of_two_defects_decides(case: Case) -> None:
    pairs = [
        (first, second)
        for first, second in combinations(case.defects, 2)
        if not first.what or first.what != second.what
    ]
    wrong = [
        (first.name, second.name, found)
        for first, second in pairs
        if (found := error_of(case, first, second)) is not first.error
    ]
    assert pairs and not wrong
