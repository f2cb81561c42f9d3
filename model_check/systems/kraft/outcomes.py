"""From an execution of the reference to outcomes for the engine: its full course, and a crash after any of
its effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.engine.system import Outcome
from kraftcheck.reference import disk as disks
from kraftcheck.reference.effects import Fatal, Stop
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.systems.kraft import checks, goals, verdicts
from kraftcheck.systems.kraft.crash_points import happen
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.starts import booted, crashes, distinct, judged
from kraftcheck.systems.kraft.step import Action, Also, Step
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.systems.kraft.world import Left, World, before_step


def steps(
    wiring: Wiring,
    protocol: Protocol,
    node: Node,
    event: Event,
    execution: Execution,
    action: Action,
    costs: tuple[int, ...] = (),
) -> Iterator[Step]:
    """Every course of the execution: to its end, or cut short by a crash after one of its effects."""
    assert node.replica is not None
    before = node.replica
    world = before_step(wiring, before, node.disk, event, execution)
    cut: list[Step] = []
    for each in happen(world, execution):
        if wiring.boundaries and each.completed < len(execution.effects):
            torn = checks.cut_short(node.disk, each.execution.effects, each.left.disk)
            crashed = crashes(
                wiring, each.left, protocol, before, action, costs, each.execution, each.completed
            )
            cut += judged(crashed, torn)
    ended = execution.ended
    if isinstance(ended, Stop):
        # An orderly shutdown closes the log, which flushes it.
        world.disk = disks.as_found(world.disk)
    after = world.node_after(execution)
    outcome = Outcome(
        action=action,
        local=after,
        sends=tuple(world.sends),
        labels=tuple(world.labels),
        costs=costs,
        signals=tuple(world.signals),
        violations=verdicts.violations(wiring, protocol, before, event, execution, after),
        goals=goals.reached(before, execution),
    )
    if isinstance(ended, Fatal) and verdicts.is_ignored(wiring, ended):
        yield from _started_again(world, protocol, node, outcome, execution)
        return
    yield Step(outcome, execution, len(execution.effects))
    if not isinstance(ended, Fatal):
        yield from distinct(cut)


def crash(wiring: Wiring, protocol: Protocol, node: Node, replica_id: int) -> Iterator[Step]:
    """The process is killed between two events, with or without loss of the unflushed tail."""
    if node.replica is None:
        return
    yield from crashes(wiring, Left(node.disk), protocol, node.replica, Action("crash", replica_id))


def _started_again(
    world: World, protocol: Protocol, node: Node, death: Outcome, execution: Execution
) -> Iterator[Step]:
    """The process exits for a reason that a finding has shown already, and restarts on the same disk."""
    assert node.replica is not None
    again = cast(Action, death.action).with_also(Also.STARTS_AGAIN)
    disk = disks.as_found(world.disk, written_back=world.wiring.written_back)
    for start in booted(
        world.wiring, protocol, node.replica, disk, again, death.costs, world.sends, world.labels
    ):
        violated = tuple(dict.fromkeys((*death.violations, *start.outcome.violations)))
        outcome = replace(start.outcome, violations=violated)
        yield replace(start, outcome=outcome, execution=execution, completed=len(execution.effects))
