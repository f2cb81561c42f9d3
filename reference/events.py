"""What can happen to a replica. Time is an event; a clock reading comes with the event that needs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from reference.log import SnapshotId
from reference.messages import Request, Response


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


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """A request arrives from node ``source`` (-1: a client that is not a node)."""

    source: int
    request: Request
    correlation: int | None = None
    now: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """A response arrives from node ``source``, or the network layer made one in its place."""

    source: int
    response: Response
    correlation: int | None = None
    now: int | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """One round of the poll loop: timers that have expired by now, then what the role sends and appends.

    ``discovery`` is the node that the loop would choose, at random, to look for a leader; ``None`` if no
    such node is ready.
    """

    expired: tuple[Timer, ...] = ()
    discovery: int | None = None
    now: int | None = None


@dataclass(frozen=True, slots=True)
class RequestTimedOut:
    """No answer came from ``node`` within the request timeout."""

    node: int


@dataclass(frozen=True, slots=True)
class BackoffExpired:
    """The retry back-off towards ``node`` is over."""

    node: int


@dataclass(frozen=True, slots=True)
class FetchWaitExpired:
    """The Fetch parked for ``source`` has waited its full time."""

    source: int
    correlation: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """The state machine wants ``values`` appended by the leader of ``epoch``."""

    epoch: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resign:
    """The state machine wants the leadership of ``epoch`` given up."""

    epoch: int


@dataclass(frozen=True, slots=True)
class UpgradeKRaftVersion:
    """The state machine wants the leader of ``epoch`` to finalize ``version`` of kraft.version."""

    epoch: int
    version: int


@dataclass(frozen=True, slots=True)
class CreateSnapshot:
    """The state machine has written down its state at ``id``, in ``values``; the whole has ``size`` bytes.

    ``delete_prefix``: what it stands for is deleted from the log.
    """

    id: SnapshotId
    values: tuple[int, ...] = ()
    size: int = 1
    delete_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Shutdown:
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
