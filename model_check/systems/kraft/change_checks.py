"""Properties of voter changes: the records that a leader appends, its answers, and UpdateRaftVoter.

Voter sets are read from the records of the log (:mod:`kraftcheck.systems.kraft.membership`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference import messages
from kraftcheck.reference.effects import (
    AppendAccepted,
    AppendBatch,
    CallFailed,
    HighWatermark,
    Send,
    Transition,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Append, Event, ResponseReceived, UpgradeKRaftVersion
from kraftcheck.reference.fatal import RefusalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Log, Record, Value, Voters
from kraftcheck.reference.protocol import Protocol, VoterKeys
from kraftcheck.reference.replica import AddingVoter, Follower, Leader, Replica, UpdatingVoter
from kraftcheck.reference.voters import ReplicaKey, Voter, VoterSet
from kraftcheck.systems.kraft import assignments, membership
from kraftcheck.systems.kraft.network import request_of, response_of
from kraftcheck.systems.kraft.node import Execution


def append_violations(
    protocol: Protocol, before: Replica, event: Event | None, execution: Execution
) -> Iterator[str]:
    """The names of the properties that the appends of a step violate, from the batch on that opens an epoch.

    ``event`` is ``None`` for a restart.
    """
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
                yield from _batch_violations(protocol, before, batches, effect.batch, committed, event)
            batches.append(effect.batch)
        elif isinstance(effect, AppendAccepted) and isinstance(event, Append):
            yield from _accepted_violations(event, effect.offset, execution)


def _batch_violations(
    protocol: Protocol,
    before: Replica,
    batches: list[Batch],
    batch: Batch,
    committed: int | None,
    event: Event | None,
) -> Iterator[str]:
    """S-24, S-27, S-38 and P-9 of a batch that a leader appends to a log with ``batches``."""
    if membership.opens_epoch(batch):
        if not _opens_as_due(before, batches, batch, starts=event is None):
            yield "VoterChangeIsAsAsked"
        if not _changes_keys(before, batches, batch):
            return
    elif _is_of_voters(batch):
        if not _is_as_asked(before, batches, batch, event) or _names_twice(protocol, batch):
            yield "VoterChangeIsAsAsked"
        if _joins_after_removal(before, batches, batch):
            yield "RemovedVoterStaysRemoved"
    elif not assignments.is_in(batch):
        return
    if not _entrants_are_ready(before, batches, batch, event):
        yield "AddedVoterIsReady"
    yield from _change_violations(before, batches, batch, committed)


def _is_of_voters(batch: Batch) -> bool:
    return any(isinstance(entry, Voters | KRaftVersion) for entry in batch.records)


def _changes_keys(before: Replica, batches: list[Batch], batch: Batch) -> bool:
    _, old, _ = _history(before, batches)[-1]
    sets = membership.sets_in(batch)
    return any(membership.added(old, new) or membership.removed(old, new) for new in sets)


def _opens_as_due(before: Replica, batches: list[Batch], batch: Batch, *, starts: bool) -> bool:
    """P-9: an epoch opens with the leader and the ids of its voters (the model leaves out the ids of the
    voters that granted their vote). The voter set follows if and only if the log has none, or has another
    entry of the leader.

    The record of the effective version precedes it, and the other entries are as before (LOG-4, UPDATE-1).
    """
    start, *changes = _history(before, batches)
    _, old, version = changes[-1] if changes else start
    voters = old.ids
    if before.log.assignments:
        # Where voters are assigned (KIP-595) they are those of the last assignment that is known to be
        # committed; a process that starts knows the contents of its log.
        decided = assignments.decided_in(before.log)
        known = assignments.voters_at(membership.own_origin(before), before.log, decided)
        voters = tuple(key.id for key in known) if starts else before.voters.ids
    own = before.own_entry
    recorded = bool(changes) or start[0] > 0
    new = VoterSet(tuple(own if membership.matches(voter.key, own.key) else voter for voter in old.voters))
    due = version >= 1 and (not recorded or new != old)
    opening = batch.records[0]
    named = isinstance(opening, LeaderChange) and (opening.leader, opening.voters) == (before.id, voters)
    return named and batch.records[1:] == ((KRaftVersion(version), Voters(new)) if due else ())


def _entrants_are_ready(before: Replica, batches: list[Batch], change: Batch, event: Event | None) -> bool:
    """S-27: every replica that enters the voter set has caught up. It supports the effective kraft.version,
    and so does a voter whose entry changes, and each voter if the version does; a new voter has just reported
    its supported versions. An assignment (KIP-595) names ids.
    """
    ready = _caught_up(before, event)
    assigned = assignments.added(membership.own_origin(before), tuple(batches), change)
    if not assigned <= {key.id for key in ready}:
        return False
    _, old, effective = _history(before, batches)[-1]
    version, sets = membership.version_after(change, effective), membership.sets_in(change)
    unchanged = old.voters if version == effective else ()
    new = {key for voters in sets for key in membership.added(old, voters)}
    reporter = event.source if isinstance(event, ResponseReceived) else None
    changed = [voter for voters in sets for voter in voters.voters if voter not in unchanged]
    supported = all(_supports(voter, version) for voter in changed)
    return supported and new <= ready and all(key.id == reporter for key in new)


def _caught_up(before: Replica, event: Event | None) -> set[ReplicaKey]:
    """The observers that have held everything once, the one included that shows it now (KIP-836: all that
    the leader had at its last fetch).
    """
    observers = before.role.observers if isinstance(before.role, Leader) else ()
    ready = {entry.key for entry in observers if entry.caught_up}
    request = request_of(event)
    if isinstance(request, messages.FetchRequest):
        known = (entry.leader_end_offset for entry in observers if entry.key == request.replica)
        if request.offset >= (next(known, 0) or before.log.end_offset):
            ready.add(request.replica)
    return ready


def _change_violations(
    before: Replica, batches: list[Batch], change: Batch, committed: int | None
) -> Iterator[str]:
    """S-24, and of S-38 that no other change is pending when one is appended.

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
        yield "VoterChangeNeedsOwnEpochCommit"
    if any(end > (committed or 0) for end, _, _ in history[1:]):
        yield "VoterChangeAcknowledgedWhenCommitted"


