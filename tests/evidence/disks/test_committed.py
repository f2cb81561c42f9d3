"""Nothing is called committed that the model has not committed, or would later replace."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.engine.system import GlobalState, System
from kraftcheck.evidence.disks import disk as disks
from kraftcheck.evidence.disks import records
from kraftcheck.evidence.disks.batches import Batch
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.disks.state_files import MetaProperties, QuorumState
from kraftcheck.reference import log as logs
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.scenario import find

#: Elections, crashes, voter changes, replaced nodes, snapshots: no power is lost in them.
SCENARIOS = [
    "parity-three-voters",
    "replace-node",
    "tail-truncated-with-change",
    "removed-voter-wins",
    "snapshot-leader-changes",
    "replace-disk",
]


def key(found: ReplicaKey) -> records.VoterKey:
    return records.VoterKey(found.id, found.directory)


def voters(found: VoterSet) -> records.Voters:
    return records.Voters(tuple(records.Voter(key(each.key), (), (0, 1)) for each in found.voters))


def control(record: logs.Record) -> records.ControlRecord:
    match record:
        case logs.LeaderChange():
            return records.LeaderChange(record.leader, record.voters, record.granting_voters)
        case logs.Voters():
            return records.Voters(voters(record.voters).voters)
        case logs.KRaftVersion():
            return records.KRaftVersion(record.version)
        case _:
            return records.UnknownControl(0)


def batch(found: logs.Batch) -> Batch:
    """As it would be read; the content stands for its CRC.

    Recordings do not show which voters granted, so followers may have others in the record than their leader.
    """
    written = () if not found.is_control else tuple(map(control, found.records))
    crc = content_of(found)
    return Batch(0, 0, found.base_offset, found.end_offset - 1, found.epoch, crc, len(found.records), written)


def content_of(found: logs.Batch) -> int:
    return hash(
        tuple(each if not isinstance(each, logs.LeaderChange) else each.leader for each in found.records)
    )


def stored(
    own: ReplicaKey, disk: Disk, snapshots: list[disks.StoredSnapshot], configured: tuple[int, ...]
) -> disks.StoredDisk:
    """The disk as the files would show it."""
    state = disk.quorum_state
    for each in disk.log.snapshots:
        content = Batch(0, 0, 0, 0, 0, 0, 0, snapshot_records(each))
        snapshots = [
            *snapshots,
            disks.StoredSnapshot("", each.id.end_offset, each.id.epoch, 0, (content,), True),
        ]
    vote = None if state is None or state.voted is None else key(state.voted)
    return disks.StoredDisk(
        folder=Path(str(own.id)),
        meta=MetaProperties(1, None, own.id, own.directory),
        state=None if state is None else QuorumState(1, state.epoch, state.leader, vote, configured),
        start=disk.log.start_offset,
        batches=tuple(map(batch, disk.log.batches)),
        behind=(),
        snapshots=tuple(snapshots),
        segments=(),
        ignored=(),
        damage=(),
    )


def snapshot_records(snapshot: logs.Snapshot) -> tuple[records.ControlRecord, ...]:
    if snapshot.voters is None:
        return ()
    return records.KRaftVersion(snapshot.kraft_version), voters(snapshot.voters)


def quorum(state: GlobalState, origin: VoterSet, version: int, present: list[int]) -> Quorum:
    """The disks of the nodes that are ``present``."""
    snapshots, configured = formatted(origin, version)
    found = []
    for at, node in enumerate(state.locals):
        if isinstance(node, Node) and at in present:
            found.append(stored(node.key(at + 1), node.disk, snapshots, configured))
    return Quorum(tuple(found))


def formatted(origin: VoterSet, version: int) -> tuple[list[disks.StoredSnapshot], tuple[int, ...]]:
    """The snapshot of a formatted disk, or the configured voters."""
    if version == 0:
        return [], origin.ids
    content = Batch(0, 0, 0, 0, 0, 0, 0, (records.KRaftVersion(version), voters(origin)))
    return [disks.StoredSnapshot("", 0, 0, 0, (content,), True)], ()


def prefix(found: Quorum) -> list[tuple[int, int, int]]:
    """The batches that are called committed, as far as they are on a disk."""
    claimed = found.committed
    batches = claimed.disk.batches if claimed.disk is not None else ()
    return [(each.base, each.epoch, each.crc) for each in batches if each.end <= claimed.below]


def walk(system: System, random: Random, depth: int) -> int:
    """Take a walk and compare what is called committed along it; how often that was anything."""
    state = random.choice(initial_states(system))
    known: dict[int, tuple[int, int]] = {}
    claims = 0
    for _ in range(depth):
        history = state.history
        assert isinstance(history, History)
        for each in history.committed:
            content = (each.epoch, content_of(each))
            assert known.setdefault(each.base_offset, content) == content
        nodes = [at for at, node in enumerate(state.locals) if isinstance(node, Node)]
        ids = [at for at in nodes if random.random() < 0.8]
        origin, version = origin_of(state)
        for base, epoch, crc in prefix(quorum(state, origin, version, ids)):
            assert known.setdefault(base, (epoch, crc)) == (epoch, crc), state
            claims += 1
        offered = [each for each in steps(system, state) if each.cut is None and not each.violations]
        if not offered:
            break
        state = random.choice(offered).target
    return claims


def origin_of(state: GlobalState) -> tuple[VoterSet, int]:
    node = next(each for each in state.locals if isinstance(each, Node) and each.replica is not None)
    assert node.replica is not None
    return node.replica.bootstrap_voters, node.replica.bootstrap_kraft_version


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_called_committed_is(name: str) -> None:
    scenario = find(name)
    system = kind_of(scenario).build(scenario)
    random = Random(name)
    assert sum(walk(system, random, 80) for _ in range(8)) > 5
