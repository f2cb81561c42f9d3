"""States, messages and histories with other replicas in the place of some, by the types of what they hold.

Symmetry (:mod:`kraftcheck.systems.kraft.symmetry`) needs to know of every number and every text in a state
whether it names a replica. Nothing is guessed: the tables below say so for each name of a field, and for each
tuple that holds replicas whether it is kept in their order; a field or a type that they do not know raises
TypeError. ``tests/systems/kraft`` goes through all types that occur.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.rebuilding import Rebuild, Rebuilding

#: Fields that hold ids of replicas; "votes.0" is what stands first in each tuple of ``votes``. What a leader
#: appends is its own id (:mod:`kraftcheck.systems.kraft.environment`).
_IDS = frozenset({
    "id", "leader", "node", "source", "destination", "replica", "voter", "candidate", "voters", "target",
    "granted", "rejected", "granting_voters", "contacts", "unacknowledged", "value", "values",
    "leaders.1", "votes.0", "votes.2", "gone_votes.2",
})  # fmt: skip
#: Fields that hold other numbers, or texts in which no replica is named.
_PLAIN = frozenset({
    "epoch", "leader_epoch", "last_epoch", "committed_epoch", "offset", "base_offset", "end_offset",
    "position", "start_offset", "log_start_offset", "epoch_start_offset", "leader_end_offset",
    "assignment_offset", "assignment", "flushed", "high_watermark", "length", "size",
    "max_bytes", "max_wait_ms", "timeout_ms",
    "last_fetch_time", "last_caught_up_time", "caught_up", "now", "held", "kept", "start", "version",
    "kraft_version", "bootstrap_kraft_version", "min_kraft_version", "max_kraft_version", "correlation",
    "next_correlation", "port", "name", "partition", "cluster_id", "leaders.0", "votes.1", "gone_votes.1",
    "gone.2", "voter_sets.0", "assignments.0", "kraft_versions.0", "kraft_versions.1", "ends.0", "ends.1",
    "latest.0", "latest.1",
})  # fmt: skip
#: Tuples that are kept in ascending order of the replicas in them, and of their directories.
_SORTED = frozenset({
    "voters", "granted", "rejected", "granting_voters", "progress", "contacts", "observers", "reported",
    "unacknowledged", "connections", "target", "leaders", "votes", "gone", "gone_votes", "fetches", "nodes",
})  # fmt: skip
#: Tuples whose order means something else, such as that in which things came.
_IN_SEQUENCE = frozenset({
    "batches", "records", "values", "pending", "parked", "alterations", "preferred_successors", "snapshots",
    "endpoints", "leader_endpoints", "voter_sets", "assignments", "committed", "prefix", "before", "held",
    "gone.1",
})  # fmt: skip
#: Texts that name replicas, with the patterns of the ids in them.
_TEXTS = {
    "directory": re.compile(r"(?<=^d)\d+(?=-\d+$|$)"),
    "host": re.compile(r"(?<=^node-)\d+$|(?<=^new-node-)\d+$"),
    # Reasons for which reference code lets a process die; an epoch is none of those numbers.
    "died": re.compile(
        r"(?<=\bnode )\d+|(?<=\bvoter )\d+|(?<=\bleader )\d+|(?<=\bvote of )\d+|(?<=EndQuorumEpoch from )\d+"
        r"|(?<=^told that )\d+|(?<=, while )\d+"
    ),
}
#: Texts that name a replica in any case.
_NAMING = ("directory", "host")

Ids = Mapping[int, int]


class _Renaming(Rebuilding[Ids]):
    unknown = "no renaming for"

    def of_value(self, name: str, hint: Any) -> Rebuild[Ids] | None:
        if hint is int:
            if (name in _IDS) == (name in _PLAIN):
                raise TypeError(f"{name}: it is not known whether this number is the id of a replica")
            return (lambda value, ids: ids.get(value, value)) if name in _IDS else None
        if hint is str:
            return _of_text(name)
        if hint is bool or (isinstance(hint, type) and issubclass(hint, Enum)):
            return None
        raise TypeError(f"{name}: {self.unknown} {hint}")

    def of_sequence(self, name: str, inner: Rebuild[Ids]) -> Rebuild[Ids]:
        if (name in _SORTED) == (name in _IN_SEQUENCE):
            raise TypeError(f"{name}: it is not known in which order this is kept")
        if name in _SORTED:
            return lambda value, ids: tuple(sorted([inner(each, ids) for each in value], key=_place))
        return super().of_sequence(name, inner)


RENAMING = _Renaming()


def renamed(value: Any, ids: Ids) -> Any:
    """``value``, of a class of the reference or of this package, with each replica replaced as ``ids`` says.

    Raises TypeError for a type, or a field, of which it is not known what it holds.
    """
    return RENAMING.rebuilt(value, ids)


def _of_text(name: str) -> Rebuild[Ids] | None:
    pattern = _TEXTS.get(name)
    if pattern is None:
        if name not in _PLAIN:
            raise TypeError(f"{name}: it is not known whether this text names a replica")
        return None

    def rename(text: str, ids: Ids) -> str:
        if name in _NAMING and not pattern.search(text):
            raise TypeError(f"{name}: '{text}' does not say which replica it belongs to")
        return pattern.sub(lambda match: str(ids.get(int(match[0]), int(match[0]))), text)

    return rename


def _place(item: Any) -> tuple[Any, ...]:
    """What a sorted tuple is sorted by: ids with their directories, or the numbers in a tuple."""
    if isinstance(item, int):
        return (item,)
    if isinstance(item, ReplicaKey):
        return (item.id, item.directory or "")
    if isinstance(item, tuple):
        place: tuple[Any, ...] = ()
        for part in item:
            if not isinstance(part, int | ReplicaKey):
                break
            place += _place(part)
        return place
    if hasattr(item, "key"):
        return _place(item.key)
    return (item.node if hasattr(item, "node") else item.id,)
