"""The labels of steps: the parts of a step that the history records."""

from __future__ import annotations

from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Batch, Snapshot
from kraftcheck.reference.types import Ascending, ControlOffset, Count, Epoch, LogStart, ReplicaId
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.membership import Keys, Prefix


class Elected(Frozen):
    """``replica`` became Leader of ``epoch``."""

    replica: ReplicaId
    epoch: Epoch


class Voted(Frozen):
    """``voter`` reported to another replica that it votes for ``candidate`` in ``epoch``."""

    voter: ReplicaId
    epoch: Epoch
    candidate: ReplicaKey


class Committed(Frozen):
    """``replica`` knows that ``prefix`` is committed; ``leader_epoch`` if it decided so as the leader.

    ``start``: where its log begins; ``voters``: the voter set in its log, where that may change;
    ``assignment``: where voters change by AlterQuorum (KIP-595), the offset of the assignment that it takes
    to be effective.
    """

    replica: ReplicaId
    prefix: Prefix
    leader_epoch: Epoch | None
    start: LogStart = 0
    voters: Keys = ()
    assignment: ControlOffset | None = None


class Truncated(Frozen):
    """``replica`` cut its log ``before`` down to its first ``kept`` batches, in ``epoch``."""

    replica: ReplicaId
    before: Prefix
    kept: Count
    epoch: Epoch


class Snapshotted(Frozen):
    """``replica`` has written or loaded ``snapshot``."""

    replica: ReplicaId
    snapshot: Snapshot


class Acknowledged(Frozen):
    """Leader ``replica`` reported to a client that its change of the voter set, in ``batch``, has succeeded.

    ``added``: the voter that the client wanted added; ``early``: and asked for the answer on append
    (KIP-1186).
    """

    replica: ReplicaId
    batch: Batch | None
    added: ReplicaKey | None = None
    early: bool = False


class Altered(Frozen):
    """Leader ``replica`` reported to a client that AlterQuorum to ``target`` (``None``: stay) has
    succeeded.
    """

    replica: ReplicaId
    target: Ascending[ReplicaId] | None


class Refused(Frozen):
    """A leader reported to a client that the voter set has the id of ``key`` (DUPLICATE_VOTER), or that it
    has no such ``key`` besides its last one (VOTER_NOT_FOUND). A client whose request timed out learns its
    outcome in this way. ``adding``: the client wanted ``key`` added, not removed.
    """

    key: ReplicaKey
    adding: bool
    has_id: bool


class Wiped(Frozen):
    """``key`` has lost its disk, with the log ``held`` from ``start`` on.

    ``another``: the voter set names directories, so that its successor is another replica.
    """

    key: ReplicaKey
    held: Prefix
    start: LogStart
    another: bool


class Restored(Frozen):
    """The disk of ``key``, which had been taken out, is in its place again."""

    key: ReplicaKey


Label = (
    Elected
    | Voted
    | Committed
    | Truncated
    | Snapshotted
    | Acknowledged
    | Altered
    | Refused
    | Wiped
    | Restored
)
