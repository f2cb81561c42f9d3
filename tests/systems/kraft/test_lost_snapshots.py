"""A crash that leaves neither the first records of a log nor a snapshot of them is judged at once."""

from __future__ import annotations

from typing import cast

from kraftcheck.engine.steps import initial_states
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log, Snapshot, SnapshotId
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.membership import lacks_snapshot
from kraftcheck.systems.kraft.node import Ended, Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import find

HELD = Log(start_offset=2, snapshots=(Snapshot(SnapshotId(2, 1)),))


def test_records_that_were_deleted_are_in_a_snapshot() -> None:
    assert not lacks_snapshot(Log())
    assert not lacks_snapshot(HELD)
    assert lacks_snapshot(replace(HELD, snapshots=()))
    assert lacks_snapshot(replace(HELD, snapshots=(Snapshot(SnapshotId(3, 1)),)))


def test_a_process_does_not_start_without_the_snapshot_of_its_deleted_records() -> None:
    system = build(cast(KRaftScenario, find("snapshot-and-power-loss")))
    (begun,) = initial_states(system)
    component = next(n for n, identity in enumerate(system.identities) if identity.id == 2)
    node = cast(Node, begun.locals[component])
    lost = replace(node.disk, log=replace(HELD, snapshots=()), flushed=2)
    (crash,) = system.hosts[component].crash(replace(node, disk=lost))
    after = cast(Node, crash.outcome.local)
    assert after.replica is None and after.died is Ended.UNREADABLE and "no snapshot" in after.end
    assert crash.outcome.violations == ("SnapshotIsCommittedPrefix",)
    found = list(system.hosts[component].crash(node))
    assert found and all(not step.outcome.violations for step in found)