def _history(before: Replica, batches: list[Batch]) -> tuple[tuple[int, VoterSet, int], ...]:
    """The voter sets of ``batches``, with which the log of ``before`` continues."""
    log = Log(tuple(batches), start_offset=before.log.start_offset, snapshots=before.log.snapshots)
    return membership.history_of(membership.own_origin(before), log)


def _is_as_asked(before: Replica, batches: list[Batch], change: Batch, event: Event | None) -> bool:
    """P-9: the records are those of the request: one entry added, removed or replaced.

    An upgrade of kraft.version comes in one batch with the voter set, whose entries are the voters' own
    descriptions (KVER-5).
    """
    _, old, _ = _history(before, batches)[-1]
    records: tuple[Record, ...]
    if isinstance(event, UpgradeKRaftVersion):
        records = (KRaftVersion(event.version), Voters(_as_described(before, old)))
    else:
        asked = _as_asked(before, old, event)
        if asked == old and _entry_to_update(before, event) is None:
            return False
        records = (Voters(asked),)
    return change.records == records


def _names_twice(protocol: Protocol, change: Batch) -> bool:
    """P-9: whether a voter set names an id twice; with the composite keys of KIP-853, one id on one disk."""
    sets = membership.sets_in(change)
    if protocol.voter_keys is VoterKeys.COMPOSITE:
        return any(len(set(voters.keys)) < len(voters) for voters in sets)
    return any(len(set(voters.ids)) < len(voters) for voters in sets)


def _joins_after_removal(before: Replica, batches: list[Batch], change: Batch) -> bool:
    """P-16: whether ``change`` adds a replica at its own request that an earlier voter set had."""
    adding = before.role.change if isinstance(before.role, Leader) else None
    if not isinstance(adding, AddingVoter) or adding.source != adding.voter.key.id:
        return False
    history = _history(before, batches)
    known = {key for _, voters, _ in (*history, (0, before.bootstrap_voters, 0)) for key in voters.keys}
    _, old, _ = history[-1]
    return any(adding.voter.key in membership.added(old, new) for new in membership.sets_in(change)) and (
        adding.voter.key in known
    )


def _as_described(before: Replica, old: VoterSet) -> VoterSet:
    reported = before.role.reported if isinstance(before.role, Leader) else ()
    known = {entry.key.id: entry for entry in (*reported, before.own_entry)}
    return VoterSet(tuple(known.get(voter.key.id, voter) for voter in old.voters))


def _as_asked(before: Replica, old: VoterSet, event: Event | None) -> VoterSet:
    """``old`` with the one entry added, removed or replaced that ``event`` requests or allows."""
    voters = old.voters
    request, response = request_of(event), response_of(event)
    change = before.role.change if isinstance(before.role, Leader) else None
    if isinstance(request, messages.RemoveRaftVoterRequest):
        voters = tuple(voter for voter in voters if voter.key != request.voter)
    elif isinstance(request, messages.UpdateRaftVoterRequest):
        voters = _with_entry(voters, reported_entry(request))
    elif isinstance(response, messages.ApiVersionsResponse) and isinstance(change, AddingVoter):
        least, most = response.kraft_versions or (0, 0)
        voters = (*voters, replace(change.voter, min_kraft_version=least, max_kraft_version=most))
    elif isinstance(response, messages.ApiVersionsResponse) and isinstance(change, UpdatingVoter):
        voters = _with_entry(voters, change.voter)
    return VoterSet(tuple(sorted(voters, key=lambda voter: (voter.key.id, voter.key.directory or ""))))


def _with_entry(voters: tuple[Voter, ...], new: Voter) -> tuple[Voter, ...]:
    return tuple(new if membership.matches(voter.key, new.key) else voter for voter in voters)


def reported_entry(request: messages.UpdateRaftVoterRequest) -> Voter:
    """The description that a voter gives of itself."""
    return Voter(request.voter, request.endpoints, request.min_kraft_version, request.max_kraft_version)


def _supports(voter: Voter, version: int) -> bool:
    return voter.min_kraft_version <= version <= voter.max_kraft_version


