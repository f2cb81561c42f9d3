"""The domains of the decision tables of request handlers: small, and representative of what they distinguish.

Replica 1 is asked; its voters are 1, 2 and 3 and its epoch is 5. Replica 2 sends, and where somebody else is
needed it is 3. Replica 9 is nobody's voter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kraftcheck.query.tables import Situation, Table
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft.text.event import parse_event
from kraftcheck.systems.kraft.text.replica import parse_replica

Given = Mapping[str, str]

ROLES = ("Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned")
EPOCHS = {"smaller": 4, "same": 5, "larger": 6}
FIXED = "Replica and sender belong to one cluster; the request is for the metadata partition."

read = cache(parse_replica)


def replica_in(role: str, words: str = "", *, leader: str = "none", voted: str = "none") -> Replica | None:
    """A replica in epoch 5 with a log of epochs 2 and 3 (a leader: and 5); ``leader`` and ``voted`` are ids.
    ``None`` if they do not go together with the role.
    """
    head = role.lower()
    if (leader != "none") != (head in ("leader", "follower", "resigned")) and head not in (
        "unattached",
        "prospective",
    ):
        return None
    if voted != "none" and head not in ("unattached", "prospective", "follower"):
        return None
    log = "log=2@2,1@3,1@5" if head == "leader" else "log=2@2,2@3"
    known = f"leader={leader} voted={voted}" if head in ("unattached", "prospective", "follower") else ""
    return read(" ".join([head, "id=1", "epoch=5", log, known, words]))


# Vote.

_LOGS = ("behind in epoch", "behind in offset", "equal", "ahead in offset", "illegal")
_VOTES = {"none": "none", "the sender": "2", "another": "3"}


def _vote_columns() -> dict[str, tuple[str, ...]]:
    return {
        "role": ROLES,
        "epoch": tuple(EPOCHS),
        "fetched": ("no", "yes"),
        "vote": ("none", "the sender", "another", "itself"),
        "leader": ("unknown", "known"),
        "sender's log": _LOGS,
        "addressee": ("this replica", "another"),
        "sender": ("voter", "not a voter"),
    }


def _vote(given: Given, *, pre_vote: bool) -> Situation | None:
    role, itself = given["role"], given["vote"] == "itself"
    if (role == "Candidate") != itself and (role == "Candidate" or itself):
        return None
    if given["fetched"] == "yes" and role != "Follower":
        return None
    sender = "2" if given["sender"] == "voter" else "9"
    voted = {"none": "none", "the sender": sender, "another": "3", "itself": "none"}[given["vote"]]
    fetched = "fetched" if given["fetched"] == "yes" else ""
    leads = role in ("Leader", "Resigned")
    leader = "none" if given["leader"] == "unknown" else "1" if leads else "3"
    replica = replica_in(role, fetched, leader=leader, voted=voted)
    if replica is None:
        return None
    epoch = EPOCHS[given["epoch"]]
    last = _last_position(replica, given["sender's log"], epoch, pre_vote=pre_vote)
    if last is None:
        return None
    to = "1" if given["addressee"] == "this replica" else "3"
    words = f"vote-request from={sender} epoch={epoch} last={last} to={to}"
    return replica, parse_event(words + (" pre-vote" if pre_vote else ""), replica)


def _last_position(replica: Replica, log: str, epoch: int, *, pre_vote: bool) -> str | None:
    """The end of the sender's log, or ``None`` if a sender in ``epoch`` cannot have such a log."""
    last, end = replica.log.last_epoch, replica.log.end_offset
    first_illegal = epoch + 1 if pre_vote else epoch
    if log == "illegal":
        return f"{end}@{first_illegal}"
    position = {
        "behind in epoch": (1, end + 5),
        "behind in offset": (last, end - 1),
        "equal": (last, end),
        "ahead in offset": (last, end + 1),
    }[log]
    return None if position[0] >= first_illegal else f"{position[1]}@{position[0]}"


# BeginQuorumEpoch and EndQuorumEpoch.

_KNOWN = {"unknown": "none", "the sender": "2", "another": "3", "itself": "1"}
_CLAIMS = {
    "given": ("2", ""),
    "more than known": ("2", "endpoints=A://a:1,B://b:1"),
    "from the voter set": ("2", "endpoints=none"),
    "unknown": ("9", "endpoints=none"),
}


