"""Properties of DescribeQuorum: a replica's answers to the admin client, compared with the run.

A leader's report about itself and its voters is compared with its log; its report about fetches with the
readings of its clock when it received them (:mod:`kraftcheck.systems.kraft.clock`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import AppendBatch, Effect, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.messages import (
    METADATA_PARTITION,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaDescription,
)
from kraftcheck.reference.protocol import Protocol, QuorumDescription
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.clock import OBSERVER_SESSION_MS, READY_WITHIN_MS, Clock, is_silent


def violations(
    protocol: Protocol,
    before: Replica,
    event: Event,
    effects: tuple[Effect, ...],
    after: Replica,
    clock: Clock | None,
) -> tuple[str, ...]:
    """The names of the properties that a step violates after which the process continues.

    ``clock`` is as it was before the step, ``None`` where clocks do not run.
    """
    found = [] if clock is None else [*_moved_back(before, after), *_added_silent(before, effects, clock)]
    answer = answer_to(event, effects)
    if answer is not None:
        if not _is_as_it_should(protocol, before, event, answer, clock):
            found.append("DescriptionIsTheLeaders")
        if (
            clock is not None
            and not answer.partition_error
            and not _times_are_true(protocol, before, answer, clock)
        ):
            found.append("DescribeTimesMonotone")
    elif is_asked(event):
        found.append("DescriptionIsTheLeaders")
    return tuple(dict.fromkeys(found))


def goals(before: Replica, event: Event, effects: tuple[Effect, ...]) -> Iterator[str]:
    """The facts that an answer shows for the first time."""
    answer = answer_to(event, effects)
    if answer is None or answer.partition_error:
        return
    yield "GoalQuorumDescribed"
    for reported in (*answer.voters, *answer.observers):
        times = (reported.last_fetch_time, reported.last_caught_up_time)
        if None not in times and times[0] != times[1]:
            yield "GoalToldLagging"
    if isinstance(before.role, Leader) and len(answer.observers) < len(before.role.observers):
        yield "GoalObserverForgotten"


def is_asked(event: Event) -> bool:
    """Whether the admin client sends DescribeQuorum."""
    return isinstance(event, RequestReceived) and isinstance(event.request, DescribeQuorumRequest)


def answer_to(event: Event, effects: tuple[Effect, ...]) -> DescribeQuorumResponse | None:
    """The answer to the admin client, if the request was a DescribeQuorum."""
    replies = (each.response for each in effects if is_asked(event) and isinstance(each, Reply))
    return next((each for each in replies if isinstance(each, DescribeQuorumResponse)), None)


# S-42.


def _moved_back(before: Replica, after: Replica) -> Iterator[str]:
    """Times that a leader has noted go back, or are lost, while it remains leader and the entry keeps its
    key.
    """
    if not isinstance(before.role, Leader) or not isinstance(after.role, Leader):
        return
    if before.epoch != after.epoch:
        return
    known = {entry.key: entry for entry in (*before.role.progress, *before.role.observers)}
    for entry in (*after.role.progress, *after.role.observers):
        old = known.get(entry.key)
        if old is None:
            continue
        fell = _is_before(entry.last_fetch_time, old.last_fetch_time)
        if fell or _is_before(entry.last_caught_up_time, old.last_caught_up_time):
            yield "DescribeTimesMonotone"


def _added_silent(before: Replica, effects: tuple[Effect, ...], clock: Clock) -> Iterator[str]:
    """S-27: a voter that the leader takes into the set has fetched within the last hour (ADD-10)."""
    if not isinstance(before.role, Leader):
        return
    old = membership.own_voters(before)
    for effect in effects:
        sets = membership.sets_in(effect.batch) if isinstance(effect, AppendBatch) else []
        fetches = [clock.of(key) for voters in sets for key in membership.added(old, voters)]
        if any(known is None or clock.now - known.last >= READY_WITHIN_MS for known in fetches):
            yield "AddedVoterIsReady"


def _is_before(new: int | None, old: int | None) -> bool:
    return old is not None and (new is None or new < old)


def _times_are_true(
    protocol: Protocol, leader: Replica, answer: DescribeQuorumResponse, clock: Clock
) -> bool:
    """Whether all reported times lie in the past and are true.

    The last fetch was when the clock showed its time. At the reported time of being caught up the replica
    fetched too, and by now it holds all records that the leader's log had then.
    """
    return all(
        _own_times_are_true(protocol, reported, clock)
        if reported.key.id == leader.id
        else _fetch_times_are_true(reported, clock)
        for reported in (*answer.voters, *answer.observers)
    )


def _own_times_are_true(protocol: Protocol, reported: ReplicaDescription, clock: Clock) -> bool:
    """The leader is caught up now. By the documents it has never fetched; Kafka reports the current time."""
    documents = protocol.quorum_description is QuorumDescription.DOCUMENTS
    return (reported.last_fetch_time, reported.last_caught_up_time) == (
        None if documents else clock.now,
        clock.now,
    )


def _fetch_times_are_true(reported: ReplicaDescription, clock: Clock) -> bool:
    known = clock.of(reported.key)
    fetched, caught_up = reported.last_fetch_time, reported.last_caught_up_time
    if known is None:
        return fetched is None and caught_up is None
    if fetched != known.last:
        return False
    end = dict(known.ends).get(-1 if caught_up is None else caught_up)
    return caught_up is None or (end is not None and end <= known.held)


# P-10.


def _is_as_it_should(
    protocol: Protocol, replica: Replica, event: Event, answer: DescribeQuorumResponse, clock: Clock | None
) -> bool:
    """Whether an answer is the right refusal, or reports the leader's knowledge."""
    assert isinstance(event, RequestReceived) and isinstance(event.request, DescribeQuorumRequest)
    if event.request.partition != METADATA_PARTITION:
        return answer == DescribeQuorumResponse(partition_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if isinstance(replica.role, Leader):
        return _is_complete(replica, answer) and (clock is None or _knows_fetches(replica, answer, clock))
    refusal = DescribeQuorumResponse(partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if protocol.quorum_description is QuorumDescription.DOCUMENTS:
        state = replica.quorum_state
        refusal = DescribeQuorumResponse(
            state.epoch, state.leader, partition_error=ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
    return answer == refusal


def _is_complete(leader: Replica, answer: DescribeQuorumResponse) -> bool:
    """Whether a leader names itself, its epoch and high watermark, and its voters with their endpoints."""
    voters = membership.own_voters(leader)
    own = (each.end_offset for each in (*answer.voters, *answer.observers) if each.key.id == leader.id)
    reported = {*_keys(answer.voters), *_keys(answer.observers)}
    return (
        (answer.epoch, answer.leader, answer.high_watermark)
        == (leader.epoch, leader.id, leader.high_watermark)
        and not (answer.partition_error or answer.error)
        and sorted(_keys(answer.voters)) == sorted(map(_sortable, voters.keys))
        and not set(_keys(answer.voters)) & set(_keys(answer.observers))
        and {node.id: node.endpoints for node in answer.nodes}
        == {v.key.id: v.endpoints for v in voters.voters}
        and _sortable(leader.key) in reported
        and all(end == leader.log.end_offset for end in own)
    )


def _keys(reported: tuple[ReplicaDescription, ...]) -> list[tuple[int, str]]:
    return [_sortable(each.key) for each in reported]


def _sortable(key: ReplicaKey) -> tuple[int, str]:
    return key.id, key.directory or ""


def _knows_fetches(leader: Replica, answer: DescribeQuorumResponse, clock: Clock) -> bool:
    """Whether every replica is reported with the offset of its last fetch, and as caught up when it was.

    Observers are those that have fetched and are not silent (DESCRIBE-8).
    """
    reported = {each.key: each for each in (*answer.voters, *answer.observers) if each.key.id != leader.id}
    for each in reported.values():
        known = clock.of(each.key)
        if each.end_offset != (None if known is None else known.offset):
            return False
        if known is not None and _is_before(each.last_caught_up_time, known.caught_up):
            return False
    wanted = {
        known.key
        for known in clock.fetches
        if not leader.voters.is_voter(known.key) and not is_silent(clock, known)
    }
    observers = {each.key for each in answer.observers}
    # A former voter that has never fetched counts as silent since -1, except the leader itself.
    silent = {key for key in observers - wanted if key != leader.key}
    never = clock.now + 1 < OBSERVER_SESSION_MS and not any(map(clock.of, silent))
    return wanted <= observers and (never or not silent)
