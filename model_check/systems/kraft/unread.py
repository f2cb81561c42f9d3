"""State of a replica that no rule reads again: dropping it merges states that behave alike.

``tests/systems/kraft`` compares the reachable states with and without.
"""

from __future__ import annotations

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import LeaderChange, Record
from kraftcheck.reference.replica import Leader, Progress, Replica


def without_unread_fields(
    replica: Replica, addable: frozenset[int] = frozenset(), *, timed: bool = False
) -> Replica:
    """``replica`` without the fields that no rule of elections, replication and voter changes reads again.

    The ids of the voters that granted the votes are written into the LeaderChange record and never read;
    whether a voter has acknowledged its leader is recorded and never read. The progress of an observer, and
    whether it has caught up, matters only for the replicas ``addable`` to the voter set. Where clocks run
    (``timed``) a leader reports when each replica has fetched, and at which offset.
    """
    role = replica.role
    if not isinstance(role, Leader):
        return replica
    pending = tuple(tuple(_without_granting_voters(record) for record in batch) for batch in role.pending)
    if timed:
        progress = tuple(_timed(entry, addable) for entry in role.progress)
        observers = tuple(_timed(entry, addable) for entry in role.observers)
    else:
        progress = tuple(_without_unread_progress(entry, addable) for entry in role.progress)
        observers = tuple(
            _without_unread_progress(entry, addable) for entry in role.observers if entry.id in addable
        )
    return replace(
        replica,
        role=replace(role, pending=pending, progress=progress, granting_voters=(), observers=observers),
    )


def _without_granting_voters(record: Record) -> Record:
    return replace(record, granting_voters=()) if isinstance(record, LeaderChange) else record


def _timed(entry: Progress, addable: frozenset[int]) -> Progress:
    return replace(entry, acknowledged=False, caught_up=entry.caught_up and entry.id in addable)


def _without_unread_progress(entry: Progress, addable: frozenset[int]) -> Progress:
    """A replica that has caught up once stays caught up: no rule reads how it caught up."""
    if entry.id not in addable:
        return Progress(entry.key, entry.end_offset)
    if entry.caught_up:
        return Progress(entry.key, entry.end_offset, caught_up=True)
    return replace(entry, acknowledged=False)
