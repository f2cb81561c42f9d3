"""Snapshots: created, deleted, fetched in parts, loaded in place of the log, and found at a start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import disk as disks
from kraftcheck.reference import log as logs
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    CallFailed,
    DeleteBefore,
    Effect,
    Fatal,
    LoadSnapshot,
    Reply,
    Send,
    StoreSnapshot,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot, Event, Poll, RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, Log, Snapshot, SnapshotId, Value, Voters, log_of
from kraftcheck.reference.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Message,
)
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import (
    Follower,
    Leader,
    PartialSnapshot,
    Progress,
    QuorumState,
    Replica,
    Unattached,
)
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, voter_set

ENDPOINT = (Endpoint("CONTROLLER", "node-1", 9093),)
KEYS = {number: ReplicaKey(number, f"d{number}") for number in (1, 2, 3)}
VOTERS = voter_set(Voter(KEYS[number], ENDPOINT, 0, 1) for number in (1, 2, 3))
LOG = log_of(
    (
        Batch(0, 1, (KRaftVersion(1), Voters(VOTERS))),
        Batch(2, 1, (Value(7),)),
        Batch(3, 2, (Value(8), Value(9))),
        Batch(5, 2, (Value(10),)),
    )
)
AT_3, AT_5 = SnapshotId(3, 1), SnapshotId(5, 2)
SNAPSHOT = Snapshot(AT_5, VOTERS, 1, (9,), 100)


def replica(number: int, log: Log = LOG, **changes: object) -> Replica:
    known = Replica(KEYS[number], VOTERS, QuorumState(2, 1), log, endpoints=ENDPOINT, max_kraft_version=1)
    return replace(known, **changes)  # type: ignore[arg-type]


def leader(log: Log = LOG) -> Replica:
    role = Leader(3, (1, 2), tuple(Progress(key, log.end_offset, True) for key in KEYS.values()))
    return replica(1, log, role=role, high_watermark=log.end_offset)


def follower(log: Log, partial: PartialSnapshot | None = None) -> Replica:
    return replica(2, log, role=Follower(ENDPOINT, True, fetching_snapshot=partial))


def take(known: Replica, event: Event) -> Outcome:
    return step(KAFKA, known, event)


def answer(outcome: Outcome) -> Message:
    (reply,) = (effect for effect in outcome.effects if isinstance(effect, Reply))
    return reply.response


def sent(known: Replica, *responses: Message) -> Outcome:
    """What ``known`` does on the answers to what it sends, one poll each; the last outcome."""
    outcome = take(known, Poll())
    for response in responses:
        (request,) = (effect for effect in outcome.effects if isinstance(effect, Send))
        outcome = take(outcome.replica, ResponseReceived(request.to, response))  # type: ignore[arg-type]
        if response is not responses[-1]:
            outcome = take(outcome.replica, Poll())
    return outcome


def of(outcome: Outcome, kind: type[Effect]) -> list[Effect]:
    return [effect for effect in outcome.effects if isinstance(effect, kind)]


# Creating one.


def test_a_snapshot_holds_the_control_records_before_its_end() -> None:
    outcome = take(leader(), CreateSnapshot(AT_5, (9,), 100, delete_prefix=True))
    assert outcome.effects == (StoreSnapshot(SNAPSHOT), DeleteBefore(AT_5))
    log = outcome.replica.log
    assert (log.start_offset, log.end_offset, log.last_epoch) == (5, 6, 2)
    assert log.batches == LOG.batches[3:]
    assert outcome.replica.voters == VOTERS


def test_a_snapshot_may_be_older_than_one_that_is_there() -> None:
    at_6 = Snapshot(SnapshotId(6, 2), VOTERS, 1, (9,), 100)
    before = replace(leader(logs.with_snapshot(LOG, at_6)), high_watermark=6)
    log = take(before, CreateSnapshot(AT_5, delete_prefix=False)).replica.log
    assert [snapshot.id for snapshot in log.snapshots] == [AT_5, at_6.id]
    # But not of an older epoch than the earliest one. Kafka: ReplicatedLog.validateOffsetAndEpoch.
    assert of(take(before, CreateSnapshot(AT_3, delete_prefix=False)), CallFailed)
    found = log_of(log.batches, log.start_offset, log.snapshots)
    assert (found.batches, found.epoch_starts) == (log.batches, log.epoch_starts)


def test_what_a_snapshot_stands_for_need_not_be_deleted() -> None:
    outcome = take(leader(), CreateSnapshot(AT_3, (7,), 50))
    assert outcome.replica.log.start_offset == 0
    again = take(outcome.replica, CreateSnapshot(AT_3, (7,), 50))
    assert again.effects == ()
    newer = take(outcome.replica, CreateSnapshot(AT_5, (9,), 100, delete_prefix=True))
    assert [known.id for known in newer.replica.log.snapshots] == [AT_5]


@pytest.mark.parametrize("id", [SnapshotId(7, 2), SnapshotId(4, 2), SnapshotId(5, 1)])
def test_snapshots_that_no_committed_batch_ends(id: SnapshotId) -> None:
    assert of(take(leader(), CreateSnapshot(id)), CallFailed)


def test_nothing_before_the_log_start_and_nothing_while_the_high_watermark_is_unknown() -> None:
    short = logs.delete_before(logs.with_snapshot(LOG, SNAPSHOT), 5)
    assert not take(leader(short), CreateSnapshot(AT_3)).effects
    assert not take(leader(), CreateSnapshot(SnapshotId(-1, 0))).effects
    assert of(take(replace(leader(), high_watermark=None), CreateSnapshot(AT_5)), CallFailed)


@pytest.mark.parametrize("epoch", [1, 3])
def test_nothing_at_the_log_start_but_the_snapshot_that_is_there(epoch: int) -> None:
    """Kafka: KafkaRaftLog.createNewSnapshot asks ReplicatedLog.validateOffsetAndEpoch."""
    short = logs.delete_before(logs.with_snapshot(LOG, SNAPSHOT), 5)
    assert not take(leader(short), CreateSnapshot(AT_5)).effects
    assert of(take(leader(short), CreateSnapshot(SnapshotId(5, epoch))), CallFailed)


# Fetching from a log that starts with one.


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (2, 1), (4, 2), (5, 1), (6, 1)])
def test_who_is_before_the_log_start_is_sent_to_the_snapshot(offset: int, epoch: int) -> None:
    short = logs.delete_before(logs.with_snapshot(LOG, SNAPSHOT), 5)
    request = FetchRequest(2, KEYS[3], offset, epoch, None, 500)
    response = answer(take(leader(short), RequestReceived(3, request, 1)))
    assert isinstance(response, FetchResponse)
    assert (response.snapshot, response.batches, response.log_start_offset) == (AT_5, (), 5)


def test_who_is_beyond_it_gets_records() -> None:
    short = logs.delete_before(logs.with_snapshot(LOG, SNAPSHOT), 5)
    response = answer(take(leader(short), RequestReceived(3, FetchRequest(2, KEYS[3], 5, 2, None, 500), 1)))
    assert isinstance(response, FetchResponse)
    assert (response.snapshot, response.batches) == (None, LOG.batches[3:])


@pytest.mark.parametrize(
    ("id", "position", "error"),
    [
        (AT_3, 0, ErrorCode.SNAPSHOT_NOT_FOUND),
        (SnapshotId(0, 0), 0, ErrorCode.SNAPSHOT_NOT_FOUND),
        (AT_5, -1, ErrorCode.POSITION_OUT_OF_RANGE),
        (AT_5, 100, ErrorCode.POSITION_OUT_OF_RANGE),
        (AT_5, 99, ErrorCode.NONE),
    ],
)
def test_answers_to_fetch_snapshot(id: SnapshotId, position: int, error: ErrorCode) -> None:
    request = FetchSnapshotRequest(2, KEYS[3], id, position, 40)
    response = answer(take(leader(logs.with_snapshot(LOG, SNAPSHOT)), RequestReceived(3, request, 1)))
    assert isinstance(response, FetchSnapshotResponse)
    assert response.partition_error is error
    assert response.length == (1 if error is ErrorCode.NONE else 0)


@pytest.mark.parametrize(
    ("epoch", "error"), [(1, ErrorCode.FENCED_LEADER_EPOCH), (3, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_fetch_snapshot_is_for_the_leader_of_its_epoch(epoch: int, error: ErrorCode) -> None:
    request = FetchSnapshotRequest(epoch, KEYS[3], AT_5, 0, 40)
    response = answer(take(leader(logs.with_snapshot(LOG, SNAPSHOT)), RequestReceived(3, request, 1)))
    assert isinstance(response, FetchSnapshotResponse)
    assert response.partition_error is error
    assert isinstance(take(leader(), RequestReceived(3, replace(request, partition="x-0"), 1)), Outcome)


POSITIONS = st.tuples(st.integers(0, 8), st.integers(0, 3))


@given(st.sampled_from([AT_3, AT_5, SnapshotId(6, 2)]), POSITIONS)
def test_deleting_the_start_changes_no_answer_beyond_it(id: SnapshotId, position: tuple[int, int]) -> None:
    """A fetcher is told the same of a position, or is sent to the snapshot; never to a wrong place."""
    offset, epoch = position
    kept = logs.with_snapshot(LOG, Snapshot(id, VOTERS, 1))
    short = logs.delete_before(kept, id.end_offset)
    assert (short.end_offset, short.last_epoch) == (LOG.end_offset, LOG.last_epoch)
    if logs.needs_snapshot(short, offset, epoch):
        at_start = (offset, epoch) == (id.end_offset, id.epoch)
        assert not at_start
        return
    assert offset >= id.end_offset
    assert logs.is_valid_position(short, offset, epoch) == logs.is_valid_position(LOG, offset, epoch)
    assert logs.end_offset_for_epoch(short, epoch) == logs.end_offset_for_epoch(LOG, epoch)
    assert logs.batches_from(short, offset, None) == logs.batches_from(LOG, offset, None)


# Loading one.


def part(position: int, length: int, **changes: object) -> FetchSnapshotResponse:
    whole = FetchSnapshotResponse(2, 1, AT_5, 100, position, length, SNAPSHOT, ENDPOINT)
    return replace(whole, **changes)  # type: ignore[arg-type]


def test_a_follower_loads_a_snapshot_in_parts() -> None:
    told = FetchResponse(2, 1, 6, snapshot=AT_5, leader_endpoints=ENDPOINT)
    outcome = sent(follower(Log()), told, part(0, 60), part(60, 40))
    assert of(outcome, LoadSnapshot) == [LoadSnapshot(SNAPSHOT)]
    loaded = outcome.replica
    assert (loaded.log.start_offset, loaded.log.end_offset, loaded.log.last_epoch) == (5, 5, 2)
    assert loaded.high_watermark == 5
    assert (loaded.voters, loaded.voters_offset, loaded.kraft_version) == (VOTERS, 4, 1)
    (fetch,) = of(take(loaded, Poll()), Send)
    assert isinstance(fetch, Send)
    assert isinstance(fetch.request, FetchRequest)
    assert (fetch.request.offset, fetch.request.last_epoch) == (5, 2)


@given(st.integers(1, 50), st.integers(1, 20))
def test_parts_of_any_size_add_up(size: int, at_a_time: int) -> None:
    protocol = replace(KAFKA, fetch_snapshot_max_bytes=at_a_time)
    snapshot = replace(SNAPSHOT, size=size)
    source = leader(logs.with_snapshot(LOG, snapshot))
    loading = follower(Log(), PartialSnapshot(AT_5))
    for _ in range(-(-size // at_a_time)):
        asked = step(protocol, loading, Poll())
        (request,) = of(asked, Send)
        assert isinstance(request, Send)
        assert loading.log == Log()
        response = answer(take(source, RequestReceived(2, request.request, 1)))
        loading = step(protocol, asked.replica, ResponseReceived(1, response)).replica  # type: ignore[arg-type]
    assert loading.log == logs.reset_to(snapshot)


def test_a_snapshot_that_is_there_already_is_not_loaded() -> None:
    log = logs.reset_to(SNAPSHOT)
    outcome = sent(follower(log), FetchResponse(2, 1, 6, snapshot=AT_5, leader_endpoints=ENDPOINT))
    assert isinstance(outcome.replica.role, Follower)
    assert outcome.replica.role.fetching_snapshot is None


def test_a_snapshot_that_is_gone_is_forgotten() -> None:
    loading = follower(Log(), PartialSnapshot(AT_5, 60))
    outcome = sent(loading, part(60, 0, partition_error=ErrorCode.SNAPSHOT_NOT_FOUND))
    assert isinstance(outcome.replica.role, Follower)
    assert outcome.replica.role.fetching_snapshot is None


@pytest.mark.parametrize("wrong", [part(0, 40), part(60, 40, snapshot=AT_3), part(60, 40, content=None)])
def test_a_part_that_was_not_asked_for_ends_the_process(wrong: FetchSnapshotResponse) -> None:
    assert of(sent(follower(Log(), PartialSnapshot(AT_5, 60)), wrong), Fatal)


def test_a_snapshot_older_than_the_log_ends_the_process() -> None:
    assert of(sent(follower(LOG, PartialSnapshot(AT_5, 60)), part(60, 40)), Fatal)


def test_a_part_reaches_only_a_follower() -> None:
    late = sent(follower(Log(), PartialSnapshot(AT_5, 60)))
    lost = replace(late.replica, role=Unattached())
    outcome = take(lost, ResponseReceived(1, replace(part(60, 40), leader=None)))
    assert of(outcome, Fatal)


# On disk.


def test_a_start_knows_what_the_snapshot_says() -> None:
    disk = disks.apply(Disk(QuorumState(2, 1), LOG, 6), StoreSnapshot(SNAPSHOT))
    disk = disks.as_found(disks.apply(disk, DeleteBefore(AT_5)))
    found = start(KAFKA, replica(2), disk).replica
    assert (found.log.start_offset, found.log.end_offset) == (5, 6)
    assert (found.voters, found.voters_offset, found.kraft_version) == (VOTERS, 4, 1)


def test_what_was_lost_below_a_snapshot_comes_from_there() -> None:
    disk = disks.apply(Disk(QuorumState(2, 1), LOG, 3), StoreSnapshot(SNAPSHOT))
    found = disks.as_found(disks.lose_power(disk))
    assert found.log == logs.reset_to(SNAPSHOT)
    assert found.flushed == 5


def test_a_snapshot_takes_the_place_of_the_log() -> None:
    loaded = disks.apply(Disk(None, log_of((Batch(0, 1, (Value(1),)),)), 1), LoadSnapshot(SNAPSHOT))
    assert loaded.log == logs.reset_to(SNAPSHOT)
    assert loaded.flushed == 5


@pytest.mark.parametrize(
    ("begin", "snapshots"),
    [(5, ()), (3, (SNAPSHOT,)), (0, (SNAPSHOT, SNAPSHOT)), (5, (Snapshot(AT_3), SNAPSHOT))],
)
def test_logs_that_cannot_be(begin: int, snapshots: tuple[Snapshot, ...]) -> None:
    with pytest.raises(ValueError, match="snapshot"):
        log_of((), begin, snapshots)
