"""Whether a request counts as contact between a voter and its leader."""

from __future__ import annotations

from kraftcheck.reference.effects import Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import RequestReceived
from kraftcheck.reference.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
)
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.membership import Keys
from kraftcheck.systems.kraft.node import Execution


def sender(request: Request) -> ReplicaKey | None:
    """The voter that keeps a leader in office by ``request``."""
    if isinstance(request, FetchRequest | FetchSnapshotRequest):
        return request.replica
    return request.voter if isinstance(request, UpdateRaftVoterRequest) else None


def epoch_of(request: Request) -> int | None:
    """The epoch of a request that may keep a leader in office."""
    if isinstance(request, FetchRequest | FetchSnapshotRequest | UpdateRaftVoterRequest):
        return request.epoch
    return None


def is_refused(event: RequestReceived, execution: Execution) -> bool:
    """Whether the sender received an answer without any of the requested data."""
    answers = [reply.response for reply in execution.all(Reply) if reply.to == event.source]
    return bool(answers) and all(map(_is_refusal, answers))


def _is_refusal(response: Response) -> bool:
    """Whether a response is an error, or sends the fetcher elsewhere instead of giving it records."""
    if isinstance(response, FetchResponse) and (response.diverging or response.snapshot) is not None:
        return True
    error = getattr(response, "partition_error", ErrorCode.NONE)
    return error is not ErrorCode.NONE or response.error is not ErrorCode.NONE


def heard_from(voters: Keys, contacts: tuple[int, ...], keys: Keys) -> int:
    """The number of ``voters`` among ``keys`` or the ``contacts``, of which a leader keeps the ids."""
    return sum(
        entry.id in contacts or any(membership.matches(entry, key) for key in keys) for entry in voters
    )
