"""The processes of a simulated cluster: each polls the reference as production does, and writes lines."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from kraftcheck.evidence.recordings import processes
from kraftcheck.evidence.recordings.effects import log_operations
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.host import Host
from kraftcheck.evidence.recordings.state import encode_state, same
from kraftcheck.evidence.recordings.stored import written
from kraftcheck.reference import disk as disks
from kraftcheck.reference.effects import (
    AppendAccepted,
    CallFailed,
    Effect,
    Fatal,
)
from kraftcheck.reference.events import (
    Append,
    FetchWaitExpired,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.messages import Request
from kraftcheck.reference.replica import Leader, Replica
from tests.laboratory.recordings.simulated import Letter, Node
from tests.laboratory.recordings.simulated_network import Network


class Processes(Network, ABC):
    """The processes on the nodes of a network."""

    # Polls.

    def _leaders(self) -> list[Node]:
        return [
            node
            for node in self.nodes.values()
            if node.host is not None
            and isinstance(node.host.replica.role, Leader)
            and not self._is_paused(node)
        ]

    def _is_paused(self, node: Node) -> bool:
        return self.time < node.paused_until

    def _draw(self, host: Host) -> None:
        clock = host.clock
        if clock.random_from is not None:
            base = clock.times.election_timeout
            clock.deadlines[Timer.ELECTION] = clock.random_from + base + self.random.randrange(base)
            clock.random_from = None

    def _settle(self, node: Node, incarnation: int) -> None:
        """The first half of a poll, and whole polls as long as the state machine has something to take."""
        while node.host is not None and node.incarnation == incarnation and not self._is_paused(node):
            host, listener = node.host, node.listener
            assert listener is not None
            before, now = host.replica, node.clock(self.time)
            host.begin()
            if node.shutdown_at is not None and now >= node.shutdown_at:
                host.stopped = True
            else:
                host.poll(now, self._server(host, now))
            self._draw(host)
            if self._crashes(node, before, None):
                return
            calls = listener.during(host.effects, host.replica.log)
            self._show(node, "tick", {}, before, calls)
            if host.stopped:
                self._end(node, "stopped", [], [], power_loss=None)
                return
            # A poll that changes the role does not wait (Kafka: pollFollowerAsVoter and the others return 0).
            waits = type(host.replica.role) is type(before.role)
            if waits and not listener.copy().after_poll(host.replica) and not node.waiting:
                self._sleep(node)
                return
            self._second_half(node, node.waiting.pop(0) if node.waiting else None)

    def _server(self, host: Host, now: int) -> int | None:
        clock = host.clock
        clock.connect(host.replica, now)
        busy = {connection.node for connection, until in clock.connections.items() if until > now}
        ready = [server for server in self.servers if server not in busy]
        return self.random.choice(ready) if ready else None

    def _sleep(self, node: Node) -> None:
        """Until the next deadline, unless a message comes before."""
        assert node.host is not None
        clock, now = node.host.clock, node.clock(self.time)
        times = (*clock.deadlines.values(), *clock.connections.values(), node.shutdown_at)
        deadlines = [at for at in times if at is not None]
        later = [at for at in deadlines if at > now]
        node.wake += 1
        if later:
            wake, incarnation = node.wake, node.incarnation
            self.at(max(self.time, node.when(min(later))), lambda: self._awake(node, wake, incarnation))

    def _awake(self, node: Node, wake: int, incarnation: int) -> None:
        if node.host is not None and (node.wake, node.incarnation) == (wake, incarnation):
            if self._is_paused(node):
                return
            self._second_half(node, None)
            self._settle(node, incarnation)

    def _resume(self, node: Node) -> None:
        if node.host is not None and not self._is_paused(node):
            self._second_half(node, node.waiting.pop(0) if node.waiting else None)
            self._settle(node, node.incarnation)

    def _second_half(self, node: Node, letter: Letter | None) -> None:
        """A message is handled, if there is one, and the state machine is served."""
        host, listener = node.host, node.listener
        assert host is not None and listener is not None
        before, now = host.replica, node.clock(self.time)
        host.begin()
        if letter is None:
            self._show(node, "tick", {}, before, listener.after_poll(host.replica))
            return
        if isinstance(letter.content, Request):
            host.feed(RequestReceived(letter.source, letter.content, letter.mid, now), now)
            asked = letter
        else:
            assert letter.request is not None
            connection = letter.request.connection
            host.feed(ResponseReceived(connection, letter.content, letter.correlation, now), now)
            asked = letter.request
        self._draw(host)
        fields = letter.shown()
        if self._crashes(node, before, fields):
            return
        calls = listener.during(host.effects, host.replica.log) + listener.after_poll(host.replica)
        self._show(node, "recv", fields, before, calls, always=True)
        parked = host.replica.parked
        if letter is asked and any(entry.correlation == letter.mid for entry in parked):
            wait, incarnation = self.config.timeouts.fetch_max_wait, node.incarnation
            self.at(max(self.time, node.when(now + wait)), lambda: self._expire(node, incarnation, letter))

    def _expire(self, node: Node, incarnation: int, letter: Letter) -> None:
        host = node.host
        if host is None or node.incarnation != incarnation:
            return
        if self._is_paused(node):
            self.at(node.paused_until, lambda: self._expire(node, incarnation, letter))
        elif any(entry.correlation == letter.mid for entry in host.replica.parked):
            before = host.replica
            host.begin()
            host.feed(FetchWaitExpired(letter.source, letter.mid), node.clock(self.time))
            self._show(node, "expire", {}, before, [], always=True)

    def _call(self, node: Node, stimulus: Append | Resign | Shutdown, fields: Json) -> None:
        host = node.host
        assert host is not None
        before = host.replica
        host.begin()
        host.feed(stimulus, node.clock(self.time))
        for effect in host.effects:
            if isinstance(effect, AppendAccepted):
                fields["offset"] = effect.offset
            elif isinstance(effect, CallFailed):
                fields["threw"] = f"java.lang.IllegalArgumentException: {effect.reason.sentence}"
        self._show(node, "api", fields, before, [], always=True)
        self.at(self.time, lambda: self._woken(node, node.incarnation))

    def _woken(self, node: Node, incarnation: int) -> None:
        """A call wakes the loop up: the poll that waits comes to its end."""
        if node.host is not None and node.incarnation == incarnation and not self._is_paused(node):
            self._second_half(node, None)
            self._settle(node, incarnation)

    def _crashes(self, node: Node, before: Replica, during: Json) -> bool:
        """End the process inside its poll, if it exits there or has reached its crash point."""
        host, listener = node.host, node.listener
        assert host is not None and listener is not None
        if host.effects and isinstance(host.effects[-1], Fatal):
            reason = "fatal"
        elif node.crash_at is not None:
            reason = node.crash_at
        else:
            return False
        for count in range(len(host.effects) + 1):
            if processes.fits(reason, host.effects, count):
                part = host.effects[:count]
                calls = listener.during(part, host.replica.log)
                self._end(
                    node, reason, part, calls, power_loss=reason != "fatal", before=before, during=during
                )
                return True
        return False

    def _end(
        self,
        node: Node,
        reason: str,
        effects: Sequence[Effect],
        calls: list[Json],
        *,
        power_loss: bool | None,
        before: Replica | None = None,
        during: Json = None,
    ) -> None:
        assert node.host is not None
        shown = {}
        if before is not None:
            shown = effects_shown(effects, before, calls, leads=during is None)
            self._reach_disk(node, effects, shown)
        fields: Json = {"inc": node.incarnation, "reason": reason}
        if reason == "fatal":
            last = node.host.effects[-1]
            assert isinstance(last, Fatal)
            fields["exception"] = f"java.lang.IllegalStateException: {last.sentence}"
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
        node.host, node.listener = None, None
        self._reset_peers(node)

    # Lines.

    def _show(
        self,
        node: Node,
        kind: str,
        fields: Json,
        before: Replica,
        calls: list[Json],
        *,
        always: bool = False,
    ) -> None:
        """Write the line of a step, if it has a visible effect."""
        host = node.host
        assert host is not None
        shown = effects_shown(host.effects, before, calls, leads=kind == "tick")
        self._reach_disk(node, host.effects, shown)
        out = self._send(node, host.effects)
        state = encode_state(host.replica, stopped=host.stopped)
        state["deadlines"] = host.clock.display(host.replica, node.clock(self.time))
        if always or shown or out or not same(state, node.state):
            self._line(kind, node.id, fields | shown | ({"out": out} if out else {}) | {"s": state})
            node.state = state

    def _reach_disk(self, node: Node, effects: Sequence[Effect], shown: Json) -> None:
        for effect in effects:
            node.disk = disks.apply(node.disk, effect)
        if "persist" in shown:
            node.file = shown["persist"][-1]

    def _deliver(self, node: Node, letter: Letter) -> None:
        if self._is_paused(node):
            node.waiting.append(letter)
            return
        self._second_half(node, letter)
        self._settle(node, node.incarnation)


def effects_shown(effects: Sequence[Effect], before: Replica, calls: list[Json], *, leads: bool) -> Json:
    """The lists ``log``, ``persist`` and ``cb`` of a line; empty ones are left out."""
    log = [
        {name: operation[name] for name in ("op", "by", "batches")} if "batches" in operation else operation
        for operation in log_operations(effects, leads=leads)
    ]
    lists = {"log": log, "persist": written(effects, before), "cb": calls}
    return {name: entries for name, entries in lists.items() if entries}
