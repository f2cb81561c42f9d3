"""From executions of the reference to outcomes for the engine: events and starts in full, or cut short by a
crash after any of their effects, and disks that are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from kraftcheck.engine.system import Outcome, Signal
from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal, Stop
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.startup import configured
from kraftcheck.reference.voters import ReplicaKey, VoterSet
from kraftcheck.systems.kraft import administration, assignments, checks, goals, membership
from kraftcheck.systems.kraft.labels import Label, Restored, Wiped
from kraftcheck.systems.kraft.network import InFlight, after_forgetting
from kraftcheck.systems.kraft.node import Execution, Node, boot
from kraftcheck.systems.kraft.step import Action, Also, Crash, CutStart, Step
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.systems.kraft.world import CrashPoint, Left, World, before_step, happen


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
        if wiring.choice.boundaries and each.completed < len(execution.effects):
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
        violations=checks.violations(wiring, protocol, before, event, execution, after),
        goals=goals.reached(before, execution),
    )
    if isinstance(ended, Fatal) and checks.is_ignored(wiring, ended):
        yield from _restarted_after(world, protocol, node, outcome, execution)
        return
    yield Step(outcome, execution, len(execution.effects))
    if not isinstance(ended, Fatal):
        yield from distinct(cut)


def crash(wiring: Wiring, protocol: Protocol, node: Node, replica_id: int) -> Iterator[Step]:
    """The process is killed between two events, with or without loss of the unflushed tail."""
    if node.replica is None:
        return
    yield from crashes(wiring, Left(node.disk), protocol, node.replica, Action("crash", replica_id))


def _restarted_after(
    world: World, protocol: Protocol, node: Node, exited: Outcome, execution: Execution
) -> Iterator[Step]:
    """The process exits for a reason that a finding has shown already, and restarts on the same disk."""
    assert node.replica is not None
    again = cast(Action, exited.action).with_also(Also.RESTARTS)
    disk = disks.as_found(world.disk, written_back=world.wiring.written_back)
    for start in booted(
        world.wiring, protocol, node.replica, disk, again, exited.costs, world.sends, world.labels
    ):
        violated = tuple(dict.fromkeys((*exited.violations, *start.outcome.violations)))
        outcome = replace(start.outcome, violations=violated)
        yield replace(start, outcome=outcome, execution=execution, completed=len(execution.effects))


# Starts.


def restart(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """Starts a process that does not run: in full first, then cut short by each possible crash."""
    known = identity_on(identity, node.disk)
    disk = disks.as_found(node.disk, written_back=wiring.written_back)
    for start in booted(wiring, protocol, known, disk, Action("start", identity.id)):
        if start.cut:
            yield start
        else:
            assert start.restarted is not None
            yield Step(start.outcome, start.restarted, len(start.restarted.effects))


def crash_matters(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> bool:
    """Whether a crash within the start of a stopped process leaves a changed disk.

    Otherwise the next start has the same result, and the crash only spends one crash of the budget.
    """
    full, *cut = restart(wiring, protocol, node, identity)
    expected = _left_behind(full.outcome)
    return any(_left_behind(step.outcome) != expected for step in cut)


def _left_behind(outcome: Outcome) -> tuple[object, ...]:
    return outcome.local, outcome.sends, outcome.labels, outcome.violations


def identity_on(identity: Replica, disk: Disk) -> Replica:
    """The replica of a process on ``disk`` with the configuration of ``identity``, with the state and log
    that it finds there.

    A disk that was empty has no checkpoint with a voter set.
    """
    stored = disk.quorum_state or QuorumState()
    if disk.directory == identity.key.directory:
        return replace(identity, quorum_state=stored, log=disk.log)
    key = ReplicaKey(identity.id, disk.directory)
    reborn = replace(identity, key=key, quorum_state=stored, log=disk.log)
    if identity.bootstrap_kraft_version < 1:
        return reborn
    return replace(reborn, bootstrap_voters=VoterSet(), bootstrap_kraft_version=0)


def distinct(crashes: Iterable[Step]) -> Iterator[Step]:
    """The ``crashes`` that differ in the state or the budgets that they leave."""
    seen = set()
    for crashed in crashes:
        left = crashed.outcome
        key = (left.local, left.sends, left.labels, left.costs, left.violations)
        if key not in seen:
            seen.add(key)
            yield crashed


def judged(crashes: Iterable[Step], violated: tuple[str, ...]) -> Iterator[Step]:
    """``crashes``, with the violations by the contents that they leave on the disk, before any start on
    it.
    """
    for crashed in crashes:
        found = (*violated, *crashed.outcome.violations)
        yield replace(crashed, outcome=replace(crashed.outcome, violations=found)) if violated else crashed


def crashes(
    wiring: Wiring,
    left: Left,
    protocol: Protocol,
    before: Replica,
    action: Action,
    costs: tuple[int, ...] = (),
    execution: Execution | None = None,
    completed: int = 0,
) -> Iterator[Step]:
    """The process is killed after ``completed`` effects of ``execution``, and starts on the disk that is
    ``left``.

    Once without and, where that makes a difference, once with the loss of the unflushed tail.
    """
    cost = wiring.price_at("crashes", before.id, wiring.choice.crashes_at)
    if cost is None:
        return
    for loses in _losses(wiring, left.disk):
        disk = _disk_found(wiring, left.disk, loses)
        crash = Crash(loses, completed, None if execution is None else len(execution.effects))
        budget, named = (*costs, *cost), action.with_also(crash)
        found = booted(wiring, protocol, before, disk, named, budget, left.sends, left.labels)
        for start in found:
            yield replace(start, execution=execution, completed=completed, loses_power=loses)


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a start on a disk, independent of the process before: the node ``after`` it, the state
    ``left`` by it, and the crashes within it that leave a different state.
    """

    execution: Execution
    after: Node
    left: Left
    crash_points: tuple[CrashPoint, ...]


