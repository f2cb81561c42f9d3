"""S-11 in two halves, each judged where it is known: the answer of a leader against its log, and the
truncation against that answer.

A leader that answers ``(epoch, offset)`` says that its records below ``offset`` are of ``epoch`` or an
earlier one, and those from there on of epochs that the fetcher does not have. So the records that the two
logs share are below ``offset`` and of no later epoch than ``epoch``. Whether another leader commits them does
not matter here: a leader that has been replaced cannot know it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import Reply, Truncate
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.log import EpochEnd, Log
from kraftcheck.reference.messages import FetchRequest, FetchResponse
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft.network import response_of
from kraftcheck.systems.kraft.node import Execution

_NAME = "TruncationKeepsCommonPrefix"


def violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """The names of the properties that a step violates; ``event`` is ``None`` for a restart."""
    if isinstance(event, RequestReceived) and isinstance(event.request, FetchRequest):
        own = (event.source, event.correlation)
        answers = [each.response for each in execution.all(Reply) if (each.to, each.correlation) == own]
        ends = [each.diverging for each in answers if isinstance(each, FetchResponse) and each.diverging]
        if not all(_is_true(before.log, event.request.last_epoch, end) for end in ends):
            yield _NAME
    answered = response_of(event)
    for cut in execution.all(Truncate):
        if execution.replica.log == before.log:
            yield _NAME
        end = answered.diverging if isinstance(answered, FetchResponse) else None
        if end is not None and cut.offset < min(end.offset, _end_up_to(before.log, end.epoch)):
            yield _NAME


def _is_true(log: Log, last_epoch: int, named: EpochEnd) -> bool:
    """Whether ``log`` is as its leader says to a fetcher whose log ends with a record of ``last_epoch``."""
    below = [batch.epoch for batch in log.batches if batch.base_offset < named.offset]
    beyond = [batch.epoch for batch in log.batches if batch.end_offset > named.offset]
    return all(epoch <= named.epoch for epoch in below) and all(epoch > last_epoch for epoch in beyond)


def _end_up_to(log: Log, epoch: int) -> int:
    """The end of the records of ``log`` that are of ``epoch`` or an earlier one."""
    ends = (batch.end_offset for batch in log.batches if batch.epoch <= epoch)
    return max(ends, default=log.start_offset)
