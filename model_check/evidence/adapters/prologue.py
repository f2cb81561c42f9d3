"""The path of a replica into a state: a disk, and ordinary events on it.

An implementation cannot be put into a state; the driver can only start it on a disk and lead it there by
events, some of them messages that the driver composes in the place of peers. The reference takes each path
that may lead to the state, and so decides which one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.likeness import departures
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Start, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Value, log_of
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
    Unattached,
)
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.reductions import without_unread_fields

Attempt = tuple[Disk, tuple[Stimulus, ...]]


class Opening(NamedTuple):
    """A disk, and the events that lead from it into a state; ``None``: no events are known that do."""

    disk: Disk
    stimuli: tuple[Stimulus, ...] | None


#: The field of the state of a leader that a scenario may give as unknown, although fetches have told it.
HIGH_WATERMARK = "high watermark"

#: How many more events are tried after those of a path, and how often in all.
_MOST_EVENTS, _MOST_TRIES = 4, 300

#: Fields that must be the same in any case: durable ones, and those of the role that most rules read.
_ESSENTIAL = frozenset({
    "role", "epoch", "leader", "voted", "log", "records", "end offset", "has fetched", "granted", "rejected",
    "epoch start", "progress", HIGH_WATERMARK,
})  # fmt: skip


@lru_cache(maxsize=1024)
def prologue(protocol: Protocol, identity: Replica, target: Replica) -> Opening:
    """A disk and stimuli that lead to ``target``; no stimuli if none are known that lead there.

    They lead to the same values of all fields that rules read, where that is possible; otherwise to those
    that most rules read. A leader knows what the fetches of its voters commit, whatever ``target`` says.
    """
    attempts = [(disk, (*path, *_asked(target))) for disk, path in _paths(target)]
    tries = [(attempt, _after(protocol, identity, *attempt)) for attempt in attempts]
    for attempt, found in tries:
        if found is not None and not unlike(target, found):
            return Opening(*attempt)
    longer = _completed(protocol, identity, target, tries)
    if longer is not None:
        return Opening(*longer)
    for attempt, found in tries:
        if found is not None and not unlike(target, found) & _ESSENTIAL:
            return Opening(*attempt)
    return Opening(Disk(), None)


def approach(protocol: Protocol, identity: Replica, target: Replica) -> Opening:
    """A disk and stimuli that lead to ``target``, or at least into its role and epoch."""
    known = prologue(protocol, identity, target)
    if known.stimuli is not None:
        return known
    for attempt in _paths(target):
        found = _after(protocol, identity, *attempt)
        if found is not None and (type(found.role), found.epoch) == (type(target.role), target.epoch):
            return Opening(attempt[0], (*attempt[1], *_asked(target)))
    return Opening(Disk(), None)


def unlike(target: Replica, found: Replica) -> frozenset[str]:
    """The fields in which a replica is not as ``target``, all of whose log is durable."""
    node = Node(without_unread_fields(target), Disk(target.quorum_state, target.log, target.log.end_offset))
    own = replace(node.disk, log=found.log)
    fields = {change.field for change in departures(target.id, node, found, own)}
    leads_unaware = isinstance(target.role, Leader) and target.high_watermark is None
    return frozenset(fields - {HIGH_WATERMARK} if leads_unaware else fields)


def _after(
    protocol: Protocol, identity: Replica, disk: Disk, stimuli: tuple[Stimulus, ...]
) -> Replica | None:
    asking = Asking(DriveSequence("prologue", protocol, identity, disk, stimuli))
    for _ in asking.questions():
        pass
    return asking.replica


def _completed(
    protocol: Protocol,
    identity: Replica,
    target: Replica,
    tries: Iterable[tuple[Attempt, Replica | None]],
) -> Attempt | None:
    """A path of ``tries`` and a few more ordinary events that lead to ``target``, if there are any."""
    level = [(attempt, found) for attempt, found in tries if found is not None]
    seen, left = {found for _, found in level}, _MOST_TRIES
    for _ in range(_MOST_EVENTS):
        further = []
        for (disk, stimuli), before in level:
            for event in _ordinary_events(target, before):
                longer = disk, (*stimuli, event)
                found = _after(protocol, identity, *longer)
                left -= 1
                if found is not None and not unlike(target, found):
                    return longer
                if left == 0:
                    return None
                if found is not None and found not in seen:
                    seen.add(found)
                    further.append((longer, found))
        level = further
    return None


def _ordinary_events(target: Replica, replica: Replica) -> Iterator[Stimulus]:
    """Events that change what a replica remembers of its requests, or its leader of the others' fetches."""
    for connection in replica.connections:
        yield RequestTimedOut(connection.node) if connection.awaiting else BackoffExpired(connection.node)
    yield Poll()
    busy = {connection.node for connection in replica.connections}
    yield from (Poll((), each) for each in target.voters.ids if each != target.id and each not in busy)
    if isinstance(target.role, Leader):
        yield from _fetches(target, target.role)
    elif isinstance(target.role, Follower) and target.role.has_fetched:
        yield from _fetched(target)


def _asked(target: Replica) -> tuple[Stimulus, ...]:
    """The most recent request to ``target`` comes last."""
    return (Shutdown(),) if target.shutting_down else ()