def _announced(given: Given, head: str, words: str) -> Situation | None:
    sender, endpoints = _CLAIMS[given["endpoints"]]
    if given["claim"] == "by itself":
        if given["endpoints"] != "given":
            return None
        sender = "1"
    leader = _KNOWN[given["leader"]]
    leader = sender if leader == "2" else leader
    if (given["leader"] == "itself") != (given["role"] in ("Leader", "Resigned")):
        return None
    if given["claim"] == "by itself" and given["leader"] == "the sender":
        return None
    replica = replica_in(given["role"], leader=leader)
    if replica is None:
        return None
    epoch = EPOCHS[given["epoch"]]
    return replica, parse_event(f"{head} from={sender} epoch={epoch} {endpoints} {words}", replica)


_ANNOUNCED: dict[str, tuple[str, ...]] = {
    "role": ROLES,
    "epoch": tuple(EPOCHS),
    "leader": tuple(_KNOWN),
    "claim": ("by another", "by itself"),
    "endpoints": tuple(_CLAIMS),
}


def _begin(given: Given) -> Situation | None:
    to = "1" if given["addressee"] == "this replica" else "3"
    return _announced(given, "begin-quorum-epoch-request", f"to={to}")


def _end(given: Given) -> Situation | None:
    successors = {"first": "1,3", "second": "3,1", "absent": "3"}[given["successor"]]
    return _announced(given, "end-quorum-epoch-request", f"successors={successors}")


# Fetch.

_POSITIONS = {
    "at the end": (5, 5),
    "behind": (3, 3),
    "empty": (0, 0),
    "past the epoch's end": (5, 3),
    "unknown epoch": (4, 4),
    "past the end": (9, 5),
    "malformed": (-1, 0),
}


def _fetch(given: Given) -> Situation | None:
    role = given["role"]
    leads = role in ("Leader", "Resigned")
    leader = "1" if leads else "3" if role == "Follower" else "none"
    down = "shutting-down" if given["shutting down"] == "yes" else ""
    if role == "Leader":
        leading = "leader id=1 epoch=5 log=2@2,1@3,2@5 progress=2:3"
        replica: Replica | None = read(f"{leading} {down}")
    else:
        replica = replica_in(role, down, leader=leader)
    if replica is None:
        return None
    offset, last_epoch = _POSITIONS[given["position"]]
    fetcher = {"voter": "2", "observer": "9", "no replica": "-1", "itself": "1"}[given["fetcher"]]
    wait = "500" if given["waits"] == "yes" else "0"
    words = f"from={fetcher} epoch={EPOCHS[given['epoch']]} offset={offset} last-epoch={last_epoch}"
    return replica, parse_event(f"fetch-request {words} max-wait={wait}", replica)


# The tables.

VOTE_REQUEST = Table(
    "vote-request",
    "how a voter answers a standard Vote request",
    FIXED,
    _vote_columns(),
    lambda given: _vote(given, pre_vote=False),
)

PRE_VOTE_REQUEST = Table(
    "pre-vote-request",
    "how a voter answers a Vote request with PreVote",
    FIXED,
    _vote_columns(),
    lambda given: _vote(given, pre_vote=True),
)

BEGIN_QUORUM_EPOCH_REQUEST = Table(
    "begin-quorum-epoch-request",
    "how a voter answers BeginQuorumEpoch",
    FIXED,
    {**_ANNOUNCED, "addressee": ("this replica", "another")},
    _begin,
)

END_QUORUM_EPOCH_REQUEST = Table(
    "end-quorum-epoch-request",
    "how a voter answers EndQuorumEpoch",
    FIXED,
    {**_ANNOUNCED, "successor": ("first", "second", "absent")},
    _end,
)

FETCH_REQUEST = Table(
    "fetch-request",
    "how a voter answers Fetch",
    FIXED + " A leader has records of its epoch, and its high watermark is not known yet.",
    {
        "role": ROLES,
        "epoch": tuple(EPOCHS),
        "position": tuple(_POSITIONS),
        "fetcher": ("voter", "observer", "no replica", "itself"),
        "waits": ("yes", "no"),
        "shutting down": ("no", "yes"),
    },
    _fetch,
)
