"""Replicas in the short form: ``follower epoch=5 leader=1 log=3@4,2@5 hw=4 voted=2``."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference import log as logs
from kraftcheck.reference import transitions
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import LeaderChange, Log, Record, Value
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
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters, voter_set
from kraftcheck.reference.work import ProcessDied, Work
from kraftcheck.systems.kraft.text import log as short_log
from kraftcheck.systems.kraft.text.words import (
    INT64,
    Grammar,
    Words,
    items,
    number,
    split,
)

EXAMPLE = "follower epoch=5 leader=1 log=3@4,2@5 hw=4"

_COMMON = {
    "id": "1",
    "voters": "1,2,3",
    "epoch": "5",
    "log": "3@4,2@5",
    "hw": "4",
    "awaiting": "2,3",
    "backoff": "2",
    "parked": "2:5",
    "cluster": "name",
    "listens": "CONTROLLER://node-1:9093",
    "kraft": "1",
    "max-kraft": "1",
    "next-correlation": "7",
}
_FLAGS = ("shutting-down", "broker")
_TALLY = {"electorate": "1,2,3", "granted": "1,2", "rejected": "3"}
_LEADER = {"leader": "1", "voted": "2", "endpoints": "CONTROLLER://node-1:9093"}

GRAMMAR: Mapping[str, Grammar] = {
    "unattached": Grammar(_COMMON | {"leader": "1", "voted": "2"}, _FLAGS),
    "prospective": Grammar(_COMMON | _LEADER | _TALLY, _FLAGS),
    "candidate": Grammar(_COMMON | _TALLY, _FLAGS),
    "leader": Grammar(
        _COMMON
        | {
            "start": "3",
            "granting": "1,2",
            "progress": "2:5,3:4",
            "acked": "2",
            "pending": "opening,7,8",
            "contacts": "2",
        },
        (*_FLAGS, "resign-requested"),
    ),
    "follower": Grammar(_COMMON | _LEADER, (*_FLAGS, "fetched")),
    "resigned": Grammar(_COMMON | {"unacked": "2,3", "successors": "3,2"}, _FLAGS),
}


def endpoint_of(replica_id: int) -> tuple[Endpoint, ...]:
    """Where a replica listens if nothing else is said: as a static voter of this id."""
    return static_voters([replica_id]).endpoints(replica_id)


def parse_replica(text: str, what: str = "replica") -> Replica:
    """The replica that ``text`` describes. ``what`` names it in errors. Raises InputError."""
    head, rest = split(what, text, GRAMMAR, EXAMPLE)
    words = Words(what, head, rest, GRAMMAR[head])
    if head == "follower" and words.text("leader", "none") == "none":
        words.refuse(head, "a leader to follow", "follower leader=1")
    replica = _identity(words, head)
    replica = _durable(words, head, replica)
    replica = replace(replica, role=_role(words, head, replica))
    return _volatile(words, replica)


# Parsing, part by part.


def _identity(words: Words, head: str) -> Replica:
    keys = words.replica_keys("voters", (ReplicaKey(1), ReplicaKey(2), ReplicaKey(3)))
    if len({key.id for key in keys}) != len(keys) or any(key.id < 0 for key in keys):
        words.refuse(
            f"voters={words.text('voters', '')}", "distinct ids, none of them negative", "voters=1,2,3"
        )
    kraft = words.number("kraft", 0, 0, 2**15 - 1)
    voters = voter_set(Voter(key, endpoint_of(key.id)) for key in keys)
    key = words.key("id", _default_key(words, voters))
    if key is None or key.id < 0:
        words.refuse("id=" + words.text("id", ""), "an id that is not negative", "id=1")
    return Replica(
        key,
        voters,
        endpoints=words.endpoints("listens", voters.endpoints(key.id)),
        bootstrap_kraft_version=kraft,
        max_kraft_version=words.number("max-kraft", kraft, 0, 2**15 - 1),
        can_become_voter=not words.has("broker"),
        cluster_id=words.optional_text("cluster"),
    )


def _default_key(words: Words, voters: VoterSet) -> ReplicaKey:
    """The smallest voter that is not the leader named in the text."""
    leader = words.optional_number("leader")
    return next((voter.key for voter in voters.voters if voter.key.id != leader), ReplicaKey(1))


def _durable(words: Words, head: str, replica: Replica) -> Replica:
    own = head in ("leader", "resigned")
    leader = replica.id if own else words.optional_number("leader")
    voted = replica.key if head == "candidate" else words.key("voted", None)

    # The epochs of the log come first: they give the replica's epoch, and with it who led which epoch.
    anybody = _opening(replica, None, 0)
    sketch = words.read("log", lambda text: short_log.parse_log(text, anybody), Log(), short_log.EXPECTED)
    epoch = words.number("epoch", max(sketch.last_epoch, 1))
    opening = _opening(replica, leader, epoch)
    log = words.read("log", lambda text: short_log.parse_log(text, opening), Log(), short_log.EXPECTED)
    if head == "leader" and log.last_epoch < epoch:
        log = logs.start_epoch(log, epoch)
    return replace(replica, quorum_state=QuorumState(epoch, leader, voted), log=log)


def _opening(replica: Replica, leader: int | None, current: int) -> short_log.Opening:
    """The LeaderChange records of a log: by the leader in the current epoch, else by the first voter."""
    voters = replica.bootstrap_voters.ids
    first = voters[0] if voters else replica.id

    def opening(epoch: int) -> LeaderChange:
        led_by = leader if leader is not None and epoch == current else first
        return LeaderChange(led_by, voters, voters)

    return opening


def _role(words: Words, head: str, replica: Replica) -> Role:
    leader = replica.quorum_state.leader
    others = tuple(voter for voter in replica.voters.ids if voter != replica.id)
    if head == "prospective":
        return Prospective(_election(words, replica), words.endpoints("endpoints", leader_endpoints(replica)))
    if head == "candidate":
        return Candidate(_election(words, replica))
    if head == "follower":
        assert leader is not None
        return Follower(words.endpoints("endpoints", leader_endpoints(replica)), words.has("fetched"))
    if head == "leader":
        return _leader(words, replica)
    if head == "resigned":
        keys = {voter.key.id: voter.key for voter in replica.voters.voters}
        successors = words.replica_keys("successors", tuple(keys[voter] for voter in others))
        return Resigned(words.numbers("unacked", others), successors)
    return Unattached()


def leader_endpoints(replica: Replica) -> tuple[Endpoint, ...]:
    leader = replica.quorum_state.leader
    return () if leader is None else replica.voters.endpoints(leader) or endpoint_of(leader)


def _election(words: Words, replica: Replica) -> Election:
    return Election(
        words.numbers("electorate", replica.voters.ids),
        words.numbers("granted", (replica.id,)),
        words.numbers("rejected", ()),
    )


def _leader(words: Words, replica: Replica) -> Leader:
    granting = words.numbers("granting", replica.voters.ids)
    wrote = bool(replica.log.batches) and replica.log.batches[-1].epoch == replica.epoch
    pending = words.read(
        "pending", lambda text: _pending(replica, granting, text), None, "'opening' and values"
    )
    if pending is None:
        pending = () if wrote else (_opening_records(replica, granting),)
    ends = words.read("progress", _progress, (), "voter:end-offset pairs separated by commas, or 'none'")
    for voter, _ in ends:
        if voter not in replica.voters.ids:
            words.refuse(f"progress={voter}", "one of its voters", "progress=2:5")
    known = {replica.id: replica.log.end_offset if wrote else None, **dict(ends)}
    acknowledged = {
        replica.id,
        *words.numbers("acked", ()),
        *(voter for voter, end in ends if end is not None),
    }
    return Leader(
        epoch_start_offset=words.number("start", epoch_start(replica), 0, INT64),
        granting_voters=granting,
        progress=tuple(
            Progress(key, known.get(key.id), key.id in acknowledged) for key in replica.voters.keys
        ),
        pending=pending,
        contacts=words.numbers("contacts", ()),
        resign_requested=words.has("resign-requested"),
    )


def epoch_start(replica: Replica) -> int:
    starts = [start.offset for start in replica.log.epoch_starts if start.epoch == replica.epoch]
    return starts[0] if starts else replica.log.end_offset


def _opening_records(replica: Replica, granting: tuple[int, ...]) -> tuple[Record, ...]:
    """What the reference queues when this replica becomes leader, with these votes."""
    voters = replica.voters.ids
    role = Candidate(Election(voters, voters))
    work = Work(KAFKA, replace(replica, role=role))
    try:
        transitions.to_leader(work)
    except ProcessDied:
        return (LeaderChange(replica.id, voters, granting),)
    elected = work.replica.role
    assert isinstance(elected, Leader)
    return (LeaderChange(replica.id, voters, granting), *elected.pending[0][1:])


def _pending(replica: Replica, granting: tuple[int, ...], text: str) -> tuple[tuple[Record, ...], ...] | None:
    words = () if text == "none" else tuple(text.split(","))
    opening = words[:1] == ("opening",)
    values = [number(word, -INT64 - 1, INT64) for word in words[opening:]]
    records = tuple(Value(value) for value in values if value is not None)
    if len(records) != len(values):
        return None
    queued: tuple[tuple[Record, ...], ...] = (records,) if records else ()
    return (_opening_records(replica, granting), *queued) if opening else queued


def _pair(text: str) -> tuple[int, int | None] | None:
    left, _, right = text.partition(":")
    voter, end = number(left), number(right, 0, INT64)
    if voter is None or (end is None and right != "-"):
        return None
    return voter, end


def _progress(text: str) -> tuple[tuple[int, int | None], ...] | None:
    return items(text, _pair)


def _connection(text: str) -> Connection | None:
    node, colon, correlation = text.partition(":")
    known, paired = number(node), number(correlation, 0, INT64)
    if known is None or (paired is None) == bool(colon):
        return None
    return Connection(known, True, paired)


def _volatile(words: Words, replica: Replica) -> Replica:
    awaiting = words.read(
        "awaiting", lambda text: items(text, _connection), (), "nodes separated by commas, or 'none'"
    )
    backing_off = tuple(Connection(node, False) for node in words.numbers("backoff", ()))
    connections = (*awaiting, *backing_off)
    if len({connection.node for connection in connections}) != len(connections):
        words.refuse("awaiting, backoff", "each node at most once", "awaiting=2 backoff=3")
    replica = replace(
        replica,
        high_watermark=words.optional_number("hw", None, 0, INT64),
        connections=tuple(sorted(connections, key=lambda connection: connection.node)),
        shutting_down=words.has("shutting-down"),
        next_correlation=words.optional_number("next-correlation", None, 0, INT64),
    )
    expected = "fetcher:offset pairs separated by commas"
    parked = words.read("parked", lambda text: items(text, lambda part: _parked(replica, part)), (), expected)
    return replace(replica, parked=parked)


def _parked(replica: Replica, text: str) -> ParkedFetch | None:
    parts = [number(part, 0, INT64) for part in text.split(":")]
    if len(parts) not in (2, 3) or any(part is None for part in parts):
        return None
    source, offset = parts[0] or 0, parts[1] or 0
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
    return ParkedFetch(source, parts[2] if len(parts) == 3 else None, request, response)
