"""The domains of the decision tables of start-up and the poll loop; see :mod:`.situations`."""

from __future__ import annotations

from kraftcheck.query.situations import ROLES, Given, read
from kraftcheck.query.tables import Situation, Table
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.text.event import parse_event

# Start-up.


def _start(given: Given) -> Situation | None:
    membership = given["replica"]
    voters = {"voter": "1,2,3", "only voter": "1", "observer": "2,3,4"}[membership]
    replica = read(f"unattached id=1/A voters={voters} log=2@2,2@3 listens=CONTROLLER://node-1:9093")
    if given["file"] == "missing":
        if (given["stored leader"], given["stored vote"]) != ("none", "none"):
            return None
        return replace(replica, quorum_state=QuorumState(), log=type(replica.log)()), "start"
    epoch = 2 if given["file"] == "behind the log" else 5
    leader = {"none": None, "itself": 1, "a voter": 2, "not a voter": 9}[given["stored leader"]]
    if membership == "only voter" and leader == 2:
        return None
    vote = {
        "none": None,
        "itself": ReplicaKey(1, "A"),
        "itself, no directory": ReplicaKey(1),
        "itself, another directory": ReplicaKey(1, "B"),
        "another": ReplicaKey(3),
    }[given["stored vote"]]
    return replace(replica, quorum_state=QuorumState(epoch, leader, vote)), "start"


# The poll loop.

_RUNNING = {
    "Unattached": ("election",),
    "Prospective": ("election",),
    "Candidate": ("election",),
    "Leader": ("check-quorum", "begin-quorum-epoch", "linger"),
    "Follower": ("fetch",),
    "Resigned": ("election",),
}


def _timer(given: Given) -> Situation | None:
    role, membership, state = given["role"], given["replica"], given["state"]
    if given["expired"] not in (*_RUNNING[role], "none"):
        return None
    applies = {
        "usual": True,
        "lost": role in ("Prospective", "Candidate"),
        "records pending": role == "Leader",
        "epoch not opened": role == "Leader",
        "resign requested": role == "Leader",
        "answer awaited": True,
    }
    voters = {"voter": "1,2,3", "only voter": "1", "observer": "2,3,4"}[membership]
    if not applies[state]:
        return None
    if given["leader"] == "itself" and role not in ("Leader", "Resigned"):
        return None
    allowed = {
        "Unattached": ("unknown", "known, no endpoints"),
        "Prospective": ("unknown", "known", "known, no endpoints"),
        "Candidate": ("unknown",),
        "Follower": ("known",),
    }
    if given["leader"] not in allowed.get(role, ("itself",)):
        return None
    if membership == "only voter" and role in ("Prospective", "Candidate", "Follower"):
        return None
    words = {
        "usual": "",
        "lost": "rejected=2,3",
        "records pending": "pending=7",
        "epoch not opened": "log=2@2,2@3",
        "resign requested": "resign-requested",
        "answer awaited": "awaiting=2,3",
    }[state]
    known = "" if given["leader"] in ("unknown", "itself") else "leader=3"
    if role == "Prospective" and given["leader"] == "known, no endpoints":
        known += " endpoints=none"
    down = "shutting-down" if given["shutting down"] == "yes" else ""
    log = "" if "log=" in words else "log=2@2,1@3,1@5" if role == "Leader" else "log=2@2,2@3"
    replica = read(f"{role.lower()} id=1 epoch=5 voters={voters} {log} {known} {words} {down}")
    expired = "" if given["expired"] == "none" else f"expired={given['expired']}"
    return replica, parse_event(f"poll {expired} discovery=2", replica)


# The tables.

START = Table(
    "start",
    "in which role a replica starts",
    "Its log, if the file exists, ends with a record of epoch 3.",
    {
        "file": ("missing", "behind the log", "not behind the log"),
        "stored leader": ("none", "itself", "a voter", "not a voter"),
        "stored vote": (
            "none",
            "itself",
            "itself, no directory",
            "itself, another directory",
            "another",
        ),
        "replica": ("voter", "only voter", "observer"),
    },
    _start,
)

TIMER = Table(
    "timer",
    "what a round of the poll loop does",
    "Only timers that run in the role expire. A node to discover the leader from is at hand.",
    {
        "role": ROLES,
        "expired": ("none", "election", "fetch", "check-quorum", "begin-quorum-epoch", "linger"),
        "state": (
            "usual",
            "lost",
            "records pending",
            "epoch not opened",
            "resign requested",
            "answer awaited",
        ),
        "leader": ("unknown", "known", "known, no endpoints", "itself"),
        "shutting down": ("no", "yes"),
        "replica": ("voter", "only voter", "observer"),
    },
    _timer,
)
