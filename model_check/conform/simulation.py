"""Recordings of a simulated cluster: the reference behind a network with losses, faults by a script.

A recording made here agrees with the reference by construction; it shows that the comparison sees what is
changed in it afterwards, and how fast the comparison is. Whether the reference is right, only recordings of
production can show.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from model_check.conform import cut
from model_check.conform.answers import SYNTHETIC, error_answer
from model_check.conform.callbacks import Listener
from model_check.conform.configuration import config_of
from model_check.conform.effects import content_shown
from model_check.conform.encode import APIS, record_names
from model_check.conform.fields import Fields, Json
from model_check.conform.host import Host
from model_check.conform.identity import bootstrap_servers, identity_of
from model_check.conform.lockstep import protocol_for
from model_check.conform.recorder import effects_shown
from model_check.conform.simulated import DELAY, TIMEOUTS, Letter, Node, finished, uuid
from model_check.conform.state import encode_state, same
from model_check.conform.wire import decode_data
from reference import disk as disks
from reference.disk import Disk
from reference.effects import AppendAccepted, CallFailed, Effect, Fatal, Reply, Send
from reference.events import (
    Append,
    FetchWaitExpired,
    RequestReceived,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from reference.messages import Request
from reference.protocol import KAFKA
from reference.replica import Leader, Replica

#: The time a graceful shutdown may take, in ms.
SHUTDOWN_TIMEOUT = 5000


class Simulation:
    """A cluster under a script.

    voters, brokers: how many nodes; brokers have the ids from 101 on. drop: the share of messages that are
    lost at random. skew: offset (ms) and drift of the clock of each node that has one of its own. hurry: by
    how much all timeouts are shorter than production's.
    """

    def __init__(
        self,
        seed: int,
        *,
        voters: int = 3,
        brokers: int = 0,
        kraft_version: int = 1,
        drop: float = 0.0,
        skew: dict[int, tuple[int, float]] | None = None,
        hurry: int = 1,
    ) -> None:
        self.random = random.Random(seed)
        self.time, self.order, self.mids, self.value = 0, 0, 0, 0
        self.drop, self.hurry = drop, hurry
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.lines: list[Json] = []
        self.blocked: set[tuple[int, int]] = set()
        self.arrivals: dict[tuple[int, int], int] = {}
        self.open: dict[int, Letter] = {}
        self.config = config_of(
            Fields(self._configure(voters, brokers, kraft_version, skew or {}), "simulation")
        )
        self._line("config", None, self.config.labels.values)
        self.protocol = protocol_for(KAFKA, self.config)
        self.servers = bootstrap_servers(self.config)
        self.nodes = {node.id: Node(node, node.directory) for node in self.config.nodes}

    def _configure(
        self, voters: int, brokers: int, kraft_version: int, skew: dict[int, tuple[int, float]]
    ) -> Json:
        nodes: list[Json] = []
        for id in (*range(1, voters + 1), *range(101, 101 + brokers)):
            is_voter = id <= voters
            node = {
                "id": id,
                "dirId": uuid(self.random),
                "initialVoter": is_voter,
                "canBecomeVoter": is_voter,
            }
            if id in skew:
                node |= {"clockOffsetMs": skew[id][0], "clockDrift": skew[id][1]}
            nodes.append(node)
        return {
            "scenario": "simulated",
            "seed": 0,
            "clusterId": "kraftcheck-test-cluster",
            "initialKraftVersion": kraft_version,
            "timeouts": {
                name: value if isinstance(value, bool) else value // self.hurry
                for name, value in TIMEOUTS.items()
            },
            "network": {"dropP": self.drop},
            "nodes": nodes,
        }

    # The script.

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do ``action`` at ``time`` (ms)."""
        self.order += 1
        heapq.heappush(self.queue, (time, self.order, action))

    def run(self, until: int) -> None:
        """Go on until the time ``until`` (ms)."""
        while self.queue and self.queue[0][0] <= until:
            self.time, _, action = heapq.heappop(self.queue)
            action()
        self.time = until

    def start(self, id: int) -> None:
        """A process starts on the node."""
        node = self.nodes[id]
        node.incarnation += 1
        fields = {
            "inc": node.incarnation,
            "dirId": node.directory,
            "canBecomeVoter": node.config.can_become_voter,
            "autoJoin": False,
            "lostUnflushed": node.lost,
            "persisted": node.file,
            "logBatches": [
                [batch.base_offset, batch.end_offset - 1, batch.epoch, batch.is_control, record_names(batch)]
                for batch in node.disk.log.batches
            ],
        }
        identity = identity_of(self.config, id, Fields(fields, "simulation"))
        before = replace(identity, log=node.disk.log)
        timeouts = self.config.timeouts
        host = Host(self.protocol, timeouts, self.servers, identity, node.disk, node.clock(self.time))
        bootstrap = identity.bootstrap_kraft_version > 0
        node.host, node.state, node.crash_at = host, None, None
        node.listener = Listener(
            host.replica, bootstrap=bootstrap, read_at_once=self.protocol.fetch_max_batches
        )
        self._draw(host)
        node.lost = 0
        self._show(node, "start", fields, before, [], always=True)
        self._settle(node, node.incarnation)

    def kill(self, id: int, *, power_loss: bool = True) -> None:
        """The process is killed; with ``power_loss`` the node forgets what it has not flushed."""
        node = self.nodes[id]
        if node.host is not None:
            self._end(node, "killed", [], [], power_loss=power_loss)

    def crash_at(self, id: int, point: str) -> None:
        """The process ends when it reaches the crash point next (:data:`model_check.conform.cut.POINTS`)."""
        self.nodes[id].crash_at = point

    def append(self, count: int = 1) -> None:
        """Each leader is given ``count`` values to append."""
        for node in self._leaders():
            assert node.host is not None
            values = tuple(range(self.value + 1, self.value + 1 + count))
            self.value += count
            epoch = node.host.replica.epoch
            self._call(
                node, Append(epoch, values), {"call": "append", "epoch": epoch, "values": list(values)}
            )

    def resign(self) -> None:
        """Each leader is asked to give up."""
        for node in self._leaders():
            assert node.host is not None
            epoch = node.host.replica.epoch
            self._call(node, Resign(epoch), {"call": "resign", "epoch": epoch})

    def append_elsewhere(self, id: int) -> None:
        """A node that does not lead is given a value to append: the call fails."""
        node = self.nodes[id]
        if node.host is not None and not isinstance(node.host.replica.role, Leader):
            epoch = node.host.replica.epoch
            self._call(node, Append(epoch, (0,)), {"call": "append", "epoch": epoch, "values": [0]})

    def shut_down(self, id: int) -> None:
        """A graceful shutdown begins."""
        node = self.nodes[id]
        host = node.host
        if host is not None:
            self._call(node, Shutdown(), {"call": "shutdown", "timeoutMs": SHUTDOWN_TIMEOUT})
            self.at(self.time + SHUTDOWN_TIMEOUT + 20, lambda: self._give_up_shutdown(node, host))

    def isolate(self, *ids: int) -> None:
        """The nodes lose every link."""
        links = {(a, b) for a in self.nodes for b in self.nodes if a != b and (a in ids or b in ids)}
        self._net(f"isolate {' '.join(map(str, ids))}", links)

    def heal(self) -> None:
        """Every link works again."""
        self._net("heal", set())

    def write_back(self, id: int) -> None:
        """The operating system writes a broker's log to the disk."""
        node = self.nodes[id]
        end = node.disk.log.end_offset
        self._line("osFlush", id, {"to": end})
        node.disk = replace(node.disk, flushed=end)

    def wipe(self, id: int) -> None:
        """The node, on which no process runs, gets an empty disk."""
        node = self.nodes[id]
        node.directory, node.disk, node.file, node.lost = uuid(self.random), Disk(), None, 0
        self._line("wipe", id, {"dirId": node.directory})

    def pause(self, id: int, ms: int) -> None:
        """The process stands still."""
        node = self.nodes[id]
        if node.host is None:
            return
        self._line("pause", id, {"ms": ms})
        node.paused_until = self.time + ms
        self.at(self.time + ms, lambda: self._resume(node))

    # The nodes.

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
            base = clock.timeouts.election
            clock.deadlines[Timer.ELECTION] = clock.random_from + base + self.random.randrange(base)
            clock.random_from = None

    def _settle(self, node: Node, incarnation: int) -> None:
        """The first half of a poll, and whole polls as long as the state machine has something to take."""
        while node.host is not None and node.incarnation == incarnation and not self._is_paused(node):
            host, listener = node.host, node.listener
            assert listener is not None
            before, now = host.replica, node.clock(self.time)
            host.begin()
            host.poll(now, self._server(host))
            self._draw(host)
            if self._crashes(node, before, None):
                return
            calls = listener.during(host.effects, host.replica.log)
            self._show(node, "tick", {}, before, calls)
            if host.stopped:
                self._end(node, "stopped", [], [], power_loss=None)
                return
            if not listener.copy().after_poll(host.replica) and not node.waiting:
                self._sleep(node)
                return
            self._second_half(node, node.waiting.pop(0) if node.waiting else None)

    def _server(self, host: Host) -> int | None:
        busy = {connection.node for connection in host.replica.connections}
        ready = [server for server in self.servers if server not in busy]
        return self.random.choice(ready) if ready else None

    def _sleep(self, node: Node) -> None:
        """Until the next deadline, unless a message comes before."""
        assert node.host is not None
        clock, now = node.host.clock, node.clock(self.time)
        deadlines = [at for at in (*clock.deadlines.values(), *clock.connections.values()) if at is not None]
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
            self.at(self.time + wait, lambda: self._expire(node, incarnation, letter))

    def _expire(self, node: Node, incarnation: int, letter: Letter) -> None:
        host = node.host
        if host is None or node.incarnation != incarnation:
            return
        if any(entry.correlation == letter.mid for entry in host.replica.parked):
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
                fields["threw"] = f"java.lang.IllegalArgumentException: {effect.reason}"
        self._show(node, "api", fields, before, [], always=True)
        self.at(self.time, lambda: self._woken(node, node.incarnation))

    def _woken(self, node: Node, incarnation: int) -> None:
        """A call wakes the loop up: the poll that waits comes to its end."""
        if node.host is not None and node.incarnation == incarnation and not self._is_paused(node):
            self._second_half(node, None)
            self._settle(node, incarnation)

    def _give_up_shutdown(self, node: Node, host: Host) -> None:
        if node.host is host:
            self._end(node, "stopped", [], [], power_loss=None)

    def _crashes(self, node: Node, before: Replica, during: Json) -> bool:
        """End the process inside its poll, if it dies there or has reached its crash point."""
        host, listener = node.host, node.listener
        assert host is not None and listener is not None
        if host.effects and isinstance(host.effects[-1], Fatal):
            reason = "fatal"
        elif node.crash_at is not None:
            reason = node.crash_at
        else:
            return False
        for count in range(len(host.effects) + 1):
            if cut.fits(reason, host.effects, count):
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
            fields["exception"] = f"java.lang.IllegalStateException: {node.host.effects[-1]}"
        if power_loss is not None:
            fields["powerLoss"] = power_loss
        fields |= {"leo": node.disk.log.end_offset, "flushed": node.disk.flushed}
        out = self._send(node, effects)
        fields |= shown | ({"out": out} if out else {}) | ({"during": during} if during is not None else {})
        self._line("end", node.id, fields)
        if power_loss:
            end = node.disk.log.end_offset
            node.disk = disks.lose_power(node.disk)
            node.lost = end - node.disk.log.end_offset
        node.disk = disks.as_found(node.disk)
        node.host, node.listener, node.waiting = None, None, []
        self._reset_peers(node)

    def _reset_peers(self, node: Node) -> None:
        """Who waits for an answer of a process that has ended learns that the connection is gone."""
        for letter in list(self.open.values()):
            if letter.is_request and letter.to == node.id and letter.done:
                self._make(letter, "CONNECTION_RESET", 3)

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

    def _line(self, kind: str, node: int | None, fields: Json) -> None:
        line: Json = {"seq": len(self.lines), "t": self.time}
        if node is not None:
            line["n"] = node
        line["ev"] = kind
        if node is not None and self.nodes[node].config.is_skewed and kind in _STEPS_WITH_CLOCK:
            line["lt"] = self.nodes[node].clock(self.time)
        self.lines.append(line | fields)

    def _net(self, what: str, links: set[tuple[int, int]]) -> None:
        self.blocked = links
        self._line("net", None, {"what": what, "blocked": sorted(f"{a}>{b}" for a, b in links)})

    # The network.

    def _send(self, node: Node, effects: Sequence[Effect]) -> list[Json]:
        out = []
        for effect in effects:
            if isinstance(effect, Send):
                to = self.servers.get(effect.to, effect.to)
                letter = self._letter(node, to, effect, None)
                self._expect_answer(letter)
            elif isinstance(effect, Reply):
                assert effect.correlation is not None
                request = self.open[effect.correlation]
                letter = self._letter(node, effect.to, effect, request)
            else:
                continue
            sent: Json = {"mid": letter.mid, "to": letter.to, "kind": "resp", "api": letter.api}
            out.append(sent | ({"kind": "req"} if letter.request is None else {"re": letter.request.mid}))
        return out

    def _expect_answer(self, letter: Letter) -> None:
        self.at(self.time + self.config.timeouts.request + 2, lambda: self._time_out(letter))

    def _letter(self, node: Node, to: int, effect: Send | Reply, request: Letter | None) -> Letter:
        content = effect.request if isinstance(effect, Send) else effect.response
        correlation = effect.correlation if request is None else request.correlation
        assert correlation is not None
        connection = effect.to if isinstance(effect, Send) else -1
        data = content_shown(content)
        letter = Letter(
            self._mid(),
            node.id,
            to,
            APIS[type(content)],
            correlation,
            content,
            data,
            connection,
            node.incarnation,
        )
        letter.request = request
        self.open[letter.mid] = letter
        link = (node.id, to)
        arrival = max(self.time + self.random.randint(*DELAY), self.arrivals.get(link, 0))
        self.arrivals[link] = arrival
        self.at(arrival, lambda: self._arrive(letter))
        return letter

    def _mid(self) -> int:
        self.mids += 1
        return self.mids - 1

    def _arrive(self, letter: Letter) -> None:
        if letter.done:
            return
        letter.done = True
        node = self.nodes[letter.to]
        why = self._why_lost(letter, node)
        if why is not None:
            self._line("lost", None, {"why": why, "to": letter.to} | letter.shown())
            if why == "hostDown":
                self._make(letter, "CONNECTION_REFUSED", 2)
            return
        if letter.request is not None:
            self.open.pop(letter.request.mid, None)
            self.open.pop(letter.mid, None)
        self._deliver(node, letter)

    def _deliver(self, node: Node, letter: Letter) -> None:
        if self._is_paused(node):
            node.waiting.append(letter)
            return
        self._second_half(node, letter)
        self._settle(node, node.incarnation)

    def _why_lost(self, letter: Letter, node: Node) -> str | None:
        if (letter.source, letter.to) in self.blocked:
            return "partition"
        if letter.is_request and node.host is None:
            return "hostDown"
        request = letter.request
        if request is not None:
            gave_up = request.mid not in self.open or node.host is None or node.incarnation != request.owner
            if gave_up:
                return "connectionClosed"
        return "drop" if self.random.random() < self.drop else None

    def _time_out(self, letter: Letter) -> None:
        if letter.mid in self.open:
            self._make(letter, "REQUEST_TIMEOUT", 0)

    def _make(self, request: Letter, reason: str, delay: int) -> None:
        """The network layer answers ``request`` in the peer's place."""
        if self.open.pop(request.mid, None) is None:
            return
        node = self.nodes[request.source]
        if node.host is None or node.incarnation != request.owner:
            return
        data = error_answer(request.api, int(SYNTHETIC[reason]))
        content = decode_data(request.api, Fields(data, "simulation"), is_request=False)
        letter = Letter(
            self._mid(), request.to, node.id, request.api, request.correlation, content, data, -1, 0, request
        )
        letter.synthetic = reason
        self.at(self.time + delay, lambda: self._hand_over(node, letter))

    def _hand_over(self, node: Node, letter: Letter) -> None:
        assert letter.request is not None
        if node.host is not None and node.incarnation == letter.request.owner:
            self._deliver(node, letter)

    # The end.

    def finish(self) -> list[Json]:
        """The lines of the whole run; what is under way is left over."""
        for letter in self.open.values():
            if not letter.done:
                self._line("inflight", None, {"to": letter.to} | letter.shown())
        return finished(self.lines, self.time)


_STEPS_WITH_CLOCK = frozenset({"start", "tick", "recv", "api", "expire"})
