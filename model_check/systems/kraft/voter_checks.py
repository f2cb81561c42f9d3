"""Properties of single steps where the voter set may change or snapshots are taken.

Voter sets are read from the records of the log (:mod:`kraftcheck.systems.kraft.membership`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from kraftcheck.reference.effects import LoadSnapshot, Reply, Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.messages import (
    AddRaftVoterResponse,
    AlterQuorumRequest,
    AlterQuorumResponse,
    FetchRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
    VoteRequest,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import (
    AddingVoter,
    AlteringQuorum,
    Follower,
    Leader,
    RemovingVoter,
    Replica,
    UpdatingVoter,
    VoterChange,
)
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.support.remembering import remembered
from kraftcheck.systems.kraft import assignments, change_checks, membership
from kraftcheck.systems.kraft.administration import first_directory
from kraftcheck.systems.kraft.network import response_of
from kraftcheck.systems.kraft.node import Execution, Node


def violations(
    protocol: Protocol, before: Replica, event: Event | None, execution: Execution, after: Node
) -> Iterator[str]:
    """The names of the properties that a whole step violates; ``event`` is ``None`` for a restart."""
    if after.replica is not None:
        replica = after.replica
        _, known, version = membership.own_history(replica)[-1]
        assigned = assignments.assignments_of(replica.log.batches)
        # An assignment is effective once it is committed (KIP-595); S-40 covers that.
        other_voters = replica.voters != known and not assigned
        if other_voters or replica.kraft_version != version or replica.log.assignments != assigned:
            yield "VotersOfTheLog"
        yield from _log_violations(after.replica)
        yield from _snapshot_violations(after.replica)
    yield from _loading_violations(before, event, execution)
    yield from change_checks.append_violations(protocol, before, event, execution)
    if isinstance(before.role, Leader) and event is not None:
        yield from _unanswered_change(before.role, event, execution)
        if _is_given_up_too_early(before.role, event, execution):
            yield "VoterChangeIsAnswered"
        yield from _unanswered_alterations(before.role, event, execution)
    yield from change_checks.update_violations(before, event, execution)
    if _leads_for_another(before, execution):
        yield "WipedReplicaIsAnother"
    if isinstance(event, RequestReceived):
        yield from _identity_violations(before, event, execution)


def _log_violations(replica: Replica) -> Iterator[str]:
    """S-23, S-29, S-38, S-39: the voters and versions in a log."""
    history = membership.own_history(replica)
    yield from _change_violations(history)
    yield from assignments.violations(membership.own_origin(replica), replica)
    pending = [end for end, _, _ in history[1:] if end > (replica.high_watermark or 0)]
    if isinstance(replica.role, Leader) and replica.high_watermark is not None and len(pending) > 1:
        yield "VoterChangeAcknowledgedWhenCommitted"


@remembered(membership.KEPT)
def _change_violations(history: tuple[tuple[int, VoterSet, int], ...]) -> tuple[str, ...]:
    found = []
    for (_, old, version), (_, new, later) in pairwise(history):
        if len(old) and not len(new):
            found.append("VoterSetNotEmpty")
        if len(old) and max(len(membership.added(old, new)), len(membership.removed(old, new))) > 1:
            found.append("OneVoterChangeAtATime")
        if later < max(version, 1):
            found.append("KRaftVersionMonotone")
    return tuple(found)


def _snapshot_violations(replica: Replica) -> Iterator[str]:
    """S-22: the offsets of the log and its snapshots; the contents of a snapshot are judged against the
    history.
    """
    log, committed = replica.log, replica.high_watermark
    ends = [snapshot.id.end_offset for snapshot in log.snapshots]
    too_late = committed is not None and ends and max(ends) > committed
    if too_late or log.start_offset > min(ends, default=0):
        yield "SnapshotIsCommittedPrefix"


def _loading_violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """S-22: a snapshot that is loaded has arrived from its first byte to its last."""
    if not execution.all(LoadSnapshot):
        return
    part = response_of(event)
    partial = before.role.fetching_snapshot if isinstance(before.role, Follower) else None
    assert isinstance(part, FetchSnapshotResponse)
    if partial is None or (partial.position, partial.position + part.length) != (part.position, part.size):
        yield "SnapshotIsCommittedPrefix"


def _unanswered_change(role: Leader, event: Event, execution: Execution) -> Iterator[str]:
    """P-8: a change that is no longer under way has one answer, unless the process has ended."""
    change = role.change
    if change is None or execution.ended is not None:
        return
    after = execution.replica.role
    stays = isinstance(after, Leader) and _is_same_change(change, after.change)
    if isinstance(after, Leader) and stays and _is_committed(after, execution.replica.high_watermark):
        yield "VoterChangeIsAnswered"
    due = not stays
    early = isinstance(change, AddingVoter) and not change.ack_when_committed
    if early or isinstance(change, UpdatingVoter):
        # A client that does not wait for the commit gets its answer on append, and no second one.
        later = after.change if isinstance(after, Leader) else None
        appended = later is not None and later.offset is not None
        due = change.offset is None and (due or appended)
    answered = any(_answers(reply, change) for reply in execution.all(Reply))
    # An answer to a request may be about another request.
    if answered != due and not (answered and isinstance(event, RequestReceived)):
        yield "VoterChangeIsAnswered"


def _is_committed(role: Leader, high_watermark: int | None) -> bool:
    """Whether the leader knows that the voter set of the change under way is committed."""
    appended = None if role.change is None else role.change.offset
    return appended is not None and high_watermark is not None and appended < high_watermark


def _unanswered_alterations(role: Leader, event: Event, execution: Execution) -> Iterator[str]:
    """P-8 for AlterQuorum: every client that sent a request waits, or has one answer."""
    if execution.ended is not None:
        return
    after = execution.replica.role
    waiting = [_asker(each) for each in after.alterations] if isinstance(after, Leader) else []
    replies = execution.all(Reply)
    answered = [
        (each.to, each.correlation) for each in replies if isinstance(each.response, AlterQuorumResponse)
    ]
    asked = [_asker(each) for each in role.alterations]
    if isinstance(event, RequestReceived) and isinstance(event.request, AlterQuorumRequest):
        asked.append((event.source, event.correlation))
    if asked != waiting + answered and Counter(asked) != Counter(waiting + answered):
        yield "VoterChangeIsAnswered"


def _asker(waiting: AlteringQuorum) -> tuple[int, int | None]:
    """The client that gets the answer, and the request of that answer."""
    return waiting.source, waiting.correlation


#: The errors that leave the outcome of a change open.
_OPEN = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _is_given_up_too_early(role: Leader, event: Event, execution: Execution) -> bool:
    """P-8: a change whose voter set is in the log may still commit, and no answer may report its failure."""
    change = role.change
    if change is None or change.offset is None:
        return False
    if isinstance(event, RequestReceived) and event.source == change.source:
        return False  # the answer may be about that request
    kinds = AddRaftVoterResponse | RemoveRaftVoterResponse
    return any(isinstance(each, kinds) and each.error not in _OPEN for each in execution.responses)


def _is_same_change(change: VoterChange, after: VoterChange | None) -> bool:
    if isinstance(change, RemovingVoter) or isinstance(after, RemovingVoter | None):
        return change == after
    same_kind = type(change) is type(after)
    return same_kind and change.voter.key == after.voter.key and change.source == after.source


#: What answers the request for a change.
_ANSWERS = {
    AddingVoter: AddRaftVoterResponse,
    RemovingVoter: RemoveRaftVoterResponse,
    UpdatingVoter: UpdateRaftVoterResponse,
}


def _answers(reply: Reply, change: VoterChange) -> bool:
    return reply.to == change.source and isinstance(reply.response, _ANSWERS[type(change)])


def _identity_violations(before: Replica, event: RequestReceived, execution: Execution) -> Iterator[str]:
    """S-28: nothing that a replica does counts for the voter whose disk it has lost."""
    request = event.request
    if isinstance(request, FetchRequest) and _counts_for_another(before, request, execution):
        yield "WipedReplicaIsAnother"
    if isinstance(request, VoteRequest) and request.voter is not None and execution.grants_vote:
        another = not membership.same_voter(request.voter, before.key)
        if another or _is_replaced(before, request):
            yield "WipedReplicaIsAnother"


def _is_replaced(replica: Replica, request: VoteRequest) -> bool:
    """Whether a replica answers on a replaced disk for a voter without a known directory."""
    assert request.voter is not None
    return _is_on_another_disk(replica.key) and request.voter.directory is None and replica.kraft_version == 0


def _is_on_another_disk(key: ReplicaKey) -> bool:
    return key.directory not in (None, first_directory(key.id))


def _leads_for_another(before: Replica, execution: Execution) -> bool:
    """Whether a static voter that has lost its disk is elected, by votes for itself among others."""
    elected = any(each.target == "Leader" for each in execution.all(Transition))
    return elected and before.kraft_version == 0 and _is_on_another_disk(before.key)


def _counts_for_another(before: Replica, request: FetchRequest, execution: Execution) -> bool:
    """Whether a leader counts one replica's progress for another: with static voters, for the one that lost
    its disk.
    """
    after = execution.replica.role
    if not isinstance(before.role, Leader) or not isinstance(after, Leader):
        return False
    static = before.kraft_version == 0 and _is_on_another_disk(request.replica)
    ends = {entry.key: entry.end_offset for entry in before.role.progress}
    return any(
        entry.id == request.replica.id
        and (not membership.matches(entry.key, request.replica) or (static and request.offset > 0))
        and entry.key in ends
        and entry.end_offset != ends[entry.key]
        for entry in after.progress
    )
