"""The decision tables of replicas, with those parts of situations that the short form has no words for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kraftcheck.query.ask import START
from kraftcheck.query.decision_table import DecisionTable, Given, load
from kraftcheck.query.replica_decisions import Situation, decision
from kraftcheck.reference import log as logs
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Snapshot, SnapshotId
from kraftcheck.reference.messages import FetchSnapshotResponse
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Leader,
    PartialSnapshot,
    Progress,
    Prospective,
    QuorumState,
    RemovingVoter,
    Replica,
    VoterChange,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter
from kraftcheck.systems.kraft.text.event import parse_event
from kraftcheck.systems.kraft.text.replica import parse_replica

read = cache(parse_replica)


@cache
def _situation_of(state: str, event: str) -> Situation:
    replica = read(state)
    return (replica, "start") if event == START else (replica, parse_event(event, replica))


# What the short form has no words for.


def _with_files(situation: Situation, given: Given) -> Situation:
    """The content of the quorum-state file; without that file the disk is empty."""
    replica, event = situation
    if given["file"] == "missing":
        return replace(replica, quorum_state=QuorumState(), log=type(replica.log)()), event
    epoch = 2 if given["file"] == "behind the log" else 5
    leader = {"none": None, "itself": 1, "a voter": 2, "not a voter": 9}[given["stored leader"]]
    vote = {
        "none": None,
        "itself": ReplicaKey(1, "A"),
        "itself, no directory": ReplicaKey(1),
        "itself, another directory": ReplicaKey(1, "B"),
        "another": ReplicaKey(3),
    }[given["stored vote"]]
    return replace(replica, quorum_state=QuorumState(epoch, leader, vote)), event


def _undecided(situation: Situation, given: Given) -> Situation:
    """An election of five voters, where the vote does not decide it."""
    replica, event = situation
    if "decides" in given["vote"] or not isinstance(replica.role, Prospective | Candidate):
        return situation
    voters = read("unattached voters=1,2,3,4,5").bootstrap_voters
    election = replace(replica.role.election, voters=voters.ids)
    return replace(replica, bootstrap_voters=voters, role=replace(replica.role, election=election)), event


_VOTER = Voter(ReplicaKey(5, "E"), (Endpoint("CONTROLLER", "node-5", 9093),))
_CHANGES: Mapping[str, VoterChange | None] = {
    "none": None,
    "add": AddingVoter(-1, 7, _VOTER, True),
    "remove": RemovingVoter(-1, 7, 2),
}


def _with_change(situation: Situation, given: Given) -> Situation:
    """The change that is under way at a leader."""
    replica, event = situation
    if not isinstance(replica.role, Leader):
        return situation
    change = _CHANGES[given["change under way"]]
    return replace(replica, role=replace(replica.role, change=change)), event


def _with_snapshot(situation: Situation, given: Given) -> Situation:
    """A leader's snapshot of 100 bytes."""
    replica, event = situation
    if not isinstance(replica.role, Leader):
        return situation
    stored = Snapshot(SnapshotId(3, 3), size=100)
    return replace(replica, log=logs.with_snapshot(replica.log, stored)), event


def _loading(situation: Situation, given: Given) -> Situation:
    """The snapshot that a follower loads, and the response with its content."""
    replica, event = situation
    assert isinstance(event, ResponseReceived)
    assert isinstance(event.response, FetchSnapshotResponse)
    loaded = SnapshotId(9, 5)
    if isinstance(replica.role, Follower):
        replica = replace(replica, role=replace(replica.role, fetching_snapshot=PartialSnapshot(loaded)))
    response = replace(event.response, content=Snapshot(loaded, size=100))
    return replica, replace(event, response=response)


def _adding(situation: Situation, given: Given) -> Situation:
    """A leader that adds replica 4, which fetches, and asks what it supports; the clock shows 5000."""
    replica, event = situation
    assert isinstance(replica.role, Leader)
    added = ReplicaKey(4, "D")
    known = Progress(added, 2, True, 4000, 4)
    if given["has caught up"] == "yes":
        known = replace(known, end_offset=4, last_caught_up_time=4000, caught_up=True)
    change = AddingVoter(-1, 7, Voter(added, (Endpoint("CONTROLLER", "node-4", 9093),)), True)
    return replace(replica, role=replace(replica.role, observers=(known,), change=change)), event


# The tables.

_ELECTIONS = "replication.toml"
_FINISHING = {
    "with_files": _with_files,
    "undecided": _undecided,
    "with_change": _with_change,
    "with_snapshot": _with_snapshot,
    "loading": _loading,
    "adding": _adding,
}
#: The tables of elections and replication: their situations are put to implementations, too.
REPLICATION: Mapping[str, DecisionTable[Situation]] = load([_ELECTIONS], _situation_of, decision, _FINISHING)
TABLES = load([_ELECTIONS, "voter-changes.toml"], _situation_of, decision, _FINISHING)
#: Situations that a working quorum does not come to: for implementations alone.
PROBES = load(["probes.toml"], _situation_of, decision, _FINISHING)

#: A replica in each role in the short form, with ``{leader}`` and ``{voted}`` where it may know these.
ROLES: Mapping[str, str] = {
    role: str(words) for role, words in TABLES["begin-quorum-epoch-request"].columns["role"].items()
}
#: An epoch that is compared with that of the replica.
EPOCHS: Mapping[str, int] = {
    name: int(str(epoch)) for name, epoch in TABLES["begin-quorum-epoch-request"].columns["epoch"].items()
}


def replica_in(role: str, words: str = "", *, leader: str = "none", voted: str = "none") -> Replica | None:
    """A replica in this role; ``leader`` and ``voted`` are ids. ``None`` if they do not fit the role."""
    free = role in ("Unattached", "Prospective")
    if not free and (leader != "none") != (role in ("Leader", "Follower", "Resigned")):
        return None
    if voted != "none" and not (free or role == "Follower"):
        return None
    return read(f"{ROLES[role]} {words}".format(leader=leader, voted=voted).strip())
