"""Whether a replica that was driven is in the state of a node of the model.

The model leaves out fields that no rule reads, and gives no ids to requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.reductions import without_unread_fields
from kraftcheck.traces.model import Change
from kraftcheck.traces.words import compare_nodes

_RUNNING = {True: "running", False: "ended"}


def departures(
    replica_id: int, node: Node, live: Replica | None, disk: Disk, addable: frozenset[int] = frozenset()
) -> Iterator[Change]:
    """The fields in which a driven replica, ``live`` on ``disk``, is not as ``node``: before is the value of
    the node. ``addable``: the ids of the replicas that may become voters, of which a leader keeps the
    progress.
    """
    if (live is None) != (node.replica is None):
        yield Change(replica_id, "process", _RUNNING[node.replica is not None], _RUNNING[live is not None])
        return
    if live is not None:
        live = _as_modelled(live, addable, timed=node.clock is not None)
    wanted = replace(node, clock=None)
    found = replace(wanted, replica=live, disk=replace(disk, directory=node.disk.directory))
    yield from compare_nodes(replica_id, _unpaired(wanted), found)
    own, theirs = (tuple(map(without_granting_voters, each.log.batches)) for each in (node.disk, disk))
    if own != theirs:
        yield Change(replica_id, "records", str(own), str(theirs))


def _as_modelled(replica: Replica, addable: frozenset[int], *, timed: bool) -> Replica:
    stripped = without_unread_fields(replica, addable, timed=timed)
    role = stripped.role
    if isinstance(role, Leader):
        # The driven replica has them in the order of its own directory ids.
        observers = sorted(role.observers, key=lambda entry: (entry.id, entry.key.directory or ""))
        stripped = replace(stripped, role=replace(role, granting_voters=(), observers=tuple(observers)))
    return replace(_without_correlations(stripped), next_correlation=None)


def _without_correlations(replica: Replica) -> Replica:
    return replace(
        replica,
        connections=tuple(replace(each, correlation=None) for each in replica.connections),
        parked=tuple(replace(each, correlation=None) for each in replica.parked),
    )


def _unpaired(node: Node) -> Node:
    """``node`` without the ids of requests."""
    return node if node.replica is None else replace(node, replica=_without_correlations(node.replica))


def without_granting_voters(batch: Batch) -> Batch:
    """``batch`` without the ids of the voters that elected the leader: no rule reads them."""
    records = tuple(
        replace(record, granting_voters=()) if isinstance(record, LeaderChange) else record
        for record in batch.records
    )
    return replace(batch, records=records)
