"""The *sometimes* goals that a step reaches, as far as the replica alone shows them.

Those that need the past are found where that is recorded (:mod:`kraftcheck.systems.kraft.history`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kraftcheck.reference.effects import AppendBatch, HighWatermark, LoadSnapshot, Send, Transition, Truncate
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.replica import Follower, Leader, Replica
from kraftcheck.reference.voters import VoterSet
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.network import response_of
from kraftcheck.systems.kraft.node import OWN_MEMBERSHIP, Execution

#: The transitions by which an Unattached voter begins an election.
_ELECTIONS = ("Unattached->Prospective", "Unattached->Candidate")


def reached(before: Replica, execution: Execution) -> tuple[str, ...]:
    """The names of the goals that are reached, those called after transitions among them."""
    taken = [
        f"{effect.source}->{effect.target}" for effect in execution.effects if type(effect) is Transition
    ]
    found = (
        *taken,
        *_of_voters(before, execution),
        *_of_helpers(before, execution),
        *_of_timers(taken, execution),
        *_of_answer(execution),
    )
    return tuple(dict.fromkeys(found))


def _of_helpers(before: Replica, execution: Execution) -> Iterator[str]:
    """The goals about the replicas that others ask for the leader."""
    asked = [each for each in execution.responses if isinstance(each, FetchResponse)]
    named = any(each.leader not in (None, before.id) for each in asked)
    if named and not _is_in(before, membership.own_voters(before)):
        yield "GoalLeaderNamedByObserver"
    answer = response_of(execution.events[0]) if execution.events else None
    found = answer if isinstance(answer, FetchResponse) and answer.error is ErrorCode.NONE else None
    if before.quorum_state.leader is None and found is not None and found.epoch < before.epoch:
        yield "GoalStaleHelperAsked"


def _of_answer(execution: Execution) -> Iterator[str]:
    response = response_of(next(iter(execution.events), None))
    if isinstance(response, FetchResponse) and any(each.epoch > response.epoch for each in response.batches):
        yield "GoalReadLate"


def _of_timers(taken: list[str], execution: Execution) -> Iterator[str]:
    for change, following in pairwise(taken):
        if change.endswith("->Unattached") and following in _ELECTIONS:
            yield "GoalExpiresAtOnce"
    polls = [event for event in execution.events[1:2] if isinstance(event, Poll)]
    expired = any(Timer.UPDATE_VOTER in poll.expired for poll in polls)
    if expired and any(isinstance(sent.request, OWN_MEMBERSHIP) for sent in execution.all(Send)):
        yield "GoalReportsAfterWaiting"


def _of_voters(before: Replica, execution: Execution) -> Iterator[str]:
    known = membership.own_voters(before)
    for effect in execution.effects:
        if type(effect) is AppendBatch and _is_behind_tail(before, execution, effect.batch):
            yield "GoalVoterChangeBehindTail"
        elif type(effect) is LoadSnapshot:
            yield "GoalSnapshotLoaded"
            if effect.snapshot.voters not in (None, known):
                yield "GoalVotersFromSnapshot"
        elif type(effect) is Truncate and _is_in(before, known):
            if not _is_in(before, membership.newest(membership.own_origin(before), execution.replica.log)):
                yield "GoalVoterObservesAgain"
        elif type(effect) is Transition and effect.target == "Leader":
            if _knows_voters_from_snapshot(before):
                yield "GoalLeadsByVotersOfSnapshot"
        elif type(effect) is HighWatermark:
            yield from _commit_goals(before, execution, effect.offset)
    loading = isinstance(before.role, Follower) and before.role.fetching_snapshot is not None
    if loading and _has_other_leader(before, execution.replica):
        yield "GoalDownloadAbandoned"


def _is_behind_tail(before: Replica, execution: Execution, appended: Batch) -> bool:
    """Whether a leader has ``appended`` a voter change to two or more records of clients, none committed."""
    known = before.high_watermark
    changes = membership.has_voters(appended) and not membership.opens_epoch(appended)
    if not isinstance(before.role, Leader) or known is None or not changes:
        return False
    batches = execution.replica.log.batches
    tail = (each for each in batches if known < each.end_offset <= appended.base_offset)
    return len(membership.values_of(tail)) > 1


def _is_in(replica: Replica, voters: VoterSet) -> bool:
    return any(membership.matches(entry, replica.key) for entry in voters.keys)


def _knows_voters_from_snapshot(replica: Replica) -> bool:
    """Whether the effective set is neither a record of the log nor the set with which the cluster began."""
    (_, voters, _), *changes = membership.own_history(replica)
    return not changes and voters != replica.bootstrap_voters


def _has_other_leader(before: Replica, after: Replica) -> bool:
    return (before.epoch, before.quorum_state.leader) != (after.epoch, after.quorum_state.leader)


def _commit_goals(before: Replica, execution: Execution, committed: int) -> Iterator[str]:
    known = before.high_watermark or 0
    passed = [
        batch
        for batch in execution.replica.log.batches
        if known < batch.end_offset <= committed and membership.has_voters(batch)
    ]
    for batch in passed:
        timed_out = (
            isinstance(before.role, Leader) and before.role.change is None and batch in before.log.batches
        )
        if timed_out and batch.epoch == before.epoch and not membership.opens_epoch(batch):
            yield "GoalVoterChangeOutlivesTimeout"
        voters = membership.sets_in(batch)[-1]
        if before.auto_join and before.key in voters.keys and before.key not in before.bootstrap_voters.keys:
            yield "GoalAutoJoined"
