"""What a step does to the world, in order. A crash may fall between any two effects.

``Persist``, ``AppendBatch``, ``Truncate``, ``Flush``, ``StoreSnapshot``, ``DeleteBefore`` and
``LoadSnapshot`` touch the disk (:mod:`kraftcheck.reference.disk` applies them); ``Send`` and ``Reply`` hand a
message to the network; the rest inform the host of the replica.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason, RefusalReason
from kraftcheck.reference.frozen import Unbounded
from kraftcheck.reference.log import Batch, Snapshot, SnapshotId
from kraftcheck.reference.messages import Request, Response
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.types import ByteCount, Correlation, Count, EndOffset, Epoch, Name, NodeId


class Persist(Unbounded):
    """The quorum-state file is replaced atomically and is durable when the next effect begins."""

    quorum_state: QuorumState


class AppendBatch(Unbounded):
    """A batch is written to the log; it may be lost until the next ``Flush``."""

    batch: Batch


class Truncate(Unbounded):
    """The log is cut at ``offset``."""

    offset: EndOffset


class Flush(Unbounded):
    """Everything below ``offset`` is durable from here on."""

    offset: EndOffset


class StoreSnapshot(Unbounded):
    """A snapshot is written and is durable when the next effect begins."""

    snapshot: Snapshot


class DeleteBefore(Unbounded):
    """Records before the end of the snapshot ``id`` are deleted, and older snapshots."""

    id: SnapshotId


class LoadSnapshot(Unbounded):
    """A snapshot takes the place of the whole log, at once and durably."""

    snapshot: Snapshot


class Send(Unbounded):
    """A request goes to node ``to``."""

    to: NodeId
    request: Request
    correlation: Correlation | None = None


class Reply(Unbounded):
    """A response goes back to node ``to``."""

    to: NodeId
    response: Response
    correlation: Correlation | None = None


class ForgetRequests(Unbounded):
    """Answers to requests sent earlier will be dropped: those of ``node``, or of every node (``None``)."""

    node: NodeId | None = None


class Duration(Enum):
    """How long a timer runs, as a function of the configuration (``spec/configs.toml``)."""

    ELECTION_TIMEOUT = "election timeout plus a random part of it"
    ELECTION_BACKOFF = "random exponential election back-off"
    #: The election timer runs on below it (Kafka 3.9 and 4.0: CandidateState.remainingElectionTimeMs).
    SEPARATE_BACKOFF = "random election back-off on a timer of its own"
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


class SuccessorBackoff(Unbounded):
    """The delay of the successor at ``position`` in a list of ``count`` (``count`` itself: not in it)."""

    position: Count
    count: Count


class ArmTimer(Unbounded):
    """``timer`` starts anew."""

    timer: Timer
    duration: Duration | SuccessorBackoff


class Transition(Unbounded):
    """The replica has changed its role or epoch: names of the old and new role, and the new epoch."""

    source: Name
    target: Name
    epoch: Epoch


class HighWatermark(Unbounded):
    """Records below ``offset`` are known to be committed."""

    offset: EndOffset


class AppendAccepted(Unbounded):
    """An append got its last record the given offset; it succeeds once the high watermark passes it."""

    offset: EndOffset


class CallFailed(Unbounded):
    """A local call is refused."""

    reason: RefusalReason


class Stop(Unbounded):
    """The graceful shutdown is complete."""


class Fatal(Unbounded):
    """The process exits: Apache Kafka throws here. ``reason`` says which of the other fields are there."""

    reason: FatalReason
    replica: NodeId | None = None
    epoch: Epoch | None = None
    known_leader: NodeId | None = None
    known_epoch: Epoch | None = None
    source: Name | None = None
    target: Name | None = None
    offset: EndOffset | None = None
    high_watermark: EndOffset | None = None
    snapshot: SnapshotId | None = None
    position: ByteCount | None = None

    @property
    def sentence(self) -> str:
        """The reason for people; nothing depends on it."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        fields = {name: "none" if value is None else value for name, value in fields.items()}
        fields["known_leader"] = "no leader" if self.known_leader is None else f"leader {self.known_leader}"
        if self.snapshot is not None:
            fields["snapshot"] = f"{self.snapshot.end_offset}-{self.snapshot.epoch}"
        return self.reason.sentence.format(**fields)


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
