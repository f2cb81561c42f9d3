"""Disks that are replaced: by an empty one, or by the one that was taken out before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.engine.system import Outcome
from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import administration, membership
from kraftcheck.systems.kraft.labels import Label, Restored, Wiped
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.starts import booted, identity_on
from kraftcheck.systems.kraft.step import Action, Step
from kraftcheck.systems.kraft.wiring import Wiring


def wipe(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, its disk is replaced by an empty one with another directory id, and it starts."""
    old = node.disk
    if wiring.wipe is None or identity.id not in wiring.wipes_at:
        return
    assert old.directory is not None
    disk = Disk(directory=administration.next_directory(old.directory))
    reborn = identity_on(identity, disk)
    action = Action("wipe", identity.id, f"new directory {disk.directory}")
    labels = [_taken_out(node, identity)]
    for start in booted(wiring, protocol, reborn, disk, action, (wiring.wipe,), labels_before=labels):
        yield replace(start, outcome=_keeping(wiring, start.outcome, old))


def restore(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, the disk that was taken out last is put back in its place, and it starts on that."""
    back = node.replaced
    if wiring.restore is None or back is None:
        return
    labels: list[Label] = [_taken_out(node, identity), Restored(ReplicaKey(identity.id, back.directory))]
    known = identity_on(identity, back)
    action = Action("restore", identity.id, f"directory {back.directory} again")
    for start in booted(wiring, protocol, known, back, action, (wiring.restore,), labels_before=labels):
        yield replace(start, outcome=_keeping(wiring, start.outcome, node.disk))


def _keeping(wiring: Wiring, outcome: Outcome, disk: Disk) -> Outcome:
    """``outcome``, after which ``disk`` lies next to the machine, where it may be put back in."""
    if wiring.restore is None:
        return outcome
    kept = disks.as_found(disk, written_back=wiring.written_back)
    return replace(outcome, local=replace(cast(Node, outcome.local), replaced=kept))


def _taken_out(node: Node, identity: Replica) -> Wiped:
    """The durable contents that are lost with the disk of ``node``."""
    disk = node.disk
    known = node.replica or identity_on(identity, disk)
    entry = membership.in_force(membership.own_origin(known), disk.log).find(identity.id)
    held = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
    another = entry is None or entry.key.directory is not None
    return Wiped(node.key(identity.id), held, disk.log.start_offset, another)
