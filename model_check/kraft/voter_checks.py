"""Properties of single steps where the voter set may change or snapshots are taken; and goals of such steps.

Voter sets are read from the records of the log (:mod:`model_check.kraft.membership`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from model_check.kraft import assignments, membership, names
from model_check.kraft.administration import first_directory
from model_check.kraft.membership import Keys
from model_check.kraft.node import Execution, Node
from reference.effects import (
    AppendAccepted,
    AppendBatch,
    Effect,
    HighWatermark,
    LoadSnapshot,
    Reply,
    Transition,
    Truncate,
)
from reference.events import Append, Event, RequestReceived, ResponseReceived
from reference.log import Batch, KRaftVersion, Log, Value, Voters
from reference.messages import (
    AddRaftVoterResponse,
    FetchRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from reference.replica import (
    AddingVoter,
    Follower,
    Leader,
    RemovingVoter,
    Replica,
    VoterChange,
)
from reference.voters import ReplicaKey, Voter, VoterSet


def violations(before: Replica, event: Event | None, execution: Execution, after: Node) -> Iterator[str]:
    """The names of the properties that a whole step violates; ``event`` is ``None`` for a restart."""
    if after.replica is not None:
        known = membership.in_force(membership.own_origin(after.replica), after.replica.log)
        # An assignment is in force once it is committed (KIP-595), which S-40 is about.
        if after.replica.voters != known and not assignments.assignments_of(after.replica.log.batches):
            yield names.VOTERS_OF_THE_LOG
        yield from _log_violations(after.replica)
        yield from _snapshot_violations(after.replica)
    yield from _loading_violations(before, event, execution)
    yield from _append_violations(before, event, execution)
    if isinstance(before.role, Leader) and event is not None:
        yield from _unanswered_change(before.role, execution)
    if isinstance(event, RequestReceived):
        yield from _identity_violations(before, event, execution)


def _log_violations(replica: Replica) -> Iterator[str]:
    """S-23, S-29, S-38, S-39: what a log says of voters and versions."""
    history = membership.history_of(membership.own_origin(replica), replica.log)
    for (_, old, version), (_, new, later) in pairwise(history):
        if len(old) and not len(new):
            yield names.VOTER_SET_NOT_EMPTY
        if len(old) and max(len(membership.added(old, new)), len(membership.removed(old, new))) > 1:
            yield names.ONE_CHANGE_AT_A_TIME
        if later < max(version, 1):
            yield names.KRAFT_VERSION_MONOTONE
    yield from assignments.violations(membership.own_origin(replica), replica)
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


def _loading_violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """S-22: a snapshot that is loaded has arrived from its first byte to its last."""
    if not any(isinstance(effect, LoadSnapshot) for effect in execution.effects):
        return
    part = event.response if isinstance(event, ResponseReceived) else None
    partial = before.role.fetching_snapshot if isinstance(before.role, Follower) else None
    assert isinstance(part, FetchSnapshotResponse)
    if partial is None or (partial.position, partial.position + part.length) != (part.position, part.size):
        yield names.SNAPSHOT_IS_COMMITTED


# What a leader appends.


def _append_violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """What a leader appends, from the batch on that opens its epoch; ``event`` is ``None`` for a restart."""
    led = before.epoch if isinstance(before.role, Leader) and event is not None else None
    committed = before.high_watermark if event is not None else None
    batches = list(before.log.batches)
    for effect in execution.effects:
        if isinstance(effect, HighWatermark):
            committed = effect.offset
        elif isinstance(effect, Transition):
            led = effect.epoch if effect.target == "Leader" else None
        elif isinstance(effect, AppendBatch):
            if effect.batch.epoch == led:
                yield from _batch_violations(before, batches, effect.batch, committed, event)
            batches.append(effect.batch)
        elif isinstance(effect, AppendAccepted) and isinstance(event, Append):
            yield from _accepted_violations(event, effect.offset, execution)


def _batch_violations(
    before: Replica, batches: list[Batch], batch: Batch, committed: int | None, event: Event | None
) -> Iterator[str]:
    """S-24, S-27, S-38 and P-9 of a batch that a leader appends to a log with ``batches``."""
    if membership.opens_epoch(batch):
        if not _opens_as_due(before, batches, batch):
            yield names.CHANGE_AS_ASKED
        if not _changes_keys(before, batches, batch):
            return
    elif not membership.has_voters(batch) and not assignments.is_in(batch):
        return
    elif not _is_as_asked(before, batches, batch, event):
        yield names.CHANGE_AS_ASKED
    added = assignments.added(membership.own_origin(before), tuple(batches), batch)
    if not added <= _caught_up(before, event):
        yield names.ADDED_VOTER_IS_READY
    yield from _change_violations(before, batches, batch, committed, event)


def _changes_keys(before: Replica, batches: list[Batch], batch: Batch) -> bool:
    _, old, _ = _history(before, batches)[-1]
    sets = [entry.voters for entry in batch.records if isinstance(entry, Voters)]
    return any(membership.added(old, new) or membership.removed(old, new) for new in sets)


def _opens_as_due(before: Replica, batches: list[Batch], batch: Batch) -> bool:
    """P-9: an epoch opens with the voter set only where the log has none, or another entry of the leader.

    The record of the version in force precedes it, and the other entries are as before (LOG-4, UPDATE-1).
    """
    start, *changes = _history(before, batches)
    _, old, version = changes[-1] if changes else start
    own = before.own_entry
    recorded = bool(changes) or start[0] > 0
    if len(batch.records) == 1:
        return True
    new = VoterSet(tuple(own if membership.matches(voter.key, own.key) else voter for voter in old.voters))
    due = version >= 1 and (not recorded or new != old)
    return due and batch.records[1:] == (KRaftVersion(version), Voters(new))


def _caught_up(before: Replica, event: Event | None) -> set[int]:
    """The observers that have held everything once, the one included that shows it now (KIP-836: all that
    the leader had at its last fetch).
    """
    observers = before.role.observers if isinstance(before.role, Leader) else ()
    ready = {entry.id for entry in observers if entry.last_caught_up_time is not None}
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, FetchRequest):
        known = (entry.leader_end_offset for entry in observers if entry.key == request.replica)
        if request.offset >= (next(known, 0) or before.log.end_offset):
            ready.add(request.replica.id)
    return ready


def _change_violations(
    before: Replica,
    batches: list[Batch],
    change: Batch,
    committed: int | None,
    event: Event | None,
) -> Iterator[str]:
    """S-24, S-27, and of S-38 that no other change is pending when one is appended.

    An upgrade of kraft.version leaves the voters as they are, and needs no commit.
    """
    history = _history(before, batches)
    upgrades = any(
        isinstance(entry, KRaftVersion) and entry.version != history[-1][2] for entry in change.records
    )
    ends = [batch.end_offset for batch in batches if batch.epoch == change.epoch]
    ends += [each.id.end_offset for each in before.log.snapshots if each.id.epoch == change.epoch]
    known = committed is not None and any(end <= committed for end in ends)
    if not known and not upgrades:
        yield names.CHANGE_NEEDS_COMMIT
    if any(end > (committed or 0) for end, _, _ in history[1:]):
        yield names.CHANGE_ACKNOWLEDGED_WHEN_COMMITTED
    _, old, version = history[-1]
    observers = before.role.observers if isinstance(before.role, Leader) else ()
    for entry in change.records:
        version = entry.version if isinstance(entry, KRaftVersion) else version
    for new in (entry.voters for entry in change.records if isinstance(entry, Voters)):
        if not all(_supports(voter, version) for voter in new.voters):
            yield names.ADDED_VOTER_IS_READY
        for voter in _added_voters(old, new):
            seen = next((entry for entry in observers if entry.key == voter.key), None)
            told = isinstance(event, ResponseReceived) and event.source == voter.key.id
            if not told or seen is None or seen.last_caught_up_time is None:
                yield names.ADDED_VOTER_IS_READY


def _history(before: Replica, batches: list[Batch]) -> tuple[tuple[int, VoterSet, int], ...]:
    """The voter sets of ``batches``, with which the log of ``before`` goes on."""
    log = Log(tuple(batches), start_offset=before.log.start_offset, snapshots=before.log.snapshots)
    return membership.history_of(membership.own_origin(before), log)


def _is_as_asked(before: Replica, batches: list[Batch], change: Batch, event: Event | None) -> bool:
    """P-9: the one voter added or removed is the one that was asked for, and no id is there twice."""
    adding = removing = None
    if isinstance(event, RequestReceived) and isinstance(event.request, RemoveRaftVoterRequest):
        removing = event.request.voter
    elif isinstance(event, ResponseReceived) and isinstance(before.role, Leader):
        change_asked = before.role.change
        adding = change_asked.voter.key if isinstance(change_asked, AddingVoter) else None
    _, old, _ = _history(before, batches)[-1]
    return all(
        membership.added(old, entry.voters) == _keys(adding)
        and membership.removed(old, entry.voters) == _keys(removing)
        and len(set(entry.voters.ids)) == len(entry.voters)
        for entry in change.records
        if isinstance(entry, Voters)
    )


def _keys(key: ReplicaKey | None) -> Keys:
    return () if key is None else (key,)


def _added_voters(old: VoterSet, new: VoterSet) -> list[Voter]:
    keys = membership.added(old, new)
    return [voter for voter in new.voters if voter.key in keys]


def _supports(voter: Voter, version: int) -> bool:
    return voter.min_kraft_version <= version <= voter.max_kraft_version


def _unanswered_change(role: Leader, execution: Execution) -> Iterator[str]:
    """P-8: a change that is under way no more has an answer, unless the process has ended."""
    change = role.change
    if not isinstance(change, AddingVoter | RemovingVoter) or execution.ended is not None:
        return
    after = execution.replica.role
    if isinstance(after, Leader) and _is_same_change(change, after.change):
        return
    told = isinstance(change, AddingVoter) and change.answered
    if not told and not any(_answers(effect, change) for effect in execution.effects):
        yield names.CHANGE_ANSWERED


def _is_same_change(change: AddingVoter | RemovingVoter, after: VoterChange | None) -> bool:
    if isinstance(change, AddingVoter) and isinstance(after, AddingVoter):
        return change.voter.key == after.voter.key and change.source == after.source
    return change == after


def _answers(effect: Effect, change: AddingVoter | RemovingVoter) -> bool:
    kind = AddRaftVoterResponse if isinstance(change, AddingVoter) else RemoveRaftVoterResponse
    return isinstance(effect, Reply) and effect.to == change.source and isinstance(effect.response, kind)


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
        if granted and (
            not membership.same_voter(request.voter, before.key) or _is_replaced(before, request)
        ):
            yield names.WIPED_REPLICA_IS_ANOTHER


def _is_replaced(replica: Replica, request: VoteRequest) -> bool:
    """Whether a replica answers on a replaced disk for a voter whose directory nobody knows."""
    assert request.voter is not None
    lost = replica.key.directory not in (None, first_directory(replica.id))
    return lost and request.voter.directory is None and replica.kraft_version == 0


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
    known = membership.in_force(membership.own_origin(before), before.log)
    for effect in execution.effects:
        if isinstance(effect, LoadSnapshot):
            yield names.GOAL_SNAPSHOT_LOADED
            if effect.snapshot.voters not in (None, known):
                yield names.GOAL_VOTERS_FROM_SNAPSHOT
        elif isinstance(effect, Truncate) and _is_in(before, known):
            if not _is_in(before, membership.in_force(membership.own_origin(before), execution.replica.log)):
                yield names.GOAL_VOTER_OBSERVES_AGAIN
        elif isinstance(effect, Transition) and effect.target == "Leader":
            if _knows_voters_from_snapshot(before):
                yield names.GOAL_LEADS_BY_SNAPSHOT
        elif isinstance(effect, HighWatermark):
            yield from _commit_goals(before, execution, effect.offset)
    loading = isinstance(before.role, Follower) and before.role.fetching_snapshot is not None
    if loading and _has_other_leader(before, execution.replica):
        yield names.GOAL_DOWNLOAD_ABANDONED


def _is_in(replica: Replica, voters: VoterSet) -> bool:
    return any(membership.matches(entry, replica.key) for entry in voters.keys)


def _knows_voters_from_snapshot(replica: Replica) -> bool:
    """Whether the set in force is no record of the log, and not the one that the cluster began with."""
    (_, voters, _), *changes = membership.history_of(membership.own_origin(replica), replica.log)
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
            yield names.GOAL_CHANGE_OUTLIVES_TIMEOUT
        voters = next(entry.voters for entry in reversed(batch.records) if isinstance(entry, Voters))
        if before.auto_join and before.key in voters.keys and before.key not in before.bootstrap_voters.keys:
            yield names.GOAL_AUTO_JOINED
