"""One node of a recorded run: its processes from start to end, each step given to the reference.

The recorder shows a poll only if it had a visible effect. Between two messages with no poll shown there
was one all the same, so the reference is polled there too and must have nothing to do.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from enum import Enum

from model_check.conform import effects as shown
from model_check.conform.clock import Clock
from model_check.conform.encode import encode_quorum_state, record_names
from model_check.conform.fields import Json
from model_check.conform.identity import bootstrap_servers, disk_found, identity_of
from model_check.conform.recording import Event, Message, Recording
from model_check.conform.state import differences, encode_state, state_differences
from model_check.conform.wire import UncoveredMessageError, decode
from reference import disk as disks
from reference.disk import Disk
from reference.effects import (
    AppendAccepted,
    ArmTimer,
    CallFailed,
    Effect,
    Fatal,
    ForgetRequests,
    Persist,
    Stop,
)
from reference.events import (
    Append,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
)
from reference.events import Event as Stimulus
from reference.log import Batch
from reference.messages import Request, Response
from reference.protocol import Protocol
from reference.replica import Connection, Replica
from reference.step import Outcome, start, step


class Verdict(Enum):
    """What became of a recorded step."""

    COMPARED = "compared"
    NOT_COVERED = "not covered"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Difference:
    """A disagreement: ``expected`` is the reference's value, ``found`` is production's."""

    run: str
    seq: int
    node: int
    event: str
    field: str
    expected: Json
    found: Json
    rules: tuple[str, ...]
    before: tuple[str, ...]


class NodeRun:
    """The comparison of one node. ``detached`` says why steps are skipped until the next start."""

    def __init__(
        self,
        node: int,
        recording: Recording,
        protocol: Protocol,
        known: dict[tuple[int, int], Batch],
        rules: Counter[str],
    ) -> None:
        self.node = node
        self.recording = recording
        self.protocol = protocol
        self.known = known
        self.rules = rules
        self.servers = bootstrap_servers(recording.config)
        self.disk = Disk()
        self.file: Json = None
        self.disk_is_known = True
        self.detached: str | None = "before its first start"
        self.uncovered = ""
        self.replica: Replica
        self.before: Replica
        self.clock: Clock
        self.stopped = False
        self.shutdown_at: int | None = None
        self.unseen_poll_at: int | None = None
        self.last_state: Json = None
        self.history: deque[str] = deque(maxlen=6)
        self.effects: list[Effect] = []
        self.step_rules: list[str] = []
        self.found: list[tuple[str, Json, Json]] = []

    # One recorded step.

    def take(self, event: Event) -> tuple[Verdict, list[Difference]]:
        """Compare one step with the reference's."""
        if event.kind != "start" and self.detached is not None:
            return Verdict.SKIPPED, []
        self.effects, self.step_rules, self.found = [], [], []
        if event.kind != "start":
            self.before = self.replica
        try:
            self._dispatch(event)
        except UncoveredMessageError as error:
            self.uncovered = event.label if str(error) in event.label else f"{event.label}: {error}"
            self._detach("after a step that is not covered")
            return Verdict.NOT_COVERED, []
        if event.state is not None:
            self.last_state = event.state.values
        self.history.append(f"{event.seq} {event.label}: {' '.join(self.step_rules) or '-'}")
        if not self.found:
            self.rules.update(self.step_rules)
            return Verdict.COMPARED, []
        self._detach("after a difference")
        return Verdict.COMPARED, [self._difference(event, *values) for values in self.found]

    def _difference(self, event: Event, name: str, expected: Json, found: Json) -> Difference:
        return Difference(
            run=self.recording.name,
            seq=event.seq,
            node=self.node,
            event=event.label,
            field=name,
            expected=expected,
            found=found,
            rules=tuple(self.step_rules),
            before=tuple(self.history)[:-1],
        )

    def _detach(self, reason: str) -> None:
        self.detached = reason
        self.disk_is_known = False

    def disk_event(self, event: Event) -> None:
        """A broker's log is written back in the background, or the disk is replaced by an empty one."""
        if event.kind == "wipe":
            self.disk, self.file, self.disk_is_known = Disk(), None, True
        else:
            to = min(event.fields.number("to"), self.disk.log.end_offset)
            self.disk = replace(self.disk, flushed=max(self.disk.flushed, to))

    def _dispatch(self, event: Event) -> None:
        if event.kind == "start":
            self._start(event)
        elif event.kind == "tick":
            self._tick(event)
        elif event.kind == "recv":
            self._unseen_poll()
            self._receive(event)
            self._compare(event)
            self.unseen_poll_at = event.now
        elif event.kind == "api":
            self._call(event)
        elif event.kind == "expire":
            self._expire(event)
        else:
            self._end(event)

    # Feeding the reference.

    def _feed(self, stimulus: Stimulus, now: int) -> None:
        self._follow(step(self.protocol, self.replica, stimulus), now)

    def _follow(self, outcome: Outcome, now: int) -> None:
        for effect in outcome.effects:
            if isinstance(effect, ArmTimer):
                self.clock.arm(effect, now)
            elif isinstance(effect, Stop):
                self.stopped = True
        self.replica = outcome.replica
        self.clock.connect(self.replica, now)
        self.effects.extend(outcome.effects)
        self.step_rules.extend(rule for rule in outcome.rules if rule not in self.step_rules)

    def _start(self, event: Event) -> None:
        self.stopped, self.shutdown_at, self.detached = False, None, None
        self.history.clear()
        self._adopt_disk(event)
        self.clock = Clock(self.recording.config.timeouts)
        identity = identity_of(self.recording.config, self.node, event)
        outcome = start(self.protocol, identity, self.disk)
        self.before = replace(identity, log=self.disk.log)
        self._follow(outcome, event.now)
        self._compare(event)
        self.unseen_poll_at = event.now

    def _adopt_disk(self, event: Event) -> None:
        """What the reference has on disk must be what the new process finds; a lost thread is picked up."""
        if not self.disk_is_known:
            self.disk, self.file = disk_found(event, self.known), event.fields.value("persisted")
            self.disk_is_known = True
            return
        batches = [
            [entry.base_offset, entry.end_offset - 1, entry.epoch, entry.is_control, record_names(entry)]
            for entry in self.disk.log.batches
        ]
        self.found.extend(differences(self.file, event.fields.value("persisted"), "persisted"))
        self.found.extend(differences(batches, event.fields.items("logBatches"), "logBatches"))

    def _poll(self, now: int, discovery: int | None) -> None:
        expired = self.clock.expired(now)
        for stimulus in self.clock.ready_again(self.replica, expired, now):
            self._feed(stimulus, now)
            if isinstance(stimulus, RequestTimedOut):
                self.clock.timed_out(stimulus.node, now)
        if discovery is None:
            discovery = self._any_ready_server()
        self._feed(Poll(expired, discovery, now), now)

    def _any_ready_server(self) -> int | None:
        busy = {connection.node for connection in self.replica.connections}
        return next((server for server in self.servers if server not in busy), None)

    def _unseen_poll(self) -> None:
        """The poll between two messages that had no visible effect."""
        at, self.unseen_poll_at = self.unseen_poll_at, None
        if at is None:
            return
        self._poll(at, None)
        for effect in self.effects:
            if not isinstance(effect, ForgetRequests):
                self.found.append(("a poll between messages", str(effect), None))
        self.effects = []

    def _tick(self, event: Event) -> None:
        if not self._only_woke_up(event):
            self._poll(event.now, self._discovery_choice(event))
            self.unseen_poll_at = None
        self._compare(event)

    def _only_woke_up(self, event: Event) -> bool:
        """A wait that ends because a timer expires is shown, but acts only in the next poll."""
        if event.state is None or event.sent or event.log or event.persisted or self.last_state is None:
            return False
        now, last = dict(event.state.values), dict(self.last_state)
        deadlines, before = now.pop("deadlines", {}), last.pop("deadlines", {})
        changed = [name for name, value in deadlines.items() if before.get(name) != value]
        return now == last and bool(changed) and all(deadlines[name] == -1 for name in changed)

    def _discovery_choice(self, event: Event) -> int | None:
        """The bootstrap server that production drew, as far as the recording shows a draw."""
        for sent in event.sent:
            if sent.is_request and sent.api == "Fetch":
                for server, node in self.servers.items():
                    if node == sent.destination:
                        return server
        return None

    def _receive(self, event: Event) -> None:
        message = event.message
        assert message is not None
        content = decode(message)
        if message.is_request:
            assert isinstance(content, Request)
            # The message id pairs request and answer: correlation ids repeat after a restart.
            self._feed(RequestReceived(message.source, content, message.mid, event.now), event.now)
        else:
            assert isinstance(content, Response)
            source = self._asked(message)
            self._feed(ResponseReceived(source, content, message.correlation, event.now), event.now)

    def _asked(self, message: Message) -> int:
        """The connection on which the answer is awaited: a bootstrap server has one of its own."""
        for connection in self.replica.connections:
            node = self.servers.get(connection.node, connection.node)
            expected = connection.awaiting and connection.correlation == message.correlation
            if expected and node == message.source:
                return connection.node
        return message.source

    def _call(self, event: Event) -> None:
        call = event.fields.text("call")
        if call == "append":
            values = event.fields.numbers("values")
            self._feed(Append(event.fields.number("epoch"), values), event.now)
            accepted = [e.offset for e in self.effects if isinstance(e, AppendAccepted)]
            recorded = [event.fields.number("offset")] if "offset" in event.fields else []
            self.found.extend(differences(accepted, recorded, "offset"))
        elif call == "resign":
            self._feed(Resign(event.fields.number("epoch")), event.now)
        elif call == "shutdown":
            self.shutdown_at = event.now + event.fields.number("timeoutMs")
            self._feed(Shutdown(), event.now)
        else:
            raise UncoveredMessageError(call)
        failed = [e.reason for e in self.effects if isinstance(e, CallFailed)]
        if bool(failed) != ("threw" in event.fields):
            self.found.append(("threw", failed or None, event.fields.values.get("threw")))
        self._compare(event)

    def _expire(self, event: Event) -> None:
        for sent in event.sent:
            self._feed(FetchWaitExpired(sent.destination, sent.answers), event.now)
        self._compare(event)

    def _end(self, event: Event) -> None:
        reason = event.fields.text("reason")
        if reason == "stopped":
            timed_out = self.shutdown_at is not None and event.now >= self.shutdown_at
            if not self.stopped and not timed_out:
                self.found.append(("reason", "the shutdown is not complete", reason))
        elif reason != "killed":
            if event.message is not None:
                self._unseen_poll()
                self._receive(event)
            else:
                self._poll(event.now, self._discovery_choice(event))
        if reason == "fatal" and not any(isinstance(effect, Fatal) for effect in self.effects):
            self.found.append(("reason", "the process goes on", reason))
        self._compare_cut_off(event)
        self.found.extend(differences(self.disk.log.end_offset, event.fields.number("leo"), "leo"))
        self.found.extend(differences(self.disk.flushed, event.fields.number("flushed"), "flushed"))
        if event.fields.flag("powerLoss", False):
            self.disk = disks.lose_power(self.disk)
        self.disk = disks.as_found(self.disk)
        self.detached = "after its end"

    # Comparing.

    def _compare(self, event: Event) -> None:
        written = self._written(self.effects)
        self._write(len(self.effects), written)
        self.found.extend(differences(written, [entry.values for entry in event.persisted], "persist"))
        logged = shown.log_operations(self.effects)
        self.found.extend(shown.compare_log(logged, shown.recorded_operations(event.log)))
        found, correlations = shown.compare_sent(self.effects, event, self.recording.messages, self.servers)
        self.found.extend(found)
        self._renumber(correlations)
        for effect in self.effects:
            if isinstance(effect, Fatal):
                self.found.append(("fatal", effect.reason, None))
        if event.state is not None:
            expected = encode_state(self.replica, stopped=self.stopped)
            self.found.extend(state_differences(expected, event.state.values))
            self.found.extend(self.clock.compare(self.replica, event.state, event.now))

    def _renumber(self, correlations: dict[int, int]) -> None:
        """Adopt the order in which production sent to several nodes: it follows no rule of the protocol."""
        connections = tuple(shown.reconnect(known, correlations) for known in self.replica.connections)
        renamed: dict[Connection, int] = {
            new: self.clock.connections[old]
            for old, new in zip(self.replica.connections, connections, strict=True)
        }
        self.replica = replace(self.replica, connections=connections)
        self.clock.connections = renamed

    def _compare_cut_off(self, event: Event) -> None:
        """The effects that a process had when it ended are the first of each kind that the reference has."""
        persisted = [entry.values for entry in event.persisted]
        logged = shown.recorded_operations(event.log)
        for count in range(len(self.effects) + 1):
            part = self.effects[:count]
            written = self._written(part)
            if written == persisted and not shown.compare_log(shown.log_operations(part), logged):
                self._write(count, written)
                return
        written = self._written(self.effects)
        self._write(len(self.effects), written)
        self.found.extend(differences(written[: len(persisted)], persisted, "persist"))
        operations = shown.log_operations(self.effects)
        self.found.extend(shown.compare_log(operations[: len(logged)], logged))
        if not self.found:
            self.found.append(("order", "the file is written and the log changed in another order", None))

    def _written(self, effects: list[Effect]) -> list[Json]:
        """The quorum-state files written; which version is decided by the log as the step began."""
        return [
            encode_quorum_state(effect.quorum_state, self.before)
            for effect in effects
            if isinstance(effect, Persist)
        ]

    def _write(self, count: int, written: list[Json]) -> None:
        for effect in self.effects[:count]:
            self.disk = disks.apply(self.disk, effect)
        if written:
            self.file = written[-1]
