"""Events compared with the state of the replica that they happen to."""

from __future__ import annotations

import itertools
from typing import Any

from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.log import end_offset_for_epoch
from kraftcheck.reference.messages import FetchRequest, FetchResponse, VoteRequest
from kraftcheck.reference.replica import Replica


def situation(replica: Replica, event: Event) -> str:
    """The comparison in words; empty for an event that carries no message."""
    if isinstance(event, RequestReceived):
        message: Any = event.request
    elif isinstance(event, ResponseReceived):
        message = event.response
    else:
        return ""
    log = replica.log
    epoch = getattr(message, "epoch", None)
    parts = [] if epoch is None else [f"epoch {_sign(epoch, replica.epoch)}"]
    if isinstance(message, VoteRequest):
        voted = replica.quorum_state.voted
        whom = "none" if voted is None else "sender" if voted.id == message.candidate.id else "another"
        ends = _sign((message.last_epoch, message.end_offset), (log.last_epoch, log.end_offset))
        offsets = _sign(message.end_offset, log.end_offset)
        parts += [f"voted {whom}", f"log {ends}", f"offset {offsets}"]
    elif isinstance(message, FetchRequest):
        parts += [f"offset {_sign(message.offset, log.end_offset)}"]
        parts += [f"last epoch {_sign(message.last_epoch, log.last_epoch)}"]
    elif isinstance(message, FetchResponse):
        batches = message.batches
        end = batches[-1].end_offset if batches else log.end_offset
        parts += [
            f"batches {min(len(batches), 2)}",
            *(f"from {_sign(first.base_offset, log.end_offset)}" for first in batches[:1]),
            *sorted({f"then {_sign(b.base_offset, a.end_offset)}" for a, b in itertools.pairwise(batches)}),
            f"commits {_optional(message.high_watermark, end)}",
        ]
        if message.diverging is not None:
            own = end_offset_for_epoch(log, message.diverging.epoch)
            parts += [f"diverging {_sign(message.diverging.offset, own.offset)}"]
            parts += [f"of epoch {_sign(message.diverging.epoch, own.epoch)}"]
    return ", ".join(parts)


def _sign(one: Any, other: Any) -> str:
    return "smaller" if one < other else "larger" if one > other else "same"


def _optional(one: int | None, other: int) -> str:
    return "nothing" if one is None else _sign(one, other)
