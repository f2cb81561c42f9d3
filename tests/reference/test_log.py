"""The log against a naive model: a list with the epoch of each record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.reference import log as logs
from kraftcheck.reference.disk import Disk, apply, as_found, lose_power
from kraftcheck.reference.effects import AppendBatch, Flush, HighWatermark, Persist, Truncate
from kraftcheck.reference.log import (
    Batch,
    EpochEnd,
    EpochStart,
    KRaftVersion,
    Log,
    Snapshot,
    SnapshotId,
    Value,
    Voters,
)
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import VoterSet, static_voters
from kraftcheck.systems.kraft.text import parse_replica

EMPTY = Log()
#: Epochs of the records, one batch per inner list: what a history of leaders may leave behind.
Histories = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=5)


def build(history: list[tuple[int, int]], log: Log = EMPTY, epoch: int = 1) -> Log:
    for step, size in history:
        epoch += step
        values = tuple(Value(log.end_offset + n) for n in range(size))
        log = logs.append(log, Batch(log.end_offset, epoch, values))
    return log


def epochs_of(log: Log) -> list[int]:
    """The naive model: the epoch of the record at each offset."""
    return [batch.epoch for batch in log.batches for _ in batch.records]


LOGS = Histories.map(build)
ANY_EPOCH = st.integers(0, 14)
ANY_OFFSET = st.integers(0, 18)


def naive_end_for_epoch(epochs: list[int], epoch: int) -> EpochEnd:
    smaller = [known for known in epochs if known <= epoch]
    largest = max(smaller, default=epoch if epochs else 0)
    beyond = [offset for offset, known in enumerate(epochs) if known > epoch]
    end = min(beyond, default=len(epochs))
    return EpochEnd(largest, end)


@given(LOGS, ANY_OFFSET, ANY_EPOCH, st.none() | st.integers(1, 3))
def test_the_log_answers_as_the_model(log: Log, offset: int, epoch: int, limit: int | None) -> None:
    epochs = epochs_of(log)
    last = epochs[-1] if epochs else 0
    assert (log.end_offset, log.last_epoch) == (len(epochs), last)
    firsts = {each: epochs.index(each) for each in epochs}
    assert log.epoch_starts == tuple(EpochStart(each, first) for each, first in firsts.items())
    ends = naive_end_for_epoch(epochs, epoch)
    assert logs.end_offset_for_epoch(log, epoch) == ends
    # A position is valid where a prefix could end.
    possible = offset == 0 or ((epoch == 0 or epoch in epochs) and offset <= ends.offset)
    assert logs.is_valid_position(log, offset, epoch) == possible
    # Epochs are compared first.
    newer = epoch > last or (epoch == last and offset >= log.end_offset)
    assert logs.is_up_to_date(epoch, offset, log) == newer
    found = logs.batches_from(log, offset, limit)
    assert found == tuple(batch for batch in log.batches if batch.end_offset > offset)[:limit]
    # Truncation keeps whole batches.
    cut = logs.truncate(log, offset)
    assert cut.batches == tuple(batch for batch in log.batches if batch.end_offset <= offset)
    assert all(start.offset < offset for start in cut.epoch_starts)


@given(LOGS, st.data())
def test_truncation_at_a_batch_is_as_if_the_rest_had_never_been(log: Log, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(log.batches)))
    offset = log.batches[count].base_offset if count < len(log.batches) else log.end_offset
    assert logs.truncate(log, offset) == logs.log_of(log.batches[:count])


def branch(log: Log, history: list[tuple[int, int]], parity: int) -> Log:
    """``log`` continued by leaders of its own: no epoch of one branch is an epoch of the other."""
    return build([(2 * step, size) for step, size in history], log, 2 * log.last_epoch + parity)


@given(Histories, Histories, Histories)
def test_reconciliation_ends_at_what_both_logs_share(
    shared: list[tuple[int, int]], own: list[tuple[int, int]], leaders: list[tuple[int, int]]
) -> None:
    """Fetch, be told where the logs diverge, truncate, and so on, until the follower's log is a prefix."""
    common = build(shared)
    follower, leader = branch(common, own, 1), branch(common, leaders, 2)
    for _ in range(len(follower.batches) + 2):
        if logs.is_valid_position(leader, follower.end_offset, follower.last_epoch):
            break
        diverging = logs.end_offset_for_epoch(leader, follower.last_epoch)
        offset = logs.truncation_offset(follower, diverging)
        before = follower.end_offset
        follower = logs.truncate(follower, offset)
        assert follower.end_offset < before
    assert logs.is_valid_position(leader, follower.end_offset, follower.last_epoch)
    assert follower.batches == common.batches if own or leaders else follower == leader


@pytest.mark.parametrize(
    ("leader_end", "expected"),
    [
        (EpochEnd(0, 1), 1),  # the leader knows no such epoch: as far as it says
        (EpochEnd(0, 9), 5),
        (EpochEnd(3, 4), 4),  # both know the epoch: the shorter end
        (EpochEnd(3, 9), 5),
        (EpochEnd(2, 9), 2),  # only the leader knows it: where the one before ends here
    ],
)
def test_truncation_offsets(leader_end: EpochEnd, expected: int) -> None:
    assert logs.truncation_offset(parse_replica("unattached log=2@1,3@3").log, leader_end) == expected


