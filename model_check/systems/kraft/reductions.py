"""Fields that no rule reads again, and answers without new information: leaving them out merges states that
behave alike. ``tests/systems/kraft`` compares the reachable states with and without.

Of answers, it takes requests that do not wait at the leader and that are lost when they are forgotten:

* A follower that has fetched from its leader, and receives nothing new, sends the very same request again.
  Until then the answer on its way stands for the request that follows, which may arrive at any later time:
  the request stays in flight. The same holds where the leader reports that it has resigned: the follower
  cannot use that.
* A resigned replica does not repeat its message to a replica that has acknowledged it; it would do so only if
  the request timed out. A replica that answers that it is not a voter (KIP-595) receives the message again
  after a back-off, in which a resigned replica does nothing else: there, too, the request stays in flight.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import LeaderChange, Record
from kraftcheck.reference.messages import (
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    Request,
    Response,
)
from kraftcheck.reference.replica import Follower, Leader, Progress, Replica
from kraftcheck.systems.kraft.network import request_of


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


# Answers without new information.


def as_sent(request: Request, sender: Replica, to: int) -> Request:
    """``request`` as it is in flight: with the high watermark of a follower that has fetched from ``to``."""
    if not isinstance(request, FetchRequest):
        return request
    role = sender.role
    settled = isinstance(role, Follower) and role.has_fetched and sender.quorum_state.leader == to
    return request if settled else replace(request, high_watermark=None)


def asked_again(event: Event, replier: int, response: Response) -> Request | None:
    """The request that the receiver of ``response`` makes next, if that is the one just answered."""
    request = request_of(event)
    if isinstance(request, EndQuorumEpochRequest) and isinstance(response, EndQuorumEpochResponse):
        same = (response.epoch, response.leader) == (request.epoch, request.leader)
        return request if same and response.partition_error is ErrorCode.INCONSISTENT_VOTER_SET else None
    if not isinstance(request, FetchRequest) or not isinstance(response, FetchResponse):
        return None
    if request.high_watermark is None or response.error is not ErrorCode.NONE:
        return None
    same = (response.epoch, response.leader) == (request.epoch, replier)
    return request if same and _tells_nothing(request, response) else None


def _tells_nothing(request: FetchRequest, response: FetchResponse) -> bool:
    if response.partition_error is not ErrorCode.NONE:
        return response.partition_error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    new = response.batches or response.diverging is not None or response.snapshot is not None
    return not new and response.high_watermark == request.high_watermark


def is_unread(event: Event, response: Response) -> bool:
    """Whether ``response`` acknowledges a resignation in the epoch in which it was announced."""
    request = request_of(event)
    if not isinstance(request, EndQuorumEpochRequest) or not isinstance(response, EndQuorumEpochResponse):
        return False
    errors = {response.error, response.partition_error}
    return errors == {ErrorCode.NONE} and (response.epoch, response.leader) == (request.epoch, request.leader)
