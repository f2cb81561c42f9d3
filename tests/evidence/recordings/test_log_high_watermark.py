"""A snapshot is held against the high watermark of the log, which outlives the leader's epoch."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.recordings.log_high_watermark import LogHighWatermark
from kraftcheck.reference.effects import CallFailed, StoreSnapshot
from kraftcheck.reference.events import CreateSnapshot, Resign
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica, Resigned
from tests.reference.test_snapshots import LEADER


@pytest.mark.parametrize(("known", "creates"), [(6, True), (5, True), (3, False), (None, False)])
def test_a_resigned_leader_creates_a_snapshot_below_the_high_watermark_that_it_had(
    known: int | None, creates: bool
) -> None:
    process = LogHighWatermark()
    leader = replace(LEADER, high_watermark=known)
    resigned: Replica = replace(
        process.step(KAFKA, leader, Resign(leader.epoch)).replica, role=Resigned(()), high_watermark=None
    )
    outcome = process.step(KAFKA, resigned, CreateSnapshot(SnapshotId(5, 2), (9,), 100, False))
    made, refused = (
        any(isinstance(effect, kind) for effect in outcome.effects) for kind in (StoreSnapshot, CallFailed)
    )
    assert (made, refused) == (creates, not creates)
    assert outcome.replica.high_watermark is None
    assert [each.id for each in outcome.replica.log.snapshots] == [SnapshotId(5, 2)] * creates
