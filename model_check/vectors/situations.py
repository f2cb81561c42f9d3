"""Steps beyond what scenarios come to: decision tables, and messages and calls that no sound peer makes.

Malformed input is made from the declared fields of the messages: of each request one that is sound, and of
that every one which differs in the epoch and in one field more; of each response every error code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, get_args

from kraftcheck.query import replica_tables as tables
from kraftcheck.query.ask import expecting_answer
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.reference import events, messages
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.protocol import DOCUMENTS, KAFKA, Discovery, Protocol, VoterChanges
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import start, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, VoterSet, static_voters
from kraftcheck.systems.kraft.possible import problems
from kraftcheck.vectors.asked import Asked

OURS, THEIRS = "this-cluster", "another-cluster"
OTHER_PARTITION = "another-topic-0"
_HERE = (Endpoint("CONTROLLER", "node-2", 9093),)


def protocols() -> dict[str, Protocol]:
    """Kafka, the documents, and Kafka with every single switch at each of its other values, those of earlier
    releases among them.
    """
    found = {"kafka": KAFKA, **DOCUMENTS}
    for name in field_types(Protocol):
        value = getattr(KAFKA, name)
        others = [*type(value)] if isinstance(value, Enum) else [False] if value is True else []
        for other in others:
            if other != value:
                found[f"{name} {getattr(other, 'value', other)}"] = replace(KAFKA, **{name: other})
    return found


def of_tables(protocol: Protocol) -> Iterator[Asked]:
    """Every situation of the decision tables."""
    for replica, happened in _situations():
        run = start if isinstance(happened, Disk) else step
        yield Asked(protocol, replica, happened, run(protocol, replica, happened))  # type: ignore[arg-type]


@cache
def _situations() -> tuple[tuple[Replica, events.Event | Disk], ...]:
    """Who it happens to and what, whatever the protocol; of a start, the disk."""
    found: list[tuple[Replica, events.Event | Disk]] = []
    for table in TABLES.values():
        for cell in itertools.product(*table.columns.values()):
            situation = table.situation(dict(zip(table.columns, cell, strict=True)))
            if situation is None:
                continue
            replica, event = situation
            if isinstance(event, str):
                found.append((replica, Disk(replica.quorum_state, replica.log, replica.log.end_offset)))
            elif not any(problems(replica)):
                found.append((expecting_answer(replica, event), event))
    return tuple(found)


def malformed(protocol: Protocol) -> Iterator[Asked]:
    """What a replica in each role does about input that no sound peer or caller gives."""
    for replica in _replicas():
        for event in itertools.chain(_requests(replica), _responses(replica), _local(replica)):
            if not _exists(protocol, event):
                continue
            yield Asked(protocol, replica, event, step(protocol, replica, event))
            if isinstance(event, events.ResponseReceived):
                awaiting = expecting_answer(replica, event)
                yield Asked(protocol, awaiting, event, step(protocol, awaiting, event))


def _exists(protocol: Protocol, event: events.Event) -> bool:
    """Whether what arrives is a message of this protocol: KIP-595 has two that were never released."""
    if isinstance(event, events.RequestReceived):
        name = type(event.request).__name__
    elif isinstance(event, events.ResponseReceived):
        name = type(event.response).__name__
    else:
        return True
    if name.startswith("FindQuorum"):
        return protocol.discovery is Discovery.FIND_QUORUM
    by_alteration = protocol.voter_changes is VoterChanges.ALTER_QUORUM
    if name.startswith("AlterQuorum"):
        return by_alteration
    return not (by_alteration and name.startswith(("AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter")))


def _replicas() -> Iterator[Replica]:
    """A replica in each role, of a cluster with an id, with static and with dynamic voters; an observer;
    one that was told of no voters.
    """
    dynamic = "voters=1/A,2/B,3/C kraft=1"
    found = [tables.replica_in(role, leader="none") for role in tables.ROLES]
    found += [tables.replica_in(role, leader="3") for role in tables.ROLES]
    found += [tables.replica_in(role, leader="1") for role in ("Leader", "Resigned")]
    found.append(tables.replica_in("Follower", "fetched", leader="3"))
    found.append(tables.read("unattached id=1 epoch=5 voters=2,3,4 log=2@2,2@3"))
    for words in (
        f"leader id=1/A {dynamic} epoch=5 log=2@2,1@3,1@5 hw=4",
        f"follower id=1/A {dynamic} epoch=5 log=2@2,2@3 leader=3 fetched",
        f"candidate id=1/A {dynamic} epoch=5 log=2@2,2@3",
        "follower id=1/A voters=2/B,3/C kraft=1 epoch=5 log=2@2,2@3 leader=3",
    ):
        found.append(tables.read(words))
    found.append(Replica(ReplicaKey(1), VoterSet(), QuorumState(5)))
    for replica in found:
        if replica is not None and not any(problems(replica)):
            yield replace(replica, cluster_id=OURS)


def _sound(replica: Replica) -> Iterator[messages.Request]:
    """One request of each kind, as a voter or an administrator makes it."""
    epoch, log, sender = replica.epoch, replica.log, ReplicaKey(2, replica.key.directory and "B")
    key = replica.key
    yield messages.VoteRequest(epoch, sender, key, log.last_epoch, log.end_offset, False, OURS)
    yield messages.VoteRequest(epoch, sender, key, log.last_epoch, log.end_offset, True, OURS)
    yield messages.BeginQuorumEpochRequest(epoch, 2, key, _HERE, OURS)
    yield messages.EndQuorumEpochRequest(epoch, 2, (ReplicaKey(3), key), _HERE, OURS)
    yield messages.FetchRequest(epoch, sender, log.end_offset, log.last_epoch, None, 0, OURS)
    yield messages.FetchSnapshotRequest(epoch, sender, SnapshotId(2, 2), 0, 100, OURS)
    yield messages.AddRaftVoterRequest(ReplicaKey(4, "D"), _HERE, cluster_id=OURS)
    yield messages.RemoveRaftVoterRequest(sender, OURS)
    yield messages.UpdateRaftVoterRequest(epoch, sender, _HERE, 0, 1, OURS)
    yield messages.DescribeQuorumRequest()
    yield messages.AlterQuorumRequest((1, 2, 4), OURS)
    yield messages.FindQuorumRequest(sender, _HERE)
    yield messages.ApiVersionsRequest()


def _requests(replica: Replica) -> Iterator[events.Event]:
    for request in _sound(replica):
        epochs = [-1, replica.epoch - 1, replica.epoch, replica.epoch + 1]
        for epoch in epochs if hasattr(request, "epoch") else [None]:
            sent = request if epoch is None else replace(request, epoch=epoch)
            yield events.RequestReceived(2, sent)
            for name, kind in field_types(type(request)).items():
                if name == "epoch":
                    continue
                for value in _others(replica, name, getattr(request, name)):
                    yield events.RequestReceived(2, replace(sent, **{name: value}))
                if NoneType in get_args(kind):
                    yield events.RequestReceived(2, replace(sent, **{name: None}))


def _others(replica: Replica, name: str, value: Any) -> Iterator[Any]:
    """Values that a field may have instead, unsound ones among them."""
    if name == "cluster_id":
        yield THEIRS
    elif name == "partition":
        yield OTHER_PARTITION
    elif isinstance(value, ReplicaKey):
        yield from (ReplicaKey(-1), ReplicaKey(9), ReplicaKey(9, "X"), ReplicaKey(3, "X"), replica.key)
        yield from (ReplicaKey(value.id), ReplicaKey(value.id, "X"))
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (-1, 0, value - 1, value + 1, value + 9)
    elif isinstance(value, SnapshotId):
        yield from (SnapshotId(-1, -1), SnapshotId(0, 0), SnapshotId(9, 9))
    elif isinstance(value, tuple):
        yield ()
        if name == "endpoints":
            yield (Endpoint("OTHER", "node-2", 9093),)
        elif name == "target":
            yield from ((1,), (9,), (1, 1))


def _responses(replica: Replica) -> Iterator[events.Event]:
    """Each error code in each place; what there is no error about, of each epoch and of many leaders."""
    for kind in get_args(messages.Response):
        fields = field_types(kind)
        epoch = {"epoch": replica.epoch} if "epoch" in fields else {}
        if "voters" in fields and epoch:
            for ids in ((1, 2, 3), (2, 3)):
                yield events.ResponseReceived(3, kind(**epoch, voters=static_voters(ids)))
        for name in ("error", "partition_error"):
            for code in ErrorCode if name in fields else ():
                yield events.ResponseReceived(3, kind(**epoch, **{name: code}))
        codes = (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH) if "partition_error" in fields else ()
        epochs = (-1, replica.epoch - 1, replica.epoch, replica.epoch + 1)
        for code, of, leader in itertools.product(codes, epochs, (None, 1, 3, 9)):
            if epoch and "leader" in fields:
                yield events.ResponseReceived(3, kind(epoch=of, leader=leader, partition_error=code))


def _local(replica: Replica) -> Iterator[events.Event]:
    for epoch in (replica.epoch - 1, replica.epoch, replica.epoch + 1):
        yield events.Append(epoch, (7, 8))
        yield events.Resign(epoch)
        yield from (events.UpgradeKRaftVersion(epoch, version) for version in (-1, 0, 1, 2))
    for offset, epoch in ((0, 0), (2, 2), (2, 9), (4, 3), (9, 3)):
        yield events.CreateSnapshot(SnapshotId(offset, epoch), (7,))
    for node in (2, 3, 9):
        yield from (events.RequestTimedOut(node), events.BackoffExpired(node), events.FetchWaitExpired(node))
    yield from (events.Shutdown(), events.Poll(), events.Poll(tuple(events.Timer)), events.Poll(discovery=3))
