"""The path of a replica into the state in which a behaviour begins: a disk, and ordinary events on it.

An implementation cannot be put into a state. A replica that has just started for the first time is started;
one in a given state is led there (:mod:`kraftcheck.evidence.adapters.prologue`); one that has an initial
leader takes part in the run that the scenario begins with.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kraftcheck.evidence.adapters.prologue import Opening, prologue
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kraft.build import run_initial_prefix
from kraftcheck.systems.kraft.initial_prefix import scenario_of
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.build import walk
from kraftcheck.traces.walk import Taken


class Prefix(NamedTuple):
    """The run that leads a quorum to its initial leader: its system, its scenario and its steps."""

    system: KRaftSystem
    scenario: KRaftScenario
    taken: tuple[Taken, ...]


@lru_cache(maxsize=8)
def prefix_of(scenario: KRaftScenario) -> Prefix | None:
    """The run that leads to ``replicas.initial-leader``; ``None`` where the scenario names none."""
    if scenario.replicas.initial_leader is None:
        return None
    run = run_initial_prefix(scenario)
    system = run.system.unjudged()
    return Prefix(system, scenario_of(scenario), tuple(walk(system, run.path).taken))


def opening(system: KRaftSystem, scenario: KRaftScenario, component: int) -> Opening:
    """The opening of a replica that begins without an initial leader, or before there is one."""
    begun, identity = system.nodes[component], system.identities[component]
    if begun.replica is None:
        return Opening(begun.disk, ())
    if str(identity.id) not in scenario.replicas.initial:
        empty = Disk(directory=begun.disk.directory)
        started = next(system.hosts[component].restart(Node(None, empty))).execution
        assert started is not None
        return Opening(empty, (Start(), *started.events))
    disk, stimuli = prologue(system.protocols[component], identity, begun.replica)
    return Opening(replace(disk, directory=begun.disk.directory), stimuli)
