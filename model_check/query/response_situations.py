"""The domains of the decision tables of responses; see :mod:`.situations`."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.query.situations import EPOCHS, ROLES, Given, read, replica_in
from kraftcheck.query.tables import Situation, Table
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.replica import Candidate, Prospective, Replica
from kraftcheck.systems.kraft.text.event import parse_event

# What all responses share.

ERRORS: dict[str, str] = {
    ErrorCode.NONE.name: "",
    **{
        name: f"error={name}"
        for name in (
            ErrorCode.FENCED_LEADER_EPOCH.name,
            ErrorCode.UNKNOWN_LEADER_EPOCH.name,
            ErrorCode.NOT_LEADER_OR_FOLLOWER.name,
            ErrorCode.BROKER_NOT_AVAILABLE.name,
            ErrorCode.INVALID_VOTER_KEY.name,
            ErrorCode.INVALID_REQUEST.name,
            ErrorCode.UNKNOWN_SERVER_ERROR.name,
        )
    },
    "UNSUPPORTED_VERSION (top)": "top-error=UNSUPPORTED_VERSION",
    "CLUSTER_AUTHORIZATION_FAILED (top)": "top-error=CLUSTER_AUTHORIZATION_FAILED",
    "BROKER_NOT_AVAILABLE (top)": "top-error=BROKER_NOT_AVAILABLE",
}


LEADERS = ("unknown", "the named one", "another", "itself")


def asked(given: Given, words: str = "") -> Replica | None:
    """The replica that gets the answer: in its role, with the leader it knows."""
    role, leader = given["role"], given["leader"]
    if (leader == "itself") != (role in ("Leader", "Resigned")):
        return None
    known = {"unknown": "none", "the named one": "3", "another": "2", "itself": "1"}[leader]
    return replica_in(role, words, leader=known)


def common(given: Given, errors: Mapping[str, str] = ERRORS) -> str:
    """The words for what every response carries; ``errors`` gives those of the column of errors."""
    named = "leader=3" if given["names a leader"] == "yes" else ""
    return f"epoch={EPOCHS[given['epoch']]} {named} {errors[given['error']]}"


# Responses to Vote.


def _vote_response(given: Given) -> Situation | None:
    role = given["role"]
    decides = "decides" in given["vote"]
    nominee = role in ("Prospective", "Candidate")
    if not nominee and decides:
        return None
    known = {"unknown": "none", "the named one": "3", "another": "2", "itself": "1"}[given["leader"]]
    if (given["leader"] == "itself") != (role in ("Leader", "Resigned")):
        return None
    replica = replica_in(role, leader=known)
    if replica is None:
        return None
    if nominee and not decides:
        voters = read("unattached voters=1,2,3,4,5").bootstrap_voters
        held = replica.role
        assert isinstance(held, Prospective | Candidate)
        held = replace(held, election=replace(held.election, voters=voters.ids))
        replica = replace(replica, bootstrap_voters=voters, role=held)
    elif nominee and given["vote"] == "refused, decides":
        held = replica.role
        assert isinstance(held, Prospective | Candidate)
        replica = replace(replica, role=replace(held, election=replace(held.election, rejected=(3,))))
    named = "leader=3" if given["names a leader"] == "yes" else ""
    granted = "granted" if given["vote"].startswith("granted") else ""
    words = f"epoch={EPOCHS[given['epoch']]} {named} {granted} {ERRORS[given['error']]}"
    return replica, parse_event(f"vote-response from=2 {words}", replica)


# Responses to BeginQuorumEpoch and EndQuorumEpoch.


def _announcement_response(given: Given, api: str) -> Situation | None:
    replica = asked(given)
    if replica is None:
        return None
    sender = {"voter": "2", "observer": "9"}[given["sender"]]
    return replica, parse_event(f"{api}-response from={sender} {common(given)}", replica)


def _begin_response(given: Given) -> Situation | None:
    return _announcement_response(given, "begin-quorum-epoch")


def _end_response(given: Given) -> Situation | None:
    return _announcement_response(given, "end-quorum-epoch")


# Responses to Fetch.

_CONTENTS = {
    "nothing new": "hw=1",
    "a record": "records=4:1@5 hw=3",
    "a smaller high watermark": "hw=0",
    "no high watermark": "",
    "diverges": "diverging=2@2",
    "diverges below the high watermark": "diverging=1@0",
}


def _fetch_response(given: Given) -> Situation | None:
    content = given["content"]
    if given["error"] != ErrorCode.NONE.name and content != "nothing new":
        return None
    replica = asked(given, "hw=1" if given["role"] != "Resigned" else "")
    if replica is None:
        return None
    return replica, parse_event(f"fetch-response from=3 {common(given)} {_CONTENTS[content]}", replica)


# The tables.

SHARED = {
    "role": ROLES,
    "error": tuple(ERRORS),
    "epoch": tuple(EPOCHS),
    "names a leader": ("no", "yes"),
    "leader": LEADERS,
}
AWAITED = "The answer is awaited. It names replica 3 as leader, or none."

VOTE_RESPONSE = Table(
    "vote-response",
    "what a voter makes of an awaited answer to Vote",
    AWAITED,
    {
        "role": ROLES,
        "error": tuple(ERRORS),
        "epoch": tuple(EPOCHS),
        "vote": ("granted", "granted, decides", "refused", "refused, decides"),
        "names a leader": ("no", "yes"),
        "leader": LEADERS,
    },
    _vote_response,
)

BEGIN_QUORUM_EPOCH_RESPONSE = Table(
    "begin-quorum-epoch-response",
    "what a replica makes of an awaited answer to BeginQuorumEpoch",
    AWAITED,
    {**SHARED, "sender": ("voter", "observer")},
    _begin_response,
)

END_QUORUM_EPOCH_RESPONSE = Table(
    "end-quorum-epoch-response",
    "what a replica makes of an awaited answer to EndQuorumEpoch",
    AWAITED,
    {**SHARED, "sender": ("voter", "observer")},
    _end_response,
)

FETCH_RESPONSE = Table(
    "fetch-response",
    "what a replica makes of an awaited answer to Fetch",
    AWAITED + " The high watermark known is 1.",
    {**SHARED, "content": tuple(_CONTENTS)},
    _fetch_response,
)
