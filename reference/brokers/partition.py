"""A partition as the controller keeps it, durably."""

from __future__ import annotations

from kraftcheck.reference.frozen import Frozen


class Partition(Frozen):
    """A partition: its replicas in the order of preference, its leader and its ISR (sorted by id).

    ``leader`` is ``None`` while none can lead. ``partition_epoch`` grows with every change: it is the version
    of the partition's node in the store, or PartitionEpoch. ``adding`` and ``removing`` are replicas of a
    reassignment under way; ``recovering``: the leader recovers from an unclean election (KIP-704).
    """

    topic: str
    index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None = None
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    recovering: bool = False
