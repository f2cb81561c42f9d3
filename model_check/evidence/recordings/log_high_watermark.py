"""The high watermark of a process's log: it outlives the epoch in which its leader has led.

A new leader knows no high watermark, nor does one that has resigned; the reference's replica has none then.
Kafka's log keeps the one that it had, and a new snapshot is held against that (SNAP-1). In the model this
would be one more number of every state; where the steps of one process are followed, it is remembered here.

Source: Kafka: KafkaRaftLog.createNewSnapshot, highWatermark; LeaderState.highWatermark, ResignedState.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference.events import CreateSnapshot, Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, step

#: A step of a replica (:func:`kraftcheck.reference.step.step`).
Step = Callable[[Protocol, Replica, Event], Outcome]


class LogHighWatermark:
    """The steps of one process; remembers the high watermark of its log."""

    def __init__(self) -> None:
        self._offset: int | None = None

    def step(self, protocol: Protocol, replica: Replica, event: Event, step: Step = step) -> Outcome:
        """As ``step``, with a snapshot held against the high watermark of the log."""
        known = replica.high_watermark
        if known is not None:
            self._offset = known
        elif isinstance(event, CreateSnapshot):
            committed = replica.log.start_offset if self._offset is None else self._offset
            outcome = step(protocol, replace(replica, high_watermark=committed), event)
            return replace(outcome, replica=replace(outcome.replica, high_watermark=None))
        return step(protocol, replica, event)
