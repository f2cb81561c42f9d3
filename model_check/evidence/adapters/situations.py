"""Situations of a replica: an event compared with its state, and the path into a state.

An implementation cannot begin in an arbitrary state; the driver can only start it on a disk and lead it there
by events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Start, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import (
    Append,
    Event,
    Poll,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, Record, Value, end_offset_for_epoch, log_of
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
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


def situation(replica: Replica, event: Event) -> str:
    """The comparison in words; empty for an event that carries no message."""
    if isinstance(event, RequestReceived):
        message: Any = event.request
    elif isinstance(event, ResponseReceived):
        message = event.response
    else:
        return ""
    log = replica.log
    epoch = getattr(message, "epoch", None)
    parts = [] if epoch is None else [f"epoch {_sign(epoch, replica.epoch)}"]
    if isinstance(message, VoteRequest):
        voted = replica.quorum_state.voted
        whom = "none" if voted is None else "sender" if voted.id == message.candidate.id else "another"
        ends = _sign((message.last_epoch, message.end_offset), (log.last_epoch, log.end_offset))
        offsets = _sign(message.end_offset, log.end_offset)
        parts += [f"voted {whom}", f"log {ends}", f"offset {offsets}"]
    elif isinstance(message, FetchRequest):
        parts += [f"offset {_sign(message.offset, log.end_offset)}"]
        parts += [f"last epoch {_sign(message.last_epoch, log.last_epoch)}"]
    elif isinstance(message, FetchResponse):
        end = message.batches[-1].end_offset if message.batches else log.end_offset
        parts += [
            f"batches {min(len(message.batches), 2)}",
            f"commits {_optional(message.high_watermark, end)}",
        ]
        if message.diverging is not None:
            own = end_offset_for_epoch(log, message.diverging.epoch)
            parts += [f"diverging {_sign(message.diverging.offset, own.offset)}"]
            parts += [f"of epoch {_sign(message.diverging.epoch, own.epoch)}"]
    return ", ".join(parts)


def _sign(one: Any, other: Any) -> str:
    return "smaller" if one < other else "larger" if one > other else "same"


def _optional(one: int | None, other: int) -> str:
    return "nothing" if one is None else _sign(one, other)


Opening = tuple[Disk, tuple[Stimulus, ...] | None]
Attempt = tuple[Disk, tuple[Stimulus, ...]]


def prologue(protocol: Protocol, identity: Replica, target: Replica) -> Opening:
    """A disk and stimuli that lead to ``target``; no stimuli if none are known that lead there."""
    return _first(protocol, identity, target, lambda found: _essence(found) == _essence(target))


def approach(protocol: Protocol, identity: Replica, target: Replica) -> Opening:
    """A disk and stimuli that lead to ``target``, or at least into its role and epoch."""
    disk, stimuli = prologue(protocol, identity, target)
    if stimuli is not None:
        return disk, stimuli
    wanted = type(target.role), target.epoch
    return _first(protocol, identity, target, lambda found: (type(found.role), found.epoch) == wanted)


def _first(
    protocol: Protocol, identity: Replica, target: Replica, fits: Callable[[Replica], bool]
) -> Opening:
    for disk, stimuli in _attempts(target):
        found = _after(protocol, identity, disk, stimuli)
        if found is not None and fits(found):
            return disk, stimuli
    return Disk(), None


def _after(
    protocol: Protocol, identity: Replica, disk: Disk, stimuli: tuple[Stimulus, ...]
) -> Replica | None:
    asking = Asking(DriveSequence("prologue", protocol, identity, disk, stimuli))
    for _ in asking.questions():
        pass
    return asking.replica


def _attempts(target: Replica) -> Iterator[Attempt]:
    """Paths that may lead to ``target``; the most recent request to it comes last."""
    asked: tuple[Stimulus, ...] = (Shutdown(),) if target.shutting_down else ()
    for disk, stimuli in _paths(target):
        yield disk, (*stimuli, *asked)


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
    elif isinstance(role, Prospective):
        asks = Poll((Timer.ELECTION, Timer.FETCH))
        yield as_it_is, (Start(), Poll(), asks, Poll(), *_answers(target, role.election))
    elif isinstance(role, Candidate):
        yield as_it_is, (Start(), Poll(), *_answers(target, role.election))
    elif isinstance(role, Resigned):
        yield as_it_is, (Start(), Poll())
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
    appends: list[Stimulus] = []
    for batch in own:
        values = tuple(record.value for record in batch.records if isinstance(record, Value))
        if values:
            appends += [Append(target.epoch, values), Poll((Timer.LINGER,))]
    keys = {voter.key.id: voter.key for voter in target.voters.voters}
    fetches: list[Stimulus] = []
    for entry in role.progress:
        if entry.id != target.id and entry.end_offset is not None:
            epoch = _epoch_at(target.log.batches, entry.end_offset)
            request = FetchRequest(target.epoch, keys[entry.id], entry.end_offset, epoch, None, 0)
            fetches.append(RequestReceived(entry.id, request))
    before = QuorumState(target.epoch, None, target.key) if others else QuorumState(target.epoch - 1)
    disk = Disk(before, log, log.end_offset)
    last: list[Stimulus] = [Poll()]
    for records in role.pending:
        values = tuple(record.value for record in records if isinstance(record, Value))
        last += [Append(target.epoch, values)] if values else []
    last += [Resign(target.epoch)] if role.resign_requested else []
    yield disk, (Start(), Poll(), *votes, Poll((Timer.LINGER,)), *appends, *fetches, *last)


def _epoch_at(batches: tuple[Batch, ...], end_offset: int) -> int:
    """The epoch of the last record below ``end_offset``; 0 if there is none."""
    return max((batch.epoch for batch in batches if batch.base_offset < end_offset), default=0)


def _essence(replica: Replica) -> tuple[object, ...]:
    """The parts that must be the same: the durable state, the role, and the fields of it that rules read.

    Not the high watermark of a leader: scenarios give leaders that have heard from a majority and do not know
    yet which offset that commits, and no leader is ever in that state.
    """
    role = replica.role
    more: object = None
    if isinstance(role, Follower):
        more = role.has_fetched
    elif isinstance(role, Prospective | Candidate):
        more = (role.election.granted, role.election.rejected)
    elif isinstance(role, Leader):
        more = (role.epoch_start_offset, tuple((each.id, each.end_offset) for each in role.progress))
    batches = tuple(
        replace(batch, records=tuple(_without_granting(record) for record in batch.records))
        for batch in replica.log.batches
    )
    known = None if isinstance(role, Leader) else replica.high_watermark
    return type(role), replica.quorum_state, batches, known, more


def _without_granting(record: Record) -> Record:
    return replace(record, granting_voters=()) if isinstance(record, LeaderChange) else record
