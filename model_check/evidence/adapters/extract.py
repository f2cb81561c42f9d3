"""The events at one replica in a behaviour of a whole quorum, and the path to its initial state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.evidence.adapters.asked import ON_DISK
from kraftcheck.evidence.adapters.opening import opening, prefix_of
from kraftcheck.evidence.adapters.prologue import Opening
from kraftcheck.evidence.adapters.stimuli import (
    Crash,
    DriveSequence,
    Origin,
    ReplaceDisk,
    Start,
    Stimulus,
    WaitExpired,
)
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event, FetchWaitExpired
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.step import Step as KRaftStep
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.build import details
from kraftcheck.traces.walk import Taken


class Moment(NamedTuple):
    """A step of a behaviour, with the state before it and the work of the reference; ``None`` for a loss."""

    before: GlobalState
    path: PathStep
    detail: KRaftStep | None


def moments(system: KRaftSystem, taken: Iterable[Taken]) -> tuple[Moment, ...]:
    """The steps of a walk."""
    return tuple(moment(system, each.before, each.step.path) for each in taken)


def moment(system: KRaftSystem, before: GlobalState, path: PathStep) -> Moment:
    """The step ``path`` from ``before``."""
    return Moment(before, path, cast(KRaftStep | None, details(system, before, path)))


def sequences(
    system: KRaftSystem, scenario: KRaftScenario, name: str, taken: Sequence[Moment]
) -> Iterator[DriveSequence]:
    """The sequence of each replica that takes steps in a behaviour.

    A replica whose initial state no sequence of events leads to is driven from its first start on.
    """
    path = tuple(each.path for each in taken)
    for component, identity in enumerate(system.identities):
        found = list(_happenings(component, taken))
        disk, before = _opening(system, scenario, component)
        if before is None:
            found = _from_first_start(found)
            disk = _disk_before(taken, found, component)
        else:
            found = [*((0, stimulus) for stimulus in before), *found]
        if not any(step for step, _ in found):
            continue
        yield DriveSequence(
            name=f"{name}, replica {identity.id}",
            protocol=system.protocols[component],
            identity=identity,
            disk=disk,
            stimuli=tuple(stimulus for _, stimulus in found),
            written_back=system.wiring.written_back,
            origin=Origin(scenario, path, tuple(step for step, _ in found)),
        )


@lru_cache(maxsize=64)
def _opening(system: KRaftSystem, scenario: KRaftScenario, component: int) -> Opening:
    """The first disk of a replica and the events at it before the behaviour begins: also those in the run to
    its initial leader.
    """
    prefix = prefix_of(scenario)
    if prefix is None or system.identities[component].id in scenario.replicas.fresh:
        return opening(system, scenario, component)
    begun = opening(prefix.system, prefix.scenario, component)
    taken = moments(prefix.system, prefix.taken)
    run = (stimulus for _, stimulus in _happenings(component, taken))
    return begun if begun.stimuli is None else Opening(begun.disk, (*begun.stimuli, *run))


def _happenings(component: int, taken: Sequence[Moment]) -> Iterator[tuple[int, Stimulus]]:
    """The events at a replica, each with the number of its step in the behaviour."""
    for number, each in enumerate(taken, 1):
        if each.path.component != component or each.detail is None:
            continue
        node = cast(Node, each.before.locals[component])
        for stimulus in stimuli_of(node, each.detail):
            yield number, stimulus


def stimuli_of(node: Node, detail: KRaftStep) -> Iterator[Stimulus]:
    """The events at a replica, which is as ``node``, in a step."""
    execution, restarted = detail.execution, detail.restarted
    if execution is not None:
        if node.replica is None:
            yield Start()
        for event in execution.events:
            yield _stimulus(node.replica, event)
    if restarted is not None:
        disk = cast(Node, detail.outcome.local).disk
        if disk.directory is not None and disk.directory != node.disk.directory:
            yield ReplaceDisk(disk.directory)
        elif execution is not None or node.replica is not None:
            yield Crash(_undone(execution, detail.completed), detail.loses_power)
        for cut in detail.cut:
            yield Start()
            yield from cut.execution.events
            yield Crash(_undone(cut.execution, cut.completed), cut.loses_power)
        yield Start(_moved_to(node, restarted.replica))
        yield from restarted.events


def _moved_to(node: Node, started: Replica) -> tuple[Endpoint, ...] | None:
    """Where a process listens that has just ``started``, if it listened elsewhere before."""
    moves = node.replica is not None and node.replica.endpoints != started.endpoints
    return started.endpoints if moves else None


def _stimulus(replica: Replica | None, event: Event) -> Stimulus:
    if not isinstance(event, FetchWaitExpired) or replica is None:
        return event
    keys = [(parked.source, parked.correlation) for parked in replica.parked]
    return WaitExpired(keys.index((event.source, event.correlation)))


def _undone(execution: Execution | None, completed: int) -> int:
    """The number of changes of the disk that never happened."""
    if execution is None:
        return 0
    left = execution.effects[completed:]
    return sum(isinstance(effect, ON_DISK) for effect in left)


def _from_first_start(found: list[tuple[int, Stimulus]]) -> list[tuple[int, Stimulus]]:
    starts = [index for index, (_, stimulus) in enumerate(found) if isinstance(stimulus, Start)]
    return found[starts[0] :] if starts else []


def _disk_before(taken: Sequence[Moment], found: list[tuple[int, Stimulus]], component: int) -> Disk:
    """The disk that the first driven process finds: the disk as of the step in which it starts."""
    if not found:
        return Disk()
    number = found[0][0]
    node = cast(Node, taken[number - 1].before.locals[component])
    return node.disk
