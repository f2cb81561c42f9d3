"""What a step does to the world, in order. A crash may fall between any two effects.

``Persist``, ``AppendBatch``, ``Truncate``, ``Flush``, ``StoreSnapshot``, ``DeleteBefore`` and
``LoadSnapshot`` touch the disk (:mod:`kraftcheck.reference.disk` applies them); ``Send`` and ``Reply`` hand a
message to the network; the rest tell the host of the replica something.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Batch, Snapshot, SnapshotId
from kraftcheck.reference.messages import Request, Response
from kraftcheck.reference.replica import QuorumState


class Persist(Frozen):
    """The quorum-state file is replaced atomically and is durable when the next effect begins."""

    quorum_state: QuorumState


class AppendBatch(Frozen):
    """A batch is written to the log; it may be lost until the next ``Flush``."""

    batch: Batch


class Truncate(Frozen):
    """The log is cut at ``offset``."""

    offset: int


class Flush(Frozen):
    """Everything below ``offset`` is durable from here on."""

    offset: int


class StoreSnapshot(Frozen):
    """A snapshot is written and is durable when the next effect begins."""

    snapshot: Snapshot


class DeleteBefore(Frozen):
    """Records before the end of the snapshot ``id`` are deleted, and older snapshots."""

    id: SnapshotId


class LoadSnapshot(Frozen):
    """A snapshot takes the place of the whole log, at once and durably."""

    snapshot: Snapshot


class Send(Frozen):
    """A request goes to node ``to``."""

    to: int
    request: Request
    correlation: int | None = None


class Reply(Frozen):
    """A response goes back to node ``to``."""

    to: int
    response: Response
    correlation: int | None = None


class ForgetRequests(Frozen):
    """Answers to requests sent earlier will be dropped: those of ``node``, or of every node (``None``)."""

    node: int | None = None


class Duration(Enum):
    """How long a timer runs, as a function of the configuration (``spec/configs.toml``)."""

    ELECTION_TIMEOUT = "election timeout plus a random part of it"
    ELECTION_BACKOFF = "random exponential election back-off"
    FETCH_TIMEOUT = "fetch timeout"
    CHECK_QUORUM_TIMEOUT = "1.5 times the fetch timeout"
    BEGIN_QUORUM_EPOCH_INTERVAL = "half the fetch timeout"
    ELECTION_JITTER = "random, at most the election jitter"
    LINGER = "append linger"
    REQUEST_TIMEOUT = "request timeout"
    #: One fetch timeout in recorded runs of 4.3, three up to 4.1, two in later source (UPDATE-1).
    UPDATE_VOTER_PERIOD = "update voter period"
    REMAINING = "what is left of the election timer"
    NONE = "no time at all"
    FOREVER = "never expires"

    def __repr__(self) -> str:
        return self.name


class SuccessorBackoff(Frozen):
    """The delay of the successor at ``position`` in a list of ``count`` (``count`` itself: not in it)."""

    position: int
    count: int


class ArmTimer(Frozen):
    """``timer`` starts anew."""

    timer: Timer
    duration: Duration | SuccessorBackoff


class Transition(Frozen):
    """The replica has changed its role or epoch: names of the old and new role, and the new epoch."""

    source: str
    target: str
    epoch: int


class HighWatermark(Frozen):
    """Records below ``offset`` are known to be committed."""

    offset: int


class AppendAccepted(Frozen):
    """An append got its last record the given offset; it succeeds once the high watermark passes it."""

    offset: int


class CallFailed(Frozen):
    """A local call is refused."""

    reason: str


class Stop(Frozen):
    """The graceful shutdown is complete."""


class Fatal(Frozen):
    """The process dies: production throws here."""

    reason: str


Effect = (
    Persist
    | AppendBatch
    | Truncate
    | Flush
    | StoreSnapshot
    | DeleteBefore
    | LoadSnapshot
    | Send
    | Reply
    | ForgetRequests
    | ArmTimer
    | Transition
    | HighWatermark
    | AppendAccepted
    | CallFailed
    | Stop
    | Fatal
)
