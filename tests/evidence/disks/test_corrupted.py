"""Corrupted bytes anywhere on a disk: no exception, and no record that was not written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kraftcheck.evidence.disks.disk import StoredDisk, read_disk
from kraftcheck.evidence.disks.observations import observations
from kraftcheck.evidence.disks.quorum import Quorum
from tests.evidence.disks.test_disks import SNAPSHOT
from tests.laboratory.disks.written import BEGIN, DATA, Batch, Disk, Leader, VoterSet, write_disk

DISK = Disk(
    1,
    log=(BEGIN, DATA, Batch(1, (VoterSet((1, 2)),)), Batch(2, (Leader(1),)), Batch(2)),
    state=(2, 1, 1),
    snapshots={(4, 1): SNAPSHOT},
)


def records(disk: StoredDisk) -> set[tuple[int, int, int, tuple[str, ...]]]:
    batches = [*disk.batches, *(batch for each in disk.snapshots for batch in each.batches)]
    return {(each.base, each.last, each.epoch, each.kinds) for each in batches}


def corrupted(folder: Path, count: int) -> None:
    """Change one byte, ``count`` times, and read."""
    place = write_disk(folder, DISK)
    written = read_disk(place, decode=True)
    assert not any(each.is_problem for each in observations(Quorum((written,))))
    chosen = random.Random(count)
    files = [each for each in place.rglob("*") if each.is_file()]
    for _ in range(count):
        file = chosen.choice(files)
        content = file.read_bytes()
        at = chosen.randrange(len(content))
        file.write_bytes(content[:at] + bytes([content[at] ^ chosen.randrange(1, 256)]) + content[at + 1 :])
        found = read_disk(place, decode=True)
        problems = [each for each in observations(Quorum((found,))) if each.is_problem]
        assert records(found) <= records(written) or problems, (file, at)
        file.write_bytes(content)


@pytest.mark.slow
def test_one_wrong_byte(tmp_path: Path) -> None:
    corrupted(tmp_path, 400)


@pytest.mark.nightly
def test_many_wrong_bytes(tmp_path: Path) -> None:
    corrupted(tmp_path, 10_000)
