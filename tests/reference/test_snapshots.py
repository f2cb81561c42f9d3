"""Snapshots: created, deleted, fetched in parts, loaded in place of the log, and found at a start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import disk as disks
from kraftcheck.reference import log as logs
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import DeleteBefore, Fatal, HighWatermark, LoadSnapshot, Send, StoreSnapshot
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived, ResponseReceived
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, Log, Snapshot, SnapshotId, Value, Voters, log_of
from kraftcheck.reference.messages import FetchSnapshotRequest, FetchSnapshotResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Follower, PartialSnapshot, QuorumState, Replica, Unattached
from kraftcheck.reference.step import start
from kraftcheck.systems.kraft.text import parse_replica
from tests.examples import examples
from tests.reference.asking import Case, after, ask, check, of_kind, response, table

FOLLOWER = parse_replica("follower id=2/B voters=1/A,2/B,3/C epoch=2 leader=1 fetched")
VOTERS = FOLLOWER.bootstrap_voters
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
#: The same log after the snapshot has taken the place of its beginning.
SHORT = logs.delete_before(logs.with_snapshot(LOG, SNAPSHOT), 5)
LEADER = replace(parse_replica("leader id=1/A voters=1/A,2/B,3/C epoch=2 log=6@2 hw=6"), log=LOG)
WITH_SNAPSHOT = replace(LEADER, log=logs.with_snapshot(LOG, SNAPSHOT))
SHORTENED = replace(LEADER, log=SHORT)
FETCH, FETCH_SNAPSHOT = "fetch-request from=3/C", "fetch-snapshot-request from=3/C max-bytes=40"

CASES = [
    # Creating one.
    Case("what a snapshot stands for is deleted", LEADER,
         "create-snapshot at=5@2 size=100 values=9 delete-prefix",
         "log start=5; end offset=6; snapshot < delete"),
    Case("or not", LEADER, """
        create-snapshot at=3@1 size=50 values=7                  => log start=0
        create-snapshot at=3@1 size=50 values=7                  => nothing
        create-snapshot at=5@2 size=100 values=9 delete-prefix   => snapshots=5@2
    """),
    # But not of an older epoch than the earliest one. Kafka: ReplicatedLog.validateOffsetAndEpoch.
    Case("a snapshot may be older than one that is there", LEADER, """
        create-snapshot at=6@2
        create-snapshot at=5@2  => snapshots=5@2 6@2
        create-snapshot at=3@1  => refused
    """),
    *(
        Case(f"no committed batch ends at {at}", LEADER, f"create-snapshot at={at}", "refused")
        for at in ("7@2", "4@2", "5@1")
    ),
    Case("nothing is committed as far as is known", replace(LEADER, high_watermark=None),
         "create-snapshot at=5@2", "refused"),
    Case("nothing before the log start", SHORTENED, "create-snapshot at=3@1", "nothing"),
    Case("nothing at a negative offset", LEADER, "create-snapshot at=-1@0", "nothing"),
    # Kafka: KafkaRaftLog.createNewSnapshot asks ReplicatedLog.validateOffsetAndEpoch.
    Case("the snapshot at the log start is there already", SHORTENED, "create-snapshot at=5@2", "nothing"),
    *(
        Case(f"no other one can be there {epoch}", SHORTENED, f"create-snapshot at=5@{epoch}", "refused")
        for epoch in (1, 3)
    ),
    # Fetching from a log that starts with one.
    *(
        Case(f"a fetch at {offset} after epoch {epoch} is sent to the snapshot", SHORTENED,
             f"{FETCH} offset={offset} last-epoch={epoch}",
             "answer snapshot=5@2; answer log-start=5; no answer records")
        for offset, epoch in ((0, 0), (2, 1), (4, 2), (5, 1), (6, 1))
    ),
    Case("a fetch beyond it gets records", SHORTENED, f"{FETCH} offset=5 last-epoch=2",
         "answer records=5:1@2; no answer snapshot"),
    *(
        Case(f"FetchSnapshot {words}", WITH_SNAPSHOT, f"{FETCH_SNAPSHOT} {words}", f"answer {answer}")
        for words, answer in (
            ("snapshot=3@1", "error=SNAPSHOT_NOT_FOUND; no answer length"),
            ("snapshot=0@0", "error=SNAPSHOT_NOT_FOUND; no answer length"),
            ("snapshot=5@2 position=-1", "error=POSITION_OUT_OF_RANGE; no answer length"),
            ("snapshot=5@2 position=100", "error=POSITION_OUT_OF_RANGE; no answer length"),
            ("snapshot=5@2 position=99", "length=1; no answer error"),
        )
    ),
]  # fmt: skip


@table(CASES)
def test_snapshots(case: Case) -> None:
    check(case)


def test_a_snapshot_holds_the_control_records_before_its_end() -> None:
    outcome = ask(LEADER, "create-snapshot at=5@2 size=100 values=9 delete-prefix")
    assert outcome.effects == (StoreSnapshot(SNAPSHOT), DeleteBefore(AT_5))
    assert outcome.replica.log == SHORT
    assert outcome.replica.voters == VOTERS
    assert (SHORT.batches, SHORT.last_epoch) == (LOG.batches[3:], 2)
    rebuilt = log_of(SHORT.batches, SHORT.start_offset, SHORT.snapshots)
    assert (rebuilt.batches, rebuilt.epoch_starts) == (SHORT.batches, SHORT.epoch_starts)


POSITIONS = st.tuples(st.integers(0, 8), st.integers(0, 3))


@given(st.sampled_from([AT_3, AT_5, SnapshotId(6, 2)]), POSITIONS)
def test_deleting_the_start_changes_no_answer_beyond_it(id: SnapshotId, position: tuple[int, int]) -> None:
    """A fetcher receives the same answer, or is sent to the snapshot; never to a wrong place."""
    offset, epoch = position
    kept = logs.with_snapshot(LOG, Snapshot(id, VOTERS, 1))
    short = logs.delete_before(kept, id.end_offset)
    assert (short.end_offset, short.last_epoch) == (LOG.end_offset, LOG.last_epoch)
    if logs.needs_snapshot(short, offset, epoch):
        assert (offset, epoch) != (id.end_offset, id.epoch)
        return
    assert offset >= id.end_offset
    assert logs.is_valid_position(short, offset, epoch) == logs.is_valid_position(LOG, offset, epoch)
    assert logs.end_offset_for_epoch(short, epoch) == logs.end_offset_for_epoch(LOG, epoch)
    assert logs.batches_from(short, offset, None) == logs.batches_from(LOG, offset, None)


# Loading one.

EMPTY = Log()
FETCH_ON = "fetch-request from=2/B epoch=2 offset=5 last-epoch=2"
TO_SNAPSHOT = "poll | fetch-response from=1 hw=6 snapshot=5@2 | poll"


def part(position: int, length: int, **changes: object) -> ResponseReceived:
    whole = FetchSnapshotResponse(2, 1, AT_5, 100, position, length, SNAPSHOT, LEADER.endpoints)
    return ResponseReceived(1, replace(whole, **changes))  # type: ignore[arg-type]


def loading(position: int = 60, log: Log = EMPTY) -> Replica:
    """A follower that has so many bytes of the snapshot."""
    role = replace(FOLLOWER.role, fetching_snapshot=PartialSnapshot(AT_5, position))
    return replace(FOLLOWER, log=log, role=role)


def test_a_follower_loads_a_snapshot_in_parts() -> None:
    first = ask(after(FOLLOWER, TO_SNAPSHOT), part(0, 60)).replica
    outcome = ask(after(first, "poll"), part(60, 40))
    assert of_kind(outcome, LoadSnapshot) == [LoadSnapshot(SNAPSHOT)]
    loaded = outcome.replica
    assert (loaded.log, loaded.high_watermark) == (logs.reset_to(SNAPSHOT), 5)
    assert (loaded.log.start_offset, loaded.log.end_offset, loaded.log.last_epoch) == (5, 5, 2)
    assert (loaded.voters, loaded.voters_offset, loaded.kraft_version) == (VOTERS, 4, 1)
    check(Case("it fetches on", loaded, "poll", f"send to 1: {FETCH_ON}"))


def test_a_snapshot_at_the_known_high_watermark_commits_nothing_more() -> None:
    outcome = ask(replace(loading(), high_watermark=5), part(60, 40))
    assert of_kind(outcome, LoadSnapshot) and not of_kind(outcome, HighWatermark)
    assert outcome.replica.high_watermark == 5


def test_a_snapshot_below_the_known_high_watermark_ends_the_process_that_has_loaded_it() -> None:
    outcome = ask(replace(loading(), high_watermark=6), part(60, 40))
    assert of_kind(outcome, LoadSnapshot) == [LoadSnapshot(SNAPSHOT)]
    assert outcome.fatal == Fatal(FatalReason.HIGH_WATERMARK_FALLS, high_watermark=6, offset=5)


def test_nothing_is_truncated_below_the_log_start() -> None:
    follower = replace(FOLLOWER, log=SHORT)
    outcome = ask(follower, "fetch-response from=1 diverging=4@2")
    assert outcome.fatal == Fatal(FatalReason.TRUNCATES_BELOW_HIGH_WATERMARK, high_watermark=5, offset=4)


@examples(40)
@given(st.integers(1, 50), st.integers(1, 20))
def test_parts_of_any_size_add_up(size: int, at_a_time: int) -> None:
    protocol = replace(KAFKA, fetch_snapshot_max_bytes=at_a_time)
    snapshot = replace(SNAPSHOT, size=size)
    source, follower = replace(LEADER, log=logs.with_snapshot(LOG, snapshot)), loading(0)
    for _ in range(-(-size // at_a_time)):
        asked = ask(follower, "poll", protocol)
        (request,) = of_kind(asked, Send)
        assert isinstance(request, Send) and isinstance(request.request, FetchSnapshotRequest)
        assert follower.log == EMPTY
        answer = response(ask(source, RequestReceived(2, request.request, 1)))
        follower = ask(asked.replica, ResponseReceived(1, answer), protocol).replica
    assert follower.log == logs.reset_to(snapshot)


@pytest.mark.parametrize(
    ("follower", "event"),
    [
        (replace(FOLLOWER, log=logs.reset_to(SNAPSHOT)), "fetch-response from=1 hw=6 snapshot=5@2"),
        (loading(), part(60, 0, partition_error=ErrorCode.SNAPSHOT_NOT_FOUND)),
    ],
    ids=["it is there already", "it is gone"],
)
def test_a_snapshot_that_is_not_loaded(follower: Replica, event: str | ResponseReceived) -> None:
    role = ask(follower, event).replica.role
    assert isinstance(role, Follower) and role.fetching_snapshot is None


@pytest.mark.parametrize(
    ("replica", "event"),
    [
        *(
            (loading(), wrong)
            for wrong in (part(0, 40), part(60, 40, snapshot=AT_3), part(60, 40, content=None))
        ),
        (loading(log=LOG), part(60, 40)),  # the log has more than the snapshot
        (replace(loading(), role=Unattached()), part(60, 40, leader=None)),
    ],
)
def test_a_part_that_was_not_asked_for_ends_the_process(replica: Replica, event: ResponseReceived) -> None:
    assert ask(replica, event).fatal is not None


# On disk.


def test_a_start_knows_what_the_snapshot_says() -> None:
    disk = disks.apply(Disk(QuorumState(2, 1), LOG, 6), StoreSnapshot(SNAPSHOT))
    disk = disks.as_found(disks.apply(disk, DeleteBefore(AT_5)))
    found = start(KAFKA, FOLLOWER, disk).replica
    assert (found.log.start_offset, found.log.end_offset) == (5, 6)
    assert (found.voters, found.voters_offset, found.kraft_version) == (VOTERS, 4, 1)


def test_what_was_lost_below_a_snapshot_comes_from_there() -> None:
    disk = disks.apply(Disk(QuorumState(2, 1), LOG, 3), StoreSnapshot(SNAPSHOT))
    found = disks.as_found(disks.lose_power(disk))
    assert (found.log, found.flushed) == (logs.reset_to(SNAPSHOT), 5)


def test_a_snapshot_takes_the_place_of_the_log() -> None:
    loaded = disks.apply(Disk(None, log_of((Batch(0, 1, (Value(1),)),)), 1), LoadSnapshot(SNAPSHOT))
    assert (loaded.log, loaded.flushed) == (logs.reset_to(SNAPSHOT), 5)


@pytest.mark.parametrize(
    ("begin", "snapshots"),
    [(5, ()), (3, (SNAPSHOT,)), (0, (SNAPSHOT, SNAPSHOT)), (5, (Snapshot(AT_3), SNAPSHOT))],
)
def test_logs_that_cannot_be(begin: int, snapshots: tuple[Snapshot, ...]) -> None:
    with pytest.raises(ValueError, match="snapshot"):
        log_of((), begin, snapshots)
