"""The domains of the decision tables of requests for snapshots and voter changes; see :mod:`.situations`."""

from __future__ import annotations

from kraftcheck.query.situations import EPOCHS, ROLES, Given, read, replica_in
from kraftcheck.query.tables import Situation, Table
from kraftcheck.reference import log as logs
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Snapshot, SnapshotId
from kraftcheck.reference.replica import (
    AddingVoter,
    Leader,
    RemovingVoter,
    Replica,
    UpdatingVoter,
    VoterChange,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter
from kraftcheck.systems.kraft.text.event import parse_event

# What the leader has to do with a change when the request arrives.

_DYNAMIC = "leader id=1/A voters=1/A,2/B,3/C kraft=1 epoch=5 log=2@2,1@3,1@5"
_STATIC = "leader id=1/A voters=1,2,3 kraft=0 max-kraft=1 epoch=5 log=2@2,1@3,1@5"
_SINGLE = "leader id=1/A voters=1/A kraft=1 epoch=5 log=2@2,1@3,1@5"
_VOTER = Voter(ReplicaKey(5, "E"), (Endpoint("CONTROLLER", "node-5", 9093),))
_PENDING: dict[str, VoterChange | None] = {
    "none": None,
    "add": AddingVoter(-1, 7, _VOTER, True),
    "remove": RemovingVoter(-1, 7, 2),
    "update": UpdatingVoter(2),
}


def _asked(given: Given, words: str = "") -> Replica | None:
    """The replica that is asked. What a leader knows matters only there: ``None`` elsewhere."""
    down = "shutting-down" if given["shutting down"] == "yes" else ""
    role = given["role"]
    if role == "Leader":
        hw = {"no": "", "yes": "hw=4"}[given["has committed"]]
        known = {"dynamic": _DYNAMIC, "static": _STATIC, "one": _SINGLE}[given["voters"]]
        replica = read(f"{known} {hw} {down} {words}")
        assert isinstance(replica.role, Leader)
        change = _PENDING[given["change under way"]]
        return replace(replica, role=replace(replica.role, change=change))
    usual = given["has committed"] == "yes" and given["voters"] == "dynamic"
    if given["change under way"] != "none" or not usual:
        return None
    leader = "1" if role == "Resigned" else "3"
    return replica_in(role, down, leader=leader) or replica_in(role, down)


_COMMON: dict[str, tuple[str, ...]] = {
    "role": ROLES,
    "shutting down": ("no", "yes"),
    "voters": ("dynamic", "static"),
    "has committed": ("yes", "no"),
    "change under way": tuple(_PENDING),
}

_ADDED = {
    "new": "4/D",
    "a voter": "2/B",
    "a voter's id, other directory": "2/X",
    "without directory": "4",
    "none": "-1",
}
_LISTENS = {"yes": "", "no": "endpoints=OTHER://node-4:9093"}


def _add(given: Given) -> Situation | None:
    replica = _asked(given)
    if replica is None:
        return None
    words = f"voter={_ADDED[given['voter']]} {_LISTENS[given['default listener']]}"
    return replica, parse_event(f"add-raft-voter-request from=-1 {words}", replica)


_REMOVED = {
    "another voter": "2/B",
    "the leader": "1/A",
    "a voter's id, other directory": "2/X",
    "no voter": "4/D",
    "without directory": "2",
}


def _remove(given: Given) -> Situation | None:
    if given["voters"] == "one" and given["role"] != "Leader":
        return None
    replica = _asked(given)
    if replica is None:
        return None
    voter = _REMOVED[given["voter"]]
    return replica, parse_event(f"remove-raft-voter-request from=-1 voter={voter}", replica)


_UPDATED = {
    "a voter": "2/B",
    "a voter's id, other directory": "2/X",
    "no voter": "4/D",
    "without directory": "2",
}
_SUPPORTS = {"0 to 1": "0-1", "0 only": "0-0", "nonsense": "1-0"}


def _update(given: Given) -> Situation | None:
    usual = given["voter"] == "a voter" and given["supports"] == "0 to 1"
    if given["epoch"] != "same" and not usual:
        return None
    replica = _asked(given)
    if replica is None:
        return None
    listens = "" if given["default listener"] == "yes" else "endpoints=OTHER://node-2:9093"
    words = (
        f"from={_UPDATED[given['voter']]} epoch={EPOCHS[given['epoch']]} kraft={_SUPPORTS[given['supports']]}"
    )
    return replica, parse_event(f"update-raft-voter-request {words} {listens}", replica)


# FetchSnapshot.

_SNAPSHOTS = {"the newest": "3@3", "unknown": "9@5", "the bootstrap checkpoint": "0@0"}
_POSITIONS = {"inside": 40, "at the end": 100, "negative": -1}


def _snapshot(given: Given) -> Situation | None:
    down = "shutting-down" if given["shutting down"] == "yes" else ""
    if given["role"] == "Leader":
        replica: Replica | None = read(f"leader id=1 epoch=5 log=2@2,1@3,2@5 hw=3 {down}")
        assert replica is not None
        stored = Snapshot(SnapshotId(3, 3), size=100)
        replica = replace(replica, log=logs.with_snapshot(replica.log, stored))
    else:
        leader = "1" if given["role"] == "Resigned" else "3"
        replica = replica_in(given["role"], down, leader=leader) or replica_in(given["role"], down)
    assert replica is not None
    words = f"snapshot={_SNAPSHOTS[given['snapshot']]} position={_POSITIONS[given['position']]}"
    event = f"fetch-snapshot-request from=2 epoch={EPOCHS[given['epoch']]} {words}"
    return replica, parse_event(event, replica)


# The tables.

_FIXED = "Replica and sender belong to one cluster; the voter set in force is committed."

ADD_RAFT_VOTER_REQUEST = Table(
    "add-raft-voter-request",
    "how a replica answers AddRaftVoter",
    _FIXED,
    {**_COMMON, "voter": tuple(_ADDED), "default listener": tuple(_LISTENS)},
    _add,
)

REMOVE_RAFT_VOTER_REQUEST = Table(
    "remove-raft-voter-request",
    "how a replica answers RemoveRaftVoter",
    _FIXED,
    {**_COMMON, "voters": ("dynamic", "static", "one"), "voter": tuple(_REMOVED)},
    _remove,
)

UPDATE_RAFT_VOTER_REQUEST = Table(
    "update-raft-voter-request",
    "how a replica answers UpdateRaftVoter",
    _FIXED,
    {
        **_COMMON,
        "epoch": tuple(EPOCHS),
        "voter": tuple(_UPDATED),
        "supports": tuple(_SUPPORTS),
        "default listener": ("yes", "no"),
    },
    _update,
)

FETCH_SNAPSHOT_REQUEST = Table(
    "fetch-snapshot-request",
    "how a replica answers FetchSnapshot",
    "Replica and sender belong to one cluster; the request is for the metadata partition. A leader has a "
    "snapshot of 100 bytes.",
    {
        "role": ROLES,
        "epoch": tuple(EPOCHS),
        "shutting down": ("no", "yes"),
        "snapshot": tuple(_SNAPSHOTS),
        "position": tuple(_POSITIONS),
    },
    _snapshot,
)
