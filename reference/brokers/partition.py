"""A partition as the controller keeps it, durably."""

from __future__ import annotations

from kraftcheck.reference.brokers.types import BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex, Topic
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.types import Ascending, InSequence


class Partition(Frozen):
    """A partition: its replicas in the order of preference, its leader and its ISR (sorted by id).

    ``leader`` is ``None`` while none can lead. ``partition_epoch`` grows with every change: it is the version
    of the partition's node in the store, or PartitionEpoch. ``adding`` and ``removing`` are replicas of a
    reassignment under way; ``recovering``: the leader recovers from an unclean election (KIP-704).
    """

    topic: Topic
    index: PartitionIndex
    replicas: InSequence[BrokerId]
    isr: Ascending[BrokerId]
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch = 0
    partition_epoch: PartitionEpoch = 0
    adding: InSequence[BrokerId] = ()
    removing: InSequence[BrokerId] = ()
    recovering: bool = False
