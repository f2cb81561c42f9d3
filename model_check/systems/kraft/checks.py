"""Properties of single steps: judged once for each (local state, event), on the result of the reference.

They compare the replica before and after and look at the effects; none of them asks the reference whether it
was right. One exception: whether a pre-vote has no effect is judged from the request handled once more,
alone, as the poll in the same step may change the replica.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendAccepted,
    AppendBatch,
    ArmTimer,
    CallFailed,
    Effect,
    Fatal,
    HighWatermark,
    Persist,
    Send,
    Transition,
    Truncate,
)
from kraftcheck.reference.events import Append, Event, RequestReceived, Resign, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log, Value
from kraftcheck.reference.messages import (
    FetchRequest,
    VoteRequest,
)
from kraftcheck.reference.protocol import Protocol, StateMachine, VoteMemory
from kraftcheck.reference.replica import Candidate, Follower, Leader, Prospective, Replica, Resigned
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import ReplicaKey, majority
from kraftcheck.spec import load
from kraftcheck.support.remembering import remembered
from kraftcheck.systems.kraft import (
    address_checks,
    disk_checks,
    divergence_checks,
    known_exits,
    membership,
    timer_checks,
    voter_checks,
)
from kraftcheck.systems.kraft.contacts import epoch_of, heard_from, is_refused, sender
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.wiring import Wiring


def violations(
    wiring: Wiring,
    protocol: Protocol,
    before: Replica,
    event: Event | None,
    execution: Execution,
    after: Node,
) -> tuple[str, ...]:
    """The names of the properties that a whole step violates.

    ``event`` is ``None`` for a restart; ``before`` is then the replica whose process ended.
    """
    found = [*_effect_violations(protocol, before, event, execution)]
    found += divergence_checks.violations(before, event, execution)
    if after.replica is not None:
        found += _state_violations(after.replica, after)
        found += _role_violations(before, event, after.replica)
        found += leader_violations(before, event, execution)
        found += _change_violations(protocol, before, after.replica)
        found += address_checks.violations(before, event, execution)
        if event is not None:
            found += _fallen_high_watermark(before, after.replica)
    elif after.died is not None and not is_ignored(wiring, before, event, execution):
        found += [] if disk_checks.is_refused(execution) else ["NoFatal"]
    if event is None:
        found += disk_checks.violations(execution, after.disk)
    found += timer_checks.violations(protocol, before, event, execution, after)
    if not _is_atomic(wiring.choice.append_size, after):
        found.append("AppendIsAtomic")
    if _is_late(before, event) and not _is_refused(event, execution):
        found.append("LateCallsAreRefused")
    if isinstance(event, RequestReceived):
        found += _request_violations(protocol, before, event, execution)
    if wiring.origin is not None:
        found += voter_checks.violations(protocol, before, event, execution, after)
    return tuple(dict.fromkeys(found))


def _is_atomic(size: int, after: Node) -> bool:
    """Whether the records of each append, which are so many, are in one batch of the log (S-44)."""
    counts = (sum(isinstance(each, Value) for each in batch.records) for batch in after.disk.log.batches)
    return size == 1 or all(count % size == 0 for count in counts)


def _is_late(before: Replica, event: Event | None) -> bool:
    """Whether the state machine of a leader calls for an epoch that is over."""
    return (
        isinstance(event, Append | Resign) and isinstance(before.role, Leader) and event.epoch < before.epoch
    )


def _is_refused(event: Event | None, execution: Execution) -> bool:
    """Whether a late call has no effect (P-19): a leader that polled before has no other reason to resign."""
    if isinstance(event, Append):
        return bool(execution.all(CallFailed)) and not execution.all(AppendAccepted)
    return isinstance(execution.replica.role, Leader)


def is_ignored(wiring: Wiring, before: Replica, event: Event | None, execution: Execution) -> bool:
    """Whether the process exits as in a finding that the scenario goes past; of the arguments see
    :func:`violations`.
    """
    fatal = execution.ended
    if not wiring.ignored_exits or not isinstance(fatal, Fatal):
        return False
    return known_exits.finding_of(before, event, fatal, execution.rules) in wiring.ignored_exits


def cut_short(found: Disk, effects: tuple[Effect, ...], left: Disk) -> tuple[str, ...]:
    """The properties that a crash violates by leaving ``left`` on a disk that was as ``found`` before
    ``effects`` began.

    S-41: the file has its contents from before, or those of after a change of state or after all effects. The
    effects that did not happen any more count: the file is written before the state changes.
    """
    written, whole = found.quorum_state, {found.quorum_state}
    for effect in effects:
        if type(effect) is Persist:
            written = effect.quorum_state
        elif type(effect) is Transition:
            whole.add(written)
    return () if left.quorum_state in {*whole, written} else ("QuorumStateIsAtomic",)


def _effect_violations(
    protocol: Protocol, before: Replica, event: Event | None, execution: Execution
) -> Iterator[str]:
    epoch = before.epoch
    for effect in execution.effects:
        if type(effect) is Transition:
            yield from _transition_violations(protocol, before, epoch, effect)
            if isinstance(event, RequestReceived | ResponseReceived) and effect.epoch > epoch:
                yield from _disturbances(effect)
            epoch = effect.epoch
        elif type(effect) is Truncate:
            known = before.high_watermark
            if known is not None and effect.offset < known:
                yield "NoTruncationBelowHighWatermark"
        elif type(effect) is Send and isinstance(effect.request, VoteRequest):
            request = effect.request
            if request.pre_vote and request.epoch > _epoch_known(before, event):
                yield "PreVoteCreatesNoEpoch"


def _epoch_known(before: Replica, event: Event | None) -> int:
    """The largest epoch that existed before the step, as far as this replica can know."""
    message = getattr(event, "request", None) or getattr(event, "response", None)
    # A Resigned replica leaves its epoch by raising it: the one other way to create an epoch (RESIGN-4).
    own = before.epoch + 1 if isinstance(before.role, Resigned) else before.epoch
    return max(own, getattr(message, "epoch", 0))


def _transition_violations(
    protocol: Protocol, before: Replica, epoch: int, effect: Transition
) -> Iterator[str]:
    """Judge a transition from an epoch; a start is compared by its roles only."""
    changes = epoch_changes(epoch, effect.epoch) if effect.source != "Start" else _ANY_CHANGE
    legal = legal_transitions(protocol.state_machine, not before.is_voter)
    if not any((effect.source, effect.target, change) in legal for change in changes):
        yield "TransitionsLegal"
    if (
        protocol.state_machine is StateMachine.KIP996
        and effect.target == "Candidate"
        and effect.source not in ("Prospective", "Start")
    ):
        yield "CandidateOnlyFromProspective"
    only_voter = before.voters.ids == (before.id,)
    if effect.source == "Resigned" and effect.epoch <= before.epoch and not only_voter:
        yield "ResignedLeavesItsEpoch"


def _disturbances(effect: Transition) -> Iterator[str]:
    """The properties that a message with a larger epoch violates while the leader is healthy."""
    yield "RemovedVoterDisturbsNobody"
    if effect.source == "Leader":
        yield "ReturningReplicaDeposesNobody"


_ANY_CHANGE = ("same", "larger", "plus-one")


def epoch_changes(before: int, after: int) -> tuple[str, ...]:
    """The names that the spec's table allows for the change from one epoch to another."""
    if after == before:
        return ("same",)
    if after == before + 1:
        return ("larger", "plus-one")
    return ("larger",) if after > before else ()


