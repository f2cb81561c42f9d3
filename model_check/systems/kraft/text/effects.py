"""Effects in words: a label and a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kraftcheck.reference import effects
from kraftcheck.reference.effects import Effect
from kraftcheck.reference.log import Batch
from kraftcheck.reference.replica import QuorumState
from kraftcheck.systems.kraft.text.event import describe_message
from kraftcheck.systems.kraft.text.fields import describe_record
from kraftcheck.systems.kraft.text.style import print_id, print_key, print_optional


def _quorum_state(state: QuorumState) -> str:
    voted = "none" if state.voted is None else print_key(state.voted)
    return f"epoch={state.epoch} leader={print_optional(state.leader)} voted={voted}"


def _batch(batch: Batch) -> str:
    records = " ".join(map(describe_record, batch.records))
    return f"at offset {batch.base_offset}, epoch {batch.epoch}: {records}"


def _duration(effect: effects.ArmTimer) -> str:
    duration = effect.duration
    if not isinstance(duration, effects.SuccessorBackoff):
        return duration.value
    if duration.position == 0:
        return "no time at all, as the first successor"
    if duration.position >= duration.count:
        return "the back-off of a replica that is not among the successors"
    return f"the back-off of successor {duration.position + 1} of {duration.count}"


def _dropped(effect: effects.ForgetRequests) -> str:
    whose = "every node" if effect.node is None else f"node {effect.node}"
    return f"answers of {whose} to earlier requests are dropped from here on"


#: By class of effect its label, and its text.
_WORDS: Mapping[type, tuple[str, Callable[[Any], str]]] = {
    effects.Persist: ("persist", lambda effect: _quorum_state(effect.quorum_state)),
    effects.AppendBatch: ("append", lambda effect: _batch(effect.batch)),
    effects.Send: ("send", lambda effect: f"to {effect.to}: {describe_message(effect.request)}"),
    effects.Reply: ("reply", lambda effect: f"to {effect.to}: {describe_message(effect.response)}"),
    effects.ArmTimer: ("arm timer", lambda effect: f"{effect.timer.value}: {_duration(effect)}"),
    effects.Truncate: ("truncate", lambda effect: f"to offset {effect.offset}"),
    effects.Flush: ("flush", lambda effect: f"up to offset {effect.offset}"),
    effects.StoreSnapshot: ("snapshot", lambda effect: f"kept, {print_id(effect.snapshot.id)}"),
    effects.DeleteBefore: ("delete", lambda effect: f"the log before offset {effect.id.end_offset}"),
    effects.LoadSnapshot: (
        "load",
        lambda effect: f"snapshot {print_id(effect.snapshot.id)} in place of the log",
    ),
    effects.Transition: (
        "transition",
        lambda effect: f"{effect.source} → {effect.target}, epoch {effect.epoch}",
    ),
    effects.HighWatermark: ("commit", lambda effect: f"the high watermark is {effect.offset}"),
    effects.ForgetRequests: ("forget", _dropped),
    effects.AppendAccepted: ("accepted", lambda effect: f"the last record gets offset {effect.offset}"),
    effects.CallFailed: ("refused", lambda effect: effect.reason.sentence),
    effects.Fatal: ("exits", lambda effect: effect.sentence),
    effects.Stop: ("stop", lambda effect: "the graceful shutdown is complete"),
}


def describe_effect(effect: Effect) -> tuple[str, str]:
    """The label of an effect (``persist``) and its text (``epoch=6 leader=none voted=2``)."""
    label, text = _WORDS[type(effect)]
    return label, text(effect)
