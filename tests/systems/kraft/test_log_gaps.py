"""A log from which records are missing is noticed (P-20)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.log import Batch, Log, Snapshot, SnapshotId, Value, log_of
from kraftcheck.systems.kraft.membership import has_gap


def batches(*offsets: int) -> tuple[Batch, ...]:
    """Batches of two records each."""
    return tuple(Batch(offset, 1, (Value(0), Value(0))) for offset in offsets)


@pytest.mark.parametrize(
    ("log", "gap"),
    [
        (Log(), False),
        (log_of(batches(0, 2, 4)), False),
        (log_of(batches(0, 3)), True),
        (log_of(batches(2)), True),
        (log_of(batches(0, 1)), True),
        (log_of(batches(2), 2, (Snapshot(SnapshotId(2, 1)),)), False),
        (log_of(batches(4), 2, (Snapshot(SnapshotId(2, 1)),)), True),
    ],
)
def test_records_that_are_missing_or_there_twice_are_noticed(log: Log, gap: bool) -> None:
    assert has_gap(log) == gap