def test_an_epoch_may_begin_before_its_first_record() -> None:
    log = logs.start_epoch(build([(0, 2)]), 5)
    assert log.last_epoch == 5
    assert log.end_offset == 2
    assert logs.end_offset_for_epoch(log, 5) == EpochEnd(5, 2)
    assert logs.append(log, Batch(2, 5, (Value(1),))).epoch_starts == log.epoch_starts
    assert logs.truncate(log, 2).last_epoch == 1


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_a_position_before_all_records_diverges_at_the_snapshot(asked: int) -> None:
    """Kafka: KafkaRaftLog.endOffsetForEpoch names the oldest snapshot where the log begins with its end."""
    known = logs.with_snapshot(build([(0, 4), (2, 2)]), Snapshot(SnapshotId(4, 1), None, 0))
    assert logs.end_offset_for_epoch(logs.delete_before(known, 4), asked) == EpochEnd(1, 4)
    assert logs.end_offset_for_epoch(known, 0) == EpochEnd(0, 0)


def test_the_bootstrap_checkpoint_is_the_earliest_snapshot_while_the_log_starts_at_0() -> None:
    """Kafka: KafkaRaftLog.earliestSnapshotId finds 0-0 until deleteBeforeSnapshot removes it."""
    empty = logs.start_epoch(build([]), 1)
    assert logs.end_offset_for_epoch(empty, 1) == EpochEnd(1, 0)
    assert logs.end_offset_for_epoch(empty, 1, checkpoint=True) == EpochEnd(0, 0)
    later = build([(0, 2), (1, 2)])
    assert logs.end_offset_for_epoch(later, 1, checkpoint=True) == logs.end_offset_for_epoch(later, 1)
    kept = logs.with_snapshot(later, Snapshot(SnapshotId(4, 2), None, 0))
    assert logs.needs_snapshot(kept, 3, 1)
    assert not logs.needs_snapshot(kept, 3, 1, checkpoint=True)
    assert logs.needs_snapshot(logs.delete_before(kept, 4), 3, 1, checkpoint=True)


def test_an_epoch_without_records_is_forgotten_when_another_begins_at_its_offset() -> None:
    """Kafka: LeaderEpochFileCache.assign removes every entry that starts at or after the new one."""
    log = logs.start_epoch(build([(0, 2)]), 5)
    appended = logs.append(log, Batch(2, 6, (Value(1),)))
    assert appended.epoch_starts == (EpochStart(1, 0), EpochStart(6, 2))
    assert logs.end_offset_for_epoch(appended, 5) == EpochEnd(1, 2)


def test_an_epoch_with_records_began_with_the_first_of_them() -> None:
    """A replica that leads an epoch of its own log: the only voter, by an own vote (finding)."""
    log = build([(0, 2), (2, 3)])
    assert logs.start_epoch(log, 3) == log


def test_control_records_take_effect_and_are_taken_back() -> None:
    one, two = static_voters([1]), static_voters([1, 2])
    log = logs.append(Log(), Batch(0, 1, (KRaftVersion(1), Voters(one))))
    log = logs.append(log, Batch(2, 1, (Voters(two),)))
    assert log.voter_sets == ((1, one), (2, two))
    assert log.kraft_versions == ((0, 1),)
    assert logs.truncate(log, 2).voter_sets == ((1, one),)
    assert logs.truncate(log, 0).kraft_versions == ()


ONE, TWO, THREE = static_voters([1]), static_voters([1, 2]), static_voters([1, 2, 3])


def truncated(read_again: bool = False) -> Log:
    """A log that has been truncated from 5 records to 2, with the voter set ``ONE`` at offset 1."""
    log = logs.append(Log(), Batch(0, 1, (KRaftVersion(1), Voters(ONE))))
    log = logs.append(log, Batch(2, 1, (Value(0), Voters(TWO), Value(1))))
    return logs.truncate(log, 2, read_again=read_again)


@pytest.mark.parametrize(
    ("sizes", "known"),
    [
        ((1,), [ONE]),
        ((2,), [ONE]),
        ((3,), [ONE]),  # the last batch ends where records have been read
        ((1, 2, 1), [ONE, THREE]),
        ((1, 1, 2), [ONE, THREE]),  # a batch that reaches further is read from its first record on
        ((4,), [ONE, THREE]),
    ],
)
def test_control_records_are_read_once_per_offset(sizes: tuple[int, ...], known: list[VoterSet]) -> None:
    """VSET-14: what is appended below the old end is passed over, unless its batch reaches beyond it."""
    log, again = truncated(), truncated(read_again=True)
    assert (log.read_to, again.read_to) == (5, 0)
    for size in sizes:
        batch = Batch(log.end_offset, 2, (*(Value(0),) * (size - 1), Voters(THREE)))
        log, again = logs.append(log, batch), logs.append(again, batch)
    assert [voters for _, voters in log.voter_sets] == known
    assert [voters for _, voters in again.voter_sets] == [ONE, *(THREE,) * len(sizes)]
    assert log.read_to == (5 if log.end_offset < 5 else 0)