@cache
def legal_transitions(state_machine: StateMachine, observer: bool) -> frozenset[tuple[str, str, str]]:
    """(from, to, change of epoch) of the spec's table for voters or observers, start-up included."""
    roles = ("observer", "any") if observer else ("voter", "any")
    return frozenset(
        (row.from_state, row.to_state, row.epoch)
        for row in load().transitions
        if row.table == state_machine.value and row.role in roles
    )


def _role_violations(before: Replica, event: Event | None, replica: Replica) -> Iterator[str]:
    """An observer does not become candidate; a leader that removes itself remains leader until that is
    committed.
    """
    role = replica.role
    if replica.is_voter or not isinstance(role, Prospective | Candidate | Leader):
        return
    led = event is not None and isinstance(before.role, Leader) and before.epoch == replica.epoch
    if not (led and isinstance(role, Leader)):
        yield "ObserversStandNoElection"


def _state_violations(replica: Replica, after: Node) -> Iterator[str]:
    role = replica.role
    if isinstance(role, Follower) and replica.quorum_state.leader == replica.id:
        yield "ResignedLeavesItsEpoch"
    if isinstance(role, Candidate) and replica.quorum_state.leader is not None:
        yield "TransitionsLegal"
    if isinstance(role, Leader) and (role.resign_requested or replica.shutting_down):
        yield "ResignationIsHeeded"
    if not _epochs_ascend(replica.log) or (
        replica.log.batches and replica.log.batches[-1].epoch > replica.epoch
    ):
        yield "LogEpochsMonotone"
    if membership.has_gap(replica.log):
        yield "LogHasNoGap"
    written = after.disk.quorum_state
    if written is None or written.epoch < replica.epoch:
        yield "EpochMonotone"
    if replica.high_watermark is not None:
        yield from _high_watermark_violations(replica, replica.high_watermark, after)


