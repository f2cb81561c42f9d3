"""Changes of the voter set: AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter (KIP-853), by both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftcheck.evidence.adapters.scripted.setting import (
    EPOCH,
    KEYS,
    STATIC,
    Scripts,
    Stimuli,
    answer,
    candidate,
    changing,
    deposed_and_elected,
    elected,
    endpoints,
    fetch,
    in_epoch,
    leads,
    nothing_new,
    vote_request,
    voter,
    voters,
    with_cluster,
)
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, LateResponse, Start
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochEnd, SnapshotId, Voters
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchResponse,
    FetchSnapshotRequest,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey

#: The sender of a change request: a client, which is not a node.
_CLIENT = -1
_CLUSTER = "this-cluster"
_UPDATE = Poll((Timer.UPDATE_VOTER,))
_EXPIRED = Poll((Timer.VOTER_CHANGE,))

#: The opening records of an epoch under kraft.version 1: LeaderChange, KRaftVersion, Voters.
_END = 3

_LEADER = changing(1, 2, 3)
_DISK = candidate(_LEADER)
#: A leader that has committed the records of its epoch, and one that has not.
_UNCOMMITTED = elected(2)
_COMMITTED = (*elected(2), fetch(KEYS[2], _END))
_CAUGHT_UP = (*_COMMITTED, fetch(KEYS[4], _END))

#: A Follower whose fetch timer expires some time after its update-voter timer.
_FETCHING: Stimuli = (Poll(), leads(2, EPOCH), *(Poll(), nothing_new(2)) * 5)


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """The sequences."""
    yield from _adding(Scripts("add a voter", protocol))
    yield from _removing(Scripts("remove a voter", protocol))
    yield from _updating(Scripts("update a voter", protocol))
    yield from _everywhere(Scripts("voter changes", protocol))
    yield from _telling(Scripts("tell the leader", protocol))
    yield from _learning(Scripts("voter sets", protocol))


def _ask(request: Request, source: int = _CLIENT) -> RequestReceived:
    return RequestReceived(source, request)


def _add(
    node: int = 4, *, wait: bool = True, key: ReplicaKey | None = None, **changes: object
) -> RequestReceived:
    request = AddRaftVoterRequest(key or KEYS[node], endpoints(node), wait, _CLUSTER, 1000)
    return _ask(replace(request, **changes))


def _remove(key: ReplicaKey, cluster: str | None = _CLUSTER) -> RequestReceived:
    return _ask(RemoveRaftVoterRequest(key, cluster))


def _update(node: int = 2, epoch: int = EPOCH, **changes: object) -> RequestReceived:
    where = endpoints(node, "SECOND")
    request = UpdateRaftVoterRequest(epoch, KEYS[node], where, 0, 1, _CLUSTER)
    return _ask(replace(request, **changes), node)


def _adding(made: Scripts) -> Iterator[DriveSequence]:
    appended = (_add(), answer(4, ApiVersionsResponse((0, 1))), Poll())
    committed = (fetch(KEYS[2], _END + 1), fetch(KEYS[4], _END + 1), fetch(KEYS[3], _END + 1))
    again = deposed_and_elected(EPOCH, 2)
    ways: Mapping[str, Stimuli] = {
        "it commits": (*_CAUGHT_UP, *appended, *committed, Poll(), _add(5)),
        "answered when appended": (
            *_CAUGHT_UP, _add(wait=False), answer(4, ApiVersionsResponse((0, 1))), Poll(), *committed,
        ),
        "it takes too long": (*_CAUGHT_UP, *appended, _EXPIRED, *committed, _add()),
        "records commit before its voter set": (
            *_CAUGHT_UP, Append(EPOCH, (7,)), Poll((Timer.LINGER,)), fetch(KEYS[4], _END + 1), _add(),
            fetch(KEYS[2], _END + 1), answer(4, ApiVersionsResponse((0, 1))), Poll(),
            fetch(KEYS[2], _END + 2), fetch(KEYS[4], _END + 2),
        ),
        "records before its voter set commit": (
            *_CAUGHT_UP, Append(EPOCH, (7,)), Poll((Timer.LINGER,)), fetch(KEYS[4], _END + 1), _add(),
            answer(4, ApiVersionsResponse((0, 1))), Poll(), fetch(KEYS[2], _END + 1),
            fetch(KEYS[4], _END + 1), fetch(KEYS[2], _END + 2), fetch(KEYS[4], _END + 2),
        ),
        "it takes too long, and another is asked for": (
            *_CAUGHT_UP, *appended, _EXPIRED, _add(5), _remove(KEYS[3]), _update(),
        ),
        "leadership is lost": (*_CAUGHT_UP, *appended, *again),
        "the leader resigns": (*_CAUGHT_UP, *appended, Resign(EPOCH), Poll()),
        "the leader dies": (*_CAUGHT_UP, *appended, Crash(), Start(), Poll()),
    }  # fmt: skip
    for name, way in {**ways, **_adding_in_vain()}.items():
        yield made.sequence(name, _LEADER, _DISK, *way)
    alone = changing(1)
    yield made.sequence("to a single voter", alone, candidate(alone), Poll(), fetch(KEYS[4], _END), *appended,
        fetch(KEYS[4], _END + 1), Poll())  # fmt: skip


def _adding_in_vain() -> Mapping[str, Stimuli]:
    """Paths on which the new voter set is not appended, or late."""
    again = deposed_and_elected(EPOCH, 2)
    return {
        "the new voter does not answer": (*_CAUGHT_UP, _add(), RequestTimedOut(4), _EXPIRED, _add()),
        "another node answers": (*_CAUGHT_UP, _add(), answer(3, ApiVersionsResponse((0, 1))), _EXPIRED),
        "the answer comes too late": (*_CAUGHT_UP, _add(), _EXPIRED, answer(4, ApiVersionsResponse((0, 1)))),
        "an old answer comes": (
            *_CAUGHT_UP, _add(), RequestTimedOut(4), _EXPIRED, _add(),
            LateResponse(4, ApiVersionsResponse((0, 1))), answer(4, ApiVersionsResponse((0, 1))), Poll(),
        ),
        "still busy with the new voter": (*_CAUGHT_UP, _add(), _EXPIRED, _add()),
        "the new voter is too old": (*_CAUGHT_UP, _add(), answer(4, ApiVersionsResponse((0, 0)))),
        "the new voter has no such feature": (*_CAUGHT_UP, _add(), answer(4, ApiVersionsResponse(None))),
        "the new voter cannot say": (
            *_CAUGHT_UP, _add(),
            answer(4, ApiVersionsResponse(None, ErrorCode.UNSUPPORTED_VERSION)), _add(),
        ),
        "it has never fetched": (*_COMMITTED, _add(), answer(4, ApiVersionsResponse((0, 1)))),
        "it has not caught up": (
            *_COMMITTED, fetch(KEYS[4], 0), _add(), answer(4, ApiVersionsResponse((0, 1))),
        ),
        "it had caught up in another epoch": (
            *_CAUGHT_UP, *again, fetch(KEYS[2], _END + 1, EPOCH + 2), _add(),
            answer(4, ApiVersionsResponse((0, 1))),
        ),
        "leadership is lost before it is appended": (*_CAUGHT_UP, _add(), vote_request(3, EPOCH + 1)),
        "another change is under way": (*_CAUGHT_UP, _add(), _add(5), _remove(KEYS[3]), _update()),
        "nothing is committed yet": (*_UNCOMMITTED, _add(), _remove(KEYS[3]), _update()),
        "refused": (
            *_COMMITTED, _add(cluster_id="another-cluster"), _add(key=ReplicaKey(4)),
            _add(key=replace(KEYS[4], id=-1)), _add(endpoints=()),
            _add(endpoints=(Endpoint("SECOND", "node-4", 9094),)), _add(3),
            _add(3, key=replace(KEYS[3], directory=KEYS[4].directory)),
            _add(key=replace(KEYS[4], id=0), cluster_id=None),
        ),
    }  # fmt: skip


def _removing(made: Scripts) -> Iterator[DriveSequence]:
    other, itself = (_remove(KEYS[3]), Poll()), (_remove(KEYS[1]), Poll())
    two, three = fetch(KEYS[2], _END + 1), fetch(KEYS[3], _END + 1)
    elsewhere = replace(KEYS[3], directory=KEYS[4].directory)
    ways: Mapping[str, Stimuli] = {
        "it commits": (*_COMMITTED, *other, two, three, Poll(), _remove(KEYS[2])),
        "it takes too long": (*_COMMITTED, *other, _EXPIRED, two, _remove(KEYS[2])),
        "the leader itself": (*_COMMITTED, *itself, two, three, Poll(), Poll(), Poll((Timer.ELECTION,)),
            Poll()),
        "the leader itself, and it resigns before": (*_COMMITTED, *itself, Resign(EPOCH), Poll(), Poll()),
        "the leader itself, of which a minority knows": (*_COMMITTED, *itself, two, vote_request(3,
            EPOCH + 1)),
        "leadership is lost": (*_COMMITTED, *other, vote_request(2, EPOCH + 1)),
        "the leader dies": (*_COMMITTED, *other, Crash(), Start(), Poll(), Poll((Timer.ELECTION,))),
        "the leader dies before it is durable": (*_COMMITTED, *other, Crash(1, loses_power=True), Start(),
            Poll()),
        "another change is under way": (*_COMMITTED, *other, _remove(KEYS[2]), _add(), _update()),
        "refused": (
            *_COMMITTED, _remove(KEYS[3], "another-cluster"), _remove(ReplicaKey(3)), _remove(KEYS[4]),
            _remove(elsewhere), _remove(replace(KEYS[3], id=-1)), _remove(KEYS[3], None),
        ),
        "whom nobody hears of again": (*_COMMITTED, *other, two, Poll((Timer.BEGIN_QUORUM_EPOCH,)), three),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, _LEADER, _DISK, *way)
    alone = changing(1)
    yield made.sequence("the only one", alone, candidate(alone), Poll(), _remove(KEYS[1]), Poll())
    pair = changing(1, 2)
    yield made.sequence("so that one is left", pair, candidate(pair), *_COMMITTED, _remove(KEYS[2]), Poll(),
        Poll((Timer.CHECK_QUORUM,)), fetch(KEYS[2], _END + 1), _add(2))  # fmt: skip


def _updating(made: Scripts) -> Iterator[DriveSequence]:
    committed = (Poll(), fetch(KEYS[2], _END + 1))
    ways: Mapping[str, Stimuli] = {
        "it commits": (*_COMMITTED, _update(), *committed, _update(3)),
        "it takes too long": (*_COMMITTED, _update(), Poll(), _EXPIRED, fetch(KEYS[2], _END + 1)),
        "leadership is lost": (*_COMMITTED, _update(), Poll(), vote_request(2, EPOCH + 1)),
        "another change is under way": (*_COMMITTED, _update(), _update(3), _add(), _remove(KEYS[2]), Poll()),
        "it counts as contact": (*_UNCOMMITTED, fetch(KEYS[2], 0), fetch(KEYS[3], _END), _update(), Poll()),
        "refused": (
            *_COMMITTED, _update(cluster_id="another-cluster"), _update(epoch=EPOCH - 1),
            _update(epoch=EPOCH + 1), _update(voter=ReplicaKey(2)), _update(min_kraft_version=2),
            _update(min_kraft_version=-1), _update(endpoints=()), _update(max_kraft_version=0),
            _update(4), _update(voter=replace(KEYS[2], directory=KEYS[4].directory)),
                _update(cluster_id=None),
        ),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(name, _LEADER, _DISK, *way)


def _everywhere(made: Scripts) -> Iterator[DriveSequence]:
    """Requests that only a leader serves, sent to all other roles."""
    requests = (
        _add(), _remove(KEYS[3]), _update(), _update(epoch=EPOCH + 1), _update(epoch=EPOCH - 1),
        _ask(FetchSnapshotRequest(EPOCH, KEYS[2], SnapshotId(1, 1), 0, 100), 2),
        _ask(FetchSnapshotRequest(EPOCH + 1, KEYS[2], SnapshotId(1, 1), 0, 100), 2),
        _ask(FetchSnapshotRequest(EPOCH - 1, KEYS[2], SnapshotId(1, 1), 0, 100), 2),
    )  # fmt: skip
    follower = (Poll(), leads(2, EPOCH))
    roles: Mapping[str, tuple[bool, Stimuli]] = {
        "one that is Unattached": (False, (Poll(),)),
        "one that is Follower": (False, follower),
        "one that is Prospective": (False, (*follower, Poll((Timer.FETCH,)))),
        "one that is Candidate": (True, (Poll(),)),
        "a Leader that shuts down": (True, (*_COMMITTED, Shutdown())),
        "one that is Resigned": (True, (*_COMMITTED, Resign(EPOCH), Poll())),
    }
    for name, (votes, way) in roles.items():
        yield made.sequence(f"asked of {name}", _LEADER, _DISK if votes else in_epoch(), *way, *requests)
    yield made.sequence("what it supports", _LEADER, in_epoch(), Poll(), _ask(ApiVersionsRequest()))
    static = replace(with_cluster(STATIC), key=KEYS[1])
    led = (*elected(2), fetch(ReplicaKey(2), 1))
    yield made.sequence("of static voters", static, candidate(static), *led, _add(), _remove(KEYS[3]))
    nowhere = replace(static, cluster_id=None)
    yield made.sequence("in a cluster without an id", nowhere, candidate(nowhere), *led, _add(), _update())


def _telling(made: Scripts) -> Iterator[DriveSequence]:
    """A replica sends its description to the leader repeatedly, until the leader has it."""
    moved = replace(_LEADER, endpoints=endpoints(1, "SECOND"))
    follower = _FETCHING
    told = answer(2, UpdateRaftVoterResponse(EPOCH, 2, endpoints(2)))
    fetched = (Poll(), nothing_new(2))

    def update(error: ErrorCode, epoch: int = EPOCH, leader: int | None = 2) -> Stimuli:
        where = () if leader is None else endpoints(leader)
        refusal = UpdateRaftVoterResponse(epoch, leader, where, partition_error=error)
        return (_UPDATE, answer(2, refusal), Poll(), Poll())

    new = EPOCH + 1
    yield made.sequence("of other endpoints", moved, in_epoch(), *follower, _UPDATE, told, *fetched, _UPDATE,
        told, *fetched)  # fmt: skip
    yield made.sequence("of what it knows", _LEADER, in_epoch(), *follower, _UPDATE, *fetched)
    yield made.sequence(
        "no answer", moved, in_epoch(), *follower, _UPDATE, RequestTimedOut(2), _UPDATE, Poll()
    )
    yield made.sequence("instead of fetching", moved, in_epoch(), Poll(), leads(2, EPOCH), _UPDATE, told,
        vote_request(3, EPOCH, pre_vote=True))  # fmt: skip
    for error in (
        ErrorCode.UNSUPPORTED_VERSION, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.VOTER_NOT_FOUND,
        ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_LEADER_EPOCH,
    ):  # fmt: skip
        yield made.sequence(f"answered {error.name}", moved, in_epoch(), *follower, *update(error))
    fenced = update(ErrorCode.FENCED_LEADER_EPOCH, new, 3)
    yield made.sequence("a leader of the past", moved, in_epoch(), *follower, *fenced)
    elsewhere = update(ErrorCode.NOT_LEADER_OR_FOLLOWER, new, None)
    yield made.sequence("no leader any more", moved, in_epoch(), *follower, *elsewhere)
    static = replace(STATIC, key=KEYS[1], max_kraft_version=1)
    yield made.sequence("of a static voter", static, in_epoch(), *follower, _UPDATE, told, *fetched, _UPDATE,
        *fetched, leads(3, new), Poll(), nothing_new(3, new), _UPDATE)  # fmt: skip
    yield from _joining(made, _FETCHING)


def _joining(made: Scripts, follower: Stimuli) -> Iterator[DriveSequence]:
    observer = replace(changing(2, 3), auto_join=True)
    replaced = replace(voter(1), key=replace(KEYS[1], directory=KEYS[4].directory))
    old = replace(observer, bootstrap_voters=voters(2, 3).with_voter(replaced))
    errors = (
        ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.DUPLICATE_VOTER, ErrorCode.VOTER_NOT_FOUND,
        ErrorCode.INVALID_REQUEST,
    )  # fmt: skip
    for error in errors:
        added, removed = answer(2, AddRaftVoterResponse(error)), answer(2, RemoveRaftVoterResponse(error))
        after = (Poll(), nothing_new(2), _UPDATE)
        yield made.sequence(
            f"to add it: {error.name}", observer, in_epoch(), *follower, _UPDATE, added, *after
        )
        yield made.sequence(
            f"to remove its old self: {error.name}", old, in_epoch(), *follower, _UPDATE, removed, *after
        )
    patient = replace(observer, auto_join=False)
    yield made.sequence("nothing, as an observer", patient, in_epoch(), *follower, _UPDATE, nothing_new(2))
    follows = (*follower, _UPDATE, vote_request(3, EPOCH + 1), answer(2, AddRaftVoterResponse()))
    yield made.sequence("to add it, and it has no leader any more", observer, in_epoch(), *follows)


def _learning(made: Scripts) -> Iterator[DriveSequence]:
    """A replica acts by the latest voter set in its log, committed or not, and forgets a truncated one."""
    without, only = Batch(0, EPOCH, (Voters(voters(2, 3)),)), Batch(1, EPOCH, (Voters(voters(1, 2, 3, 4)),))
    follower = (Poll(), leads(2, EPOCH), Poll())
    records = answer(2, FetchResponse(EPOCH, 2, None, (without,)))
    more = answer(2, FetchResponse(EPOCH, 2, None, (only,)))
    cut = answer(2, FetchResponse(EPOCH, 2, None, diverging=EpochEnd(EPOCH - 1, 0)))
    time_out = Poll((Timer.FETCH, Timer.ELECTION))
    yield made.sequence("no voter any more", _LEADER, in_epoch(), *follower, records, time_out, Poll())
    yield made.sequence(
        "a voter again", _LEADER, in_epoch(), *follower, records, Poll(), more, time_out, Poll()
    )
    yield made.sequence("a set that is cut", _LEADER, in_epoch(), *follower, records, Poll(), cut, time_out)
    yield made.sequence("kept over a restart", _LEADER, in_epoch(), *follower, records, Crash(), Start(),
        Poll(),
        time_out)  # fmt: skip
    yield made.sequence("lost with power", _LEADER, in_epoch(), *follower, records, Crash(1,
        loses_power=True),
        Start(), Poll(), time_out)  # fmt: skip
    observer: Replica = changing(2, 3)
    yield made.sequence("a voter at last", observer, in_epoch(), *follower,
        answer(2, FetchResponse(EPOCH, 2, None, (replace(only, base_offset=0),))), time_out,
            Poll())  # fmt: skip
