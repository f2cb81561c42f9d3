"""What can happen to a replica. Time is an event; a clock reading comes with the event that needs it."""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import Request, Response


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


class RequestReceived(Frozen):
    """A request arrives from node ``source`` (-1: a client that is not a node)."""

    source: int
    request: Request
    correlation: int | None = None
    now: int | None = None


class ResponseReceived(Frozen):
    """A response arrives from node ``source``, or the network layer made one in its place."""

    source: int
    response: Response
    correlation: int | None = None
    now: int | None = None


class Poll(Frozen):
    """One round of the poll loop: timers that have expired by now, then what the role sends and appends.

    ``discovery`` is the node that the loop would choose, at random, to look for a leader; ``None`` if no
    such node is ready.
    """

    expired: tuple[Timer, ...] = ()
    discovery: int | None = None
    now: int | None = None


class RequestTimedOut(Frozen):
    """No answer came from ``node`` within the request timeout."""

    node: int


class BackoffExpired(Frozen):
    """The retry back-off towards ``node`` is over."""

    node: int


class FetchWaitExpired(Frozen):
    """The Fetch parked for ``source`` has waited its full time."""

    source: int
    correlation: int | None = None


class Append(Frozen):
    """The state machine wants ``values`` appended by the leader of ``epoch``."""

    epoch: int
    values: tuple[int, ...]


class Resign(Frozen):
    """The state machine wants the leadership of ``epoch`` given up."""

    epoch: int


class UpgradeKRaftVersion(Frozen):
    """The state machine wants the leader of ``epoch`` to finalize ``version`` of kraft.version."""

    epoch: int
    version: int


class CreateSnapshot(Frozen):
    """The state machine has written down its state at ``id``, in ``values``; the whole has ``size`` bytes.

    ``delete_prefix``: what it stands for is deleted from the log.
    """

    id: SnapshotId
    values: tuple[int, ...] = ()
    size: int = 1
    delete_prefix: bool = False


class Shutdown(Frozen):
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
