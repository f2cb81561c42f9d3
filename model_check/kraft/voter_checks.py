"""Properties of single steps where the voter set may change or snapshots are taken; and goals of such steps.

Voter sets are read from the records of the log (:mod:`model_check.kraft.membership`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from model_check.kraft import assignments, membership, names
from model_check.kraft.membership import Origin
from model_check.kraft.node import Execution, Node
from reference.effects import AppendAccepted, AppendBatch, HighWatermark, LoadSnapshot, Reply
from reference.events import Append, Event, RequestReceived
from reference.log import Batch, KRaftVersion, Log, Value, Voters
from reference.messages import FetchRequest, VoteRequest, VoteResponse
from reference.replica import Leader, Progress, Replica
from reference.voters import Voter, VoterSet


def violations(before: Replica, event: Event | None, execution: Execution, after: Node) -> Iterator[str]:
    """The names of the properties that a whole step violates; ``event`` is ``None`` for a restart."""
    if after.replica is not None:
        yield from _log_violations(after.replica)
        yield from _snapshot_violations(after.replica)
    if isinstance(before.role, Leader) and event is not None:
        yield from _append_violations(before, before.role, event, execution)
    if isinstance(event, RequestReceived):
        yield from _identity_violations(before, event, execution)


def _origin(replica: Replica) -> Origin:
    return Origin(replica.bootstrap_voters, replica.bootstrap_kraft_version)


def _log_violations(replica: Replica) -> Iterator[str]:
    """S-23, S-29, S-38, S-39: what a log says of voters and versions."""
    history = membership.history_of(_origin(replica), replica.log)
    for (_, old, version), (_, new, later) in pairwise(history):
        if len(old) and not len(new):
            yield names.VOTER_SET_NOT_EMPTY
        if len(old) and max(len(membership.added(old, new)), len(membership.removed(old, new))) > 1:
            yield names.ONE_CHANGE_AT_A_TIME
        if later < max(version, 1):
            yield names.KRAFT_VERSION_MONOTONE
    yield from assignments.violations(_origin(replica), replica)
    pending = [end for end, _, _ in history[1:] if end > (replica.high_watermark or 0)]
    if isinstance(replica.role, Leader) and replica.high_watermark is not None and len(pending) > 1:
        yield names.CHANGE_ACKNOWLEDGED_WHEN_COMMITTED


def _snapshot_violations(replica: Replica) -> Iterator[str]:
    """S-22: what holds of the offsets; what is in a snapshot is judged against the history."""
    log, committed = replica.log, replica.high_watermark
    ends = [snapshot.id.end_offset for snapshot in log.snapshots]
    too_late = committed is not None and ends and max(ends) > committed
    if too_late or log.start_offset > min(ends, default=0):
        yield names.SNAPSHOT_IS_COMMITTED


# What a leader appends.


def _append_violations(before: Replica, role: Leader, event: Event, execution: Execution) -> Iterator[str]:
    committed = before.high_watermark
    batches = list(before.log.batches)
    ready = _caught_up(before, role, event)
    for effect in execution.effects:
        if isinstance(effect, HighWatermark):
            committed = effect.offset
        elif isinstance(effect, AppendBatch) and effect.batch.epoch == before.epoch:
            changes = membership.has_voters(effect.batch) or assignments.is_in(effect.batch)
            if changes and not membership.opens_epoch(effect.batch):
                yield from _change_violations(before, role, batches, effect.batch, committed)
                if not assignments.added(_origin(before), tuple(batches), effect.batch) <= ready:
                    yield names.ADDED_VOTER_IS_READY
            batches.append(effect.batch)
        elif isinstance(effect, AppendAccepted) and isinstance(event, Append):
            yield from _accepted_violations(event, effect.offset, execution)


def _caught_up(before: Replica, role: Leader, event: Event) -> set[int]:
    """The observers that have held everything once, the one included that shows it now (KIP-836: all that
    the leader had at its last fetch).
    """
    ready = {entry.id for entry in role.observers if entry.last_caught_up_time is not None}
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, FetchRequest):
        known = (entry.leader_end_offset for entry in role.observers if entry.key == request.replica)
        if request.offset >= (next(known, 0) or before.log.end_offset):
            ready.add(request.replica.id)
    return ready


def _change_violations(
    before: Replica, role: Leader, batches: list[Batch], change: Batch, committed: int | None
) -> Iterator[str]:
    """S-24 and S-27. An upgrade of kraft.version leaves the voters as they are, and needs no commit."""
    upgrades = any(isinstance(entry, KRaftVersion) for entry in change.records)
    own = [batch for batch in batches if batch.epoch == before.epoch]
    known = committed is not None and any(batch.end_offset <= committed for batch in own)
    if not known and not upgrades:
        yield names.CHANGE_NEEDS_COMMIT
    log = Log(tuple(batches), start_offset=before.log.start_offset, snapshots=before.log.snapshots)
    _, old, version = membership.history_of(_origin(before), log)[-1]
    for new in (entry.voters for entry in change.records if isinstance(entry, Voters)):
        for voter in _added_voters(old, new):
            seen = next((entry for entry in role.observers if entry.key == voter.key), None)
            if not _is_ready(voter, version, seen):
                yield names.ADDED_VOTER_IS_READY


def _added_voters(old: VoterSet, new: VoterSet) -> list[Voter]:
    keys = membership.added(old, new)
    return [voter for voter in new.voters if voter.key in keys]


def _is_ready(voter: Voter, version: int, seen: Progress | None) -> bool:
    """Whether the leader had heard of a voter that it adds what it has to hear."""
    supports = voter.min_kraft_version <= version <= voter.max_kraft_version
    return supports and seen is not None and seen.last_caught_up_time is not None


def _accepted_violations(event: Append, offset: int, execution: Execution) -> Iterator[str]:
    """S-37: success is reported when the high watermark passes the offset that the client was given."""
    batches = [effect.batch for effect in execution.effects if isinstance(effect, AppendBatch)]
    last = next((batch for batch in batches if batch.base_offset <= offset < batch.end_offset), None)
    if batches and (last is None or last.records[offset - last.base_offset] != Value(event.values[-1])):
        yield names.APPEND_IS_COMMITTED


# Who is who.


def _identity_violations(before: Replica, event: RequestReceived, execution: Execution) -> Iterator[str]:
    """S-28: nothing that a replica does counts for the voter whose disk it has lost."""
    request = event.request
    if isinstance(request, FetchRequest) and _counts_for_another(before, request, execution):
        yield names.WIPED_REPLICA_IS_ANOTHER
    if isinstance(request, VoteRequest) and request.voter is not None:
        granted = any(
            isinstance(effect, Reply)
            and isinstance(effect.response, VoteResponse)
            and effect.response.granted
            for effect in execution.effects
        )
        if granted and not membership.same_voter(request.voter, before.key):
            yield names.WIPED_REPLICA_IS_ANOTHER


def _counts_for_another(before: Replica, request: FetchRequest, execution: Execution) -> bool:
    after = execution.replica.role
    if not isinstance(before.role, Leader) or not isinstance(after, Leader):
        return False
    ends = {entry.key: entry.end_offset for entry in before.role.progress}
    return any(
        entry.id == request.replica.id
        and not membership.matches(entry.key, request.replica)
        and entry.key in ends
        and entry.end_offset != ends[entry.key]
        for entry in after.progress
    )


# Goals.


def goals(before: Replica, execution: Execution) -> Iterator[str]:
    """The *sometimes* goals that a step reaches, as far as the replica alone shows them."""
    for effect in execution.effects:
        if isinstance(effect, LoadSnapshot):
            yield names.GOAL_SNAPSHOT_LOADED
        elif isinstance(effect, HighWatermark):
            yield from _commit_goals(before, execution, effect.offset)


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
            yield names.GOAL_CHANGE_OUTLIVES_TIMEOUT
        voters = next(entry.voters for entry in reversed(batch.records) if isinstance(entry, Voters))
        if before.auto_join and before.key in voters.keys and before.key not in before.bootstrap_voters.keys:
            yield names.GOAL_AUTO_JOINED