@remembered(membership.KEPT)
def _epochs_ascend(log: Log) -> bool:
    return all(before.epoch <= after.epoch for before, after in pairwise(log.batches))


def _high_watermark_violations(replica: Replica, high_watermark: int, after: Node) -> Iterator[str]:
    role = replica.role
    if high_watermark > replica.log.end_offset:
        yield "StateMachineSafety"
    if isinstance(role, Leader):
        if high_watermark <= role.epoch_start_offset:
            yield "CommitNeedsOwnEpoch"
        if replica.is_voter and high_watermark > after.disk.flushed:
            yield "OwnTailCountsWhenFlushed"


def _change_violations(protocol: Protocol, before: Replica, after: Replica) -> Iterator[str]:
    """Between two moments of a replica, whether the same process runs or another on its disk.

    Where votes are kept only until a leader is known, its id takes the place of the vote in the file.
    """
    if after.epoch < before.epoch:
        yield "EpochMonotone"
    if after.epoch == before.epoch:
        voted = before.quorum_state.voted
        own = voted is not None and voted.id == before.id
        won_with_own_vote = own and after.quorum_state.leader == before.id
        until_leader = protocol.vote_memory is VoteMemory.UNTIL_LEADER
        replaced = won_with_own_vote or (until_leader and after.quorum_state.leader is not None)
        if voted is not None and not _remembers(after, voted) and not replaced:
            yield "VoteKeptWithinEpoch"


def _remembers(replica: Replica, voted: ReplicaKey) -> bool:
    """Whether this is still the vote. A restart loses the directory id of one that was written down at
    kraft.version 0 (PERSIST-9), whether or not the version has been raised since.
    """
    known = replica.quorum_state.voted
    forgets = replica.bootstrap_kraft_version < 1 and known is not None and known.directory is None
    return known == (replace(voted, directory=None) if forgets else voted)


def _fallen_high_watermark(before: Replica, after: Replica) -> Iterator[str]:
    same_reign = isinstance(before.role, Leader) == isinstance(after.role, Leader)
    known, learned = before.high_watermark, after.high_watermark
    follows = isinstance(before.role, Follower) and isinstance(after.role, Follower)
    forgotten = follows and known is not None and learned is None
    if forgotten or (same_reign and known is not None and learned is not None and learned < known):
        yield "HighWatermarkMonotone"


