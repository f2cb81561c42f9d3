"""One node of a recorded run: its processes from start to end, each step given to the reference.

The recorder shows a poll only if it had a visible effect. Between two messages without a recorded poll there
was one without effect, so the reference polls there too and must have nothing to do.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import UNSET

from kraftcheck.evidence.recordings import effects as shown
from kraftcheck.evidence.recordings import processes
from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.evidence.recordings.exceptions import BOOTSTRAP_SERVER, ELECTION_TIMEOUT
from kraftcheck.evidence.recordings.host import Correlations, Host
from kraftcheck.evidence.recordings.identity import bootstrap_servers, identity_of
from kraftcheck.evidence.recordings.lines import CallLine, EndLine, StartLine, StepLine
from kraftcheck.evidence.recordings.outcome import Found, RunReport
from kraftcheck.evidence.recordings.recording import Recording, StepEvent
from kraftcheck.evidence.recordings.state import differences, encode_state, equal, same, state_differences
from kraftcheck.evidence.recordings.stored import KnownBatches, Stored, creation
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire import message_of
from kraftcheck.evidence.recordings.wire_records import UncoveredMessageError, read_quorum_state
from kraftcheck.reference.effects import (
    AppendAccepted,
    ArmTimer,
    CallFailed,
    Effect,
    Fatal,
    Flush,
    ForgetRequests,
    Send,
    StoreSnapshot,
)
from kraftcheck.reference.events import (
    Append,
    FetchWaitExpired,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import (
    FetchRequest,
    FetchSnapshotResponse,
    Request,
    Response,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica

#: A record of a batch that a leader appends, in a list of operations on the log.
APPENDED = re.compile(r"log\[(\d+)\]\.batches\[(\d+)\]\.records\[(\d+)\]")


#: Reasons why steps of a node are skipped until its next start.
NOT_STARTED, ENDED = "before its first start", "after its end"


class NodeRun:
    """The comparison of one node. ``detached`` is the reason why steps are skipped until the next start."""

    def __init__(
        self,
        node: int,
        recording: Recording,
        protocol: Protocol,
        known: KnownBatches,
        report: RunReport,
    ) -> None:
        self.node = node
        self.recording = recording
        self.protocol = protocol
        self.known = known
        self.report = report
        self.servers = bootstrap_servers(recording.config)
        self.stored = Stored()
        self.detached: str | None = NOT_STARTED
        self.host: Host
        self.correlations: Correlations
        self.before: Replica
        self.listener: Listener
        self.shutdown_at: int | None = None
        self.unseen_poll_at: int | None = None
        self.last_state: Json = None
        self.submitted: dict[int, int] = {}
        self.history: deque[tuple[StepEvent, tuple[str, ...]]] = deque(maxlen=6)
        self.found: list[Found] = []
        self.used: list[str] = []

    # One recorded step.

    def take(self, event: StepEvent) -> None:
        """Compare one step with the reference's."""
        report = self.report
        if event.kind != "start" and self.detached is not None and not self._exits_at_start(event.line):
            # A process that crashes before it shows a state may have written to the disk.
            self.stored.is_known &= event.kind != "end"
            report.skipped[self.detached] += 1
            return
        self.found, self.used = [], []
        if self.detached is None and event.kind != "start":
            self.host.begin()
            self.before = self.host.replica
        try:
            self._dispatch(event)
        except UncoveredMessageError as error:
            report.not_covered[event.label if str(error) in event.label else f"{event.label}: {error}"] += 1
            self._detach("after a step that is not covered")
            self._report(event, ())
            return
        if event.state is not None:
            self.last_state = event.state
        report.compared[event.label] += 1
        report.exceptions.update(self.used)
        if self.found:
            self._detach("after a difference")
            self._report(event, self.history)
        else:
            report.rules.update(self.host.rules)
        self.history.append((event, tuple(self.host.rules)))

    def timers(self) -> tuple[Clock | None, int | None]:
        """The timers of the process and the time of its shutdown timeout, where they are known."""
        return (None, None) if self.detached is not None else (self.host.clock, self.shutdown_at)

    def _report(self, event: StepEvent, before: Iterable[tuple[StepEvent, tuple[str, ...]]]) -> None:
        steps = tuple(f"{step.seq} {step.label}: {' '.join(rules) or '-'}" for step, rules in before)
        for one in self.found:
            self.report.differ(event, self.node, one, tuple(self.host.rules), steps)

    def _detach(self, reason: str) -> None:
        self.detached = reason
        self.stored.is_known = False

    def _dispatch(self, event: StepEvent) -> None:
        if event.kind not in ("start", "end") and self.host.stopped:
            self.found.append(Found("process", "its end: the shutdown is complete", event.kind))
        line = event.line
        if isinstance(line, StartLine):
            self._start(event, line)
        elif event.kind == "tick":
            self._tick(event)
        elif event.kind == "recv":
            self._unseen_poll()
            self._receive(event)
            self._compare(event, polled=True)
            self.unseen_poll_at = event.now
        elif isinstance(line, CallLine):
            self._call(event, line)
        elif isinstance(line, EndLine):
            if self.detached is not None:
                self._exit_at_start(event)
            else:
                self._end(event, line)
            self._leave(event, line)
        else:
            self._expire(event)

    # Feeding the reference.

    def _start(self, event: StepEvent, line: StartLine) -> None:
        self.shutdown_at, self.detached, self.last_state = None, None, None
        self.history.clear()
        self.found.extend(self.stored.found_by(event, line, self.known))
        self._boot(event, line.dir_id, can_become_voter=line.can_become_voter, auto_join=line.auto_join)
        self._compare(event)
        self.unseen_poll_at = event.now

    def _exits_at_start(self, line: StepLine) -> bool:
        """Whether a process exits before it has a state to show, and its disk is known."""
        is_over = self.detached in (NOT_STARTED, ENDED) and self.stored.is_known
        return is_over and isinstance(line, EndLine) and line.reason == "fatal" and line.during is UNSET

    def _exit_at_start(self, event: StepEvent) -> None:
        """A process that has no line of its start, because it exits."""
        config, stored = self.recording.config, self.stored
        node = next(each for each in config.nodes if each.id == self.node)
        self.history.clear()
        stored.disk = replace(stored.disk, quorum_state=read_quorum_state(stored.file, event.where))
        joins = config.timeouts.auto_join and node.can_become_voter
        directory = stored.directory or node.directory
        self._boot(event, directory, can_become_voter=node.can_become_voter, auto_join=joins)
        if not any(isinstance(effect, Fatal) for effect in self.host.effects):
            self.found.append(Found("reason", "the process starts", "fatal"))

    def _boot(self, event: StepEvent, directory: str, *, can_become_voter: bool, auto_join: bool) -> None:
        """A process starts on the disk."""
        disk = self.stored.disk
        self.stored.directory = directory
        identity = identity_of(
            self.recording.config,
            self.node,
            directory,
            can_become_voter=can_become_voter,
            auto_join=auto_join,
        )
        self.before = replace(identity, log=disk.log)
        period = self.protocol.update_voter_period
        times = replace(self.recording.config.timeouts.times, update_voter_period=period)
        self.host = Host(self.protocol, times, self.servers, identity, disk, event.now)
        self.correlations = Correlations(self.host, self.servers)
        self.listener = Listener(
            self.host.replica,
            bootstrap=identity.bootstrap_kraft_version > 0,
            read_at_once=self.protocol.fetch_max_batches,
        )

    def _unseen_poll(self) -> None:
        """The poll between two messages that had no visible effect."""
        at, self.unseen_poll_at = self.unseen_poll_at, None
        if at is None:
            return
        self.host.poll(at, None)
        for effect in self.host.effects:
            unseen = isinstance(effect, ArmTimer) and not self.host.clock.is_shown(effect.timer)
            if not isinstance(effect, ForgetRequests) and not unseen:
                self.found.append(Found("a poll between messages", str(effect), None))
        self.host.effects = []

    def _tick(self, event: StepEvent) -> None:
        assert event.state is not None
        is_second_half = processes.is_second_half(event, self.last_state)
        # A poll with no other effect than a timer that states do not show.
        shows_nothing = is_second_half and not event.line.callbacks and same(self.last_state, event.state)
        if is_second_half and not shows_nothing:
            self._unseen_poll()
            self._compare(event, polled=True)
            self.unseen_poll_at = event.now
        else:
            if self.shutdown_at is not None and event.now >= self.shutdown_at:
                # A poll that finds the shutdown timed out does nothing else (Kafka: maybeCompleteShutdown).
                self.host.stopped = True
            else:
                if self.unseen_poll_at is not None and self.unseen_poll_at < event.now:
                    self._unseen_poll()
                self.host.poll(event.now, shown.discovery_choice(event, self.servers))
            self.unseen_poll_at = None
            if shows_nothing and not self.host.arms_unshown():
                self.found.append(Found("tick", "a poll with a visible effect", None))
            self._compare(event)

    def _receive(self, event: StepEvent) -> None:
        message = event.message
        assert message is not None
        content = message_of(message.api, message.content, event.where, is_request=message.is_request)
        if message.is_request:
            assert isinstance(content, Request)
            # The message id pairs request and answer: correlation ids repeat after a restart.
            self.host.feed(RequestReceived(message.source, content, message.mid, event.now), event.now)
        else:
            assert isinstance(content, Response)
            if isinstance(content, FetchSnapshotResponse):
                content = self.known.with_content(content)
            self.found.extend(self.correlations.arrives(message))
            source = self.correlations.awaited_by(message)
            self.host.feed(ResponseReceived(source, content, message.correlation, event.now), event.now)

    def _call(self, event: StepEvent, line: CallLine) -> None:
        # The poll that waits began before the call, and may still take the next message.
        self._unseen_poll()
        call, values = line.call, tuple(line.values)
        if call == "append":
            self.host.feed(Append(line.epoch, values), event.now)
            accepted = [e.offset for e in self.host.effects if isinstance(e, AppendAccepted)]
            recorded = [] if line.offset is UNSET else [line.offset]
            self.found.extend(differences(accepted, recorded, "offset"))
            for last in accepted:
                self.submitted |= dict.fromkeys(range(last - len(values) + 1, last + 1), event.seq)
        elif call == "resign":
            self.host.feed(Resign(line.epoch), event.now)
        elif call == "upgradeKRaftVersion":
            # The call does not wake the loop, which waits since the poll before it.
            self._unseen_poll()
            self.host.feed(UpgradeKRaftVersion(line.epoch, line.version), event.now)
        elif call == "shutdown":
            self.shutdown_at = event.now + line.timeout_ms
            self.host.feed(Shutdown(), event.now)
        elif call == "createSnapshot":
            assert line.offset is not UNSET  # A field that the call has.
            at = SnapshotId(line.offset, line.epoch)
            self.host.feed(creation(at, self.host.replica, clean=line.clean), event.now)
            created = [effect.snapshot for effect in self.host.effects if isinstance(effect, StoreSnapshot)]
            self.found.extend(differences(bool(created), line.created, "created"))
            self.known.snapshots.update({snapshot.id: snapshot for snapshot in created})
        else:
            self.found.append(Found("call", "a call of the raft client", call))
        failed = [e.reason.value for e in self.host.effects if isinstance(e, CallFailed)]
        threw = None if line.threw is UNSET else line.threw
        if bool(failed) != (threw is not None):
            self.found.append(Found("threw", failed or None, threw))
        self._compare(event)

    def _expire(self, event: StepEvent) -> None:
        if not event.line.sent:
            self.found.append(Found("out", "the answer to a Fetch that has waited long enough", []))
        for sent in event.line.sent:
            self.host.feed(FetchWaitExpired(sent.destination, sent.answers), event.now)
        self._compare(event)

    def _end(self, event: StepEvent, line: EndLine) -> None:
        reason = line.reason
        if reason == "stopped":
            timed_out = self.shutdown_at is not None and event.now >= self.shutdown_at
            if not self.host.stopped and not timed_out:
                self.found.append(Found("reason", "the shutdown is not complete", reason))
            end = self.stored.disk.log.end_offset
            if self.stored.disk.flushed < end:
                self.host.effects = [Flush(end)]  # Kafka: KafkaRaftClient.close
        elif reason != "killed":
            if event.message is not None:
                self._unseen_poll()
                self._receive(event)
            else:
                self.host.poll(event.now, shown.discovery_choice(event, self.servers))
        if reason == "fatal" and not any(isinstance(effect, Fatal) for effect in self.host.effects):
            self.found.append(Found("reason", "the process continues", reason))

    def _leave(self, event: StepEvent, line: EndLine) -> None:
        """A process ends, and leaves a disk."""
        self._compare_cut_off(event, line.reason)
        self.found.extend(self.stored.left_by(line))
        self.detached = ENDED

    # Comparing.

    def _compare(self, event: StepEvent, *, polled: bool = False) -> None:
        effects = self.host.effects
        calls = self.listener.during(effects, self.host.replica.log) if effects else []
        if polled:
            calls += self.listener.after_poll(self.host.replica)
        leads = event.kind == "tick"
        expected = shown.effects_shown(effects, self.before, calls, leads=leads)
        recorded = event.effects
        if not same(expected, recorded):
            wrong = shown.effect_differences(expected, recorded)
            self.found.extend(self._with_origin(one, expected["log"]) for one in wrong)
        if leads:
            self.used.extend(shown.unordered(effects))
        self.stored.write(effects, expected["persist"])
        self._compare_sent(effects, event)
        if effects and isinstance(effects[-1], Fatal):
            self.found.append(Found("fatal", effects[-1].sentence, None))
        if event.state is not None:
            self._compare_state(event)

    def _with_origin(self, one: Found, logged: list[Json]) -> Found:
        """An appended value was submitted before: name that line too."""
        place = APPENDED.match(one.field)
        if place is None:
            return one
        operation, batch, record = (int(index) for index in place.groups())
        offset = logged[operation]["batches"][batch]["base"] + record
        return one._replace(shown_at=self.submitted.get(offset))

    def _compare_sent(self, effects: Sequence[Effect], event: StepEvent) -> None:
        form = shown.form_of(self.protocol)
        sending = shown.compare_sent(effects, event, self.recording.messages, self.servers, form)
        if sending is shown.NOTHING_SENT:
            return
        self.found.extend(sending.found)
        self.used.extend(sending.exceptions)
        drawn = [effect for effect in effects if isinstance(effect, Send) and self._was_drawn(effect)]
        self.used.extend([BOOTSTRAP_SERVER] * len(drawn))
        self.correlations.send(effects, sending, event.seq)

    def _was_drawn(self, sent: Send) -> bool:
        """Whether the destination of a Fetch is a bootstrap server drawn at random."""
        leader = self.host.replica.quorum_state.leader
        return isinstance(sent.request, FetchRequest) and sent.to in self.servers and sent.to != leader

    def _compare_state(self, event: StepEvent) -> None:
        assert event.state is not None
        draws = self.host.clock.draws
        expected = encode_state(self.host.replica, stopped=self.host.stopped)
        deadlines, wrong = self.host.clock.shown(self.host.replica, event.state, event)
        expected["deadlines"] = deadlines
        self.found.extend(wrong)
        if self.host.clock.draws > draws:
            self.used.append(ELECTION_TIMEOUT)
        for one in state_differences(expected, event.state):
            if one.field == "deadlines.election" and self.host.clock.drawn_at not in (None, event.seq):
                one = one._replace(shown_at=self.host.clock.drawn_at)
            self.found.append(one)

    def _compare_cut_off(self, event: StepEvent, reason: str) -> None:
        """The effects of a process up to its end are the first part of the reference's effects."""
        whole, log, leads = self.host.effects, self.host.replica.log, event.message is None
        for count in range(len(whole) + 1):
            if not processes.fits(reason, whole, count):
                continue
            part = whole[:count]
            calls = self.listener.copy().during(part, log)
            expected = shown.effects_shown(part, self.before, calls, leads=leads)
            if equal(expected, event.effects):
                self.stored.write(part, expected["persist"])
                self._compare_sent(part, event)
                return
        # All prefixes differ from the process.
        calls = self.listener.during(whole, log)
        expected = shown.effects_shown(whole, self.before, calls, leads=leads)
        self.stored.write(whole, expected["persist"])
        begun = {name: expected[name][: len(found)] for name, found in event.effects.items()}
        wrong = list(shown.effect_differences(begun, event.effects))
        effects = [str(effect) for effect in whole]
        self.found += wrong or [Found("reason", effects, f"{reason} after another part of them")]
