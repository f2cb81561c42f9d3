"""Snapshots: created, served and loaded in parts (KIP-630, KIP-595)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftcheck.evidence.adapters.scripted.setting import (
    EPOCH,
    KEYS,
    STATIC,
    Scripts,
    Stimuli,
    answer,
    candidate,
    changing,
    elected,
    endpoints,
    fetch,
    in_epoch,
    leads,
    nothing_new,
    vote_request,
    voters,
)
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, LateResponse, Start, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Append, CreateSnapshot, Poll, RequestReceived, RequestTimedOut, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochEnd, Snapshot, SnapshotId, Value, log_of
from kraftcheck.reference.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import ReplicaKey

_TWO, _THREE = ReplicaKey(2), ReplicaKey(3)
_SIZE = 300
_LINGER = Poll((Timer.LINGER,))

#: A leader with a record 7 at offset 1 and a record 8 at offset 2; the first two are committed.
_LED: Stimuli = (
    *elected(2), Append(EPOCH, (7,)), _LINGER, fetch(_TWO, 2), Append(EPOCH, (8,)), _LINGER,
)  # fmt: skip
_AT_TWO = CreateSnapshot(SnapshotId(2, EPOCH), (7,), _SIZE)


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """The sequences."""
    yield from _creating(Scripts("create a snapshot", protocol))
    yield from _serving(Scripts("serve a snapshot", protocol))
    yield from _loading(Scripts("load a snapshot", protocol))
    yield from _odd_parts(Scripts("load a snapshot", protocol))
    yield from _starting(Scripts("start with a snapshot", protocol))


def _creating(made: Scripts) -> Iterator[DriveSequence]:
    deleting = replace(_AT_TWO, delete_prefix=True)
    more = (fetch(_TWO, 3), replace(_AT_TWO, id=SnapshotId(3, EPOCH), delete_prefix=True))
    ways: Mapping[str, Stimuli] = {
        "and keep the log": (*_LED, _AT_TWO, _AT_TWO, *more),
        "and delete the log before it": (*_LED, deleting, _AT_TWO, replace(_AT_TWO, id=SnapshotId(1,
            EPOCH)), *more),
        "that cannot be": (
            *_LED, *(
                replace(_AT_TWO, id=SnapshotId(end, epoch))
                for end, epoch in ((3, EPOCH), (2, EPOCH - 1), (2, EPOCH + 1), (9, EPOCH))
            ),
        ),
        "before anything is committed": (*elected(2), _AT_TWO, replace(_AT_TWO, id=SnapshotId(1, EPOCH))),
        "within a batch": (
            *elected(2), Append(EPOCH, (7, 8, 9)), _LINGER, fetch(_TWO, 4), _AT_TWO,
            replace(_AT_TWO, id=SnapshotId(4, EPOCH)),
        ),
        "and die": (*_LED, _AT_TWO, Crash(), Start(), Poll()),
        "and die before it is written": (*_LED, _AT_TWO, Crash(1), Start(), Poll()),
        "and die before the log is deleted": (*_LED, deleting, Crash(1), Start(), Poll()),
        "and lose power": (*_LED, deleting, Crash(0, loses_power=True), Start(), Poll()),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, STATIC, candidate(STATIC), *way)
    records = FetchResponse(EPOCH, 2, 2, (Batch(0, EPOCH, (Value(6),)), Batch(1, EPOCH, (Value(7),))))
    follower = (Poll(), leads(2, EPOCH), Poll(), answer(2, records), deleting, Poll(), nothing_new(2))
    yield made.sequence("as a Follower", STATIC, in_epoch(), *follower)
    leader = changing(1, 2, 3)
    yield made.sequence("with the configured voter set", leader, in_epoch(), *follower)
    led = (*elected(2), fetch(KEYS[2], 3))
    yield made.sequence("with a voter set", leader, candidate(leader), *led,
        replace(deleting, id=SnapshotId(3, EPOCH), values=()), Crash(), Start(), Poll())  # fmt: skip


def _part(id: SnapshotId, position: int, *, epoch: int = EPOCH, most: int = 100) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(epoch, _THREE, id, position, most)


def _serving(made: Scripts) -> Iterator[DriveSequence]:
    id = _AT_TWO.id
    led = (*_LED, replace(_AT_TWO, delete_prefix=True))

    def fetched(offset: int, last_epoch: int, wait_ms: int = 0) -> RequestReceived:
        return RequestReceived(3, FetchRequest(EPOCH, _THREE, offset, last_epoch, None, wait_ms))

    def parts(*requests: FetchSnapshotRequest) -> Stimuli:
        return tuple(RequestReceived(3, request) for request in requests)

    wanted = (
        fetched(0, 0, 500),
        fetched(1, EPOCH),
        fetched(2, EPOCH - 1),
        fetched(2, EPOCH),
        fetched(3, EPOCH - 1),
    )
    ways: Mapping[str, Stimuli] = {
        "to one that is behind": (*led, *wanted, fetched(3, EPOCH)),
        "where the log is kept": (*_LED, _AT_TWO, *wanted),
        "in parts": (
            *led, *parts(_part(id, 0), _part(id, 100), _part(id, 200), _part(id, 250), _part(id, 0,
                most=_SIZE)),
        ),
        "refused": (
            *led, *parts(
                _part(id, 0, epoch=EPOCH - 1), _part(id, 0, epoch=EPOCH + 1), _part(SnapshotId(1, EPOCH), 0),
                _part(SnapshotId(2, EPOCH - 1), 0), _part(id, -1), _part(id, _SIZE), _part(id, _SIZE + 1),
                _part(id, 0, most=0), _part(id, 0, most=-1),
                replace(_part(id, 0), partition="another-topic-0"), replace(_part(id, 0), replica=_TWO),
                _part(SnapshotId(0, 0), 0),
            ),
        ),
        "which counts as contact": (
            *led, fetch(_TWO, 3), *parts(_part(id, 0)), Poll((Timer.CHECK_QUORUM,)), *parts(_part(id, 100)),
        ),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, STATIC, candidate(STATIC), *way)
    ours = replace(STATIC, cluster_id="this-cluster")
    theirs = replace(_part(id, 0), cluster_id="another-cluster")
    yield made.sequence("to another cluster", ours, candidate(ours), *led, *parts(theirs))


_ID = SnapshotId(4, 3)
_CONTENT = Snapshot(_ID, values=(7, 8), size=_SIZE)
_FOLLOWER: Stimuli = (Poll(), leads(2, EPOCH), Poll())


def _offered(id: SnapshotId) -> Stimuli:
    return (answer(2, FetchResponse(EPOCH, 2, None, snapshot=id)), Poll())


def _bytes(position: int, length: int, content: Snapshot = _CONTENT) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(EPOCH, 2, content.id, content.size, position, length, content, endpoints(2))


def _failed(error: ErrorCode, epoch: int = EPOCH, leader: int | None = 2) -> FetchSnapshotResponse:
    where = () if leader is None else endpoints(leader)
    return FetchSnapshotResponse(epoch, leader, _ID, leader_endpoints=where, partition_error=error)


_WHOLE: Stimuli = (
    answer(2, _bytes(0, 100)), Poll(), answer(2, _bytes(100, 100)), Poll(), answer(2, _bytes(200, 100)),
        Poll(),
)  # fmt: skip


def _loading(made: Scripts) -> Iterator[DriveSequence]:
    begun = (*_FOLLOWER, *_offered(_ID))
    one = (answer(2, _bytes(0, 100)), Poll())
    at_once = answer(2, _bytes(0, _SIZE))
    records = FetchResponse(EPOCH, 2, 5, (Batch(4, EPOCH, (Value(9),)),))
    ways: Mapping[str, Stimuli] = {
        "in parts": (*begun, *_WHOLE, answer(2, records), Poll()),
        "at once": (*begun, at_once, Poll(), answer(2, records)),
        "and die": (*begun, at_once, Crash(), Start(), Poll()),
        "and die before it is in place": (*begun, at_once, Crash(1), Start(), Poll()),
        "and lose power": (*begun, at_once, Crash(0, loses_power=True), Start(), Poll()),
        "and die with a part of it": (*begun, *one, Crash(), Start(), Poll(), *_FOLLOWER, *_offered(_ID),
            at_once),
        "and cut back to it": (
            *begun, at_once, Poll(), answer(2, FetchResponse(EPOCH, 2, None, diverging=EpochEnd(3, 4))),
                Poll(),
        ),
        "and another leader comes": (*begun, *one, leads(3, EPOCH + 1), Poll()),
        "and an election comes": (*begun, *one, vote_request(3, EPOCH + 1), leads(2, EPOCH + 1), Poll()),
        "and time runs out": (*begun, *one, Poll((Timer.FETCH,)), Poll()),
        "and an answer is lost": (*begun, *one, RequestTimedOut(2), Poll(), Poll()),
        "and an old part comes": (
            *begun, *one, RequestTimedOut(2), Poll(), LateResponse(2, _bytes(0, 100)), Poll(),
        ),
        "and it is gone": (*begun, *one, answer(2, _failed(ErrorCode.SNAPSHOT_NOT_FOUND)), Poll()),
        "and it is offered another one": (*begun, *one, answer(2, _failed(ErrorCode.SNAPSHOT_NOT_FOUND)),
            Poll(),
            *_offered(replace(_ID, end_offset=5))),
        "that it has": (*begun, at_once, Poll(), *_offered(_ID)),
        "pre-votes meanwhile": (*begun, vote_request(3, EPOCH, pre_vote=True)),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, STATIC, in_epoch(), *way)
    observer = changing(2, 3)
    content = Snapshot(_ID, voters(1, 2, 3), 1, (7,), _SIZE)
    joined = (Poll((Timer.FETCH, Timer.UPDATE_VOTER)), Poll())
    yield made.sequence("with a voter set", observer, in_epoch(), *begun, answer(2, _bytes(0, _SIZE,
        content)),
        *joined, Crash(), Start(), Poll())  # fmt: skip
    old = log_of((Batch(0, 1, (Value(6),)), Batch(1, 1, (Value(5),))))
    longer = Disk(QuorumState(EPOCH), old, 2)
    yield made.sequence("instead of another log", STATIC, longer, *begun, at_once, Poll())


def _without_content(id: SnapshotId) -> Stimulus:
    return answer(2, replace(_bytes(0, 100), snapshot=id, content=None))


def _odd_parts(made: Scripts) -> Iterator[DriveSequence]:
    """Messages that no correct leader sends."""
    begun = (*_FOLLOWER, *_offered(_ID))
    older = Snapshot(SnapshotId(1, 1), size=_SIZE)
    ways: Mapping[str, Stimuli] = {
        "that is none": (*_FOLLOWER, *_offered(SnapshotId(-1, -1))),
        "with half an id": (*_FOLLOWER, *_offered(SnapshotId(4, -1)), *_offered(SnapshotId(-1, 3))),
        "at the wrong place": (*begun, answer(2, _bytes(100, 100))),
        "that was not asked for": (*begun, answer(2, _bytes(0, 100, older))),
        "without an id": (*begun, _without_content(SnapshotId(-1, -1))),
        "without an offset": (*begun, _without_content(SnapshotId(-1, 3))),
        "without an epoch": (*begun, _without_content(SnapshotId(4, -1))),
        "that comes before all records": (
            *_FOLLOWER, *_offered(SnapshotId(0, 0)), _without_content(SnapshotId(0, 0)), Poll(),
        ),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, STATIC, in_epoch(), *way)
    errors = (
        ErrorCode.POSITION_OUT_OF_RANGE, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )  # fmt: skip
    for error in errors:
        yield made.sequence(f"answered {error.name}", STATIC, in_epoch(), *begun, answer(2, _failed(error)))
    fenced = _failed(ErrorCode.FENCED_LEADER_EPOCH, EPOCH + 1, 3)
    yield made.sequence("answered FENCED_LEADER_EPOCH", STATIC, in_epoch(), *begun, answer(2, fenced), Poll())
    top = FetchSnapshotResponse(-1, error=ErrorCode.UNSUPPORTED_VERSION)
    yield made.sequence("answered UNSUPPORTED_VERSION", STATIC, in_epoch(), *begun, answer(2, top), Poll())
    log = log_of((Batch(0, 2, (Value(6),)), Batch(1, 2, (Value(5),))))
    ahead = Disk(QuorumState(EPOCH), log, 2)
    as_long = Snapshot(SnapshotId(2, 2), size=_SIZE)
    for name, snapshot in (("older than the log", older), ("no newer than the log", as_long)):
        yield made.sequence(f"that is {name}", STATIC, ahead, *_FOLLOWER, *_offered(snapshot.id),
            answer(2, _bytes(0, _SIZE, snapshot)))  # fmt: skip
    late = (*begun, vote_request(3, EPOCH + 1), answer(2, _bytes(0, 100)))
    yield made.sequence("without a leader", STATIC, in_epoch(), *late)


def _starting(made: Scripts) -> Iterator[DriveSequence]:
    kept = Snapshot(SnapshotId(2, 3), values=(7,), size=_SIZE)
    after = (Batch(2, 4, (Value(8),)),)
    state = QuorumState(EPOCH)
    follows = (Poll(), leads(2, EPOCH), Poll(), answer(2, FetchResponse(EPOCH, 2, 3)), Poll())
    logs = {
        "alone": log_of((), 2, (kept,)),
        "and records after it": log_of(after, 2, (kept,)),
        "and all records": log_of((Batch(0, 3, (Value(6), Value(7))), *after), 0, (kept,)),
    }
    for name, log in logs.items():
        disk = Disk(state, log, log.end_offset)
        yield made.sequence(name, STATIC, disk, *follows)
        elects = (Poll((Timer.ELECTION,)), Poll())
        yield made.sequence(f"{name}, and elect", STATIC, disk, *elects)
    lost = log_of((Batch(0, 3, (Value(6),)),))
    behind = Disk(state, replace(lost, snapshots=(kept,)), 1)
    yield made.sequence("beyond the end of the log", STATIC, behind, Poll(), *follows)
    voter_set = Snapshot(SnapshotId(2, 3), voters(1, 2), 1, (7,), _SIZE)
    log = log_of((), 2, (voter_set,))
    yield made.sequence("and its voter set", changing(1, 2, 3), Disk(state, log, 2), *follows,
        Poll((Timer.FETCH,)), Poll())  # fmt: skip
