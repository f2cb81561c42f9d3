"""API versions: which version a request gets, and what of a message a version shows.

Messages of the reference are those of the newest version. A peer that speaks an older one sees and sends
less; what an older version cannot say at all is never sent: the sender's own network client answers in the
peer's place. Wire schemas: ``spec/messages.toml``.

Source: KIP-996 (Compatibility), KIP-853, KIP-836, KIP-1166; Kafka: KafkaNetworkChannel, NetworkClient,
the message schemas and, for what is filled from a later version on than its schema allows, RaftUtil.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import TypeVar, cast

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.messages import (
    HIGH_WATERMARK_NOT_SUPPORTED,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    AlterQuorumRequest,
    AlterQuorumResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    FindQuorumRequest,
    FindQuorumResponse,
    Message,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    ReplicaDescription,
    Request,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.types import Count, InSequence, Name
from kraftcheck.reference.voters import ReplicaKey

M = TypeVar("M")

#: The oldest and the newest version of each API between replicas, by the request: those of release 4.3, and
#: of KIP-595 what was never released.
RANGES: Mapping[type, tuple[int, int]] = {
    VoteRequest: (0, 2),
    BeginQuorumEpochRequest: (0, 1),
    EndQuorumEpochRequest: (0, 1),
    FetchRequest: (12, 18),
    FetchSnapshotRequest: (0, 1),
    DescribeQuorumRequest: (0, 2),
    AddRaftVoterRequest: (0, 1),
    RemoveRaftVoterRequest: (0, 0),
    UpdateRaftVoterRequest: (0, 0),
    ApiVersionsRequest: (3, 4),
    AlterQuorumRequest: (0, 0),
    FindQuorumRequest: (0, 0),
}


class Sending(Frozen):
    """What becomes of a request: it goes out in ``version``, or ``answer`` comes back at once.

    ``rules``: which rules of the catalogue say so.
    """

    version: Count | None
    answer: Response | None
    rules: InSequence[Name]


def send(request: Request, supported: tuple[int, int] | None) -> Sending:
    """How ``request`` goes to a peer that supports these versions of its API (``None``: none of them).

    It has the highest version that both support, peer by peer. Where there is none, or where the request
    says something that this version has no room for, it is not sent.
    """
    oldest, newest = RANGES[type(request)]
    version = -1 if supported is None else min(newest, supported[1])
    common = supported is not None and version >= max(oldest, supported[0])
    if not common or at_version(request, version) is None:
        return Sending(None, unsupported(request), ("RESP-9",))
    return Sending(version, None, ("VOTE-27",) if isinstance(request, VoteRequest) else ())


def at_version(message: M, version: int) -> M | None:
    """``message`` as its receiver sees it in ``version``; ``None`` if the version cannot carry what it says.

    Raises TypeError for what is no message.
    """
    return cast("M | None", _at(message, version))


def unsupported(request: Request) -> Response:
    """The answer that the sender's own network client gives: UNSUPPORTED_VERSION and nothing else."""
    return refusal(request, ErrorCode.UNSUPPORTED_VERSION)


def refusal(request: Request, error: ErrorCode) -> Response:
    """A response that holds nothing but an error for the whole request; its epoch is unknown.

    UpdateRaftVoter has one error only, which replicas handle as a partition's.
    """
    return _REFUSALS[type(request)](error)


_REFUSALS: Mapping[type, Callable[[ErrorCode], Response]] = {
    VoteRequest: lambda error: VoteResponse(-1, error=error),
    BeginQuorumEpochRequest: lambda error: BeginQuorumEpochResponse(-1, error=error),
    EndQuorumEpochRequest: lambda error: EndQuorumEpochResponse(-1, error=error),
    FetchRequest: lambda error: FetchResponse(-1, error=error),
    FetchSnapshotRequest: lambda error: FetchSnapshotResponse(-1, error=error),
    UpdateRaftVoterRequest: lambda error: UpdateRaftVoterResponse(-1, partition_error=error),
    AddRaftVoterRequest: AddRaftVoterResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    DescribeQuorumRequest: lambda error: DescribeQuorumResponse(error=error),
    AlterQuorumRequest: AlterQuorumResponse,
    FindQuorumRequest: lambda error: FindQuorumResponse(-1, error=error),
    ApiVersionsRequest: lambda error: ApiVersionsResponse(error=error),
}


