"""Snapshots as recorded runs show them: their size, and what the state machine is given."""

from __future__ import annotations

from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.stored import last_value
from kraftcheck.evidence.recordings.wire import write_message
from kraftcheck.evidence.recordings.wire_records import snapshot_size
from kraftcheck.reference import log as logs
from kraftcheck.reference.effects import HighWatermark, LoadSnapshot
from kraftcheck.reference.log import Batch, LeaderChange, Snapshot, SnapshotId, Value, log_of
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set

ENTRY = (Endpoint("CONTROLLER", "node-1", 9093),)
FOUR = voter_set(Voter(ReplicaKey(number, f"d{number}"), ENTRY, 0, 1) for number in (1, 2, 3, 5))
SNAPSHOT = Snapshot(SnapshotId(21, 1), FOUR, 1, (17,), 455)


def listener(*, bootstrap: bool = False) -> Listener:
    known = Listener(Replica(ReplicaKey(4, "d4"), VoterSet()), bootstrap=bootstrap, read_at_once=2)
    known.registered = True
    return known


def test_the_size_of_a_snapshot() -> None:
    assert snapshot_size(FOUR, 1, (17,)) == 455
    assert snapshot_size(None, 0, ()) == 61 + 22 + 61 + 14


def test_a_state_machine_is_given_the_snapshot_that_was_loaded() -> None:
    log = logs.reset_to(SNAPSHOT)
    calls = listener().during((LoadSnapshot(SNAPSHOT), HighWatermark(21)), log)
    assert calls == [{"cb": "loadSnapshot", "offset": 21, "epoch": 1, "value": 17}]


def test_after_a_restart_the_snapshot_comes_before_the_records_and_the_checkpoint_not_at_all() -> None:
    log = logs.append(logs.reset_to(SNAPSHOT), Batch(21, 1, (Value(18), Value(19))))
    calls = listener(bootstrap=True).during((HighWatermark(23),), log)
    assert [call["cb"] for call in calls] == ["loadSnapshot", "commit"]


def test_a_state_machine_that_is_ahead_loads_nothing() -> None:
    log = logs.append(logs.reset_to(SNAPSHOT), Batch(21, 1, (Value(18),)))
    ahead = listener()
    ahead.next_offset = 21
    assert [call["cb"] for call in ahead.during((HighWatermark(22),), log)] == ["commit"]


def test_the_last_value_before_an_offset() -> None:
    log = log_of(
        (Batch(0, 1, (LeaderChange(1, (1,), (1,)),)), Batch(1, 1, (Value(7),)), Batch(2, 1, (Value(8),)))
    )
    assert [last_value(log, end) for end in (1, 2, 3)] == [(), (7,), (8,)]
    assert last_value(logs.reset_to(SNAPSHOT), 21) == (17,)


def test_a_fetch_response_with_a_snapshot_id() -> None:
    response = FetchResponse(1, 1, 23, snapshot=SnapshotId(21, 1), log_start_offset=21)
    (answer,) = write_message(response)["responses"]
    (partition,) = answer["partitions"]
    assert partition["snapshotId"] == {"endOffset": 21, "epoch": 1}
    assert partition["logStartOffset"] == 21
