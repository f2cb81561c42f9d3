"""Made-up logs of whole clusters that agree with each other: for tests and measurements of fleets.

The history of a `Cluster` is a walk of the simulator over the reference
(`tests.laboratory.logs.simulated`): what its processes do is told as events
(`tests.laboratory.logs.loggable`), and written here as a release writes it, with the clock of each node.
`tests.laboratory.logs.faults` plants what the checks must find; `tests.laboratory.logs.walk` lets the
cluster run and fail.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.laboratory.logs.cluster_log import RECORDS, ClusterLog, voter_set
from tests.laboratory.logs.loggable import Begins, Reads, Told, beginning
from tests.laboratory.logs.node_log import Place
from tests.laboratory.logs.render import Drawn, offset_text, transition_messages
from tests.laboratory.logs.simulated import ToldSimulation

_SNAPSHOT: Final = "Reading KRaft snapshot and log as part of the initialization"


class Cluster(ClusterLog):
    """A cluster, its history, and the logs of its nodes.

    ``trace``: nodes log at TRACE, so that the ends of their logs show. ``dynamic``: the voter set is in the
    log. ``drop``: the share of messages that are lost. The rest as of `ClusterLog`.
    """

    def __init__(
        self,
        seed: int,
        name: str,
        release: str,
        folder: Path,
        *,
        size: int,
        absent: int | None = None,
        skew: int = 600,
        noise: int = 0,
        trace: bool = False,
        dynamic: bool = False,
        drop: float = 0.0,
    ) -> None:
        super().__init__(seed, name, release, folder, size=size, absent=absent, skew=skew, noise=noise)
        self.trace, self.dynamic = trace, dynamic
        self.set_offset = -1
        """Where the voter set is that the node read last in whose log a fault is planted."""
        self.misnamed: set[int] = set()
        self.died: list[Place] = []
        """Lines on processes that ended by an error in the walk itself."""
        self.heard: set[int] = set()
        """Nodes that have logged a high watermark in their present state, and in their newest file."""
        self.placed: set[int] = set()
        """Nodes whose newest file has a change of state."""
        self._skips: list[tuple[int, int]] = []
        """Offset from which on, and how many, the offsets of the walk are shown larger."""
        self.simulation = ToldSimulation(
            self.random.randrange(1 << 30),
            lambda step: Told(self, step).write(),
            voters=size,
            old=not self.since("4.0"),
            dynamic=dynamic,
            drop=drop,
        )

    @property
    def now(self) -> int:
        """As of `ClusterLog`: the simulated time."""
        return self.begin + self.simulation.time

    def offset(self, offset: int) -> int:
        """How an offset of the walk is shown: planted lines may have used the ones that follow."""
        place = bisect_right(self._skips, (offset, 1 << 62))
        return offset + (self._skips[place - 1][1] if place else 0)

    # --- what processes of the walk do --------------------------------------------------------------------

    def becomes(self, node: int, new: Drawn, granted: frozenset[int], *, attempted: bool) -> None:
        """The state is ``new`` now; the state before has the votes of ``granted``. ``attempted``: the change
        was stored first.
        """
        old = self.states.get(node)
        self._changed(node, self._shown(node, new), self._left(old, granted), stored=attempted)
        self.heard.discard(node)
        self.placed.add(node)

    def attempts(self, node: int, new: Drawn, granted: frozenset[int]) -> None:
        """A change to ``new`` is about to be stored, and the process ends before it is."""
        old = self._left(self.states.get(node), granted)
        messages = list(transition_messages(self._shown(node, new), old, self.release, stored=True))
        for message in messages[:-1]:
            self.say(node, message, "QuorumState")

    def _left(self, old: Drawn | None, granted: frozenset[int]) -> Drawn | None:
        return old if old is None or not granted else replace(old, granted=granted)

    def _shown(self, node: int, new: Drawn) -> Drawn:
        """A state of the walk with the high watermark that ``node`` has logged."""
        old = self.states.get(node)
        high = None if old is None or new.role in ("Leader", "Resigned") else old.high
        return replace(new, high=high, start=self.offset(new.start))

    def begins(self, node: int, event: Begins) -> None:
        """A process begins."""
        self.states.pop(node, None)
        if self.since("3.5"):
            self.say(node, _SNAPSHOT)
        if not self.since("3.9"):
            return
        if event.loads is not None:
            self._loading(node, event.loads)
        for one in event.read:
            self.reads(node, one)
        text = voter_set(event.voters, directories=self.dynamic)
        self.say(node, f"Starting voters are {text}")

    def _loading(self, node: int, end: int) -> None:
        shown = self.offset(end)
        text = (
            f"Loading snapshot (OffsetAndEpoch[offset={shown}, epoch=0]) since log start offset ({shown}) is"
        )
        self.say(node, f"{text} greater than the internal listener's next offset (-1)", RECORDS)

    def loads(self, node: int, offset: int, epoch: int, leader: int) -> None:
        """A snapshot that ends at ``offset``, with a last record of ``epoch``, came from ``leader``."""
        end = self.offset(offset)
        text = f"Fully truncated the log at ({offset_text(end)}, {epoch}) after downloading snapshot"
        self.say(node, f"{text} OffsetAndEpoch[offset={end}, epoch={epoch}] from leader {leader}")
        if self.since("3.9"):
            self._loading(node, offset)

    def reads(self, node: int, event: Reads) -> None:
        """A control record is read."""
        offset = event.offset if event.offset < 0 else self.offset(event.offset)
        if not self.since("3.9"):
            return
        if event.voters is None:
            self.read_version(node, offset, event.version)
        else:
            self.read_voters(node, offset, event.voters)

    def appends(self, node: int, end: int, epoch: int, base: int | None) -> None:
        """The log ends at ``end`` now, its last record of ``epoch``; ``base``: where a leader appended."""
        if not self.trace:
            return
        at = f"OffsetAndEpoch[offset={self.offset(end)}, epoch={epoch}]"
        text = f"Follower end offset updated to {at} after append"
        if base is not None:
            text = f"Leader appended records at base offset {self.offset(base)}, new end offset is {at}"
        self.say(node, text, level="TRACE")

    # --- planting -----------------------------------------------------------------------------------------

    def settled(self) -> bool:
        """Whether all nodes lead or follow in one epoch, hold the same log, know it to be committed, and have
        logged so in their newest files.
        """
        replicas = [self.simulation.running(node) for node in self.nodes]
        known = {
            (one.epoch, one.log.end_offset, one.high_watermark, one.voters.ids)
            for one in replicas
            if one is not None
        }
        states = self.states.values()
        return (
            None not in replicas
            and len(known) == 1
            and len({state.high for state in states} | {self.end}) == 1
            and all(end == high for _, end, high, _ in known)
            and sorted({state.role for state in states}) == ["Follower", "Leader"]
            and self.heard >= set(self.nodes)
        )

    def rotate(self, lines: int) -> None:
        """Begin new files where the newest has so many lines."""
        for node, log in self.logs.items():
            if log.line >= lines:
                log.rotate()
                self.heard.discard(node)
                self.placed.discard(node)

    def look(self) -> None:
        """Take over the voters of a settled cluster."""
        replica = self.simulation.running(self.nodes[0])
        assert replica is not None
        self.voters = tuple(sorted(replica.voters.ids))

    @contextmanager
    def planting(self, node: int) -> Iterator[None]:
        """Within it, lines may be written that no walk would; the cluster must be settled.

        Afterwards the walk goes on from there: nodes that wrote such a line start anew, all know of an epoch
        beyond those of the lines, and offsets that the lines say are committed are skipped.
        """
        simulation = self.simulation
        replica = simulation.running(node)
        assert replica is not None
        self.set_offset = self._last_set(node)
        self.touched.clear()
        end = self.end
        yield
        touched, epoch = list(self.touched), self.epoch + 1
        if self.end > end:
            shown = self._skips[-1][1] if self._skips else 0
            self._skips.append((replica.log.end_offset, shown + self.end - end))
            # Who says where its log ends would contradict itself.
            touched = [*touched, *(one for one in self.nodes if self.trace and one not in touched)]
        for one in touched:
            simulation.kill(one, power_loss=False)
            simulation.put_epoch(one, epoch)
        for one in self.nodes:
            if one not in touched:
                simulation.learn_epoch(one, epoch, touched[0])
        for one in touched:
            simulation.start(one)

    def _last_set(self, node: int) -> int:
        read = [one.offset for one in self._beginning(node).read if one.voters is not None]
        return self.offset(read[-1]) if read and read[-1] >= 0 else -1

    def _beginning(self, node: int) -> Begins:
        """How a process would begin on what is on the disk of ``node`` now."""
        replica = self.simulation.running(node)
        assert replica is not None
        return beginning(replica, self.simulation.nodes[node].disk)

    def start(self, node: int, state: Drawn) -> tuple[Place, Place]:
        """A process of ``node`` starts in ``state``."""
        self.begins(node, self._beginning(node))
        return self._changed(node, replace(state, high=None), None)

    def restart(self, node: int) -> None:
        """The process of ``node`` ends and another starts with what is on disk."""
        state = self.states[node]
        if state.role in ("Leader", "Resigned"):
            self.start(node, self.make("Resigned", node, state.epoch, leader=node))
        elif state.role in ("Voted", "Candidate") and not self.since("3.9"):
            self.start(node, self.make("Voted", node, state.epoch, voted=state.voted))
        else:
            self.start(node, self.make("Unattached", node, state.epoch, voted=state.voted))
