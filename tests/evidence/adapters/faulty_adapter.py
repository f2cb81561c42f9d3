"""Adapters with one fault each, as occur in the field: ``python tests/evidence/adapters/faulty_adapter.py
FAULT``.
"""

import sys
from collections.abc import Callable

from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve
from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.evidence.adapters.wire import decode_event, decode_start
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.effects import (
    Effect,
    Flush,
    ForgetRequests,
    HighWatermark,
    Persist,
    Reply,
    Send,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot, Event, Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import truncate
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    Replica,
)
from kraftcheck.reference.step import Outcome, start, step

Fault = Callable[[Protocol, Replica, Event], Outcome]
#: The faults by name.
FAULTS: dict[str, Fault] = {"forgets-the-vote-on-restart": step}
#: The rule that each fault breaks, which the report of the difference must name.
BROKEN_RULE = {"forgets-the-vote-on-restart": "INIT-4"}


def breaks(rule: str) -> Callable[[Fault], Fault]:
    """Lists a function as the fault of its name, which breaks ``rule``."""

    def listed(fault: Fault) -> Fault:
        name = fault.__name__.replace("_", "-")
        FAULTS[name], BROKEN_RULE[name] = fault, rule
        return fault

    return listed


def spoils(rule: str) -> Callable[[Callable[[Replica, Outcome], Outcome]], None]:
    """Lists a function that changes the outcome of a correct step."""

    def listed(spoil: Callable[[Replica, Outcome], Outcome]) -> None:
        def fault(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
            return spoil(replica, step(protocol, replica, event))

        fault.__name__ = spoil.__name__
        breaks(rule)(fault)

    return listed


def changed(outcome: Outcome, **fields: object) -> Outcome:
    """``outcome`` with another replica."""
    return replace(outcome, replica=replace(outcome.replica, **fields))


@breaks("VOTE-8")
def votes_twice(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, VoteRequest) and not request.pre_vote:
        replica = replace(replica, quorum_state=replace(replica.quorum_state, voted=None))
    return step(protocol, replica, event)


@breaks("DEF-6")
def grants_without_checking_the_log(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if isinstance(event, RequestReceived) and isinstance(event.request, VoteRequest):
        best = replace(event.request, last_epoch=replica.log.last_epoch, end_offset=replica.log.end_offset)
        legal = event.request.last_epoch < event.request.epoch and best.last_epoch < event.request.epoch
        event = replace(event, request=best if legal else event.request)
    return step(protocol, replica, event)


@spoils("EPOCH-4")
def no_error_for_a_fenced_epoch(before: Replica, outcome: Outcome) -> Outcome:
    def unfenced(effect: Effect) -> Effect:
        response = effect.response if isinstance(effect, Reply) else None
        if getattr(response, "partition_error", None) is ErrorCode.FENCED_LEADER_EPOCH:
            return replace(effect, response=replace(response, partition_error=ErrorCode.NONE))  # type: ignore
        return effect

    return replace(outcome, effects=tuple(map(unfenced, outcome.effects)))


@spoils("FETCH-23")
def truncates_too_far(before: Replica, outcome: Outcome) -> Outcome:
    for effect in outcome.effects:
        if isinstance(effect, Truncate) and effect.offset > 0:
            return changed(outcome, log=truncate(outcome.replica.log, effect.offset - 1))
    return outcome


@spoils("HWM-1")
def commits_with_a_minority(before: Replica, outcome: Outcome) -> Outcome:
    after = outcome.replica
    if isinstance(after.role, Leader) and after.log.end_offset > (after.high_watermark or 0):
        committed = HighWatermark(after.log.end_offset)
        spoiled = changed(outcome, high_watermark=after.log.end_offset)
        return replace(spoiled, effects=(*outcome.effects, committed))
    return outcome


@spoils("DEF-5")
def never_flushes(before: Replica, outcome: Outcome) -> Outcome:
    return replace(outcome, effects=tuple(e for e in outcome.effects if not isinstance(e, Flush)))


@spoils("PERSIST-4")
def answers_before_it_is_durable(before: Replica, outcome: Outcome) -> Outcome:
    late = [effect for effect in outcome.effects if isinstance(effect, Persist | Flush)]
    early = [effect for effect in outcome.effects if not isinstance(effect, Persist | Flush)]
    sends = any(isinstance(effect, Reply | Send) for effect in early)
    return replace(outcome, effects=(*early, *late)) if sends else outcome


@breaks("CHECKQ-1")
def never_checks_the_quorum(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if isinstance(event, Poll):
        event = replace(event, expired=tuple(t for t in event.expired if t is not Timer.CHECK_QUORUM))
    return step(protocol, replica, event)


# State that outlives what it belongs to.


@spoils("PREVOTE-13")
def keeps_that_it_has_fetched(before: Replica, outcome: Outcome) -> Outcome:
    left, entered = before.role, outcome.replica.role
    if isinstance(left, Follower) and isinstance(entered, Follower):
        fetched = left.has_fetched or entered.has_fetched
        return changed(outcome, role=replace(entered, has_fetched=fetched))
    return outcome


@breaks("RESP-7")
def takes_old_answers(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """Any response of a node is taken for the one that is awaited from it."""
    if isinstance(event, ResponseReceived):
        for connection in replica.connections:
            if connection.node == event.source and connection.awaiting:
                event = replace(event, correlation=connection.correlation)
    return step(protocol, replica, event)


@spoils("HWM-7")
def keeps_what_was_committed(before: Replica, outcome: Outcome) -> Outcome:
    if isinstance(outcome.replica.role, Leader) and not isinstance(before.role, Leader):
        return changed(outcome, high_watermark=before.high_watermark)
    return outcome


@spoils("VOTE-24")
def keeps_votes(before: Replica, outcome: Outcome) -> Outcome:
    """The votes of a pre-vote count in the election that follows."""
    left, entered = before.role, outcome.replica.role
    if isinstance(left, Prospective) and isinstance(entered, Candidate):
        granted = tuple(sorted({*left.election.granted, *entered.election.granted}))
        return changed(outcome, role=replace(entered, election=replace(entered.election, granted=granted)))
    return outcome


@spoils("CHECKQ-2")
def keeps_contacts(before: Replica, outcome: Outcome) -> Outcome:
    """Contacts from before the check-quorum timer was armed count again."""
    left, entered = before.role, outcome.replica.role
    if isinstance(left, Leader) and isinstance(entered, Leader):
        contacts = tuple(sorted({*left.contacts, *entered.contacts}))
        return changed(outcome, role=replace(entered, contacts=contacts))
    return outcome


@spoils("PREVOTE-5")
def keeps_back_off(before: Replica, outcome: Outcome) -> Outcome:
    if any(isinstance(effect, ForgetRequests) and effect.node is None for effect in outcome.effects):
        return changed(outcome, connections=tuple(each for each in before.connections if not each.awaiting))
    return outcome


@spoils("SNAP-11")
def keeps_a_part_of_a_snapshot(before: Replica, outcome: Outcome) -> Outcome:
    left, entered = before.role, outcome.replica.role
    moved = before.quorum_state.leader != outcome.replica.quorum_state.leader
    if moved and isinstance(left, Follower) and isinstance(entered, Follower):
        return changed(outcome, role=replace(entered, fetching_snapshot=left.fetching_snapshot))
    return outcome


# Changes of the voter set, and snapshots.


@breaks("ADD-10")
def adds_a_voter_that_is_behind(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    role = replica.role
    if isinstance(role, Leader) and isinstance(role.change, AddingVoter):
        key, now = role.change.voter.key, getattr(event, "now", None)
        caught_up = Progress(key, 0, True, now, 0, now, True)
        replica = replace(replica, role=replace(role, observers=(caught_up,)))
    return step(protocol, replica, event)


@breaks("VSET-8")
def changes_voters_twice_at_once(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    changes = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest
    is_change = isinstance(event, RequestReceived) and isinstance(event.request, changes)
    if is_change and isinstance(replica.role, Leader):
        replica = replace(replica, role=replace(replica.role, change=None))
    return step(protocol, replica, event)


@breaks("SNAP-1")
def snapshots_what_is_not_committed(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if not isinstance(event, CreateSnapshot):
        return step(protocol, replica, event)
    outcome = step(protocol, replace(replica, high_watermark=replica.log.end_offset), event)
    return changed(outcome, high_watermark=replica.high_watermark)


class FaultyAdapter(ReferenceAdapter):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.fault = name

    def handle(self, kind: str, question: Fields) -> tuple[Replica, Outcome]:
        if kind == "start":
            identity, disk, self.protocol, self.timeouts = decode_start(question)
            self.silent = SilentLeader()
            if self.fault == "forgets-the-vote-on-restart" and disk.quorum_state is not None:
                disk = replace(disk, quorum_state=replace(disk.quorum_state, voted=None))
            return replace(identity, log=disk.log), start(self.protocol, identity, disk)
        assert self.replica is not None
        event, faulty = decode_event(question), FAULTS[self.fault]
        return self.replica, self.silent.step(self.protocol, self.replica, event, faulty)


if __name__ == "__main__":
    serve(FaultyAdapter(sys.argv[1]), sys.stdin, sys.stdout)
