"""Adapters with one fault each, as occur in the field: ``python tests/evidence/adapters/faulty_adapter.py
FAULT``.
"""

import sys
from collections.abc import Callable, Mapping

from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve
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


def votes_twice(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    request = event.request if isinstance(event, RequestReceived) else None
    if isinstance(request, VoteRequest) and not request.pre_vote:
        replica = replace(replica, quorum_state=replace(replica.quorum_state, voted=None))
    return step(protocol, replica, event)


def grants_without_checking_the_log(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if isinstance(event, RequestReceived) and isinstance(event.request, VoteRequest):
        best = replace(event.request, last_epoch=replica.log.last_epoch, end_offset=replica.log.end_offset)
        legal = event.request.last_epoch < event.request.epoch and best.last_epoch < event.request.epoch
        event = replace(event, request=best if legal else event.request)
    return step(protocol, replica, event)


def no_error_for_a_fenced_epoch(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    def unfenced(effect: Effect) -> Effect:
        response = effect.response if isinstance(effect, Reply) else None
        if getattr(response, "partition_error", None) is ErrorCode.FENCED_LEADER_EPOCH:
            return replace(effect, response=replace(response, partition_error=ErrorCode.NONE))  # type: ignore
        return effect

    outcome = step(protocol, replica, event)
    return replace(outcome, effects=tuple(map(unfenced, outcome.effects)))


def truncates_too_far(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    for effect in outcome.effects:
        if isinstance(effect, Truncate) and effect.offset > 0:
            cut = truncate(outcome.replica.log, effect.offset - 1)
            return replace(outcome, replica=replace(outcome.replica, log=cut))
    return outcome


def commits_with_a_minority(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    after = outcome.replica
    if isinstance(after.role, Leader) and after.log.end_offset > (after.high_watermark or 0):
        committed = HighWatermark(after.log.end_offset)
        after = replace(after, high_watermark=after.log.end_offset)
        return replace(outcome, replica=after, effects=(*outcome.effects, committed))
    return outcome


def never_flushes(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    return replace(outcome, effects=tuple(e for e in outcome.effects if not isinstance(e, Flush)))


def answers_before_it_is_durable(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    late = [effect for effect in outcome.effects if isinstance(effect, Persist | Flush)]
    early = [effect for effect in outcome.effects if not isinstance(effect, Persist | Flush)]
    sends = any(isinstance(effect, Reply | Send) for effect in early)
    return replace(outcome, effects=(*early, *late)) if sends else outcome


def never_looks_whether_the_quorum_is_there(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if isinstance(event, Poll):
        event = replace(event, expired=tuple(t for t in event.expired if t is not Timer.CHECK_QUORUM))
    return step(protocol, replica, event)


# State that outlives what it belongs to.


def keeps_that_it_has_fetched(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """True of one leader, it is taken to be true of the next."""
    outcome = step(protocol, replica, event)
    left, entered = replica.role, outcome.replica.role
    if isinstance(left, Follower) and isinstance(entered, Follower):
        kept = replace(entered, has_fetched=left.has_fetched or entered.has_fetched)
        return replace(outcome, replica=replace(outcome.replica, role=kept))
    return outcome


def takes_old_answers(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """Whatever comes from a node is taken for the answer that is awaited from it."""
    if isinstance(event, ResponseReceived):
        for connection in replica.connections:
            if connection.node == event.source and connection.awaiting:
                event = replace(event, correlation=connection.correlation)
    return step(protocol, replica, event)


def keeps_what_was_committed(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    if isinstance(outcome.replica.role, Leader) and not isinstance(replica.role, Leader):
        return replace(outcome, replica=replace(outcome.replica, high_watermark=replica.high_watermark))
    return outcome


def keeps_votes(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """The votes of a pre-vote count in the election that follows."""
    outcome = step(protocol, replica, event)
    left, entered = replica.role, outcome.replica.role
    if isinstance(left, Prospective) and isinstance(entered, Candidate):
        granted = tuple(sorted({*left.election.granted, *entered.election.granted}))
        kept = replace(entered, election=replace(entered.election, granted=granted))
        return replace(outcome, replica=replace(outcome.replica, role=kept))
    return outcome


def keeps_contacts(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """Who was heard from counts again after the check-quorum timer was armed."""
    outcome = step(protocol, replica, event)
    left, entered = replica.role, outcome.replica.role
    if isinstance(left, Leader) and isinstance(entered, Leader):
        kept = replace(entered, contacts=tuple(sorted({*left.contacts, *entered.contacts})))
        return replace(outcome, replica=replace(outcome.replica, role=kept))
    return outcome


def keeps_back_off(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    if any(isinstance(effect, ForgetRequests) and effect.node is None for effect in outcome.effects):
        waiting = tuple(each for each in replica.connections if not each.awaiting)
        return replace(outcome, replica=replace(outcome.replica, connections=waiting))
    return outcome


def keeps_a_part_of_a_snapshot(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    outcome = step(protocol, replica, event)
    left, entered = replica.role, outcome.replica.role
    if isinstance(left, Follower) and isinstance(entered, Follower):
        if replica.quorum_state.leader == outcome.replica.quorum_state.leader:
            return outcome
        kept = replace(entered, fetching_snapshot=left.fetching_snapshot)
        return replace(outcome, replica=replace(outcome.replica, role=kept))
    return outcome


# Changes of the voter set, and snapshots.


def adds_a_voter_that_is_behind(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    role = replica.role
    if isinstance(role, Leader) and isinstance(role.change, AddingVoter):
        key, now = role.change.voter.key, getattr(event, "now", None)
        caught_up = Progress(key, 0, True, now, 0, now, True)
        replica = replace(replica, role=replace(role, observers=(caught_up,)))
    return step(protocol, replica, event)


def changes_voters_twice_at_once(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    changes = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest
    is_change = isinstance(event, RequestReceived) and isinstance(event.request, changes)
    if is_change and isinstance(replica.role, Leader):
        replica = replace(replica, role=replace(replica.role, change=None))
    return step(protocol, replica, event)


def snapshots_what_is_not_committed(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    if not isinstance(event, CreateSnapshot):
        return step(protocol, replica, event)
    outcome = step(protocol, replace(replica, high_watermark=replica.log.end_offset), event)
    return replace(outcome, replica=replace(outcome.replica, high_watermark=replica.high_watermark))


FAULTS: Mapping[str, Fault] = {
    "votes-twice": votes_twice,
    "grants-without-checking-the-log": grants_without_checking_the_log,
    "no-error-for-a-fenced-epoch": no_error_for_a_fenced_epoch,
    "truncates-too-far": truncates_too_far,
    "commits-with-a-minority": commits_with_a_minority,
    "never-flushes": never_flushes,
    "answers-before-it-is-durable": answers_before_it_is_durable,
    "never-looks-whether-the-quorum-is-there": never_looks_whether_the_quorum_is_there,
    "forgets-the-vote-on-restart": step,
    "keeps-that-it-has-fetched": keeps_that_it_has_fetched,
    "takes-old-answers": takes_old_answers,
    "keeps-what-was-committed": keeps_what_was_committed,
    "keeps-votes": keeps_votes,
    "keeps-contacts": keeps_contacts,
    "keeps-back-off": keeps_back_off,
    "keeps-a-part-of-a-snapshot": keeps_a_part_of_a_snapshot,
    "adds-a-voter-that-is-behind": adds_a_voter_that_is_behind,
    "changes-voters-twice-at-once": changes_voters_twice_at_once,
    "snapshots-what-is-not-committed": snapshots_what_is_not_committed,
}

#: The rule that each fault breaks, which the report of the difference must name.
BROKEN_RULE: Mapping[str, str] = {
    "votes-twice": "VOTE-8",
    "grants-without-checking-the-log": "DEF-6",
    "no-error-for-a-fenced-epoch": "EPOCH-4",
    "truncates-too-far": "FETCH-23",
    "commits-with-a-minority": "HWM-1",
    "never-flushes": "DEF-5",
    "answers-before-it-is-durable": "PERSIST-4",
    "never-looks-whether-the-quorum-is-there": "CHECKQ-1",
    "forgets-the-vote-on-restart": "INIT-4",
    "keeps-that-it-has-fetched": "PREVOTE-13",
    "takes-old-answers": "RESP-7",
    "keeps-what-was-committed": "HWM-7",
    "keeps-votes": "VOTE-24",
    "keeps-contacts": "CHECKQ-2",
    "keeps-back-off": "PREVOTE-5",
    "keeps-a-part-of-a-snapshot": "SNAP-11",
    "adds-a-voter-that-is-behind": "ADD-10",
    "changes-voters-twice-at-once": "VSET-8",
    "snapshots-what-is-not-committed": "SNAP-1",
}


class FaultyAdapter(ReferenceAdapter):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.fault = name

    def handle(self, kind: str, question: Fields) -> tuple[Replica, Outcome]:
        if kind == "start":
            identity, disk, self.protocol, self.timeouts = decode_start(question)
            if self.fault == "forgets-the-vote-on-restart" and disk.quorum_state is not None:
                disk = replace(disk, quorum_state=replace(disk.quorum_state, voted=None))
            return replace(identity, log=disk.log), start(self.protocol, identity, disk)
        assert self.replica is not None
        return self.replica, FAULTS[self.fault](self.protocol, self.replica, decode_event(question))


if __name__ == "__main__":
    serve(FaultyAdapter(sys.argv[1]), sys.stdin, sys.stdout)