def course(wiring: Wiring, protocol: Protocol, identity: Replica, disk: Disk) -> Course:
    """The start of the process that ``identity`` configures on ``disk``.

    Many crashes leave the same disk; each start is carried out once.
    """
    # Of a replica's configuration only this changes with its disk; its protocol never does.
    key = identity.key, identity.bootstrap_kraft_version, disk
    found = wiring.starts.get(key)
    if found is None:
        process = configured(identity)
        execution = boot(wiring, protocol, process, disk)
        decided = assignments.decided_in(disk.log) if wiring.targets is not None else -1
        world = World(wiring, identity.id, disk, membership.own_origin(process), assignment=decided)
        points = happen(world, execution)
        left = world.left()
        # No effect is left: the possible crash between two steps has the same result.
        other = tuple(point for point in points if point.left != left)
        found = wiring.starts[key] = Course(execution, world.node_after(execution), left, other)
    return cast(Course, found)


def booted(
    wiring: Wiring,
    protocol: Protocol,
    identity: Replica,
    disk: Disk,
    action: Action,
    costs: tuple[int, ...] = (),
    sends_before: Sequence[InFlight] = (),
    labels_before: Sequence[Label] = (),
) -> Iterator[Step]:
    """A start on ``disk``: in full, then cut short by a crash after each effect that matters.

    The messages of the previous process are in flight; its requests are unanswerable.
    """
    started = course(wiring, protocol, identity, disk)
    execution, after, left = started.execution, started.after, started.left
    violations, reached = _verdict(wiring, protocol, identity, disk, started)
    orphans = _unanswerable(wiring, identity.id, sends_before)
    outcome = Outcome(
        action=action,
        local=after,
        sends=(*orphans, *left.sends),
        labels=(*labels_before, *left.labels),
        costs=costs,
        signals=(Signal(wiring.component(identity.id)),),
        violations=violations,
        goals=reached,
    )
    full = Step(outcome, None, 0, execution)
    yield full
    if not isinstance(execution.ended, Fatal) and _may_crash(wiring, identity.id, costs):
        found = (
            judged(
                _cut_short(point, wiring, protocol, identity, full, orphans, labels_before),
                checks.cut_short(disk, point.execution.effects, point.left.disk),
            )
            for point in started.crash_points
        )
        yield from distinct(chain.from_iterable(found))


