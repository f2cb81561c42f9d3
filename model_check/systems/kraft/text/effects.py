"""Effects in words: a label and what it is about."""

from __future__ import annotations

from kraftcheck.reference.effects import (
    AppendAccepted,
    AppendBatch,
    ArmTimer,
    CallFailed,
    DeleteBefore,
    Effect,
    Fatal,
    Flush,
    ForgetRequests,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    Send,
    Stop,
    StoreSnapshot,
    SuccessorBackoff,
    Transition,
    Truncate,
)
from kraftcheck.systems.kraft.text.describe import describe_request, describe_response, head_of
from kraftcheck.systems.kraft.text.fields import describe_record
from kraftcheck.systems.kraft.text.snapshot import print_id
from kraftcheck.systems.kraft.text.words import print_key


def describe_effect(effect: Effect) -> tuple[str, str]:
    """The label of an effect (``persist``) and its text (``epoch=6 leader=none voted=2``)."""
    if isinstance(effect, Persist):
        state = effect.quorum_state
        leader = "none" if state.leader is None else state.leader
        voted = "none" if state.voted is None else print_key(state.voted)
        return "persist", f"epoch={state.epoch} leader={leader} voted={voted}"
    if isinstance(effect, AppendBatch):
        batch = effect.batch
        records = " ".join(map(describe_record, batch.records))
        return "append", f"at offset {batch.base_offset}, epoch {batch.epoch}: {records}"
    if isinstance(effect, Send):
        return "send", f"to {effect.to}: {' '.join(describe_request(effect.request))}"
    if isinstance(effect, Reply):
        words = [head_of(effect.response), *describe_response(effect.response)]
        return "reply", f"to {effect.to}: {' '.join(words)}"
    if isinstance(effect, ArmTimer):
        return "arm timer", f"{effect.timer.value}: {_duration(effect)}"
    return _describe_other(effect)


def _duration(effect: ArmTimer) -> str:
    duration = effect.duration
    if isinstance(duration, SuccessorBackoff):
        if duration.position == 0:
            return "no time at all, as the first successor"
        if duration.position >= duration.count:
            return "the back-off of a replica that is not among the successors"
        return f"the back-off of successor {duration.position + 1} of {duration.count}"
    return duration.value


def _describe_other(effect: Effect) -> tuple[str, str]:
    if isinstance(effect, Truncate):
        return "truncate", f"to offset {effect.offset}"
    if isinstance(effect, Flush):
        return "flush", f"up to offset {effect.offset}"
    if isinstance(effect, StoreSnapshot):
        return "snapshot", f"kept, {print_id(effect.snapshot.id)}"
    if isinstance(effect, DeleteBefore):
        return "delete", f"the log before offset {effect.id.end_offset}"
    if isinstance(effect, LoadSnapshot):
        return "load", f"snapshot {print_id(effect.snapshot.id)} in place of the log"
    if isinstance(effect, Transition):
        return "transition", f"{effect.source} → {effect.target}, epoch {effect.epoch}"
    if isinstance(effect, HighWatermark):
        return "commit", f"the high watermark is {effect.offset}"
    if isinstance(effect, ForgetRequests):
        whose = "every node" if effect.node is None else f"node {effect.node}"
        return "forget", f"answers of {whose} to earlier requests are dropped from here on"
    if isinstance(effect, AppendAccepted):
        return "accepted", f"the last record gets offset {effect.offset}"
    if isinstance(effect, CallFailed):
        return "refused", effect.reason
    if isinstance(effect, Fatal):
        return "dies", effect.sentence
    assert isinstance(effect, Stop)
    return "stop", "the graceful shutdown is complete"
