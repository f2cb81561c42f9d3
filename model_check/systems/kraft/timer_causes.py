"""When a timer starts, and for how long: the states and events that are a cause for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kraftcheck.reference.effects import (
    AppendAccepted,
    ArmTimer,
    Duration,
    Reply,
    Send,
    SuccessorBackoff,
    Transition,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Append, Event, Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchResponse,
    FetchSnapshotResponse,
    FindQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteResponse,
)
from kraftcheck.reference.protocol import (
    CandidateLoss,
    ProspectiveLeader,
    ProspectiveTimer,
    Protocol,
    StateMachine,
    UpdateVoter,
    ZombieLeader,
)
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Follower,
    Leader,
    Prospective,
    Replica,
    UpdatingVoter,
    VoterChange,
)
from kraftcheck.reference.voters import ReplicaKey, majority
from kraftcheck.systems.kraft.contacts import epoch_of, is_refused, sender
from kraftcheck.systems.kraft.network import request_of, response_of
from kraftcheck.systems.kraft.node import OWN_MEMBERSHIP, Execution
from kraftcheck.systems.kraft.timers import awaits_more_records


@dataclass(eq=False)
class Case:
    """A step: ``event`` (``None``: a start) and the poll rounds after it made ``after`` of ``before``.

    ``request``, ``response``: what the replica receives, if it does.
    """

    protocol: Protocol
    before: Replica
    event: Event | None
    execution: Execution

    def __post_init__(self) -> None:
        self.after = self.execution.replica
        self.request, self.response = request_of(self.event), response_of(self.event)

    @cached_property
    def stays(self) -> bool:
        """Whether the replica keeps its state, its epoch and its leader."""
        if self.event is None or self.execution.all(Transition):
            return False
        states = [
            (type(each.role), each.epoch, each.quorum_state.leader) for each in (self.before, self.after)
        ]
        return states[0] == states[1]

    @cached_property
    def accepts(self) -> bool:
        """Whether the request that the replica receives is not refused."""
        return isinstance(self.event, RequestReceived) and not is_refused(self.event, self.execution)

    def found_expired(self, timer: Timer) -> bool:
        """Whether a poll round of the step has found ``timer`` expired."""
        return timer in self.execution.found_expired

    def sends(self, *kinds: type) -> list[Send]:
        return [effect for effect in self.execution.all(Send) if isinstance(effect.request, kinds)]


# Durations.


class Armed(NamedTuple):
    """An arming of a timer, with the last change of state before it in the step: whether it was within an
    epoch, and whether the timer is one that the new state begins with.
    """

    effect: ArmTimer
    entered: Transition | None
    within_epoch: bool
    begins: bool


def armings(case: Case) -> Iterator[Armed]:
    if not case.execution.all(ArmTimer):
        return
    entered, epoch, within, owed = None, case.before.epoch, False, set[Timer]()
    for effect in case.execution.effects:
        if type(effect) is Transition:
            entered, within, epoch = effect, effect.epoch == epoch, effect.epoch
            owed = {*_begun_with(case, effect.target)}
        elif type(effect) is ArmTimer:
            yield Armed(effect, entered, within, effect.timer in owed)
            owed.discard(effect.timer)


_DURATIONS = {
    Timer.CHECK_QUORUM: Duration.CHECK_QUORUM_TIMEOUT,
    Timer.LINGER: Duration.LINGER,
    Timer.VOTER_CHANGE: Duration.REQUEST_TIMEOUT,
    Timer.UPDATE_VOTER: Duration.UPDATE_VOTER_PERIOD,
}


def runs_its_time(case: Case, armed: Armed) -> bool:
    """Whether the timer runs as long as it should."""
    timer, duration = armed.effect.timer, armed.effect.duration
    if timer in _DURATIONS:
        return duration is _DURATIONS[timer]
    if timer is Timer.BEGIN_QUORUM_EPOCH:
        return duration is (Duration.NONE if armed.begins else Duration.BEGIN_QUORUM_EPOCH_INTERVAL)
    if timer is Timer.FETCH:
        hurries = isinstance(duration, SuccessorBackoff) or duration is Duration.ELECTION_JITTER
        if isinstance(duration, SuccessorBackoff) and not _is_rank(case, duration):
            return False
        return hurries == (_is_resignation(case) and not armed.begins) and (
            hurries or duration is Duration.FETCH_TIMEOUT
        )
    if armed.entered is not None and armed.begins:
        return duration is _election_time(case, armed.entered, armed.within_epoch)
    separate = case.protocol.candidate_loss is CandidateLoss.SEPARATE_BACKOFF
    back_off = Duration.SEPARATE_BACKOFF if separate else Duration.ELECTION_BACKOFF
    return duration is (back_off if _backs_off(case) else Duration.ELECTION_TIMEOUT)


def _is_rank(case: Case, wait: SuccessorBackoff) -> bool:
    """Whether a replica waits as its place among the preferred successors says (END-7)."""
    request, key = case.request, case.before.key
    if not isinstance(request, EndQuorumEpochRequest):
        return False
    listed = [each in (key, ReplicaKey(key.id)) for each in request.preferred_successors]
    return wait == SuccessorBackoff((*listed, True).index(True), len(listed))


def _election_time(case: Case, entered: Transition, within_epoch: bool) -> Duration:
    """How long a replica waits in a new state: a voter that hears of another epoch while it waits for an
    election waits no longer for that (TIMER-4).
    """
    if entered.target == "Unattached":
        if not case.after.is_voter and not within_epoch:
            return Duration.FOREVER
        waiting = {"Candidate", "Unattached"}
        if case.protocol.state_machine is StateMachine.KIP996:
            waiting.add("Resigned")
        if entered.source in waiting and not within_epoch:
            return Duration.REMAINING
        keeps = case.protocol.prospective_timer is ProspectiveTimer.REMAINING
        rejected = within_epoch and _is_rejection(case)
        if entered.source == "Prospective" and keeps and not rejected:
            return Duration.REMAINING
    observes = entered.source == "Start" and entered.target != "Resigned" and not case.after.is_voter
    return Duration.FOREVER if observes else Duration.ELECTION_TIMEOUT


# Causes.


def _begun_with(case: Case, state: str) -> tuple[Timer, ...]:
    """The timers that a state begins with, by its name."""
    if state == "Leader":
        return (Timer.CHECK_QUORUM, Timer.BEGIN_QUORUM_EPOCH)
    if state == "Follower":
        return (Timer.FETCH, Timer.UPDATE_VOTER) if case.after.describes_itself else (Timer.FETCH,)
    return (Timer.ELECTION,)


def enters_with_timers(case: Case) -> bool:
    """Whether each new state has begun with its timers before the next one followed, and none was entered
    again for nothing, as by a vote that was granted before (TIMER-3).
    """
    changes = [(change.source, change.target) for change in case.execution.all(Transition)]
    if not changes:
        return True  # no new state, which alone owes timers
    owed = set[Timer]()
    same = case.before.quorum_state == case.after.quorum_state
    if same and changes in ([("Unattached", "Unattached")], [("Prospective", "Prospective")]):
        return False
    for effect in case.execution.effects:
        if type(effect) is Transition:
            if owed:
                return False
            owed = {*_begun_with(case, effect.target)}
        elif type(effect) is ArmTimer:
            owed.discard(effect.timer)
    return not owed


def start_rightly(case: Case, armings: list[Armed]) -> bool:
    """Whether each timer has started over if there was a cause, and only then; new states are causes too."""
    begin_state: dict[Timer, bool] = {}
    for armed in armings:
        timer = armed.effect.timer
        begin_state[timer] = begin_state.get(timer, True) and armed.begins
    for timer, cause in _CAUSES.items():
        if timer not in begin_state:
            if cause.certain(case):
                return False
        elif not (begin_state[timer] or cause.possible(case)):
            return False
    return True


class Cause(NamedTuple):
    """The cause for a timer to start over: whether a step may have it, and whether it certainly has."""

    possible: Callable[[Case], bool]
    certain: Callable[[Case], bool]


def _may_wait_for_election(case: Case) -> bool:
    """The wait of a Candidate for the next election; a Prospective that asks again without changing its
    state; and the voters that a replica learns (KIP-595).
    """
    again = case.protocol.prospective_leader is ProspectiveLeader.ANNOUNCED
    restarts = again and isinstance(case.before.role, Prospective)
    return restarts or isinstance(case.response, FindQuorumResponse) or _backs_off(case)


def _leader_is_alive(case: Case) -> bool:
    """An answer of the leader that counts as contact, and its resignation."""
    return _is_contact(case) or _is_resignation(case)


def _may_report(case: Case) -> bool:
    """A report of the own entry, or that there is nothing to report (Kafka 3.9 and 4.0 do not ask for that:
    a voter starts the timer over whenever it has expired); and the answer to a replica that makes itself a
    voter.
    """
    if _is_answered(case) or bool(case.sends(*OWN_MEMBERSHIP)):
        return True
    always = case.protocol.update_voter is UpdateVoter.APPENDED and case.after.is_voter
    return case.found_expired(Timer.UPDATE_VOTER) and (always or not has_to_report(case.after))


def _reports(case: Case) -> bool:
    settled = _is_answered(case) and case.stays and not _is_unexpected(case)
    return settled or bool(case.sends(*OWN_MEMBERSHIP))


def _is_answered(case: Case) -> bool:
    """Whether a replica that makes itself a voter, or ceases to be one, gets its answer."""
    return isinstance(case.response, (AddRaftVoterResponse, RemoveRaftVoterResponse))


def _is_unexpected(case: Case) -> bool:
    """Whether the replica backs off after a response."""
    source = getattr(case.event, "source", None)
    return any(each.node == source and not each.awaiting for each in case.after.connections)


def has_to_report(replica: Replica) -> bool:
    """Whether a follower's entry in the voter set differs from the one that it should have; of a static voter
    its leader may know none.
    """
    role = replica.role
    if not replica.is_voter or not isinstance(role, Follower):
        return True
    if replica.kraft_version >= 1:
        return replica.voters.entry(replica.key) != replica.own_entry
    return not role.has_updated_leader


def _may_hear_majority(case: Case) -> bool:
    """A majority of voters has been heard from; or, in KIP-595, the leader asks whether it was replaced."""
    if case.protocol.zombie_leader is ZombieLeader.FIND_QUORUM and case.found_expired(Timer.CHECK_QUORUM):
        return True
    if not isinstance(case.before.role, Leader):
        return False
    # A fetch that has waited counts again when it is answered.
    return case.request is not None or bool(case.before.parked) or _heard_from(case) is not None


def _is_announced_again(case: Case) -> bool:
    """The leader announces itself to every other voter that does not owe it an answer."""
    return case.found_expired(Timer.BEGIN_QUORUM_EPOCH) and _is_announced(case)


def _is_announced(case: Case) -> bool:
    asked = {send.to for send in case.sends(BeginQuorumEpochRequest)}
    busy = {each.node for each in case.after.connections}
    timed = any(isinstance(each, Poll) and each.now is not None for each in case.execution.events)
    return timed or {*case.after.voters.ids} - {case.after.id} <= asked | busy


_CHANGES = (AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest)


def _may_change_voters(case: Case) -> bool:
    """A change of the voter set begins, which may be over in the same step."""
    return _changes_voters(case) or (isinstance(case.request, _CHANGES) and _change(case.before) is None)


def _changes_voters(case: Case) -> bool:
    return _change(case.after) is not None and _change(case.before) is None


def _change(replica: Replica) -> VoterChange | None:
    return replica.role.change if isinstance(replica.role, Leader) else None


def _gathers_records(case: Case) -> bool:
    """The first of the records that are appended together."""
    role = case.before.role
    return (
        isinstance(case.event, Append)
        and isinstance(role, Leader)
        and bool(case.execution.all(AppendAccepted))
        and not awaits_more_records(role)
    )


def _never(case: Case) -> bool:
    return False


def _contact_is_certain(case: Case) -> bool:
    return case.stays and _leader_is_alive(case)


def _majority_is_certain(case: Case) -> bool:
    return case.protocol.counts_contacts and case.stays and _hears_majority(case)


# Events that are causes.


def _is_rejection(case: Case) -> bool:
    return isinstance(case.response, VoteResponse) and not case.response.granted


def _loses(case: Case) -> bool:
    """Whether a candidate is rejected, and can no longer be elected."""
    role = case.after.role
    return _is_rejection(case) and case.stays and isinstance(role, Candidate) and _is_lost(role.election)


def _backs_off(case: Case) -> bool:
    """Whether a Candidate has a cause to wait a random time for the next election (TIMER-6): where that is a
    timer of its own, once in each candidacy, and before KIP-996 also when the election has timed out.
    """
    loss, role = case.protocol.candidate_loss, case.before.role
    if loss is not CandidateLoss.SEPARATE_BACKOFF:
        return loss is CandidateLoss.EXPONENTIAL_BACKOFF and _loses(case)
    if not isinstance(role, Candidate) or role.backs_off or not case.stays:
        return False
    timed_out = case.found_expired(Timer.ELECTION) and not case.after.shutting_down
    return _loses(case) or (timed_out and case.protocol.state_machine is StateMachine.PRE_KIP996)


def _is_lost(election: Election) -> bool:
    return len(election.voters) - len(election.rejected) < majority(len(election.voters))


#: The errors of answers that count as contact nevertheless, by the kind of response.
_CONTACTS: Mapping[type, tuple[ErrorCode, ...]] = {
    FetchResponse: (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE),
    FetchSnapshotResponse: (ErrorCode.NONE, ErrorCode.SNAPSHOT_NOT_FOUND),
    UpdateRaftVoterResponse: (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION),
}


def _is_contact(case: Case) -> bool:
    """Whether the leader has answered a request of its follower, so that it is alive (TIMER-1)."""
    response = case.response
    if response is None:
        return False
    follows = isinstance(case.before.role, Follower) or _begins_to_follow(case)
    if not (follows and _is_awaited(case)):
        return False
    if isinstance(response, UpdateRaftVoterResponse) and case.protocol.update_voter is UpdateVoter.APPENDED:
        return False  # Kafka 3.9 and 4.0 do not look at it.
    accepted = getattr(response, "partition_error", None) in _CONTACTS.get(type(response), ())
    current = getattr(response, "epoch", None) == case.before.epoch
    return accepted and current and response.error is ErrorCode.NONE and not _is_unexpected(case)


def _begins_to_follow(case: Case) -> bool:
    return any(each.target == "Follower" for each in case.execution.all(Transition))


def counts_contact(case: Case) -> bool:
    """Whether a follower that its leader has answered counts as fetching; bytes of a snapshot show nothing of
    the log.
    """
    if not (_is_contact(case) and case.stays) or isinstance(case.response, FetchSnapshotResponse):
        return True
    return isinstance(case.after.role, Follower) and case.after.role.has_fetched


def _is_awaited(case: Case) -> bool:
    event = case.event
    return isinstance(event, ResponseReceived) and any(
        each.node == event.source and each.awaiting and each.correlation == event.correlation
        for each in case.before.connections
    )


def _is_resignation(case: Case) -> bool:
    """Whether the leader that the replica follows, as it learns now or knew, resigns."""
    request, before = case.request, case.before
    if not isinstance(request, EndQuorumEpochRequest) or not case.accepts:
        return False
    known = (before.epoch, before.quorum_state.leader) == (request.epoch, request.leader)
    return _begins_to_follow(case) or (known and isinstance(before.role, Follower))


def _hears_majority(case: Case) -> bool:
    """Whether a leader has now heard from a majority of its voters, itself counted if it is one. It keeps the
    ids of those that it has heard from.
    """
    before, voter = case.before, _heard_from(case)
    if not isinstance(before.role, Leader) or voter is None or not before.voters.is_voter(voter):
        return False
    heard = {*before.role.contacts, voter.id} - {before.id}
    return len(heard) + before.is_voter >= majority(len(before.voters))


def _heard_from(case: Case) -> ReplicaKey | None:
    """The replica whose request the leader accepts: at once, or after it has reached the voter (trunk)."""
    change, request = _change(case.before), case.request
    replies = [reply.response for reply in case.execution.all(Reply)]
    updated = [each for each in replies if isinstance(each, UpdateRaftVoterResponse)]
    if isinstance(case.response, ApiVersionsResponse) and isinstance(change, UpdatingVoter):
        return change.voter.key if any(each.partition_error is ErrorCode.NONE for each in updated) else None
    if request is None or not case.accepts or epoch_of(request) != case.before.epoch:
        return None
    # Kafka 3.9 and 4.0 do not count a report as contact.
    uncounted = case.protocol.update_voter is UpdateVoter.APPENDED
    waits = isinstance(request, UpdateRaftVoterRequest) and (uncounted or not updated)
    return None if waits else sender(request)


_CAUSES: Mapping[Timer, Cause] = {
    Timer.ELECTION: Cause(_may_wait_for_election, _backs_off),
    Timer.FETCH: Cause(_leader_is_alive, _contact_is_certain),
    Timer.UPDATE_VOTER: Cause(_may_report, _reports),
    Timer.CHECK_QUORUM: Cause(_may_hear_majority, _majority_is_certain),
    Timer.BEGIN_QUORUM_EPOCH: Cause(_is_announced_again, _never),
    Timer.VOTER_CHANGE: Cause(_may_change_voters, _changes_voters),
    Timer.LINGER: Cause(_gathers_records, _gathers_records),
}
