"""Adapters with one fault each, as occur in the field: ``python tests/drive/faulty_adapter.py FAULT``."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from model_check.conform.fields import Fields
from model_check.drive.serving import ReferenceAdapter, serve
from model_check.drive.wire import decode_event, decode_start
from reference.effects import Effect, Flush, HighWatermark, Persist, Reply, Send, Truncate
from reference.errors import ErrorCode
from reference.events import Event, Poll, RequestReceived, Timer
from reference.log import truncate
from reference.messages import VoteRequest
from reference.protocol import Protocol
from reference.replica import Leader, Replica
from reference.step import Outcome, start, step

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
        if isinstance(effect, Reply) and effect.response.partition_error is ErrorCode.FENCED_LEADER_EPOCH:
            return replace(effect, response=replace(effect.response, partition_error=ErrorCode.NONE))
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
