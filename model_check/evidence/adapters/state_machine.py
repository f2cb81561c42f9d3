"""What a replica gives to its state machine: committed records, each once and in order, snapshots, and its
own leadership when the state machine has what the epoch began with.

The reference has no such effects: what they may be follows from its log and its high watermark.

Source: Kafka: KafkaRaftClient.updateListenersProgress, ListenerContext; RaftClient.Listener.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kraftcheck.evidence.adapters.answers import GIVEN, Capabilities
from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.compare import Difference
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.events import Poll
from kraftcheck.reference.log import Value
from kraftcheck.reference.replica import Leader, Replica

Effects = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class StateMachine:
    """The state machine of one process, which has been given all records before ``end``."""

    end: int = 0

    def differences(self, shown: Capabilities, question: Question, effects: Effects) -> Iterator[Difference]:
        """The effects of a step that a state machine must not see, or lacks. A step after which no process
        runs gives nothing that counts.
        """
        if question.ended or not shown.effects.issuperset(GIVEN):
            return
        assert question.outcome is not None
        replica, before = question.outcome.replica, self.end
        for effect in effects:
            if effect["effect"] == "giveRecords":
                yield from self._records(replica, effect)
            elif effect["effect"] == "giveSnapshot":
                yield from self._snapshot(replica, effect)
            elif effect["effect"] == "giveLeader":
                yield from self._leader(replica, effect)
        committed = replica.high_watermark
        behind = committed is not None and before == self.end and _next(replica, self.end) < committed
        if behind and isinstance(question.event, Poll):
            yield Difference("given: records up to", committed, self.end)

    def _records(self, replica: Replica, effect: Mapping[str, Any]) -> Iterator[Difference]:
        base, last = effect.get("base"), effect.get("last")
        committed = -1 if replica.high_watermark is None else replica.high_watermark
        following = _next(replica, self.end)
        if type(base) is not int or base != following:
            yield Difference("giveRecords: base", following, base)
        elif type(last) is not int or not base <= last < committed:
            yield Difference("giveRecords: last", f"less than the high watermark {committed}", last)
        else:
            values = _values(replica, base, last)
            if effect.get("values") != values:
                yield Difference("giveRecords: values", values, effect.get("values"))
            self.end = last + 1

    def _snapshot(self, replica: Replica, effect: Mapping[str, Any]) -> Iterator[Difference]:
        known = [{"endOffset": each.id.end_offset, "epoch": each.id.epoch} for each in replica.log.snapshots]
        given = effect.get("snapshotId")
        if given in known:
            self.end = given["endOffset"]
        else:
            yield Difference("giveSnapshot: snapshotId", known, given)

    def _leader(self, replica: Replica, effect: Mapping[str, Any]) -> Iterator[Difference]:
        role, leader = replica.role, effect.get("leader")
        if leader == replica.id and isinstance(role, Leader) and self.end <= role.epoch_start_offset:
            expected = f"not before the record {role.epoch_start_offset} is given"
            yield Difference("giveLeader: leader", expected, leader)


def _next(replica: Replica, end: int) -> int:
    """The offset of the first record from ``end`` on; ``end`` if there is none."""
    return next((max(end, each.base_offset) for each in replica.log.batches if each.end_offset > end), end)


def _values(replica: Replica, base: int, last: int) -> list[Json]:
    """The records of the state machine from ``base`` to ``last``, both included."""
    return [
        record.value
        for batch in replica.log.batches
        for offset, record in enumerate(batch.records, batch.base_offset)
        if base <= offset <= last and isinstance(record, Value)
    ]