# What a version shows.


@singledispatch
def _at(message: object, version: int) -> Message | None:
    raise TypeError(f"not a message: {message!r}")


@_at.register(RemoveRaftVoterRequest)
@_at.register(UpdateRaftVoterRequest)
@_at.register(ApiVersionsRequest)
@_at.register(DescribeQuorumRequest)
@_at.register(AddRaftVoterResponse)
@_at.register(RemoveRaftVoterResponse)
@_at.register(UpdateRaftVoterResponse)
@_at.register(ApiVersionsResponse)
@_at.register(AlterQuorumRequest)
@_at.register(AlterQuorumResponse)
@_at.register(FindQuorumRequest)
@_at.register(FindQuorumResponse)
def _same_in_all_versions(message: Message, version: int) -> Message | None:
    return message


@_at.register
def _vote_request(message: VoteRequest, version: int) -> Message | None:
    """A version without PreVote cannot ask for a pre-vote (PREVOTE-18); one without keys names ids only."""
    if message.pre_vote and version < 2:
        return None
    if version >= 1:
        return message
    return replace(message, voter=None, candidate=ReplicaKey(message.candidate.id))


@_at.register
def _begin_request(message: BeginQuorumEpochRequest, version: int) -> Message | None:
    return message if version >= 1 else replace(message, voter=None, leader_endpoints=())


@_at.register
def _end_request(message: EndQuorumEpochRequest, version: int) -> Message | None:
    if version >= 1:
        return message
    successors = tuple(ReplicaKey(key.id) for key in message.preferred_successors)
    return replace(message, preferred_successors=successors, leader_endpoints=())


@_at.register
def _fetch_request(message: FetchRequest, version: int) -> Message | None:
    shown = message if version >= 18 else replace(message, high_watermark=HIGH_WATERMARK_NOT_SUPPORTED)
    return shown if version >= 17 else replace(shown, replica=ReplicaKey(message.replica.id))


@_at.register
def _snapshot_request(message: FetchSnapshotRequest, version: int) -> Message | None:
    return message if version >= 1 else replace(message, replica=ReplicaKey(message.replica.id))


@_at.register
def _add_request(message: AddRaftVoterRequest, version: int) -> Message | None:
    """Version 0 cannot ask to be answered before the commit."""
    return message if version >= 1 or message.ack_when_committed else None


@_at.register(VoteResponse)
@_at.register(BeginQuorumEpochResponse)
@_at.register(EndQuorumEpochResponse)
@_at.register(FetchSnapshotResponse)
def _leader_from_one_on(
    message: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchSnapshotResponse,
    version: int,
) -> Message | None:
    return message if version >= 1 else replace(message, leader_endpoints=())


@_at.register
def _fetch_response(message: FetchResponse, version: int) -> Message | None:
    return message if version >= 17 else replace(message, leader_endpoints=())


@_at.register
def _description(message: DescribeQuorumResponse, version: int) -> Message | None:
    if version >= 2:
        return message
    voters = tuple(_replica_at(replica, version) for replica in message.voters)
    observers = tuple(_replica_at(replica, version) for replica in message.observers)
    return replace(message, voters=voters, observers=observers, nodes=())


def _replica_at(replica: ReplicaDescription, version: int) -> ReplicaDescription:
    shown = replace(replica, key=ReplicaKey(replica.key.id))
    return shown if version >= 1 else replace(shown, last_fetch_time=None, last_caught_up_time=None)
