"""The addresses at which replicas listen, and those at which others look for them (``network.addresses``).

A replica reaches another one at the address that it knows: that of the leader which it follows, that of the
voter in its own voter set, that in the request of the admin client, or else that of a bootstrap server in its
configuration. A message to another address than the current one does not arrive; the sender's own network
client answers in the receiver's place.

Source: Kafka: KafkaRaftClient.maybeSendRequest, VoterSet.voterNode, FollowerState.leaderNode,
RequestManager.findReadyBootstrapServer, KafkaNetworkChannel.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AlterQuorumRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    FindQuorumRequest,
    RemoveRaftVoterRequest,
    Request,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftcheck.reference.replica import AddingVoter, Follower, Leader, Replica, UpdatingVoter
from kraftcheck.reference.voter_changes import DEFAULT_LISTENER
from kraftcheck.reference.voters import Endpoint

Endpoints = tuple[Endpoint, ...]

#: The listener that only replicas of ``replicas.second-listener`` have.
SECOND_LISTENER = "CONTROLLER_2"

#: Requests from one voter to another, which the sender looks up in its voter set.
_AMONG_VOTERS = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest)

#: The versions of each API before endpoints and directory ids, as in releases before 3.9; ``None``: the API
#: is newer.
WITHOUT_ENDPOINTS: Mapping[type[Request], tuple[int, int] | None] = {
    VoteRequest: (0, 0),
    BeginQuorumEpochRequest: (0, 0),
    EndQuorumEpochRequest: (0, 0),
    FetchRequest: (12, 16),
    FetchSnapshotRequest: (0, 0),
    DescribeQuorumRequest: (0, 1),
    ApiVersionsRequest: (3, 4),
    AlterQuorumRequest: (0, 0),
    FindQuorumRequest: (0, 0),
    AddRaftVoterRequest: None,
    RemoveRaftVoterRequest: None,
    UpdateRaftVoterRequest: None,
}


def first_endpoints(replica: int, *, moved: bool = False, second: bool = False) -> Endpoints:
    """The endpoints of a replica; ``moved``: at its other address; ``second``: with a second listener."""
    host = f"new-node-{replica}" if moved else f"node-{replica}"
    found = (Endpoint(DEFAULT_LISTENER, host, 9093),)
    return (*found, Endpoint(SECOND_LISTENER, host, 9094)) if second else found


def elsewhere(replica: int, endpoints: Endpoints) -> Endpoints:
    """The endpoints of a replica that has moved from ``endpoints`` to its other address, or back."""
    back = any(each.host == f"new-node-{replica}" for each in endpoints)
    host = f"node-{replica}" if back else f"new-node-{replica}"
    return tuple(replace(each, host=host) for each in endpoints)


def known_to(sender: Replica, to: int, request: Request, configured: Endpoints) -> Endpoint | None:
    """The address at which ``sender``, as it is after the step, sends ``request``; ``None``: none is known.

    ``configured``: the endpoints of the receiver as a bootstrap server.
    """
    role = sender.role
    if isinstance(request, _AMONG_VOTERS):
        known = sender.voters.endpoints(to)
    elif isinstance(request, ApiVersionsRequest):
        change = role.change if isinstance(role, Leader) else None
        known = change.voter.endpoints if isinstance(change, AddingVoter | UpdatingVoter) else ()
    elif isinstance(role, Follower) and sender.quorum_state.leader == to:
        known = role.leader_endpoints
    else:
        known = configured
    return next((each for each in known if each.name == DEFAULT_LISTENER), None)
