"""Who may ask what: the operation on the cluster that each request needs, checked before a replica sees it.

The check is the server's, not the quorum protocol's; what the sender makes of a refusal is RESP-1.

Source: KIP-595 (error codes), KIP-836, KIP-853; Kafka: ControllerApis, AuthHelper.authorizeClusterOperation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from kraftcheck.reference import versions
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AlterQuorumRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    FindQuorumRequest,
    RemoveRaftVoterRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftcheck.reference.types import InSequence, Name


class Operation(Enum):
    """What a principal may be allowed to do with the cluster."""

    CLUSTER_ACTION = "ClusterAction"
    ALTER = "Alter"
    DESCRIBE = "Describe"


#: The operation that a request needs; ApiVersions needs none.
NEEDED: Mapping[type, Operation] = {
    VoteRequest: Operation.CLUSTER_ACTION,
    BeginQuorumEpochRequest: Operation.CLUSTER_ACTION,
    EndQuorumEpochRequest: Operation.CLUSTER_ACTION,
    FetchRequest: Operation.CLUSTER_ACTION,
    FetchSnapshotRequest: Operation.CLUSTER_ACTION,
    UpdateRaftVoterRequest: Operation.CLUSTER_ACTION,
    AddRaftVoterRequest: Operation.ALTER,
    RemoveRaftVoterRequest: Operation.ALTER,
    AlterQuorumRequest: Operation.ALTER,
    FindQuorumRequest: Operation.CLUSTER_ACTION,
    DescribeQuorumRequest: Operation.DESCRIBE,
}


class Refusal(Frozen):
    """The answer to a sender that may not ask; ``rules``: which rules of the catalogue say so."""

    answer: Response
    rules: InSequence[Name]


def refuse(request: Request, allowed: Collection[Operation]) -> Refusal | None:
    """The refusal of a request whose sender may do no more than ``allowed``; ``None``: it may ask."""
    needed = NEEDED.get(type(request))
    if needed is None or needed in allowed:
        return None
    return Refusal(versions.refusal(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ("RESP-10",))