def _verdict(
    wiring: Wiring, protocol: Protocol, before: Replica, disk: Disk, started: Course
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The properties that a start violates and the goals that it reaches, after a process that was as
    ``before``.

    Of one replica many steps are cut short with the same contents on its disk; each start is judged once.
    """
    found = wiring.start_verdicts.get((before, disk))
    if found is None:
        # The voters are those that the process found: a crash may have cut short a step that changed them.
        known = replace(before, log=disk.log)
        violated = checks.violations(wiring, protocol, known, None, started.execution, started.after)
        found = wiring.start_verdicts[before, disk] = violated, goals.reached(before, started.execution)
    return found


def _may_crash(wiring: Wiring, replica_id: int, costs: tuple[int, ...]) -> bool:
    """Whether a crash is left, after ``costs``, that may fall within a start of this replica."""
    cost = wiring.price_at("crashes", replica_id, wiring.choice.crashes_at)
    if cost is None or not wiring.choice.boundaries:
        return False
    return costs.count(*cost) < wiring.crashes


def _cut_short(
    crash: CrashPoint,
    wiring: Wiring,
    protocol: Protocol,
    identity: Replica,
    full: Step,
    orphans: tuple[InFlight, ...],
    labels_before: Sequence[Label],
) -> Iterator[Step]:
    """The start ``full``, cut short by a crash, and the start after it, which a crash may cut short too."""
    left, completed = crash.left, crash.completed
    sends, labels = (*orphans, *left.sends), (*labels_before, *left.labels)
    costs = (*full.outcome.costs, *(wiring.price("crashes") or ()))
    for loses in _losses(wiring, left.disk):
        disk = _disk_found(wiring, left.disk, loses)
        cut = CutStart(crash.execution, completed, loses)
        within = Crash(loses, completed, len(crash.execution.effects), within_start=True)
        named = cast(Action, full.outcome.action).with_also(within)
        for start in booted(wiring, protocol, identity, disk, named, costs, sends, labels):
            yield replace(start, cut=(cut, *start.cut))


def _losses(wiring: Wiring, disk: Disk) -> tuple[bool, ...]:
    """Whether power is lost in the crashes that may happen: only where that makes a difference."""
    return (False, True) if wiring.choice.power_loss and disk.flushed < disk.log.end_offset else (False,)


def _disk_found(wiring: Wiring, disk: Disk, loses_power: bool) -> Disk:
    """The contents that a process finds at its start after a crash which left ``disk``."""
    left = disks.lose_power(disk) if loses_power else disk
    return disks.as_found(left, written_back=wiring.written_back)


def _unanswerable(wiring: Wiring, replica_id: int, sends: Iterable[InFlight]) -> tuple[InFlight, ...]:
    """The messages among ``sends`` that remain when their process has ended."""
    left = (after_forgetting(sent, replica_id, None, wiring.forgotten_stay) for sent in sends)
    return tuple(sent for sent in left if sent is not None)


# Disks that are replaced.


def wipe(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, its disk is replaced by an empty one with another directory id, and it starts."""
    old, cost = node.disk, wiring.price_at("wipes", identity.id, wiring.choice.wipes_at)
    if cost is None:
        return
    assert old.directory is not None
    disk = Disk(directory=administration.next_directory(old.directory))
    reborn = identity_on(identity, disk)
    action = Action("wipe", identity.id, f"new directory {disk.directory}")
    labels = [_taken_out(node, identity)]
    for start in booted(wiring, protocol, reborn, disk, action, cost, labels_before=labels):
        yield replace(start, outcome=_keeping(wiring, start.outcome, old))


def restore(wiring: Wiring, protocol: Protocol, node: Node, identity: Replica) -> Iterator[Step]:
    """The process ends, the disk that was taken out last is put back in its place, and it starts on that."""
    back, cost = node.replaced, wiring.price("restores")
    if cost is None or back is None:
        return
    labels: list[Label] = [_taken_out(node, identity), Restored(ReplicaKey(identity.id, back.directory))]
    known = identity_on(identity, back)
    action = Action("restore", identity.id, f"directory {back.directory} again")
    for start in booted(wiring, protocol, known, back, action, cost, labels_before=labels):
        yield replace(start, outcome=_keeping(wiring, start.outcome, node.disk))


def _keeping(wiring: Wiring, outcome: Outcome, disk: Disk) -> Outcome:
    """``outcome``, after which ``disk`` lies next to the machine, where it may be put back in."""
    if wiring.price("restores") is None:
        return outcome
    kept = disks.as_found(disk, written_back=wiring.written_back)
    return replace(outcome, local=replace(cast(Node, outcome.local), replaced=kept))


def _taken_out(node: Node, identity: Replica) -> Wiped:
    """The durable contents that are lost with the disk of ``node``."""
    disk = node.disk
    known = node.replica or identity_on(identity, disk)
    entry = membership.newest(membership.own_origin(known), disk.log).find(identity.id)
    held = tuple(batch for batch in disk.log.batches if batch.end_offset <= disk.flushed)
    another = entry is None or entry.key.directory is not None
    return Wiped(node.key(identity.id), held, disk.log.start_offset, another)