def _paths(target: Replica) -> Iterator[Attempt]:
    role, state = target.role, target.quorum_state
    as_it_is = Disk(state, target.log, target.log.end_offset)
    if isinstance(role, Unattached):
        yield as_it_is, (Start(), Poll())
    elif isinstance(role, Follower):
        fetched = _fetched(target) if role.has_fetched else ()
        yield as_it_is, (Start(), Poll(), *fetched, Poll())
        without_leader = replace(as_it_is, quorum_state=replace(state, leader=None))
        yield without_leader, (Start(), Poll(), _announcement(target), Poll(), *fetched, Poll())
        yield from _followed_before(target)
    elif isinstance(role, Prospective):
        asks = Poll((Timer.ELECTION, Timer.FETCH))
        yield as_it_is, (Start(), Poll(), asks, Poll(), *_answers(target, role.election))
    elif isinstance(role, Candidate):
        yield as_it_is, (Start(), Poll(), *_answers(target, role.election))
    elif isinstance(role, Resigned):
        yield as_it_is, (Start(), Poll())
        yield from _resigned(target)
    elif isinstance(role, Leader):
        yield from _leader(target, role)


def _answers(target: Replica, election: Election) -> tuple[Stimulus, ...]:
    answered = [(voter, True) for voter in election.granted if voter != target.id]
    answered += [(voter, False) for voter in election.rejected]
    return tuple(
        ResponseReceived(voter, VoteResponse(target.epoch, granted=granted)) for voter, granted in answered
    )


def _fetched(target: Replica) -> tuple[Stimulus, ...]:
    leader = target.quorum_state.leader
    assert leader is not None
    answer = FetchResponse(
        target.epoch, leader, target.high_watermark, leader_endpoints=target.leader_endpoints
    )
    return (ResponseReceived(leader, answer),)


def _followed_before(target: Replica) -> Iterator[Attempt]:
    """It has learned its high watermark from the same leader in the epoch before."""
    state = target.quorum_state
    before = replace(target, quorum_state=QuorumState(state.epoch - 1, state.leader))
    if target.high_watermark is None or target.log.last_epoch >= state.epoch or state.epoch < 2:
        return
    disk = Disk(before.quorum_state, target.log, target.log.end_offset)
    learns = (Start(), Poll(), *_fetched(before), Poll())
    yield disk, (*learns, *_vote(target), _announcement(target), Poll())


def _vote(target: Replica) -> tuple[Stimulus, ...]:
    """The request for the vote that it has cast for another replica."""
    voted, log = target.quorum_state.voted, target.log
    if voted is None or voted.id == target.id:
        return ()
    request = VoteRequest(target.epoch, voted, target.key, log.last_epoch, log.end_offset, pre_vote=False)
    return (RequestReceived(voted.id, request),)


def _announcement(target: Replica) -> Stimulus:
    leader = target.quorum_state.leader
    assert leader is not None
    request = BeginQuorumEpochRequest(target.epoch, leader, target.key, target.leader_endpoints)
    return RequestReceived(leader, request)


def _leader(target: Replica, role: Leader) -> Iterator[Attempt]:
    """Elected in its epoch, it appends the records of that epoch in its log, and hears from its voters."""
    older = tuple(batch for batch in target.log.batches if batch.base_offset < role.epoch_start_offset)
    own = target.log.batches[len(older) :]
    log = log_of(older)
    others = [voter for voter in target.voters.ids if voter != target.id]
    granting = others[: majority(len(target.voters)) - 1]
    votes = tuple(ResponseReceived(voter, VoteResponse(target.epoch, granted=True)) for voter in granting)
    awaited = {connection.node for connection in target.connections}
    acknowledged = BeginQuorumEpochResponse(target.epoch, target.id)
    known = tuple(ResponseReceived(voter, acknowledged) for voter in others if voter not in awaited)
    appends: list[Stimulus] = []
    for batch in own:
        values = tuple(record.value for record in batch.records if isinstance(record, Value))
        if values:
            appends += [Append(target.epoch, values), Poll((Timer.LINGER,))]
    before = QuorumState(target.epoch, None, target.key) if others else QuorumState(target.epoch - 1)
    disk = Disk(before, log, log.end_offset)
    last: list[Stimulus] = [Poll()]
    for records in role.pending:
        values = tuple(record.value for record in records if isinstance(record, Value))
        last += [Append(target.epoch, values)] if values else []
    last += [Resign(target.epoch)] if role.resign_requested else []
    yield (
        disk,
        (Start(), Poll(), *votes, Poll((Timer.LINGER,)), *known, *appends, *_fetches(target, role), *last),
    )


def _resigned(target: Replica) -> Iterator[Attempt]:
    """It has led its epoch, of which it has records, and is asked to resign."""
    own = [batch for batch in target.log.batches if batch.epoch == target.epoch]
    for disk, leads in _leader(target, Leader(own[0].base_offset, (), ())) if own else ():
        yield disk, (*leads, Resign(target.epoch), Poll())


def _fetches(target: Replica, role: Leader) -> Iterator[Stimulus]:
    """A fetch of each voter whose progress the leader knows, at that offset."""
    for entry in role.progress:
        if entry.id != target.id and entry.end_offset is not None:
            epoch = _epoch_at(target.log.batches, entry.end_offset)
            request = FetchRequest(target.epoch, entry.key, entry.end_offset, epoch, None, 0)
            yield RequestReceived(entry.id, request)


def _epoch_at(batches: tuple[Batch, ...], end_offset: int) -> int:
    """The epoch of the last record below ``end_offset``; 0 if there is none."""
    return max((batch.epoch for batch in batches if batch.base_offset < end_offset), default=0)
