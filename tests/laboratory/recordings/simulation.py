"""Recordings of a simulated cluster: the reference behind a network with losses, faults by a script.

A recording made here agrees with the reference by construction; it shows that the comparison sees what is
changed in it afterwards, and how fast the comparison is. Whether the reference is right, only recordings of
production can show.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.fields import Json, typed
from kraftcheck.evidence.recordings.host import Host
from kraftcheck.evidence.recordings.identity import bootstrap_servers, identity_of
from kraftcheck.evidence.recordings.lines import ConfigLine
from kraftcheck.evidence.recordings.lockstep import protocol_for
from kraftcheck.evidence.recordings.wire_records import read_quorum_state, record_names
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Append, Resign, Shutdown
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Leader
from tests.laboratory.recordings.simulated import DELAY, TIMEOUTS, Node, Process, finished, uuid
from tests.laboratory.recordings.simulated_network import is_unsupported
from tests.laboratory.recordings.simulated_nodes import Processes

#: The time a graceful shutdown may take, in ms.
SHUTDOWN_TIMEOUT = 5000


class Simulation(Processes):
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
        older: Mapping[int, Mapping[str, int]] | None = None,
    ) -> None:
        super().__init__(seed, drop, older or {})
        self.value, self.hurry = 0, hurry
        first = self._configure(voters, brokers, kraft_version, skew or {})
        self.config = typed(first, ConfigLine, "simulation")
        self._line("config", None, first)
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
            "seq": 0,
            "t": 0,
            "ev": "config",
            "scenario": "simulated",
            "seed": 0,
            "clusterId": "kraftcheck-test-cluster",
            "initialKraftVersion": kraft_version,
            "timeouts": {
                name: value if isinstance(value, bool) else value // self.hurry
                for name, value in TIMEOUTS.items()
            },
            "network": {"dropP": self.drop, "delayMin": DELAY[0], "delayMax": DELAY[1]},
            "nodes": nodes,
        }

    # The script.

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
        can = node.config.can_become_voter
        identity = identity_of(self.config, id, node.directory, can_become_voter=can, auto_join=False)
        node.disk = replace(node.disk, quorum_state=read_quorum_state(node.file, "simulation"))
        before = replace(identity, log=node.disk.log)
        now = node.clock(self.time)
        host = Host(self.protocol, self.config.timeouts.times, self.servers, identity, node.disk, now)
        bootstrap = identity.bootstrap_kraft_version > 0
        listener = Listener(host.replica, bootstrap=bootstrap, read_at_once=self.protocol.fetch_max_batches)
        process = node.process = Process(node, host, listener)
        self._draw(host)
        node.lost = 0
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

    def isolate(self, *ids: int) -> None:
        """The nodes lose every link."""
        links = {(a, b) for a in self.nodes for b in self.nodes if a != b and (a in ids or b in ids)}
        self.block(f"isolate {' '.join(map(str, ids))}", links)

    def heal(self) -> None:
        """Every link works again."""
        self.block("heal", set())

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


def write_simulated(folder: Path, seconds: int) -> None:
    """A recorded run of a simulated cluster that elects, appends, and loses its leader once."""
    simulation = Simulation(1, brokers=1)
    for node in simulation.nodes:
        simulation.at(100, lambda node=node: simulation.start(node))  # type: ignore[misc]
    for time in range(3_000, seconds * 1_000, 200):
        simulation.at(time, lambda: simulation.append(2))
    simulation.at(seconds * 500, simulation.resign)
    simulation.run(seconds * 1_000)
    lines = simulation.finish()
    folder.mkdir()
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / "trace.jsonl.gz").write_bytes(gzip.compress(text.encode(), compresslevel=6))
    (folder / "run.json").write_text(json.dumps({"run": folder.name, "events": len(lines)}))
