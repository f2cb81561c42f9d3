"""Recordings of simulated clusters under every kind of fault that the recorder's simulator knows."""

from __future__ import annotations

import random
from typing import Any

from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.processes import POINTS

OLDER = (
    {"Vote": 1},
    {"Fetch": 17},
    {"Fetch": 16},
    {"Vote": 1, "Fetch": 17, "BeginQuorumEpoch": 0, "EndQuorumEpoch": 0},
)


def faulty_recording(seed: int, *, seconds: int = 16) -> list[dict[str, Any]]:
    """The lines of a cluster of random size under random faults, ``seconds`` of production's time long."""
    draw = random.Random(seed)
    simulation = _cluster(seed, draw)
    hurry, ids = simulation.hurry, list(simulation.nodes)
    end = seconds * 1000 // hurry

    def start(share: float) -> None:
        for node in ids:
            if simulation.nodes[node].process is None and draw.random() < share:
                simulation.start(node)

    simulation.at(10, lambda: start(0.8))
    for time in range(500, end, 200 // hurry):
        simulation.at(time, lambda: simulation.append(1 + draw.randrange(4)))
    for time in range(1500 // hurry, end - 3000 // hurry, 700 // hurry):
        simulation.at(time, lambda: _fault(simulation, draw))
        if draw.random() < 0.5:
            simulation.at(time + 300 // hurry, simulation.heal)
        if draw.random() < 0.7:
            simulation.at(time + draw.choice([1, 310 // hurry]), lambda: start(0.8))
    simulation.at(end - 3000 // hurry, simulation.heal)
    simulation.at(end - 2990 // hurry, lambda: start(1))
    simulation.run(end)
    return simulation.finish()


def _cluster(seed: int, draw: random.Random) -> Simulation:
    voters, brokers = draw.randint(1, 5), draw.randint(0, 2)
    ids = [*range(1, voters + 1), *range(101, 101 + brokers)]
    skewed = [node for node in ids if draw.random() < 0.5] if draw.random() < 0.3 else []
    old = [node for node in ids if draw.random() < 0.5] if draw.random() < 0.4 else []
    return Simulation(
        seed,
        voters=voters,
        brokers=brokers,
        kraft_version=draw.choice([1, 1, 0]),
        drop=draw.choice([0.0, 0.0, 0.05]),
        skew={node: (draw.randint(-300, 300), draw.uniform(-0.005, 0.005)) for node in skewed},
        hurry=draw.choice([1, 4]),
        older={node: draw.choice(OLDER) for node in old},
    )


def _fault(simulation: Simulation, draw: random.Random) -> None:
    ids, hurry = list(simulation.nodes), simulation.hurry
    node = draw.choice(ids)

    def restart() -> None:
        """At once, and sometimes dead again at once."""
        if simulation.nodes[node].process is not None:
            simulation.kill(node)
            simulation.start(node)
            if draw.random() < 0.5:
                simulation.kill(node)

    def cut_links() -> None:
        links = {(a, b) for a in ids for b in ids if a != b and draw.random() < 0.3}
        simulation.block("links", links)

    faults = (
        lambda: simulation.kill(node, power_loss=draw.random() < 0.5),
        lambda: simulation.crash_at(node, draw.choice(list(POINTS))),
        lambda: simulation.isolate(node),
        lambda: simulation.pause(node, draw.choice([50, 500, 3000]) // hurry),
        lambda: simulation.pause(node, 6000 // hurry),
        lambda: simulation.shut_down(node),
        simulation.resign,
        lambda: simulation.resign_at(node, draw.choice([-1, 0, 1, 2, 3])),
        lambda: simulation.append_elsewhere(node),
        restart,
        cut_links,
    )
    draw.choice(faults)()
