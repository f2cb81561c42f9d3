"""The processes of a simulated cluster: each polls its replica as Kafka does, and writes lines."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from kraftcheck.evidence.recorder.hosts import exits
from kraftcheck.evidence.recorder.network import Network
from kraftcheck.evidence.recorder.parts import Letter, Node, Process
from kraftcheck.evidence.recordings import processes
from kraftcheck.evidence.recordings.effects import content_shown, effects_shown
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.identity import MAX_KRAFT_VERSION
from kraftcheck.evidence.recordings.recording import NOT_RAFT
from kraftcheck.evidence.recordings.state import same
from kraftcheck.reference import disk as disks
from kraftcheck.reference.effects import AppendAccepted, CallFailed, Effect, Flush, StoreSnapshot
from kraftcheck.reference.events import Event, FetchWaitExpired, RequestReceived, ResponseReceived
from kraftcheck.reference.messages import ApiVersionsResponse, Request
from kraftcheck.reference.replica import Leader, Replica


class Processes(Network, ABC):
    """The processes on the nodes of a network."""

    # Polls.

    def _leaders(self) -> list[Process]:
        running = (node.process for node in self.nodes.values())
        return [
            process
            for process in running
            if process is not None
            and isinstance(process.host.replica.role, Leader)
            and not self._is_paused(process)
        ]

    def _is_paused(self, process: Process) -> bool:
        return self.time < process.paused_until

    def _is_ready(self, process: Process) -> bool:
        """Whether the process still runs and is not paused."""
        return process.node.process is process and not self._is_paused(process)

    def _settle(self, process: Process) -> None:
        """The first half of a poll, and whole polls as long as the state machine has something to take."""
        node, host, listener = process.node, process.host, process.listener
        while self._is_ready(process):
            before, now = host.replica, node.clock(self.time)
            host.begin()
            if process.shutdown_at is not None and now >= process.shutdown_at:
                host.stopped = True
            else:
                host.round(now)
            if self._crashes(process, before, None):
                return
            calls = listener.during(host.effects, host.replica.log)
            self._show(process, "tick", {}, before, calls, always=host.arms_unshown())
            if host.stopped:
                end = node.disk.log.end_offset
                left = [Flush(end)] if node.disk.flushed < end else []
                self._end(process, "stopped", left, [], power_loss=None, before=host.replica)
                return
            # A poll that changes the role does not wait (Kafka: pollFollowerAsVoter and the others return 0).
            waits = type(host.replica.role) is type(before.role)
            if waits and not listener.copy().after_poll(host.replica) and not node.waiting:
                self._sleep(process)
                return
            self._second_half(process, node.waiting.pop(0) if node.waiting else None)

    def _sleep(self, process: Process) -> None:
        """Until the next deadline, unless a message comes before."""
        node, now = process.node, process.node.clock(self.time)
        times = (*process.host.due(), process.shutdown_at)
        later = [at for at in times if at is not None and at > now]
        process.wake += 1
        if later:
            wake = process.wake
            self.at(max(self.time, node.when(min(later))), lambda: self._awake(process, wake))

    def _awake(self, process: Process, wake: int) -> None:
        if process.wake == wake:
            self._poll(process, None)

    def _resume(self, process: Process) -> None:
        if self._is_ready(process):
            waiting = process.node.waiting
            self._poll(process, waiting.pop(0) if waiting else None)

    def _poll(self, process: Process, letter: Letter | None) -> None:
        """The poll that waits comes to its end, and the next begins, if the process can."""
        if self._is_ready(process):
            self._second_half(process, letter)
            self._settle(process)

    def _second_half(self, process: Process, letter: Letter | None) -> None:
        """A message is handled, if there is one, and the state machine is served."""
        node, host, listener = process.node, process.host, process.listener
        before, now = host.replica, node.clock(self.time)
        host.begin()
        if letter is None:
            self._show(process, "tick", {}, before, listener.after_poll(host.replica))
            return
        if isinstance(letter.content, Request):
            host.feed(RequestReceived(letter.source, letter.content, letter.mid, now), now, letter.raw)
            asked = letter
        else:
            assert letter.request is not None
            connection = letter.request.connection
            host.feed(ResponseReceived(connection, letter.content, letter.correlation, now), now, letter.raw)
            asked = letter.request
        fields = letter.shown()
        if self._crashes(process, before, fields):
            return
        calls = listener.during(host.effects, host.replica.log) + listener.after_poll(host.replica)
        self._show(process, "recv", fields, before, calls, always=True)
        if letter is asked and host.waits(letter.mid):
            wait = self.config.timeouts.fetch_max_wait
            self.at(max(self.time, node.when(now + wait)), lambda: self._expire(process, letter))

    def _expire(self, process: Process, letter: Letter) -> None:
        host = process.host
        if process.node.process is not process:
            return
        if self._is_paused(process):
            self.at(process.paused_until, lambda: self._expire(process, letter))
        elif host.waits(letter.mid):
            before = host.replica
            host.begin()
            host.feed(FetchWaitExpired(letter.source, letter.mid), process.node.clock(self.time))
            self._show(process, "expire", {}, before, [], always=True)

    def _call(self, process: Process, stimulus: Event, fields: Json, *, wakes: bool = True) -> None:
        """A call of the raft client, which wakes the loop up, or does not."""
        host = process.host
        before = host.replica
        host.begin()
        host.feed(stimulus, process.node.clock(self.time))
        for effect in host.effects:
            if isinstance(effect, AppendAccepted):
                fields["offset"] = effect.offset
            elif isinstance(effect, CallFailed):
                fields["threw"] = host.reason()
            elif isinstance(effect, StoreSnapshot):
                fields["created"] = True
        self._show(process, "api", fields, before, [], always=True)
        if wakes:
            self.at(self.time, lambda: self._poll(process, None))

    def _crashes(self, process: Process, before: Replica, during: Json) -> bool:
        """End the process inside its poll, if it exits there or has reached its crash point."""
        host = process.host
        is_fatal = exits(host)
        reason = "fatal" if is_fatal else process.crash_at
        if reason is None:
            return False
        for count in range(len(host.effects) + 1):
            if processes.fits(reason, host.effects, count):
                part = host.effects[:count]
                calls = process.listener.during(part, host.replica.log)
                self._end(process, reason, part, calls, power_loss=not is_fatal, before=before, during=during)
                return True
        return False

    def _end(
        self,
        process: Process,
        reason: str,
        effects: Sequence[Effect],
        calls: list[Json],
        *,
        power_loss: bool | None,
        before: Replica | None = None,
        during: Json = None,
    ) -> None:
        node, shown = process.node, {}
        if before is not None:
            shown = _listed(effects_shown(effects, before, calls, leads=during is None))
            self._reach_disk(node, effects, shown)
        fields: Json = {"inc": node.incarnation, "reason": reason}
        if reason == "fatal":
            fields["exception"] = process.host.reason()
        if power_loss is not None:
            fields["powerLoss"] = power_loss
        fields |= {"leo": node.disk.log.end_offset, "flushed": node.disk.flushed}
        out = self._send(node, effects)
        fields |= shown | ({"out": out} if out else {}) | ({"during": during} if during is not None else {})
        self._line("end", node.id, fields)
        self._take_away(node, power_loss=power_loss)

    def _take_away(self, node: Node, *, power_loss: bool | None) -> None:
        """The process is gone; its disk is as the next one finds it."""
        if power_loss:
            end = node.disk.log.end_offset
            node.disk = disks.lose_power(node.disk)
            node.lost = end - node.disk.log.end_offset
        node.disk = disks.as_found(node.disk)
        node.process, node.served = None, []
        self._reset_peers(node)

    # Lines.

    def _show(
        self,
        process: Process,
        kind: str,
        fields: Json,
        before: Replica,
        calls: list[Json],
        *,
        always: bool = False,
    ) -> None:
        """Write the line of a step, if it has a visible effect."""
        node, host = process.node, process.host
        shown = _listed(effects_shown(host.effects, before, calls, leads=kind == "tick"))
        self._reach_disk(node, host.effects, shown)
        out = self._send(node, host.effects)
        state = host.state(node.clock(self.time))
        if always or shown or out or not same(state, process.state):
            if node.served and kind != "start":
                # The recorder lists what the server of a node has answered with its next step.
                out += [letter.sent() for letter in node.served]
                node.served = []
            self._line(kind, node.id, fields | shown | ({"out": out} if out else {}) | {"s": state})
            process.state = state

    def _reach_disk(self, node: Node, effects: Sequence[Effect], shown: Json) -> None:
        for effect in effects:
            node.disk = disks.apply(node.disk, effect)
        if "persist" in shown:
            node.file = shown["persist"][-1]

    def _deliver(self, node: Node, letter: Letter) -> None:
        process = node.process
        assert process is not None
        if letter.api == NOT_RAFT and letter.is_request:
            self._serve(node, letter)
        elif self._is_paused(process):
            node.waiting.append(letter)
        else:
            self._poll(process, letter)

    def _serve(self, node: Node, request: Letter) -> None:
        """The server of a node answers an ApiVersions request; its raft module never sees it."""
        self._line("apiVersions", node.id, {"mid": request.mid, "from": request.source})
        answer = ApiVersionsResponse((0, MAX_KRAFT_VERSION))
        letter = Letter(
            mid=self._mid(),
            source=node.id,
            to=request.source,
            api=request.api,
            correlation=request.correlation,
            content=answer,
            data=content_shown(answer),
            connection=-1,
            owner=node.incarnation,
            request=request,
            version=request.version,
        )
        node.served.append(letter)
        self._post(letter)


def _listed(shown: Json) -> Json:
    """The lists of a line; empty ones are left out."""
    return {name: entries for name, entries in shown.items() if entries}