def _accepted_violations(event: Append, offset: int, execution: Execution) -> Iterator[str]:
    """S-37: success is reported when the high watermark passes the offset that the client was given.

    Records that linger are at the end of the queue, behind everything that was there before.
    """
    batches = execution.appended
    role = execution.replica.role
    if not batches and isinstance(role, Leader):
        queued = [record for records in role.pending for record in records]
        end = execution.replica.log.end_offset + len(queued)
        if offset != end - 1 or queued[-1:] != [Value(event.values[-1])]:
            yield "AcknowledgedAppendIsCommitted"
    last = next((batch for batch in batches if batch.base_offset <= offset < batch.end_offset), None)
    if batches and (last is None or last.records[offset - last.base_offset] != Value(event.values[-1])):
        yield "AcknowledgedAppendIsCommitted"


# UpdateRaftVoter.


def update_violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """P-9: a voter whose entry in its own voter set is correct requests no update. An accepted update is in
    the log, or noted for the upgrade where voters are static.

    Other checks judge the appended records. A refused update leaves no trace.
    """
    for sent in execution.all(Send):
        if _changes_nothing(execution.replica, sent.request) or _joins_unasked(
            execution.replica, sent.request
        ):
            yield "VoterChangeIsAsAsked"
    if _is_updated_unasked(before, event, execution.replica) or _adds_another(event, execution.replica):
        yield "VoterChangeIsAsAsked"
    if _is_refused_without_cause(before, event, execution):
        yield "VoterChangeIsAsAsked"
    entry = _entry_to_update(before, event)
    after = execution.replica.role
    if entry is None or not isinstance(before.role, Leader) or not isinstance(after, Leader):
        return
    appended = any(map(membership.has_voters, execution.appended))
    _, _, version = membership.own_history(before)[-1]
    accepted = any(map(_accepts, execution.responses))
    noted = set(before.role.reported)
    if accepted and version < 1:
        noted = {known for known in noted if known.key.id != entry.key.id} | {entry}
    if appended != (accepted and version >= 1) or set(after.reported) != noted:
        yield "VoterChangeIsAsAsked"


def _is_refused_without_cause(before: Replica, event: Event | None, execution: Execution) -> bool:
    """Whether a leader says that not all voters support a level, although it knows that they do (KVER-3)."""
    if not isinstance(event, UpgradeKRaftVersion) or not isinstance(before.role, Leader):
        return False
    refused = CallFailed(RefusalReason.VERSION_NOT_SUPPORTED) in execution.effects
    described = _as_described(before, membership.own_voters(before)).voters
    return refused and all(_supports(voter, event.version) for voter in described)


def _adds_another(event: Event | None, after: Replica) -> bool:
    """Whether a leader that has accepted an addition remembers another entry than the request names."""
    request = request_of(event)
    change = after.role.change if isinstance(after.role, Leader) else None
    if not isinstance(request, messages.AddRaftVoterRequest) or not isinstance(change, AddingVoter):
        return False
    asked = change.voter.key == request.voter and change.offset is None
    return asked and change.voter.endpoints != request.endpoints


def _entry_to_update(before: Replica, event: Event | None) -> Voter | None:
    """The entry that a leader may take over in the step: on a request, or on the answer to its probe. The log
    may describe the voter so already.
    """
    request, change = request_of(event), before.role.change if isinstance(before.role, Leader) else None
    if isinstance(request, messages.UpdateRaftVoterRequest):
        return reported_entry(request)
    probed = isinstance(response_of(event), messages.ApiVersionsResponse)
    return change.voter if probed and isinstance(change, UpdatingVoter) else None


def _is_updated_unasked(before: Replica, event: Event | None, after: Replica) -> bool:
    """Whether a follower takes it that its leader knows its description, without an answer of that leader:
    another leader, or the same one in a later epoch, has not heard of it (UPDATE-1).
    """
    role = after.role
    if not isinstance(role, Follower) or not role.has_updated_leader:
        return False
    if isinstance(response_of(event), messages.UpdateRaftVoterResponse):
        return False
    same = (before.epoch, before.quorum_state.leader) == (after.epoch, after.quorum_state.leader)
    return not (same and isinstance(before.role, Follower) and before.role.has_updated_leader)


def _accepts(response: object) -> bool:
    return (
        isinstance(response, messages.UpdateRaftVoterResponse) and response.partition_error is ErrorCode.NONE
    )


def _changes_nothing(sender: Replica, request: messages.Request) -> bool:
    """Whether the sender requests an entry that the newest voter set of its log has already."""
    if not isinstance(request, messages.UpdateRaftVoterRequest):
        return False
    _, voters, version = membership.own_history(sender)[-1]
    return version >= 1 and reported_entry(request) in voters.voters


def _joins_unasked(sender: Replica, request: messages.Request) -> bool:
    """Whether a replica changes its own membership without being configured to do so (ADD-14)."""
    own = isinstance(request, messages.AddRaftVoterRequest | messages.RemoveRaftVoterRequest)
    return own and not (sender.auto_join and sender.can_become_voter and sender.kraft_version >= 1)
