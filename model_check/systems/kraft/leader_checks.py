"""Properties of single steps of leaders: the voters that keep a leader in office, and requests that wait at
it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived, Timer
from kraftcheck.reference.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
)
from kraftcheck.reference.replica import Leader, Replica, Resigned
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership, names
from kraftcheck.systems.kraft.membership import Keys
from kraftcheck.systems.kraft.node import Execution


def violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """The names of the properties that a step violates; ``event`` is ``None`` for a restart."""
    after = execution.replica
    if isinstance(after.role, Resigned) and after.parked:
        yield names.RESIGNED_KEEPS_NOBODY_WAITING
    if isinstance(before.role, Leader) and isinstance(event, RequestReceived):
        sender = _sender(event.request)
        rearmed = execution.arms(Timer.CHECK_QUORUM)
        if rearmed and sender is not None:
            heard = _heard_from(before.voters.keys, before.role.contacts, (before.key, sender))
            if 2 * heard <= len(before.voters):
                yield names.CHECK_QUORUM_NEEDS_MAJORITY
        contacts = after.role.contacts if isinstance(after.role, Leader) else ()
        if rearmed and contacts:
            # A voter counted this time would be counted again without having been heard from.
            yield names.CHECK_QUORUM_NEEDS_MAJORITY
        counted = rearmed or not set(contacts) <= set(before.role.contacts)
        if counted and (_is_refused(event, execution) or _epoch_of(event.request) != before.epoch):
            yield names.CHECK_QUORUM_NEEDS_MAJORITY


def _sender(request: Request) -> ReplicaKey | None:
    """The voter that keeps a leader in office by ``request``."""
    if isinstance(request, FetchRequest | FetchSnapshotRequest):
        return request.replica
    return request.voter if isinstance(request, UpdateRaftVoterRequest) else None


def _epoch_of(request: Request) -> int | None:
    if isinstance(request, FetchRequest | FetchSnapshotRequest | UpdateRaftVoterRequest):
        return request.epoch
    return None


def _is_refused(event: RequestReceived, execution: Execution) -> bool:
    """Whether the sender received an answer without any of the requested data."""
    replies = (effect for effect in execution.effects if isinstance(effect, Reply))
    answers = [reply.response for reply in replies if reply.to == event.source]
    return bool(answers) and all(map(_is_refusal, answers))


def _is_refusal(response: Response) -> bool:
    """Whether a response is an error, or sends the fetcher elsewhere instead of giving it records."""
    if isinstance(response, FetchResponse) and (response.diverging or response.snapshot) is not None:
        return True
    error = getattr(response, "partition_error", ErrorCode.NONE)
    return error is not ErrorCode.NONE or response.error is not ErrorCode.NONE


def _heard_from(voters: Keys, contacts: tuple[int, ...], keys: Keys) -> int:
    """How many of ``voters`` are among ``keys`` or the ``contacts``, of which a leader keeps the ids."""
    return sum(
        entry.id in contacts or any(membership.matches(entry, key) for key in keys) for entry in voters
    )
