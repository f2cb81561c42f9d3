"""A simulated cluster under a script: replicas behind a network with losses, and the recording of it.

A recording of the reference agrees with the reference by construction: it shows that the comparison sees what
is changed in it afterwards, and how fast the comparison is. Recordings of an implementation, whose replicas
are processes of an adapter, show whether the reference is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.evidence.recorder.client import Client
from kraftcheck.evidence.recorder.hosts import Hosting, ReferenceHost, exits
from kraftcheck.evidence.recorder.network import Delays, is_unsupported
from kraftcheck.evidence.recorder.parts import Node, Process, finished, uuid
from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.fields import Json, typed
from kraftcheck.evidence.recordings.identity import bootstrap_servers, identity_of
from kraftcheck.evidence.recordings.lines import ConfigLine
from kraftcheck.evidence.recordings.lockstep import protocol_for
from kraftcheck.evidence.recordings.stored import creation
from kraftcheck.evidence.recordings.wire_records import read_quorum_state, record_names
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Append, Resign, Shutdown, UpgradeKRaftVersion
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Leader

#: The time a graceful shutdown may take, in ms.
SHUTDOWN_TIMEOUT = 5000

#: The defaults of Kafka, in ms.
TIMEOUTS = {
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.election.backoff.max.ms": 1000,
    "controller.quorum.append.linger.ms": 25,
    "controller.quorum.request.timeout.ms": 2000,
    "controller.quorum.retry.backoff.ms": 20,
    "fetchMaxWaitMs": 500,
    "controller.quorum.auto.join.enable": False,
}


class Simulation(Client):
    """A cluster under a script.

    voters, joiners, brokers: how many nodes; voters have the ids from 1 on, then come joiners, which can
    become voters; brokers have the ids from 101 on. drop: the share of messages that are lost at random.
    skew: offset (ms) and drift of the clock of each node that has one of its own. hurry: by how much all
    timeouts are shorter than Kafka's defaults. hosting: starts the replicas. labels: further fields of the
    first line.
    """

    def __init__(
        self,
        seed: int,
        *,
        voters: int = 3,
        joiners: int = 0,
        brokers: int = 0,
        kraft_version: int = 1,
        auto_join: bool = False,
        drop: float = 0.0,
        delays: Delays | None = None,
        skew: Mapping[int, tuple[int, float]] | None = None,
        hurry: int = 1,
        older: Mapping[int, Mapping[str, int]] | None = None,
        hosting: Hosting = ReferenceHost,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(seed, drop, older or {}, delays or Delays())
        self.value, self.hurry, self.hosting = 0, hurry, hosting
        nodes = self._configured_nodes(voters, joiners, brokers, skew or {})
        timeouts = {
            name: value if isinstance(value, bool) else value // self.hurry
            for name, value in TIMEOUTS.items()
        }
        delays = self.delays
        first = {
            "seq": 0,
            "t": 0,
            "ev": "config",
            "scenario": "simulated",
            "seed": 0,
            **(labels or {}),
            "clusterId": "kraftcheck-test-cluster",
            "initialKraftVersion": kraft_version,
            "timeouts": timeouts | {"controller.quorum.auto.join.enable": auto_join},
            "network": {
                "dropP": drop,
                "delayMin": delays.least,
                "delayMax": delays.most,
                **({"tailP": delays.slow, "tailMax": delays.tail} if delays.slow else {}),
            },
            "nodes": nodes,
        }
        config: ConfigLine = typed(first, ConfigLine, "simulation")
        self.config = config
        self._line("config", None, first)
        self.protocol = protocol_for(KAFKA, self.config)
        self.servers = bootstrap_servers(self.config)
        self.nodes = {node.id: Node(node, node.directory) for node in config.nodes}

    def _configured_nodes(
        self, voters: int, joiners: int, brokers: int, skew: Mapping[int, tuple[int, float]]
    ) -> list[Json]:
        nodes: list[Json] = []
        for id in (*range(1, voters + joiners + 1), *range(101, 101 + brokers)):
            node: Json = {
                "id": id,
                "dirId": uuid(self.random),
                "initialVoter": id <= voters,
                "canBecomeVoter": id <= voters + joiners,
            }
            if id in skew:
                node |= {"clockOffsetMs": skew[id][0], "clockDrift": skew[id][1]}
            nodes.append(node)
        return nodes

    # The script.

    def start(self, id: int) -> None:
        """A process starts on the node, if none runs there."""
        node = self.nodes[id]
        if node.process is not None:
            return
        node.incarnation += 1
        can = node.config.can_become_voter
        joins = self.config.timeouts.auto_join and can
        fields = {
            "inc": node.incarnation,
            "dirId": node.directory,
            "canBecomeVoter": node.config.can_become_voter,
            "autoJoin": joins,
            "lostUnflushed": node.lost,
            "persisted": node.file,
            "logBatches": [
                [batch.base_offset, batch.end_offset - 1, batch.epoch, batch.is_control, record_names(batch)]
                for batch in node.disk.log.batches
            ],
        }
        identity = identity_of(self.config, id, node.directory, can_become_voter=can, auto_join=joins)
        node.disk = replace(node.disk, quorum_state=read_quorum_state(node.file, "simulation"))
        before = replace(identity, log=node.disk.log)
        now = node.clock(self.time)
        times = self.config.timeouts.times
        host = self.hosting(self.random, self.protocol, times, self.servers, identity, node.disk, now)
        bootstrap = identity.bootstrap_kraft_version > 0
        listener = Listener(host.replica, bootstrap=bootstrap, read_at_once=self.protocol.fetch_max_batches)
        process = node.process = Process(node, host, listener)
        node.lost = 0
        if exits(host):
            # It has no state to show, and so no line of its start.
            self._end(process, "fatal", host.effects, [], power_loss=False, before=before)
            return
        self._show(process, "start", fields, before, [], always=True)
        self._settle(process)

    def kill(self, id: int, *, power_loss: bool = True) -> None:
        """The process is killed; with ``power_loss`` the node forgets what it has not flushed."""
        process = self.nodes[id].process
        if process is not None:
            self._end(process, "killed", [], [], power_loss=power_loss)

    def crash_at(self, id: int, point: str) -> None:
        """The process ends when it reaches the crash point next
        (:data:`kraftcheck.evidence.recordings.processes.POINTS`).
        """
        process = self.nodes[id].process
        if process is not None:
            process.crash_at = point

    def append(self, count: int = 1) -> None:
        """Each leader is given ``count`` values to append."""
        for process in self._leaders():
            self._append(process, tuple(range(self.value + 1, self.value + 1 + count)))
            self.value += count

    def append_elsewhere(self, id: int) -> None:
        """A node that does not lead is given a value to append: the call fails."""
        process = self.nodes[id].process
        if process is not None and not isinstance(process.host.replica.role, Leader):
            self._append(process, (0,))

    def _append(self, process: Process, values: tuple[int, ...]) -> None:
        epoch = process.host.replica.epoch
        self._call(process, Append(epoch, values), {"call": "append", "epoch": epoch, "values": list(values)})

    def resign(self) -> None:
        """Each leader is asked to resign."""
        for process in self._leaders():
            self._resign(process, process.host.replica.epoch)

    def resign_at(self, id: int, epoch: int) -> None:
        """A node is asked to resign from ``epoch``, whether or not it leads it."""
        process = self.nodes[id].process
        if process is not None and not self._is_paused(process):
            self._resign(process, epoch)

    def _resign(self, process: Process, epoch: int) -> None:
        self._call(process, Resign(epoch), {"call": "resign", "epoch": epoch})

    def shut_down(self, id: int) -> None:
        """A graceful shutdown begins."""
        process = self.nodes[id].process
        if process is not None and not process.host.replica.shutting_down:
            timeout = SHUTDOWN_TIMEOUT // self.hurry
            process.shutdown_at = process.node.clock(self.time) + timeout
            self._call(process, Shutdown(), {"call": "shutdown", "timeoutMs": timeout})

    def upgrade(self, version: int = 1) -> None:
        """Each leader is asked to finalize a version of kraft.version, if its release knows how."""
        for process in self._leaders():
            epoch = process.host.replica.epoch
            fields = {"call": "upgradeKRaftVersion", "epoch": epoch, "version": version}
            if process.host.upgrades:
                self._call(process, UpgradeKRaftVersion(epoch, version), fields, wakes=False)

    def snapshot(self, id: int, *, clean: bool = True) -> None:
        """The state machine of a node writes down what is committed; ``clean``: the log before it goes."""
        process = self.nodes[id].process
        if process is None or self._is_paused(process):
            return
        replica, end = process.host.replica, process.listener.next_offset
        committed = [batch for batch in replica.log.batches if batch.end_offset <= end]
        if not committed:
            return
        at = SnapshotId(committed[-1].end_offset, committed[-1].epoch)
        fields = {"call": "createSnapshot", "offset": at.end_offset, "epoch": at.epoch, "clean": clean}
        self._call(process, creation(at, replica, clean=clean), fields | {"created": False}, wakes=False)

    def leaders(self) -> list[int]:
        """The nodes whose processes lead, each in an epoch of its own."""
        return [process.node.id for process in self._leaders()]

    def isolate(self, *ids: int) -> None:
        """The nodes lose every link."""
        links = {(a, b) for a in self.nodes for b in self.nodes if a != b and (a in ids or b in ids)}
        self.block(f"isolate {' '.join(map(str, ids))}", links)

    def heal(self) -> None:
        """Every link works again."""
        self.block("heal", set())

    def write_back(self, id: int) -> None:
        """The operating system writes a node's log to the disk."""
        node = self.nodes[id]
        end = node.disk.log.end_offset
        self._line("osFlush", id, {"to": end})
        node.disk = replace(node.disk, flushed=end)

    def wipe(self, id: int) -> None:
        """The node gets an empty disk, unless a process runs there."""
        node = self.nodes[id]
        if node.process is not None:
            return
        node.directory, node.disk, node.file, node.lost = uuid(self.random), Disk(), None, 0
        self._line("wipe", id, {"dirId": node.directory})

    def pause(self, id: int, ms: int) -> None:
        """The process stands still."""
        process = self.nodes[id].process
        if process is not None:
            self._line("pause", id, {"ms": ms})
            process.paused_until = max(process.paused_until, self.time + ms)
            self.at(process.paused_until, lambda: self._resume(process))

    def finish(self) -> list[Json]:
        """The lines of the whole run; what is under way is left over."""
        waiting = [letter for node in self.nodes.values() for letter in node.waiting]
        for letter in [*(letter for letter in self.open.values() if not letter.done), *waiting]:
            if letter.synthetic is None and not is_unsupported(letter):
                self._line("inflight", None, {"to": letter.to} | letter.shown())
        return finished(self.lines, self.time)
