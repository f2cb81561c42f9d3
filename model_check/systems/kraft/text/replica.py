"""Replicas in the short form: ``follower epoch=5 leader=1 log=3@4,2@5 hw=4 voted=2``.

A replica is its role and the fields that differ from the defaults. One that these words cannot express is
printed field by field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kraftcheck.reference import log as logs
from kraftcheck.reference import transitions
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import LeaderChange, Record, Value
from kraftcheck.reference.messages import FetchRequest, FetchResponse
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import (
    Candidate,
    Connection,
    Election,
    Follower,
    Leader,
    ParkedFetch,
    Progress,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
    Role,
    Unattached,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set
from kraftcheck.reference.work import ProcessExited, Work
from kraftcheck.support.errors import InputError
from kraftcheck.systems import short_form
from kraftcheck.systems.kraft.text.log import COUNTS, Openings, counts_of_log, log_of
from kraftcheck.systems.kraft.text.style import (
    ENDPOINTS,
    EPOCH,
    IDS,
    KEY,
    KEYS,
    KRAFT_VERSION,
    OFFSET,
    STYLE,
    usual_endpoints,
    whole,
)
from kraftcheck.systems.short_form import Fields, Form, Word, read_words, show_words
from kraftcheck.systems.syntax import TEXT, Mismatch, Syntax, listed, number, one_word, optional, switch

EXAMPLE = "follower epoch=5 leader=1 log=3@4,2@5 hw=4"
Given = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """The records that a leader has accepted and not appended: those that open its epoch, and values."""

    opening: bool = False
    values: tuple[int, ...] = ()

    def __str__(self) -> str:
        return ",".join([*(["opening"] if self.opening else []), *map(str, self.values)]) or "none"


def _pending(text: str) -> Pending | None:
    words = [] if text == "none" else text.split(",")
    opening = words[:1] == ["opening"]
    values = [whole(word) for word in words[opening:]]
    numbers = tuple(value for value in values if value is not None)
    return Pending(opening, numbers) if len(numbers) == len(values) else None


def _progress(text: str) -> tuple[int, int | None] | None:
    left, _, right = text.partition(":")
    voter, end = whole(left, 0), whole(right, 0)
    return None if voter is None or (end is None and right != "-") else (voter, end)


def _colons(least: int, most: int, expected: str, plural: str, example: str) -> Syntax:
    """Numbers with colons between them, as a tuple of ``most`` of which the last ones may be missing."""

    def read(text: str) -> tuple[int | None, ...] | None:
        numbers = [whole(part, 0) for part in text.split(":")]
        if not least <= len(numbers) <= most or None in numbers:
            return None
        return (*numbers, *(None for _ in range(most - len(numbers))))

    def show(values: Sequence[int | None]) -> str:
        return ":".join(str(value) for value in values if value is not None)

    return listed(one_word(expected, read, show, plural), commas=True, example=example)


_PROGRESS = one_word(
    "a voter and its end offset",
    _progress,
    lambda pair: f"{pair[0]}:{'-' if pair[1] is None else pair[1]}",
    "voter:end-offset pairs",
)
_PENDING = one_word("'opening' and values", _pending, str, "", "opening,7,8")
_AWAITING = _colons(1, 2, "a node, alone or with a correlation id", "nodes", "2,3")
_PARKED = _colons(2, 3, "a fetcher and its offset", "fetcher:offset pairs", "2:5")


# Defaults.


def _other_voter(given: Given, about: object) -> ReplicaKey:
    """The smallest voter that is not the leader named in the text."""
    voters = sorted(given["voters"], key=lambda key: key.id)
    return next((key for key in voters if key.id != given.get("leader")), ReplicaKey(1))


def _epoch(given: Given, about: object) -> int:
    return max(1, given["log"][-1].epoch) if given["log"] else 1


def _all_voters(given: Given, about: object) -> tuple[int, ...]:
    return tuple(sorted(key.id for key in given["voters"]))


def _others(given: Given, about: object) -> tuple[int, ...]:
    return tuple(voter for voter in _all_voters(given, about) if voter != given["id"].id)


def _other_keys(given: Given, about: object) -> tuple[ReplicaKey, ...]:
    return tuple(sorted((key for key in given["voters"] if key.id != given["id"].id), key=lambda key: key.id))


def _own_endpoints(given: Given, about: object) -> tuple[Endpoint, ...]:
    return usual_endpoints(given["id"].id) if given["id"].id in _all_voters(given, about) else ()


def _has_written(given: Given) -> bool:
    """Whether the log of a leader has a record of its epoch."""
    written = [count for count in given["log"] if count.number]
    return bool(written) and written[-1].epoch == given["epoch"]


def _epoch_start(given: Given, about: object) -> int:
    epoch, log = given["epoch"], given["log"]
    begun = any(count.epoch == epoch for count in log)
    return sum(count.number for count in log if not begun or count.epoch < epoch)


# The words, in the order in which they are printed.

_ELECTION = (
    Word("electorate", syntax=IDS, default=_all_voters),
    Word("granted", syntax=IDS, default=lambda given, about: (given["id"].id,), always=True),
    Word("rejected", syntax=IDS, default=()),
)
_KNOWN_LEADER = Word("leader", syntax=optional(EPOCH), default=None)
_VOTED = Word("voted", syntax=optional(KEY), default=None)
_LISTENS = Word("endpoints", syntax=ENDPOINTS, default=lambda given, about: usual_endpoints(given["leader"]))
_ROLES: Mapping[str, tuple[Word, ...]] = {
    "unattached": (_KNOWN_LEADER, _VOTED),
    "prospective": (_KNOWN_LEADER, _VOTED, *_ELECTION, _LISTENS),
    "candidate": _ELECTION,
    "leader": (
        Word("start", syntax=OFFSET, default=_epoch_start),
        Word("granting", syntax=IDS, default=_all_voters),
        Word("progress", syntax=listed(_PROGRESS, commas=True, example="2:5,3:4"), default=()),
        Word("acked", syntax=IDS, default=()),
        Word("pending", syntax=_PENDING, default=lambda given, about: Pending(not _has_written(given))),
        Word("contacts", syntax=IDS, default=()),
        Word("resign-requested", syntax=switch(), default=False),
    ),
    "follower": (
        Word("leader", syntax=number(0, example="1")),
        _VOTED,
        _LISTENS,
        Word("fetched", syntax=switch(), default=False),
    ),
    "resigned": (
        Word("unacked", syntax=IDS, default=_others),
        Word("successors", syntax=KEYS, default=_other_keys),
    ),
}


def _form(role: str) -> Form:
    words = (
        Word("id", syntax=KEY, default=_other_voter, always=True),
        Word("voters", syntax=KEYS, default=tuple(map(ReplicaKey, (1, 2, 3)))),
        Word("epoch", syntax=EPOCH, default=_epoch, always=True),
        *_ROLES[role],
        Word("log", syntax=COUNTS, default=()),
        Word("read-to", syntax=OFFSET, default=0),
        Word("hw", syntax=optional(OFFSET), default=None),
        Word("awaiting", syntax=_AWAITING, default=()),
        Word("backoff", syntax=IDS, default=()),
        Word("parked", syntax=_PARKED, default=()),
        Word("next-correlation", syntax=optional(OFFSET), default=None),
        Word("listens", syntax=ENDPOINTS, default=_own_endpoints),
        Word("kraft", syntax=KRAFT_VERSION, default=0),
        Word("max-kraft", syntax=KRAFT_VERSION, default=lambda given, about: given["kraft"]),
        Word("cluster", syntax=TEXT, default=None),
        Word("shutting-down", syntax=switch(), default=False),
        Word("broker", syntax=switch(), default=False),
    )
    return Form(role, {word.key: replace(word, fields=(word.key,)) for word in words})


FORMS: Mapping[str, Form] = {role: _form(role) for role in _ROLES}


# Reading.


def parse_replica(text: str, what: str = "replica") -> Replica:
    """The replica that ``text`` describes. Raises InputError; ``what`` names it."""
    try:
        role, words = short_form.head_and_words(text, {**FORMS, "replica": None}, EXAMPLE)
        if role == "replica":
            found: Replica = short_form.read_object(STYLE, Replica, words)
            return found
        given = Fields(FORMS[role], read_words(FORMS[role], words)).all()
        _require_sense(given)
        return _replica(role, given)
    except Mismatch as error:
        raise error.error(what) from None


def _require_sense(given: Given) -> None:
    ids = [key.id for key in given["voters"]]
    if len({*ids}) != len(ids) or min(ids, default=0) < 0:
        raise Mismatch("distinct ids, none of them negative", KEYS.show(given["voters"]), path=".voters")
    if given["id"].id < 0:
        raise Mismatch("an id that is not negative", str(given["id"].id), path=".id")
    nodes = [*(node for node, _ in given["awaiting"]), *given["backoff"]]
    if len({*nodes}) != len(nodes):
        example = "; for example 'awaiting=2 backoff=3'."
        raise Mismatch("each node at most once", ",".join(map(str, nodes)), example, ".awaiting, backoff")
    strangers = [voter for voter, _ in given.get("progress", ()) if voter not in ids]
    if strangers:
        raise Mismatch("one of its voters", str(strangers[0]), "; for example 'progress=2:5'.", ".progress")


def _replica(role: str, given: Given) -> Replica:
    key, voters = given["id"], voter_set(Voter(each, usual_endpoints(each.id)) for each in given["voters"])
    epoch = given["epoch"]
    leader = key.id if role in ("leader", "resigned") else given.get("leader")
    voted = key if role == "candidate" else given.get("voted")
    log = log_of(given["log"], Openings(leader, epoch, key.id, voters.ids))
    if role == "leader" and log.last_epoch < epoch:
        log = logs.start_epoch(log, epoch)
    if given["read-to"]:
        log = replace(log, read_to=given["read-to"])
    connections = (
        *(Connection(node, True, correlation) for node, correlation in given["awaiting"]),
        *(Connection(node, False) for node in given["backoff"]),
    )
    replica = Replica(
        key,
        voters,
        QuorumState(epoch, leader, voted),
        log,
        high_watermark=given["hw"],
        connections=tuple(sorted(connections, key=lambda each: each.node)),
        shutting_down=given["shutting-down"],
        next_correlation=given["next-correlation"],
        endpoints=given["listens"],
        bootstrap_kraft_version=given["kraft"],
        can_become_voter=not given["broker"],
        max_kraft_version=given["max-kraft"],
        cluster_id=given["cluster"],
    )
    replica = replace(replica, role=_role(role, given, replica))
    return replace(replica, parked=tuple(_parked(replica, *each) for each in given["parked"]))


def _role(role: str, given: Given, replica: Replica) -> Role:
    if role in ("prospective", "candidate"):
        election = Election(given["electorate"], given["granted"], given["rejected"])
        return Candidate(election) if role == "candidate" else Prospective(election, given["endpoints"])
    if role == "follower":
        return Follower(given["endpoints"], given["fetched"])
    if role == "leader":
        return _leader(given, replica)
    return Resigned(given["unacked"], given["successors"]) if role == "resigned" else Unattached()


def _leader(given: Given, replica: Replica) -> Leader:
    own = replica.log.end_offset if _has_written(given) else None
    known = {replica.id: own, **dict(given["progress"])}
    reported = (voter for voter, end in given["progress"] if end is not None)
    acknowledged = {replica.id, *given["acked"], *reported}
    pending: Pending = given["pending"]
    values: tuple[Record, ...] = tuple(map(Value, pending.values))
    return Leader(
        epoch_start_offset=given["start"],
        granting_voters=given["granting"],
        progress=tuple(
            Progress(key, known.get(key.id), key.id in acknowledged) for key in replica.voters.keys
        ),
        pending=(
            *((_opening_records(replica, given["granting"]),) if pending.opening else ()),
            *((values,) if values else ()),
        ),
        contacts=given["contacts"],
        resign_requested=given["resign-requested"],
    )


def _opening_records(replica: Replica, granting: tuple[int, ...]) -> tuple[Record, ...]:
    """The records that the reference queues when this replica becomes leader, with these votes."""
    voters = replica.voters.ids
    role = Candidate(Election(voters, voters))
    work = Work(KAFKA, replace(replica, role=role))
    try:
        transitions.to_leader(work)
    except ProcessExited:
        return (LeaderChange(replica.id, voters, granting),)
    elected = work.replica.role
    assert isinstance(elected, Leader)
    return (LeaderChange(replica.id, voters, granting), *elected.pending[0][1:])


def _parked(replica: Replica, source: int, offset: int, correlation: int | None) -> ParkedFetch:
    voter = replica.voters.find(source)
    epochs = [start.epoch for start in replica.log.epoch_starts if start.offset < offset]
    request = FetchRequest(
        replica.epoch,
        ReplicaKey(source) if voter is None else voter.key,
        offset,
        epochs[-1] if epochs else 0,
        replica.high_watermark,
        KAFKA.fetch_max_wait_ms,
        replica.cluster_id,
    )
    leader = replica.quorum_state.leader
    response = FetchResponse(
        replica.epoch, leader, replica.high_watermark, leader_endpoints=replica.leader_endpoints
    )
    return ParkedFetch(source, correlation, request, response)


# Printing.


def print_replica(replica: Replica) -> str:
    """The short form of ``replica``: it parses back to the same replica."""
    text = describe_replica(replica)
    try:
        if parse_replica(text) == replica:
            return text
    except InputError:
        pass
    return short_form.describe(replica, STYLE)


def describe_replica(replica: Replica) -> str:
    """``replica`` in short, without the contents of records and the progress of a voter change."""
    role = transitions.role_name(replica.role).lower()
    return " ".join([role, *show_words(FORMS[role], _given(replica), STYLE)])


def _given(replica: Replica) -> dict[str, Any]:
    """The words of a replica by key; some of them belong to other roles."""
    state, role = replica.quorum_state, replica.role
    voters: VoterSet = replica.bootstrap_voters
    return {
        "id": replica.key,
        "voters": voters.keys,
        "epoch": state.epoch,
        "leader": state.leader,
        "voted": state.voted,
        "log": counts_of_log(replica.log),
        "read-to": replica.log.read_to,
        "hw": replica.high_watermark,
        "awaiting": tuple((each.node, each.correlation) for each in replica.connections if each.awaiting),
        "backoff": tuple(each.node for each in replica.connections if not each.awaiting),
        "parked": tuple((each.source, each.request.offset, each.correlation) for each in replica.parked),
        "next-correlation": replica.next_correlation,
        "listens": replica.endpoints,
        "kraft": replica.bootstrap_kraft_version,
        "max-kraft": replica.max_kraft_version,
        "cluster": replica.cluster_id,
        "shutting-down": replica.shutting_down,
        "broker": not replica.can_become_voter,
        **_given_of_role(replica, role),
    }


def _given_of_role(replica: Replica, role: Role) -> dict[str, Any]:
    if isinstance(role, Prospective | Candidate):
        election = role.election
        tally = {"electorate": election.voters, "granted": election.granted, "rejected": election.rejected}
        return {**tally, "endpoints": replica.leader_endpoints}
    if isinstance(role, Follower):
        return {"endpoints": role.leader_endpoints, "fetched": role.has_fetched}
    if isinstance(role, Resigned):
        return {"unacked": role.unacknowledged, "successors": role.preferred_successors}
    return _given_of_leader(replica, role) if isinstance(role, Leader) else {}


def _given_of_leader(replica: Replica, role: Leader) -> dict[str, Any]:
    wrote = bool(replica.log.batches) and replica.log.batches[-1].epoch == replica.epoch
    own = replica.log.end_offset if wrote else None
    ends: dict[int, int | None] = {
        entry.id: entry.end_offset for entry in role.progress if entry.end_offset is not None
    }
    if own is not None and replica.id not in ends:
        ends[replica.id] = None
    silent = [each for each in role.progress if each.end_offset is None and each.id != replica.id]
    records = [record for queued in role.pending for record in queued]
    opening = any(isinstance(record, LeaderChange) for queued in role.pending[:1] for record in queued)
    return {
        "start": role.epoch_start_offset,
        "granting": role.granting_voters,
        "progress": tuple((voter, end) for voter, end in ends.items() if (voter, end) != (replica.id, own)),
        "acked": tuple(each.id for each in silent if each.acknowledged),
        "pending": Pending(opening, tuple(each.value for each in records if isinstance(each, Value))),
        "contacts": role.contacts,
        "resign-requested": role.resign_requested,
    }