def _request_violations(
    protocol: Protocol, before: Replica, event: RequestReceived, execution: Execution
) -> Iterator[str]:
    request = event.request
    if isinstance(request, FetchRequest):
        yield from _fetch_violations(before, request, execution)
    if not isinstance(request, VoteRequest):
        return
    # Any answer: the receiver may learn the sender's epoch, and no other.
    if request.pre_vote and execution.replica.epoch > max(before.epoch, request.epoch):
        yield "PreVoteCreatesNoEpoch"
    if not execution.grants_vote:
        return
    theirs, ours = ((request.last_epoch, request.end_offset), (before.log.last_epoch, before.log.end_offset))
    repeated = before.epoch == request.epoch and before.quorum_state.voted is not None
    if theirs < ours and not (repeated and not request.pre_vote):
        yield "VoteComparesEpochFirst"
    if request.pre_vote:
        yield from _pre_vote_violations(protocol, before, event, request.epoch)


def _pre_vote_violations(
    protocol: Protocol, before: Replica, event: RequestReceived, epoch: int
) -> Iterator[str]:
    """S-31 and S-35, by the request alone: a timer that the poll after it finds expired is another matter."""
    if epoch != before.epoch:
        return
    handled = step(protocol, before, event)
    changed = any(isinstance(effect, Persist | ArmTimer | Transition) for effect in handled.effects)
    after = handled.replica
    same = (before.quorum_state, before.role, before.log) == (after.quorum_state, after.role, after.log)
    if changed or not same:
        yield "PreVoteGrantHasNoEffect"
    follows = isinstance(before.role, Follower) and before.role.has_fetched
    if follows or isinstance(before.role, Leader):
        yield "FetchingFollowerRejectsPreVote"


def _fetch_violations(before: Replica, request: FetchRequest, execution: Execution) -> Iterator[str]:
    if before.voters.is_voter(request.replica):
        return
    after = execution.replica
    contacts = before.role.contacts if isinstance(before.role, Leader) else ()
    contacts_after = after.role.contacts if isinstance(after.role, Leader) else ()
    rearmed = execution.arms(Timer.CHECK_QUORUM)
    # After every fetch the voters heard from are counted anew: after a change of the voter set they may be
    # enough, and a single voter needs no other voter.
    needed = majority(len(before.voters)) - (1 if before.is_voter else 0)
    counted = len(contacts) < needed and (contacts != contacts_after or rearmed)
    moved = before.high_watermark != after.high_watermark and not _appends_first(execution)
    if moved or counted:
        yield "ObserversDoNotCount"


def _appends_first(execution: Execution) -> bool:
    """Whether the leader appends before its high watermark moves: the only voter needs no fetch for that."""
    shown = (effect for effect in execution.effects if isinstance(effect, AppendBatch | HighWatermark))
    return isinstance(next(shown, None), AppendBatch)


# Leaders: the voters that keep one in office, and requests that wait at it.


def _gives_up_a_voter(before: Replica, event: Event | None, after: Replica) -> bool:
    """Whether a resigned leader no longer announces the end of its epoch to a voter that has not answered."""
    if not isinstance(before.role, Resigned) or not isinstance(after.role, Resigned):
        return False
    answered = event.source if isinstance(event, ResponseReceived) else None
    return not {*before.role.unacknowledged} <= {*after.role.unacknowledged, answered}


def leader_violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """The names of the properties that a step violates; ``event`` is ``None`` for a restart."""
    after = execution.replica
    keeps_fetches = isinstance(after.role, Resigned | Follower) and after.parked
    if keeps_fetches or _gives_up_a_voter(before, event, after):
        yield "ResignedKeepsNobodyWaiting"
    if isinstance(before.role, Leader) and isinstance(event, RequestReceived):
        voter = sender(event.request)
        rearmed = execution.arms(Timer.CHECK_QUORUM)
        if rearmed and voter is not None:
            heard = heard_from(before.voters.keys, before.role.contacts, (before.key, voter))
            if 2 * heard <= len(before.voters):
                yield "CheckQuorumNeedsMajority"
        contacts = after.role.contacts if isinstance(after.role, Leader) else ()
        if rearmed and contacts:
            # A voter counted this time would be counted again without having been heard from.
            yield "CheckQuorumNeedsMajority"
        counted = rearmed or not set(contacts) <= set(before.role.contacts)
        if counted and (is_refused(event, execution) or epoch_of(event.request) != before.epoch):
            yield "CheckQuorumNeedsMajority"
