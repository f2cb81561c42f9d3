"""What can happen to a replica. Time is an event; a clock reading comes with the event that needs it."""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.frozen import Unbounded
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import Request, Response
from kraftcheck.reference.types import (
    ApplicationValue,
    ByteCount,
    Correlation,
    Epoch,
    InSequence,
    KRaftLevel,
    NodeId,
    Time,
)


class Timer(Enum):
    """The timers of a replica. Which of them run depends on the role."""

    ELECTION = "election"
    FETCH = "fetch"
    CHECK_QUORUM = "check-quorum"
    BEGIN_QUORUM_EPOCH = "begin-quorum-epoch"
    LINGER = "linger"
    VOTER_CHANGE = "voter-change"
    UPDATE_VOTER = "update-voter"

    def __repr__(self) -> str:
        return self.name


class RequestReceived(Unbounded):
    """A request arrives from node ``source`` (-1: a client that is not a node)."""

    source: NodeId
    request: Request
    correlation: Correlation | None = None
    now: Time | None = None


class ResponseReceived(Unbounded):
    """A response arrives from node ``source``, or the network layer made one in its place."""

    source: NodeId
    response: Response
    correlation: Correlation | None = None
    now: Time | None = None


class Poll(Unbounded):
    """One round of the poll loop: timers that have expired by now, then what the role sends and appends.

    ``discovery`` is the node that the loop would choose, at random, to look for a leader; ``None`` if no
    such node is ready.
    """

    expired: InSequence[Timer] = ()
    discovery: NodeId | None = None
    now: Time | None = None


class RequestTimedOut(Unbounded):
    """No answer came from ``node`` within the request timeout."""

    node: NodeId


class BackoffExpired(Unbounded):
    """The retry back-off towards ``node`` is over."""

    node: NodeId


class FetchWaitExpired(Unbounded):
    """The Fetch of ``source`` in purgatory has waited its full time."""

    source: NodeId
    correlation: Correlation | None = None


class Append(Unbounded):
    """The state machine wants ``values`` appended by the leader of ``epoch``."""

    epoch: Epoch
    values: InSequence[ApplicationValue]


class Resign(Unbounded):
    """The state machine requests that the leader of ``epoch`` resigns."""

    epoch: Epoch


class UpgradeKRaftVersion(Unbounded):
    """The state machine wants the leader of ``epoch`` to finalize ``version`` of kraft.version."""

    epoch: Epoch
    version: KRaftLevel


class CreateSnapshot(Unbounded):
    """The state machine has written down its state at ``id``, in ``values``; the whole has ``size`` bytes.

    ``delete_prefix``: what it stands for is deleted from the log.
    """

    id: SnapshotId
    values: InSequence[ApplicationValue] = ()
    size: ByteCount = 1
    delete_prefix: bool = False


class Shutdown(Unbounded):
    """A graceful shutdown begins."""


Event = (
    RequestReceived
    | ResponseReceived
    | Poll
    | RequestTimedOut
    | BackoffExpired
    | FetchWaitExpired
    | Append
    | Resign
    | UpgradeKRaftVersion
    | CreateSnapshot
    | Shutdown
)
