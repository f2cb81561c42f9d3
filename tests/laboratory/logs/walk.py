"""Lets a made-up cluster run: clients append, processes and links fail, voters and leaders change, at random.

What happens to the cluster is drawn here; what its processes do about it is the reference's.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.evidence.recordings.processes import POINTS
from kraftcheck.reference.replica import Leader
from tests.laboratory.logs.fleet import Cluster

#: Between two things that happen to a cluster, on average, in ms.
_CALM: Final = 6_000
#: The disturbances.
_FAILURES: Final = (
    "kill", "power", "point", "cut", "cut", "resign", "stop", "pause", "voters", "snapshot", "leader",
)  # fmt: skip
#: So many batches are kept in a log before its node takes a snapshot.
_BATCHES: Final = 300
#: A cluster left alone settles long before so many tries.
_TRIES: Final = 400


class Walk:
    """A walk of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.simulation, self.random = cluster.simulation, cluster.random
        self._starting: set[int] = set(cluster.nodes)
        for node in cluster.nodes:
            self._start_later(node, 300)

    def go_on(self) -> None:
        """A fraction of a second passes."""
        draw, simulation = self.random, self.simulation
        interval = draw.choice((20, 60, 150, 400, 700))
        simulation.append(draw.choice((1, 1, 2, 7)))
        simulation.run(simulation.time + interval)
        self._look_after()
        if draw.random() < interval / _CALM:
            self._disturb()
        self.cluster.pass_time()

    def settle(self) -> None:
        """Until all nodes follow one leader, know the same, and their newest files show since when.

        Raises RuntimeError if they do not come to.
        """
        simulation = self.simulation
        simulation.heal()
        for _ in range(_TRIES):
            simulation.append(1)
            simulation.run(simulation.time + 400)
            self._look_after()
            self.cluster.pass_time()
            if self.cluster.settled():
                if self.cluster.placed >= set(self.cluster.nodes):
                    self.cluster.look()
                    return
                simulation.resign()
        raise RuntimeError(f"{self.cluster.name}: the cluster does not settle")

    def _look_after(self) -> None:
        """Start what does not run, and keep logs short."""
        simulation = self.simulation
        for id, node in simulation.nodes.items():
            if node.process is None and id not in self._starting:
                self._starting.add(id)
                self._start_later(id, 4_000)
            elif len(node.disk.log.batches) > _BATCHES:
                simulation.snapshot(id)
        simulation.forget_letters()

    def _start_later(self, node: int, within: int) -> None:
        def start() -> None:
            self._starting.discard(node)
            if self.simulation.nodes[node].process is None:
                self.simulation.start(node)

        self.simulation.at(self.simulation.time + self.random.randrange(30, 30 + within), start)

    def _disturb(self) -> None:
        draw, simulation = self.random, self.simulation
        node = draw.choice(self.cluster.nodes)
        match draw.choice(_FAILURES):
            case "kill":
                simulation.kill(node, power_loss=False)
            case "power":
                simulation.kill(node, power_loss=True)
            case "point":
                simulation.crash_at(node, draw.choice(tuple(POINTS)))
            case "cut":
                self._cut()
            case "resign":
                simulation.resign()
            case "stop":
                simulation.shut_down(node)
            case "pause":
                simulation.pause(node, draw.randrange(100, 4_000))
            case "voters":
                self._change_voters(node)
            case "snapshot":
                simulation.snapshot(node)
            case "leader":
                for leader in simulation.leaders():
                    simulation.kill(leader, power_loss=False)

    def _cut(self) -> None:
        """Some links carry nothing for a while: those of some nodes, or single ones in one direction."""
        draw, simulation = self.random, self.simulation
        nodes = self.cluster.nodes
        if draw.random() < 0.5:
            simulation.isolate(*draw.sample(nodes, draw.randint(1, max(1, (len(nodes) - 1) // 2))))
        else:
            links = [(a, b) for a in nodes for b in nodes if a != b]
            simulation.block("links", set(draw.sample(links, draw.randint(1, len(links) // 2))))
        simulation.at(simulation.time + draw.randrange(300, 7_000), simulation.heal)

    def _change_voters(self, node: int) -> None:
        """A voter is removed while three are left, or one that was is added again."""
        simulation = self.simulation
        leader = next(iter(simulation.leaders()), None)
        replica = None if leader is None else simulation.running(leader)
        if not self.cluster.dynamic or replica is None or not isinstance(replica.role, Leader):
            return
        absent = [one for one in self.cluster.nodes if one not in replica.voters.ids]
        if absent:
            simulation.add_voter(self.random.choice(absent))
        elif len(replica.voters.ids) > 3:
            simulation.remove_voter(node)
