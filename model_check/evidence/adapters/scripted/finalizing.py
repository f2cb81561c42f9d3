"""Finalizing kraft.version 1: from static voters to voter sets in the log (KIP-853, Upgrade)."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.adapters.scripted.setting import (
    EPOCH,
    KEYS,
    STATIC,
    Scripts,
    candidate,
    changing,
    deposed_and_elected,
    elected,
    endpoints,
    fetch,
    in_epoch,
    leads,
)
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.events import (
    Append,
    CreateSnapshot,
    Poll,
    RequestReceived,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import UpdateRaftVoterRequest
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey

_UPGRADE = UpgradeKRaftVersion(EPOCH, 1)


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """The sequences."""
    made = Scripts("kraft.version", protocol)
    leader = replace(STATIC, key=KEYS[1], max_kraft_version=1)
    led = (*elected(2), fetch(ReplicaKey(2), 1))
    known = (*led, _report(2), _report(3))
    disk = candidate(leader)
    committed = (Poll(), fetch(KEYS[2], 3), fetch(KEYS[3], 3))
    yield made.sequence("1", leader, disk, *known, _UPGRADE, _UPGRADE, *committed, _UPGRADE)
    yield made.sequence("1, behind records that wait", leader, disk, *known, Append(EPOCH, (7,)), _UPGRADE,
        Append(EPOCH, (8,)), Poll(), Poll((Timer.LINGER,)))  # fmt: skip
    yield made.sequence("1, and the leader dies", leader, disk, *known, _UPGRADE, Poll(), Crash(), Start(),
        Poll(), Poll((Timer.ELECTION,)), Poll())  # fmt: skip
    yield made.sequence("a voter has said nothing", leader, disk, *led, _report(2), _UPGRADE)
    yield made.sequence("a voter is too old", leader, disk, *led, _report(2), _report(3, largest=0), _UPGRADE,
        _report(3), _UPGRADE, Poll())  # fmt: skip
    yield made.sequence("what voters said in another epoch", leader, disk, *known,
        *deposed_and_elected(EPOCH, 2), replace(_UPGRADE, epoch=EPOCH + 2))  # fmt: skip
    yield made.sequence("reports before anything is committed", leader, disk, *elected(2), _report(2))
    yield made.sequence("the report of a stranger", leader, disk, *led, _report(4), _report(2, EPOCH + 1))
    without = replace(STATIC, max_kraft_version=1)
    yield made.sequence("no directory id", without, candidate(without), *known, _UPGRADE)
    yield made.sequence("of another epoch", leader, disk, *known, replace(_UPGRADE, epoch=EPOCH - 1),
        replace(_UPGRADE, version=0))  # fmt: skip
    snapshots = (
        CreateSnapshot(SnapshotId(1, EPOCH)),
        CreateSnapshot(SnapshotId(3, EPOCH), delete_prefix=True),
    )
    yield made.sequence("1, and snapshots before and after", leader, disk, *known, _UPGRADE, *committed,
        *snapshots, Crash(), Start(), Poll())  # fmt: skip
    yield made.sequence("asked of a Follower", leader, in_epoch(), Poll(), leads(2, EPOCH), _UPGRADE)
    yield from _back(made, changing(1, 2, 3))


def _back(made: Scripts, leader: Replica) -> Iterator[DriveSequence]:
    back, further = replace(_UPGRADE, version=0), replace(_UPGRADE, version=2)
    led = (*elected(2), fetch(KEYS[2], 3))
    yield made.sequence("back to 0", leader, candidate(leader), *led, back, _UPGRADE, further, Poll())


def _report(node: int, epoch: int = EPOCH, *, largest: int = 1) -> RequestReceived:
    request = UpdateRaftVoterRequest(epoch, KEYS[node], endpoints(node), 0, largest)
    return RequestReceived(node, request)
