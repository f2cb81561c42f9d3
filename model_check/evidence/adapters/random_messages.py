"""Random messages of peers to a replica: requests, and answers to what it has asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import (
    Batch,
    EpochEnd,
    KRaftVersion,
    LeaderChange,
    Log,
    Record,
    Snapshot,
    SnapshotId,
    Value,
    Voters,
)
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, voter_set

T = TypeVar("T")

CLIENT = -1
#: The size of every snapshot, and of a part of one, in bytes.
SNAPSHOT_SIZE, _PART = 300, 100

#: Nodes that exist but need not be voters.
_OTHERS = (4, 5)


class Peers:
    """The nodes around a replica: they agree on who leads an epoch, most of the time."""

    def __init__(self, identity: Replica, random: Random) -> None:
        self.identity, self.random = identity, random
        self.dynamic = identity.bootstrap_kraft_version > 0
        self.voters = tuple(id for id in identity.bootstrap_voters.ids if id != identity.id)
        self.nodes = (*self.voters, *(id for id in _OTHERS if id not in self.voters))
        self._leaders: dict[int, int] = {}
        self.committed = 0

    def knows(self, replica: Replica) -> None:
        """Note the leader that ``replica`` knows, and all that it has ever known to be committed.

        No correct leader diverges below that, and Kafka's log remembers it over changes of the role.
        """
        self.committed = max(self.committed, replica.high_watermark or 0)
        if replica.quorum_state.leader is not None:
            self._leaders.setdefault(replica.epoch, replica.quorum_state.leader)

    def leader(self, epoch: int) -> int:
        """Who leads ``epoch``."""
        if self.chance(0.02):
            return self.one_of(self.nodes)
        return self._leaders.setdefault(epoch, self.one_of(self.voters or self.nodes))

    def key(self, id: int) -> ReplicaKey:
        """The key of a node."""
        known = self.identity.bootstrap_voters.find(id)
        if known is not None:
            return known.key
        return ReplicaKey(id, f"directory-of-node-00{id}A" if self.dynamic else None)

    def endpoints(self, id: int) -> tuple[Endpoint, ...]:
        """Where a node listens."""
        return self.identity.endpoints if id == self.identity.id else _at(id)

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.random.random() < probability

    def one_of(self, things: Sequence[T]) -> T:
        """One of several things."""
        return self.random.choice(things)

    def epoch(self, replica: Replica) -> int:
        """An epoch near that of ``replica``."""
        return max(0, replica.epoch + self.one_of((-1, 0, 0, 0, 0, 0, 1, 1, 2)))


def _at(id: int) -> tuple[Endpoint, ...]:
    return (Endpoint("CONTROLLER", f"node-{id}", 9093),)


# Requests.


def request(peers: Peers, replica: Replica) -> tuple[int, Request]:
    """A request that arrives, and the node that it comes from."""
    leads = isinstance(replica.role, Leader)
    makers: list[tuple[int, Callable[[Peers, Replica], tuple[int, Request]]]] = [
        (2 if leads else 6, _vote),
        (1 if leads else 4, _begin),
        (1 if leads else 2, _end),
        (14 if leads else 1, _fetch),
        (2 if leads and replica.log.snapshots else 0, _fetch_snapshot),
        (1, _describe),
    ]
    if peers.dynamic:
        makers += [(2, _add), (2, _remove), (2, _update)]
    elif replica.max_kraft_version:
        makers += [(2, _update)]
    made = peers.random.choices([make for _, make in makers], [weight for weight, _ in makers])[0]
    source, found = made(peers, replica)
    if peers.identity.cluster_id is not None and hasattr(found, "cluster_id"):
        named = "another-cluster" if peers.chance(0.01) else peers.identity.cluster_id
        found = replace(found, cluster_id=named)
    return source, found


def _vote(peers: Peers, replica: Replica) -> tuple[int, Request]:
    source = peers.one_of(peers.nodes)
    end = max(0, replica.log.end_offset + peers.one_of((-1, 0, 0, 1)))
    epoch = peers.epoch(replica)
    last = min(max(0, epoch - 1), max(0, replica.log.last_epoch + peers.one_of((-1, 0, 0, 1))))
    key = replica.key if peers.chance(0.95) else ReplicaKey(peers.identity.id, "directory-of-node-009A")
    return source, VoteRequest(epoch, peers.key(source), key, last, end, peers.chance(0.4))


def _begin(peers: Peers, replica: Replica) -> tuple[int, Request]:
    epoch = peers.epoch(replica)
    leader = peers.leader(epoch)
    if leader == replica.id:
        epoch += 1
        leader = peers.one_of(peers.nodes)
    return leader, BeginQuorumEpochRequest(epoch, leader, replica.key, peers.endpoints(leader))


def _end(peers: Peers, replica: Replica) -> tuple[int, Request]:
    epoch = peers.epoch(replica)
    leader = peers.leader(epoch)
    if leader == replica.id:
        epoch += 1
        leader = peers.one_of(peers.nodes)
    successors = [replica.key, *map(peers.key, peers.voters)][: peers.random.randint(0, 3)]
    peers.random.shuffle(successors)
    return leader, EndQuorumEpochRequest(epoch, leader, tuple(successors), peers.endpoints(leader))


def _fetch(peers: Peers, replica: Replica) -> tuple[int, Request]:
    source, log = peers.one_of(peers.nodes), replica.log
    ends = [log.start_offset, log.end_offset, *(batch.end_offset for batch in log.batches)]
    offset = log.end_offset if peers.chance(0.5) else peers.one_of(ends)
    offset = offset if peers.chance(0.95) else peers.random.randint(0, log.end_offset + 1)
    last = _epoch_before(log, offset) if peers.chance(0.9) else peers.random.randint(0, replica.epoch)
    epoch = replica.epoch if peers.chance(0.9) else peers.epoch(replica)
    known = peers.one_of((None, None, replica.high_watermark))
    wait = peers.one_of((0, 500))
    return source, FetchRequest(epoch, peers.key(source), offset, last, known, wait)


def _fetch_snapshot(peers: Peers, replica: Replica) -> tuple[int, Request]:
    source = peers.one_of(peers.nodes)
    known = [snapshot.id for snapshot in replica.log.snapshots]
    id = peers.one_of(known) if peers.chance(0.9) else SnapshotId(replica.log.end_offset, replica.epoch)
    position = peers.one_of((0, 0, _PART, SNAPSHOT_SIZE, SNAPSHOT_SIZE + 1))
    epoch = replica.epoch if peers.chance(0.9) else peers.epoch(replica)
    return source, FetchSnapshotRequest(epoch, peers.key(source), id, position, peers.one_of((_PART, 1000)))


def _describe(peers: Peers, replica: Replica) -> tuple[int, Request]:
    return CLIENT, DescribeQuorumRequest()


def _add(peers: Peers, replica: Replica) -> tuple[int, Request]:
    id = peers.one_of((*peers.nodes, replica.id))
    asked = AddRaftVoterRequest(peers.key(id), _at(id), ack_when_committed=peers.chance(0.5), timeout_ms=1000)
    return CLIENT, asked


def _remove(peers: Peers, replica: Replica) -> tuple[int, Request]:
    return CLIENT, RemoveRaftVoterRequest(peers.one_of((*map(peers.key, peers.nodes), replica.key)))


def _update(peers: Peers, replica: Replica) -> tuple[int, Request]:
    source = peers.one_of(peers.nodes)
    more = (Endpoint("SECOND", f"node-{source}", 9094),) if peers.chance(0.4) else ()
    epoch = replica.epoch if peers.chance(0.9) else peers.epoch(replica)
    key = replace(peers.key(source), directory=f"directory-of-node-00{source}A")
    return source, UpdateRaftVoterRequest(epoch, key, (*_at(source), *more), 0, peers.one_of((0, 1, 1)))


def _epoch_before(log: Log, offset: int) -> int:
    """The epoch of the last record before ``offset``."""
    found = [batch.epoch for batch in log.batches if batch.base_offset < offset]
    snapshots = [snapshot.id.epoch for snapshot in log.snapshots if snapshot.id.end_offset <= offset]
    return max([*found, *snapshots], default=0)


# Responses.


def response(peers: Peers, replica: Replica, source: int, asked: Request) -> Response:
    """An answer of node ``source`` to the request ``asked`` of ``replica``."""
    if isinstance(asked, ApiVersionsRequest):
        return ApiVersionsResponse(peers.one_of(((0, 1), (0, 1), (0, 0), None)))
    if isinstance(asked, AddRaftVoterRequest):
        return AddRaftVoterResponse(
            peers.one_of((ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        )
    if isinstance(asked, RemoveRaftVoterRequest):
        return RemoveRaftVoterResponse(peers.one_of((ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND)))
    if peers.chance(0.15):
        return _refused(peers, replica, asked)
    return _ANSWERS[type(asked)](peers, replica, source, asked)


_RESPONSES: Mapping[type, Callable[..., Response]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
}


def _refused(peers: Peers, replica: Replica, asked: Request) -> Response:
    """An error: of a node in a later epoch, with or without its leader; or of one that does not lead."""
    make = _RESPONSES[type(asked)]
    if peers.chance(0.5):
        epoch = replica.epoch + peers.random.randint(1, 2)
        leader = peers.leader(epoch) if peers.chance(0.5) else None
        leader = None if leader == replica.id else leader
        error = ErrorCode.FENCED_LEADER_EPOCH
    else:
        epoch, leader = replica.epoch, replica.quorum_state.leader
        error = peers.one_of(
            (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.BROKER_NOT_AVAILABLE)
        )
        if error is ErrorCode.BROKER_NOT_AVAILABLE:
            return make(-1, error=error)
    endpoints = () if leader is None else peers.endpoints(leader)
    return make(epoch, leader, leader_endpoints=endpoints, partition_error=error)


def _voted(peers: Peers, replica: Replica, source: int, asked: VoteRequest) -> Response:
    return VoteResponse(asked.epoch, granted=peers.chance(0.6))


def _begun(peers: Peers, replica: Replica, source: int, asked: BeginQuorumEpochRequest) -> Response:
    return BeginQuorumEpochResponse(asked.epoch, asked.leader, leader_endpoints=replica.endpoints)


def _ended(peers: Peers, replica: Replica, source: int, asked: EndQuorumEpochRequest) -> Response:
    return EndQuorumEpochResponse(asked.epoch, asked.leader, leader_endpoints=replica.endpoints)


def _updated(peers: Peers, replica: Replica, source: int, asked: UpdateRaftVoterRequest) -> Response:
    return UpdateRaftVoterResponse(asked.epoch, source, peers.endpoints(source))


def _fetched(peers: Peers, replica: Replica, source: int, asked: FetchRequest) -> Response:
    """Of the leader: records, a place where the logs diverge, a snapshot. Of another node: who leads."""
    leader = peers.leader(asked.epoch)
    if leader == replica.id:
        return FetchResponse(asked.epoch, partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if leader != source:
        return FetchResponse(
            asked.epoch, leader, leader_endpoints=peers.endpoints(leader),
            partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        )  # fmt: skip
    found = FetchResponse(asked.epoch, leader, leader_endpoints=peers.endpoints(leader))
    kind = peers.random.random()
    end, committed = asked.offset, peers.committed
    if kind < 0.2 and end > committed:
        offset = peers.one_of(_boundaries(replica.log, committed))
        return replace(found, diverging=EpochEnd(_epoch_before(replica.log, offset), offset))
    if kind < 0.3:
        id = SnapshotId(end + peers.random.randint(0, 3), peers.random.randint(asked.last_epoch, asked.epoch))
        return replace(found, snapshot=id) if id.end_offset else found
    batches = _batches(peers, replica, asked) if kind < 0.8 else ()
    known = batches[-1].end_offset if batches else end
    ends = [*_boundaries(replica.log, committed), *(batch.end_offset for batch in batches)]
    watermark = peers.one_of([each for each in ends if each <= known] or [known])
    return replace(found, batches=batches, high_watermark=watermark if peers.chance(0.8) else None)


def _boundaries(log: Log, committed: int) -> list[int]:
    """The ends of batches from ``committed`` on and not within a snapshot: leaders have whole batches, so
    there they diverge and there they commit.
    """
    begin = max([log.start_offset, *(snapshot.id.end_offset for snapshot in log.snapshots)])
    ends = [begin, *(batch.end_offset for batch in log.batches)]
    return [end for end in ends if end >= max(begin, committed)] or [log.end_offset]


def _batches(peers: Peers, replica: Replica, asked: FetchRequest) -> tuple[Batch, ...]:
    found: list[Batch] = []
    offset, epoch = asked.offset, asked.last_epoch
    for _ in range(peers.random.randint(1, 3)):
        later = peers.random.randint(epoch, asked.epoch) if asked.epoch > epoch else epoch
        records: tuple[Record, ...] = (Value(peers.random.randint(1, 9)),) * peers.random.randint(1, 2)
        if later > epoch:
            records = (LeaderChange(peers.leader(later), replica.voters.ids, ()),)
        elif replica.max_kraft_version and peers.chance(0.3):
            records = _control(peers, replica)
        found.append(Batch(offset, max(1, later), records))
        offset, epoch = found[-1].end_offset, max(1, later)
    return tuple(found)


def _control(peers: Peers, replica: Replica) -> tuple[Record, ...]:
    """A voter set with one voter more or less, preceded by the version that allows it."""
    entries = {voter.key.id: voter for voter in replica.voters.voters}
    id = peers.one_of((*peers.nodes, replica.id))
    if id in entries and len(entries) > 1:
        del entries[id]
    else:
        entries[id] = Voter(_keyed(peers, replica, id), peers.endpoints(id) or _at(id), 0, 1)
    complete = (
        replace(each, key=_keyed(peers, replica, each.key.id), max_kraft_version=1)
        for each in entries.values()
    )
    voters = Voters(voter_set(complete))
    return (voters,) if replica.kraft_version else (KRaftVersion(1), voters)


def _keyed(peers: Peers, replica: Replica, id: int) -> ReplicaKey:
    """The key of a node in a voter set, where every voter has a directory id."""
    key = replica.key if id == replica.id else peers.key(id)
    return key if key.directory is not None else ReplicaKey(id, f"directory-of-node-00{id}A")


def _loaded(peers: Peers, replica: Replica, source: int, asked: FetchSnapshotRequest) -> Response:
    """Bytes of the snapshot: the next part, or all that is left; now and then a wrong place."""
    dynamic = replica.kraft_version > 0
    content = Snapshot(
        asked.snapshot, replica.voters if dynamic else None, replica.kraft_version, (7,), SNAPSHOT_SIZE
    )
    if peers.chance(0.1):
        error = peers.one_of((ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE))
        return FetchSnapshotResponse(
            asked.epoch, source, leader_endpoints=peers.endpoints(source), partition_error=error
        )
    position = asked.position if peers.chance(0.95) else asked.position + 1
    length = min(_PART, SNAPSHOT_SIZE - position) if peers.chance(0.5) else SNAPSHOT_SIZE - position
    return FetchSnapshotResponse(
        asked.epoch, source, asked.snapshot, SNAPSHOT_SIZE, position, length, content, peers.endpoints(source)
    )


_ANSWERS: Mapping[type, Callable[..., Response]] = {
    VoteRequest: _voted,
    BeginQuorumEpochRequest: _begun,
    EndQuorumEpochRequest: _ended,
    FetchRequest: _fetched,
    FetchSnapshotRequest: _loaded,
    UpdateRaftVoterRequest: _updated,
}