def test_a_second_truncation_keeps_how_far_was_read() -> None:
    log = logs.append(truncated(), Batch(2, 2, (Value(0),)))
    assert logs.truncate(log, 2, read_again=False).read_to == 5
    assert logs.truncate(log, 2).read_to == 0
    assert logs.truncate(build([(0, 2)]), 2, read_again=False).read_to == 0


@pytest.mark.parametrize(("end", "stale", "read_to"), [(3, True, 5), (5, True, 0), (6, False, 0)])
def test_a_snapshot_below_what_was_read_is_not_read(end: int, stale: bool, read_to: int) -> None:
    """VSET-14: the voter sets of the records that are gone stay, for a log truncated before or not."""
    snapshot = Snapshot(SnapshotId(end, 2), THREE, 1)
    longer = logs.append(truncated(read_again=True), Batch(2, 1, (Value(0), Value(1), Value(2))))
    for log in (truncated(), longer):
        loaded = logs.loaded(log, snapshot, read_again=False)
        assert loaded.voter_sets == (log.voter_sets if stale else ((end - 1, THREE),))
        assert (loaded.read_to, loaded.start_offset, loaded.batches) == (read_to, end, ())
        assert logs.loaded(log, snapshot, read_again=True) == logs.reset_to(snapshot)


def with_sets() -> Log:
    """A log with the voter sets ONE at offset 0 and THREE at offset 2, each in a batch of its own."""
    return logs.log_of((Batch(0, 1, (Voters(ONE),)), Batch(1, 1, (Value(0),)), Batch(2, 1, (Voters(THREE),))))


@pytest.mark.parametrize("end", range(4))
def test_a_set_at_the_end_of_a_snapshot_displaces_those_before(end: int) -> None:
    """VSET-15, TreeMapLogHistory.truncateOldEntries: only where the harm is done is anything dropped."""
    log = logs.forget_before(with_sets(), end)
    assert log.voters_forgotten == (end in (0, 2))
    assert log.voter_sets == (((2, THREE),) if end == 2 else with_sets().voter_sets)
    shorter = logs.truncate(log, 2)
    assert shorter.voter_sets == (() if end == 2 else ((0, ONE),))
    assert shorter.voters_forgotten == log.voters_forgotten
    assert logs.append(shorter, Batch(2, 2, (Value(1),))).voters_forgotten == log.voters_forgotten


def test_a_process_begins_with_what_its_newest_snapshot_says() -> None:
    """Without voters at kraft.version 1 there are none, even if a record before its end has some."""
    batches = with_sets().batches
    for snapshot in (Snapshot(SnapshotId(2, 1), None, 1), Snapshot(SnapshotId(2, 1), None, 0)):
        log = logs.log_of(batches[:2], 0, (snapshot,))
        assert (log.voter_sets, log.read_to) == ((), 0)
        assert log.voters_forgotten == (snapshot.kraft_version == 1)
    assert logs.log_of(batches, 0, (Snapshot(SnapshotId(2, 1), None, 1),)).voter_sets == ((2, THREE),)


@pytest.mark.parametrize(
    "batches",
    [
        (Batch(0, 1, (Value(0),)), Batch(0, 1, (Value(0),))),
        (Batch(0, 1, ()),),
        (Batch(0, 2, (Value(0),)), Batch(1, 1, (Value(0),))),
    ],
)
def test_what_is_no_log(batches: tuple[Batch, ...]) -> None:
    with pytest.raises(ValueError, match="batch"):
        logs.log_of(batches)


# The disk.


@given(Histories, st.integers(0, 20), st.integers(0, 20))
def test_power_loss_takes_what_was_not_flushed(
    history: list[tuple[int, int]], first: int, second: int
) -> None:
    disk = Disk()
    log = build(history)
    for batch in log.batches:
        disk = apply(disk, AppendBatch(batch))
        if batch.end_offset <= first:
            disk = apply(disk, Flush(batch.end_offset))
    assert disk.log == log
    flushed = max((batch.end_offset for batch in log.batches if batch.end_offset <= first), default=0)
    assert disk.flushed == flushed
    assert lose_power(disk).log.end_offset == flushed
    assert apply(disk, Truncate(second)).flushed <= min(flushed, max(second, 0))
    assert as_found(disk) == Disk(disk.quorum_state, log, log.end_offset)


def test_what_an_effect_does_to_the_disk() -> None:
    assert apply(Disk(), Persist(QuorumState(3))).quorum_state == QuorumState(3)
    assert apply(Disk(), HighWatermark(3)) == Disk()
    assert apply(Disk(), Flush(9)).flushed == 0
    opened = Disk(log=logs.start_epoch(Log(), 3))
    assert as_found(opened).log.last_epoch == 0
