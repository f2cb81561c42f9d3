"""The domains of the decision tables of snapshots, voter changes and descriptions; see :mod:`.situations`."""

from __future__ import annotations

from kraftcheck.query.response_situations import (
    AWAITED,
    ERRORS,
    LEADERS,
    SHARED,
    asked,
    common,
)
from kraftcheck.query.situations import EPOCHS, ROLES, Given, read, replica_in
from kraftcheck.query.tables import Situation, Table
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Snapshot, SnapshotId
from kraftcheck.reference.messages import FetchSnapshotResponse
from kraftcheck.reference.replica import AddingVoter, Follower, Leader, PartialSnapshot, Progress, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter
from kraftcheck.systems.kraft.text.event import parse_event

# Responses to FetchSnapshot.

_SNAPSHOT_ERRORS = {**ERRORS, "SNAPSHOT_NOT_FOUND": "error=SNAPSHOT_NOT_FOUND"}
_LOADED = SnapshotId(9, 5)
_PARTS = {
    "a part": "position=0 length=40",
    "the last part": "position=0 length=100",
    "not the part asked for": "position=40 length=60",
}


def _snapshot_response(given: Given) -> Situation | None:
    part = given["content"]
    if given["error"] != ErrorCode.NONE.name and part != "a part":
        return None
    replica = asked(given)
    if replica is None:
        return None
    if isinstance(replica.role, Follower):
        replica = replace(replica, role=replace(replica.role, fetching_snapshot=PartialSnapshot(_LOADED)))
    words = f"{common(given, _SNAPSHOT_ERRORS)} snapshot=9@5 size=100 {_PARTS[part]}"
    event = parse_event(f"fetch-snapshot-response from=3 {words}", replica)
    assert isinstance(event, ResponseReceived)
    assert isinstance(event.response, FetchSnapshotResponse)
    response = replace(event.response, content=Snapshot(_LOADED, size=100))
    return replica, replace(event, response=response)


# Responses to requests that change the voters.

_CHANGE_ERRORS = (
    ErrorCode.NONE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
#: UpdateRaftVoter has one error, which is handled as a partition's.
_UPDATE_ERRORS = {error.name: f"error={error.name}" for error in _CHANGE_ERRORS} | {
    error.name: f"error={error.name}"
    for error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.INVALID_VOTER_KEY)
}


def _change_response(given: Given, api: str) -> Situation | None:
    leads = given["role"] in ("Leader", "Resigned")
    replica = replica_in(given["role"], leader="1" if leads else "3")
    if replica is None:
        replica = replica_in(given["role"])
    assert replica is not None
    return replica, parse_event(f"{api}-response from=3 error={given['error']}", replica)


def _add_response(given: Given) -> Situation | None:
    return _change_response(given, "add-raft-voter")


def _remove_response(given: Given) -> Situation | None:
    return _change_response(given, "remove-raft-voter")


def _update_response(given: Given) -> Situation | None:
    replica = asked(given)
    if replica is None:
        return None
    words = common(given, _UPDATE_ERRORS)
    return replica, parse_event(f"update-raft-voter-response from=3 {words}", replica)


# Responses to ApiVersions, by which a leader asks a new voter what it supports.

_SUPPORTED = {"kraft.version 0 and 1": "0-1", "kraft.version 0": "0-0", "nothing": "none"}
_NEW_VOTER = ReplicaKey(4, "D")


def _adding(caught_up: str) -> Replica:
    """Leader 1 of three voters with directories asks replica 4, which fetches; the clock shows 5000."""
    replica = read("leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=5 log=2@2,1@3,1@5 hw=4")
    role = replica.role
    assert isinstance(role, Leader)
    known = Progress(_NEW_VOTER, 2, True, 4000, 4)
    if caught_up == "yes":
        known = replace(known, end_offset=4, last_caught_up_time=4000, caught_up=True)
    voter = Voter(_NEW_VOTER, (Endpoint("CONTROLLER", "node-4", 9093),))
    return replace(replica, role=replace(role, observers=(known,), change=AddingVoter(-1, 7, voter, True)))


def _api_versions_response(given: Given) -> Situation | None:
    source = {"the new voter": 4, "another": 2}[given["sender"]]
    words = f"kraft={_SUPPORTED[given['supports']]} error={given['error']} now=5000"
    replica = _adding(given["has caught up"])
    return replica, parse_event(f"api-versions-response from={source} {words}", replica)


# Descriptions of the quorum.


def _describe_request(given: Given) -> Situation | None:
    leads = given["role"] in ("Leader", "Resigned")
    down = "shutting-down" if given["shutting down"] == "yes" else ""
    replica = replica_in(given["role"], down, leader="1" if leads else "3") or replica_in(given["role"], down)
    assert replica is not None
    partition = "" if given["partition"] == "the metadata partition" else "partition=other-0"
    return replica, parse_event(f"describe-quorum-request from=-1 now=5000 {partition}", replica)


# The tables.

FETCH_SNAPSHOT_RESPONSE = Table(
    "fetch-snapshot-response",
    "what a replica makes of an awaited answer to FetchSnapshot",
    AWAITED + " A Follower loads snapshot 9-5, of which it has nothing yet.",
    {**SHARED, "error": tuple(_SNAPSHOT_ERRORS), "content": tuple(_PARTS)},
    _snapshot_response,
)

ADD_RAFT_VOTER_RESPONSE = Table(
    "add-raft-voter-response",
    "what a replica that adds itself to the voters makes of the answer",
    "The answer is awaited.",
    {"role": ROLES, "error": tuple(error.name for error in _CHANGE_ERRORS)},
    _add_response,
)

REMOVE_RAFT_VOTER_RESPONSE = Table(
    "remove-raft-voter-response",
    "what a replica that removes its former self from the voters makes of the answer",
    "The answer is awaited.",
    {"role": ROLES, "error": tuple(error.name for error in _CHANGE_ERRORS)},
    _remove_response,
)

UPDATE_RAFT_VOTER_RESPONSE = Table(
    "update-raft-voter-response",
    "what a voter makes of an awaited answer to UpdateRaftVoter",
    AWAITED + " An answer made by the network layer has a smaller epoch.",
    {
        "role": ROLES,
        "error": tuple(_UPDATE_ERRORS),
        "epoch": tuple(EPOCHS),
        "names a leader": ("no", "yes"),
        "leader": LEADERS,
    },
    _update_response,
)

API_VERSIONS_RESPONSE = Table(
    "api-versions-response",
    "what a leader that adds a voter makes of what the new voter supports",
    "AddRaftVoter is under way; the finalized kraft.version is 1.",
    {
        "sender": ("the new voter", "another"),
        "error": ("NONE", "BROKER_NOT_AVAILABLE", "UNSUPPORTED_VERSION"),
        "supports": tuple(_SUPPORTED),
        "has caught up": ("yes", "never"),
    },
    _api_versions_response,
)

DESCRIBE_QUORUM_REQUEST = Table(
    "describe-quorum-request",
    "how a replica answers DescribeQuorum",
    "A client asks.",
    {
        "role": ROLES,
        "partition": ("the metadata partition", "another"),
        "shutting down": ("no", "yes"),
    },
    _describe_request,
)
