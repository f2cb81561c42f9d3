"""Kafka's calls to its state machine, derived from the steps of the reference.

A poll ends with a visit to the state machine: it is registered (in the first poll of a process), gets the
committed records that it has not seen, and learns of a new leader. A change of the high watermark hands over
records at once, and every change of role reports the leader at once.

Source: Kafka: KafkaRaftClient.pollListeners, updateListenersProgress, maybeFireHandleCommit,
maybeFireLeaderChange, ListenerContext.shouldFireLeaderChange, onUpdateLeaderHighWatermark.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_codec import or_minus_one
from kraftcheck.evidence.recordings.wire_records import write_batch
from kraftcheck.reference import log as logs
from kraftcheck.reference.effects import AppendBatch, Effect, HighWatermark, Persist, Transition
from kraftcheck.reference.log import Batch, Log, Snapshot
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.transitions import role_name


class Listener:
    """The state machine of one process. ``bootstrap``: the process has the checkpoint 0-0.

    ``next_offset`` is the first offset that it has not received, ``reported`` the last epoch and leader that
    it received, and ``in_memory`` the batches that the leader has appended and not yet handed over.
    """

    __slots__ = (
        *("_read_at_once", "bootstrap", "in_memory", "leader"),
        *("next_offset", "registered", "role", "reported"),
    )

    def __init__(self, started: Replica, *, bootstrap: bool, read_at_once: int | None) -> None:
        self.bootstrap = bootstrap
        self.registered = False
        self.next_offset = 0
        self.reported: tuple[int, int | None] = (0, None)
        self.in_memory: list[Batch] = []
        self.role = role_name(started.role)
        self.leader = started.quorum_state.leader
        self._read_at_once = read_at_once

    def copy(self) -> Listener:
        """A copy of the state machine, to try the callbacks of a part of a step."""
        other = copy.copy(self)
        other.in_memory = list(self.in_memory)
        return other

    def during(self, effects: Sequence[Effect], log: Log) -> list[Json]:
        """The callbacks while the effects of a step happen; ``log`` is the log after them."""
        calls: list[Json] = []
        for effect in effects:
            if isinstance(effect, HighWatermark):
                self._pass_from_memory(effect.offset, calls)
                self._pass_from_log(effect.offset, log, calls)
            elif isinstance(effect, AppendBatch):
                if self.role == "Leader":
                    self.in_memory.append(effect.batch)
            elif isinstance(effect, Persist):
                self.leader = effect.quorum_state.leader
            elif isinstance(effect, Transition):
                self._change(effect, calls)
        return calls

    def after_poll(self, replica: Replica) -> list[Json]:
        """The callbacks at the end of a poll that left ``replica`` behind."""
        calls: list[Json] = []
        self.registered = True
        if replica.high_watermark is not None:
            self._pass_from_log(replica.high_watermark, replica.log, calls)
        role, leader = replica.role, replica.quorum_state.leader
        caught_up = isinstance(role, Leader) and self.next_offset > role.epoch_start_offset
        if caught_up or leader != replica.id:
            self._report(replica.epoch, leader, calls)
        return calls

    def _change(self, effect: Transition, calls: list[Json]) -> None:
        self.role = effect.target
        if effect.target != "Leader":
            self.in_memory.clear()
            if effect.target != "Resigned":
                self._report(effect.epoch, self.leader, calls)

    def _report(self, epoch: int, leader: int | None, calls: list[Json]) -> None:
        """The report of a leader: a larger epoch, or the leader of an epoch that had none.

        A replica reports its own leadership only once the state machine has all records before it, and never
        after it has resigned.
        """
        last_epoch, last_leader = self.reported
        news = epoch > last_epoch or (epoch == last_epoch and leader is not None and last_leader is None)
        if self.registered and news:
            self.reported = (epoch, leader)
            calls.append({"cb": "leaderChange", "leader": or_minus_one(leader), "epoch": epoch})

    def _pass_from_memory(self, high_watermark: int, calls: list[Json]) -> None:
        """A leader still holds the values that it has appended and does not read them again."""
        while self.in_memory and self.in_memory[0].end_offset <= high_watermark:
            batch = self.in_memory.pop(0)
            if self.registered and not batch.is_control and batch.base_offset == self.next_offset:
                self._pass(batch, calls)

    def _pass_from_log(self, high_watermark: int, log: Log, calls: list[Json]) -> None:
        if not self.registered or self.next_offset >= high_watermark:
            return
        if log.snapshots and self.next_offset in range(max(1, log.start_offset)):
            self._load(log.snapshots[-1], calls)
        elif self.next_offset == 0 and self.bootstrap:
            calls.append({"cb": "loadBootstrap"})
        for batch in logs.batches_from(log, self.next_offset, self._read_at_once):
            if batch.end_offset <= high_watermark:
                self._pass(batch, calls)

    def _load(self, snapshot: Snapshot, calls: list[Json]) -> None:
        """Hand over the records before the log, or all records that a new state machine has missed."""
        id = snapshot.id
        value = snapshot.values[-1] if snapshot.values else None
        calls.append({"cb": "loadSnapshot", "offset": id.end_offset, "epoch": id.epoch, "value": value})
        self.next_offset = id.end_offset

    def _pass(self, batch: Batch, calls: list[Json]) -> None:
        shown = write_batch(batch)
        call = {"cb": "commit", "base": shown["base"], "last": shown["last"], "epoch": shown["epoch"]}
        calls.append(call if batch.is_control else {**call, "values": shown["records"]})
        self.next_offset = batch.end_offset
